package lang

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"sextant/interp/spec"
)

// declaration is one call of experiment(...), before it is expanded.
type declaration struct {
	name      string
	at        site
	sweep     *sweep
	fields    [fields]arg // v nil: not given
	trial     arg
	repeats   int64
	seed      uint64
	deadlines spec.Deadlines
	stop      spec.Saturation
	stopAt    argument
	hooks     map[string]starlark.Callable
	bad       bool // something of it was reported
}

func (d *declaration) axes() []*sweepAxis {
	if d.sweep == nil {
		return nil
	}
	return d.sweep.axes
}

func hookNames() []string {
	return []string{"setup", "teardown", "before_trial", "after_trial", "analyze"}
}

func experimentParams() []param {
	ps := []param{{"name", true}}
	for _, f := range fieldNames {
		ps = append(ps, param{f, false})
	}
	for _, n := range append([]string{"sweep", "trial", "repeats", "seed", "deadlines", "stop"}, hookNames()...) {
		ps = append(ps, param{n, false})
	}
	return ps
}

// experiment is experiment(name, ...). It keeps the arguments; cells are made when the whole file is evaluated.
func (ev *evaluator) experiment(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if ev.planning {
		return nil, fmt.Errorf("experiment(...) can only be called while the file is evaluated, not in a function of the cell or a hook")
	}
	at := ev.here(t)
	got, ok := ev.bind(at, "experiment", experimentParams(), 1, args, kwargs)
	d := &declaration{at: at, hooks: map[string]starlark.Callable{}, repeats: 1, seed: 1, bad: !ok}
	ev.declared = append(ev.declared, d)
	if a, given := got["name"]; given {
		ev.declareName(d, a)
	}
	for f, n := range fieldNames {
		d.fields[f] = got[n]
	}
	d.trial = got["trial"]
	ev.declareSweep(d, got["sweep"])
	ev.declareNumbers(d, got)
	ev.declareStop(d, got["stop"])
	for _, n := range hookNames() {
		a, given := got[n]
		if !given || a.v == starlark.None {
			continue
		}
		fn, isFn := a.v.(starlark.Callable)
		if !isFn {
			of := "ctx"
			if n == "analyze" {
				of = "r, the results"
			}
			ev.complain(d, a.at, n+" must be a function of "+of+", not "+describe(a.v), "")
			continue
		}
		d.hooks[n] = fn
	}
	ev.checkForm(d)
	return starlark.None, nil
}

func (ev *evaluator) complain(d *declaration, a argument, msg, hint string) {
	d.bad = true
	ev.report(d.at, a, msg, hint)
}

// declareName checks the name, which becomes a folder.
func (ev *evaluator) declareName(d *declaration, a arg) {
	s, ok := a.v.(starlark.String)
	if !ok {
		ev.complain(d, a.at, "name must be a text, not "+describe(a.v), "")
		return
	}
	d.name = string(s)
	for i, r := range d.name {
		if !(r == '_' || r == '-' || r == '.' && i > 0 || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9') {
			ev.complain(d, a.at, fmt.Sprintf("name %q: it becomes a folder, so it is made of letters, digits, - _ and .", d.name), "")
			return
		}
	}
	if d.name == "" || len(d.name) > 100 {
		ev.complain(d, a.at, "name must have 1 to 100 characters", "")
	}
	for _, o := range ev.declared[:len(ev.declared)-1] {
		if o.name == d.name && d.name != "" {
			ev.complain(d, a.at, fmt.Sprintf("there is an experiment %q already, at %s", d.name, o.at.pos()), "")
		}
	}
}

func (ev *evaluator) declareSweep(d *declaration, a arg) {
	switch v := a.v.(type) {
	case nil:
		d.sweep = &sweep{n: 1}
	case *sweep:
		d.sweep = v
		if v.n == 0 {
			msg := "the sweep is empty"
			if len(v.excl) > 0 {
				msg += ": every combination was excluded"
			}
			ev.complain(d, a.at, msg, "")
		}
	case invalid:
		d.bad = true
	default:
		ev.complain(d, a.at, "sweep must be a sweep such as grid(...), not "+describe(v), "write sweep = grid(scale = [...], ...)")
	}
}

func (ev *evaluator) declareNumbers(d *declaration, got map[string]arg) {
	read := func(p spec.Param, set func(any)) {
		a, given := got[p.Name]
		if !given || a.v == starlark.None {
			return
		}
		v, err := ev.toKind(a.v, &p)
		if err == nil && p.Check != nil {
			err = p.Check(v)
		}
		if err != nil {
			ev.reportParam(d.at, got, p.Name, err)
			d.bad = true
			return
		}
		set(v)
	}
	read(spec.Param{Name: "repeats", Kind: spec.KindInt, Check: between(1, 1_000_000)}, func(v any) { d.repeats = v.(int64) })
	read(spec.Param{Name: "seed", Kind: spec.KindInt, Check: between(0, 1<<62)}, func(v any) { d.seed = uint64(v.(int64)) })
	read(spec.Param{Name: "deadlines", Kind: spec.KindMap}, func(v any) {
		for _, k := range sortedNames(v.(map[string]any)) {
			if msg, hint := d.setDeadline(k, v.(map[string]any)[k]); msg != "" {
				ev.complain(d, got["deadlines"].at, msg, hint)
			}
		}
	})
}

func sortedNames(m map[string]any) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}

func between(low, high int64) func(any) error {
	return func(v any) error {
		if n := v.(int64); n < low || n > high {
			return fmt.Errorf("must be from %d to %d, not %d", low, high, n)
		}
		return nil
	}
}

// setDeadline sets one of the stages' deadlines.
func (d *declaration) setDeadline(name string, v any) (msg, hint string) {
	stages := map[string]*time.Duration{"connect": &d.deadlines.Connect, "load": &d.deadlines.Load, "drain": &d.deadlines.Drain,
		"hook": &d.deadlines.Hook, "teardown": &d.deadlines.Teardown, "recover": &d.deadlines.Recover}
	p, ok := stages[name]
	if !ok {
		var names []string
		for n := range stages {
			names = append(names, n)
		}
		slices.Sort(names)
		if hint = didYouMean(name, names); hint == "" {
			hint = "the stages are " + strings.Join(names, ", ")
		}
		return fmt.Sprintf("deadlines has no stage %q", name), hint
	}
	got, err := toDuration(fromValue(v))
	if err != nil {
		return "deadlines: " + name + " " + err.Error(), err.(*wrongKind).hint
	}
	if *p = got.(time.Duration); *p <= 0 || *p > maxSpan {
		return fmt.Sprintf("deadlines: %s can't be %v", name, *p), ""
	}
	return "", ""
}

// checkForm sees that either the keywords or a trial function say what is measured.
func (ev *evaluator) checkForm(d *declaration) {
	if d.trial.v != nil && d.trial.v != starlark.None {
		fn, ok := d.trial.v.(starlark.Callable)
		if _, builtin := d.trial.v.(*starlark.Builtin); !ok || builtin {
			ev.complain(d, d.trial.at, "trial must be a function that returns measure(...), not "+describe(d.trial.v), "")
			d.trial.v = nil
			return
		}
		if err := takesOne(fn); err != nil {
			ev.complain(d, d.trial.at, "trial "+err.Error(), "")
		}
		for f, a := range d.fields {
			if a.v != nil {
				ev.complain(d, argument{name: fieldNames[f], word: true}, fmt.Sprintf("%s belongs into measure(...) when there is a trial function", fieldNames[f]), "")
			}
		}
		return
	}
	for f, a := range d.fields {
		if a.v == nil && (f == fSystem || f == fWorkload || f == fWindow) && !d.bad {
			ev.complain(d, argument{index: -1}, "experiment needs "+fieldNames[f], "or trial, a function that returns measure(...)")
		}
		if b, ok := a.v.(*starlark.Builtin); ok {
			ev.complain(d, a.at, fmt.Sprintf("%s is the constructor %s itself", fieldNames[f], b.Name()), fmt.Sprintf("call it: %s(...)", b.Name()))
			d.fields[f].v = invalid{}
			continue
		}
		if fn, ok := a.v.(starlark.Callable); ok {
			if _, bad := a.v.(invalid); bad {
				d.bad = true
				continue
			}
			if err := takesOne(fn); err != nil {
				ev.complain(d, a.at, fieldNames[f]+" "+err.Error(), "")
				d.fields[f].v = invalid{}
			}
		}
	}
}
