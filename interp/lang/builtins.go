package lang

import (
	"errors"
	"fmt"
	"math"
	"slices"

	starjson "go.starlark.net/lib/json"
	starmath "go.starlark.net/lib/math"
	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"sextant/interp/spec"
)

type builtin = func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error)

// planned is a built-in that makes a part of the plan: an operation that runs can't call it.
func planned(fn builtin) builtin {
	return func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if t.Local(callerKey) != nil {
			return nil, fmt.Errorf("%s is for the plan: a function that runs as an operation can't call it", b.Name())
		}
		return fn(t, b, args, kwargs)
	}
}

// names are the predeclared names of a script.
func (ev *evaluator) names() (starlark.StringDict, error) {
	d := starlark.StringDict{"json": starjson.Module, "math": starmath.Module,
		"struct": starlark.NewBuiltin("struct", starlarkstruct.Make)}
	for name, fn := range map[string]builtin{"experiment": ev.experiment, "measure": ev.measure, "closed": ev.closed, "open": ev.open, "ramp": ev.ramp, "steps": ev.steps,
		"bursts": ev.bursts, "backoff": ev.backoff, "operations": ev.operations, "until": ev.until, "saturation": ev.saturation, "grid": ev.grid,
		"paired": ev.paired, "rows": ev.rows, "axis": ev.axis, "log_range": ev.logRange, "env": ev.environment, "secret": ev.secret,
		repeatGuard: guardedRepeat, joinGuard: guardedJoin} {
		if name != repeatGuard && name != joinGuard {
			fn = planned(fn)
		}
		d[name] = starlark.NewBuiltin(name, fn)
	}
	add := func(name string, v starlark.Value) error {
		if _, taken := d[name]; taken {
			return fmt.Errorf("the name %q is registered twice", name)
		}
		d[name] = v
		return nil
	}
	if err := add("stats", statsModule()); err != nil {
		return nil, err
	}
	work := &namespace{name: "workload", members: map[string]starlark.Value{}}
	for _, w := range ev.opt.Registry.Workloads {
		work.members[w.Name] = starlark.NewBuiltin("workload."+w.Name, planned(ev.workload(w)))
	}
	if err := add("workload", work); err != nil {
		return nil, err
	}
	for _, s := range ev.opt.Registry.Systems {
		ns := &namespace{name: s.Name, members: map[string]starlark.Value{}}
		for i := range s.Makers {
			ns.members[s.Makers[i].Name] = starlark.NewBuiltin(s.Name+"."+s.Makers[i].Name, planned(ev.system(s, &s.Makers[i])))
		}
		if err := add(s.Name, ns); err != nil {
			return nil, err
		}
	}
	for _, v := range ev.opt.Registry.Values {
		if err := add(v.Name, starlark.NewBuiltin(v.Name, planned(ev.value(v)))); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// params reads the arguments of a constructor that is described by a table. ok is false when a problem was reported.
func (ev *evaluator) params(at site, what string, table []spec.Param, positional int, args starlark.Tuple, kwargs []starlark.Tuple) (map[string]any, map[string]arg, bool) {
	list := make([]param, len(table))
	for i, p := range table {
		list[i] = param{p.Name, p.Required}
	}
	got, ok := ev.bind(at, what, list, positional, args, kwargs)
	out := make(map[string]any, len(table))
	for i := range table {
		p := &table[i]
		a, given := got[p.Name]
		if _, bad := a.v.(invalid); bad {
			continue
		}
		if !given || a.v == starlark.None {
			if given && p.Required {
				ev.report(at, a.at, p.Name+" must be "+p.Kind.String()+", not None", "")
				ok = false
			}
			out[p.Name] = p.Default
			continue
		}
		v, err := ev.toKind(a.v, p)
		if err == nil && p.Check != nil {
			err = p.Check(v)
		}
		if p.Files && err == nil {
			v, err = ev.filesOf(at, p.Name, v)
		}
		if errors.Is(err, errReported) { // within a list or dict
			ok = false
			continue
		}
		if err != nil {
			ev.reportParam(at, got, p.Name, err)
			ok = false
			continue
		}
		out[p.Name] = v
	}
	return out, got, ok
}

// reportParam words an error about a parameter at its argument.
func (ev *evaluator) reportParam(at site, got map[string]arg, name string, err error) {
	hint := ""
	msg := err.Error()
	switch e := err.(type) {
	case *wrongKind:
		hint = e.hint
	case *spec.ParamError:
		name, msg, hint = e.Param, e.Msg, e.Suggestion
		if hint != "" {
			hint = fmt.Sprintf("did you mean %q?", hint)
		}
	}
	a, given := got[name]
	if !given {
		a.at = argument{index: -1}
	}
	ev.report(at, a.at, name+" "+msg, hint)
}

// system is the constructor of a system: sqlite.local(...).
func (ev *evaluator) system(typ *spec.SystemType, m *spec.Maker) builtin {
	table := append(slices.Clone(m.Params), spec.Param{Name: "name", Kind: spec.KindString, Doc: "what the column `system` shows",
		Check: func(v any) error {
			if s := v.(string); s == "" || len(s) > 100 {
				return fmt.Errorf("must have 1 to 100 characters")
			}
			return nil
		}})
	return func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		at := ev.here(t)
		options, got, ok := ev.params(at, b.Name(), table, m.Positional, args, kwargs)
		name, _ := options["name"].(string)
		delete(options, "name")
		if name == "" {
			name = typ.Name
		}
		if ok && m.Check != nil {
			if err := m.Check(options); err != nil {
				ev.reportParam(at, got, "", err)
				ok = false
			}
		}
		if !ok {
			return invalid{}, nil
		}
		return &systemValue{s: &spec.System{Type: typ.Name, Maker: m.Name, Name: name, Options: options, Pos: at.pos()}, typ: typ}, nil
	}
}

// workload is the constructor of a workload: workload.ycsb("a").
func (ev *evaluator) workload(w *spec.WorkloadType) builtin {
	return func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		at := ev.here(t)
		params, got, ok := ev.params(at, b.Name(), w.Params, w.Positional, args, kwargs)
		if !ok {
			return invalid{}, nil
		}
		out, err := w.Resolve(params)
		if err != nil {
			ev.reportParam(at, got, b.Name(), err)
			return invalid{}, nil
		}
		out.Type = w.Name
		return &workloadValue{w: out}, nil
	}
}

// value is the constructor of a tagged value: zipfian(0.99).
func (ev *evaluator) value(k *spec.ValueType) builtin {
	return func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		at := ev.here(t)
		params, got, ok := ev.params(at, b.Name(), k.Params, k.Positional, args, kwargs)
		if ok && k.Check != nil {
			if err := k.Check(params); err != nil {
				ev.reportParam(at, got, "", err)
				ok = false
			}
		}
		if !ok {
			return invalid{}, nil
		}
		for name, v := range params {
			if v == nil {
				delete(params, name)
			}
		}
		params["$"] = k.Name
		return &tagged{kind: k, m: params}, nil
	}
}

// closed is closed(clients, think=, pipeline=): N clients, each with its session, one operation after the other.
func (ev *evaluator) closed(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	at := ev.here(t)
	table := []spec.Param{{Name: "clients", Kind: spec.KindInt, Required: true, Check: clientCount},
		{Name: "think", Kind: spec.KindDuration, Check: notNegative}, {Name: "pipeline", Kind: spec.KindInt, Default: int64(1), Check: spec.Between(1, 10_000)}}
	p, _, ok := ev.params(at, b.Name(), table, 1, args, kwargs)
	if !ok {
		return invalid{}, nil
	}
	l := closedLoad(p["clients"].(int64))
	l.l.Think, _ = asDuration(p["think"])
	if n := p["pipeline"].(int64); n > 1 {
		l.l.Pipeline = int(n)
	}
	return l, nil
}

func closedLoad(clients int64) *loadValue {
	return &loadValue{l: spec.Load{Shape: "closed", Clients: int(clients)}}
}

// maxClients is more than a generator of this kind can drive.
const maxClients = 100_000

func clientCount(v any) error {
	if n := v.(int64); n < 1 || n > maxClients {
		return fmt.Errorf("must be from 1 to %d, not %d", maxClients, n)
	}
	return nil
}

func notNegative(v any) error {
	if d, ok := asDuration(v); ok && d < 0 {
		return fmt.Errorf("must not be negative: %v", d)
	}
	return nil
}

// environment is env(name, default): recorded, so that a resumed run sees the same.
func (ev *evaluator) environment(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	at := ev.here(t)
	table := []spec.Param{{Name: "name", Kind: spec.KindString, Required: true}, {Name: "default", Kind: spec.KindString}}
	p, got, ok := ev.params(at, b.Name(), table, 2, args, kwargs)
	if !ok {
		return invalid{}, nil
	}
	name := p["name"].(string)
	if ev.opt.Env != nil {
		if v, set := ev.opt.Env(name); set {
			ev.env[name] = v
			return starlark.String(v), nil
		}
	}
	if d, given := p["default"].(string); given {
		return starlark.String(d), nil
	}
	ev.report(at, got["name"].at, fmt.Sprintf("the environment variable %s is not set", name), fmt.Sprintf("set it, or write env(%q, default = ...)", name))
	return invalid{}, nil
}

// secret is secret(name): looked up when a run starts, shown nowhere.
func (ev *evaluator) secret(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	at := ev.here(t)
	table := []spec.Param{{Name: "name", Kind: spec.KindString, Required: true, Check: func(v any) error {
		if v.(string) == "" {
			return fmt.Errorf("must name an environment variable")
		}
		return nil
	}}}
	p, _, ok := ev.params(at, b.Name(), table, 1, args, kwargs)
	if !ok {
		return invalid{}, nil
	}
	return secretValue{Name: p["name"].(string)}, nil
}

// logRange is log_range(first, last, base=10, points=1): points values per factor of base, evenly spaced by ratio, from
// first to at most last. With integers for first and last the values are rounded to integers.
func (ev *evaluator) logRange(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	at := ev.here(t)
	number := func(name string, required bool, def any, check func(any) error) spec.Param {
		return spec.Param{Name: name, Kind: spec.KindFloat, Required: required, Default: def, Check: check}
	}
	above := func(low float64) func(any) error {
		return func(v any) error {
			if f := v.(float64); f <= low {
				return fmt.Errorf("must be above %v, not %v", low, f)
			}
			return nil
		}
	}
	table := []spec.Param{number("first", true, nil, above(0)), number("last", true, nil, above(0)), number("base", false, 10.0, above(1)),
		{Name: "points", Kind: spec.KindInt, Default: int64(1), Check: func(v any) error {
			if n := v.(int64); n < 1 || n > 1000 {
				return fmt.Errorf("must be from 1 to 1000, not %d", n)
			}
			return nil
		}}}
	p, got, ok := ev.params(at, b.Name(), table, 2, args, kwargs)
	if !ok {
		return invalid{}, nil
	}
	first, last, base := p["first"].(float64), p["last"].(float64), p["base"].(float64)
	if last < first {
		ev.report(at, got["last"].at, fmt.Sprintf("last must be at least first: %v is below %v", last, first), "")
		return invalid{}, nil
	}
	_, fi := got["first"].v.(starlark.Int)
	_, li := got["last"].v.(starlark.Int)
	var out []starlark.Value
	before := math.Inf(-1)
	for i := 0; ; i++ {
		v := first * math.Pow(base, float64(i)/float64(p["points"].(int64)))
		if v > last*(1+1e-9) || i > maxRepeat {
			break
		}
		if fi && li {
			if v = math.Round(v); v != before {
				out = append(out, starlark.MakeInt64(int64(v)))
			}
			before = v
			continue
		}
		out = append(out, starlark.Float(v))
	}
	return starlark.NewList(out), nil
}
