package lang

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.starlark.net/starlark"

	"sextant/interp/spec"
)

// expansion makes the cells of one experiment.
type expansion struct {
	*resolver
	t     *starlark.Thread
	axes  []*sweepAxis
	used  []bool                          // axes that a function has read
	fixed [fields]int32                   // keywords with one value
	funcs [fields]*cellFunc[int32]        // keywords that are functions of the cell
	trial *cellFunc[trialResult]          // or one function for all
	sites map[[fields]int32]*measureValue // where the measure(...) of a tuple stands
	axisF [fields]struct {                // an axis applied as load or level
		axis int
		ids  []int32
	}
}

type trialResult struct {
	tuple [fields]int32
	m     *measureValue
}

// expand evaluates the cells of a declaration. It returns nil when anything was wrong with it.
func (ev *evaluator) expand(d *declaration, doc string) *spec.Experiment {
	if d.sweep == nil || ev.limits.broken() != "" {
		return nil
	}
	x := &expansion{resolver: newResolver(ev, d), t: ev.thread("plan"), axes: d.sweep.axes, used: make([]bool, len(d.sweep.axes)),
		sites: map[[fields]int32]*measureValue{}}
	before := len(ev.problems.list) + ev.problems.omitted
	x.prepare()
	tuples := x.tuples()
	if d.bad || len(ev.problems.list)+ev.problems.omitted > before {
		x.unmentioned()
		return nil
	}
	x.apply(tuples)
	x.unread()
	e := &spec.Experiment{Name: d.name, Doc: doc, Pos: d.at.pos(), Exclusions: d.sweep.excl, Repeats: int(d.repeats), Seed: d.seed,
		Deadlines: d.deadlines}
	for _, h := range hookNames() {
		if d.hooks[h] != nil {
			e.Hooks = append(e.Hooks, h)
		}
	}
	x.cells(e, tuples)
	x.ramps(e)
	if len(ev.problems.list)+ev.problems.omitted > before {
		return nil
	}
	return e
}

// prepare converts the constant keywords and sets up the functions.
func (x *expansion) prepare() {
	if fn, ok := x.d.trial.v.(starlark.Callable); ok {
		x.trial = newCellFunc(x.t, fn, x.axes, x.trialTuple)
		return
	}
	for f, a := range x.d.fields {
		if a.v == nil || a.v == starlark.None {
			continue
		}
		if _, bad := a.v.(invalid); bad {
			x.d.bad = true
			continue
		}
		if fn, ok := a.v.(starlark.Callable); ok {
			x.funcs[f] = newCellFunc(x.t, fn, x.axes, func(v starlark.Value) (int32, error) { return x.convert(f, v, x.d.at, a.at) })
			continue
		}
		id, err := x.convert(f, a.v, x.d.at, a.at)
		if err == nil {
			x.fixed[f] = id
		}
	}
}

// convert gives a keyword's value its number, or reports what is wrong with it.
func (x *expansion) convert(f int, v starlark.Value, at site, a argument) (int32, error) {
	if _, bad := v.(invalid); bad {
		return 0, errReported
	}
	if v == starlark.None && f != fSystem && f != fWorkload && f != fWindow {
		return 0, nil
	}
	got, err := toField(f, v)
	if err != nil {
		hint := ""
		if w, ok := err.(*wrongKind); ok {
			hint = w.hint
		}
		x.ev.report(at, a, fieldNames[f]+" "+err.Error(), hint)
		return 0, errReported
	}
	return x.id(f, got), nil
}

// trialTuple converts what a trial function returned.
func (x *expansion) trialTuple(v starlark.Value) (trialResult, error) {
	var r trialResult
	if _, bad := v.(invalid); bad {
		return r, errReported
	}
	m, ok := v.(*measureValue)
	if !ok {
		x.ev.report(x.d.at, x.d.trial.at, "the trial function must return measure(...), not "+describe(v), "")
		return r, errReported
	}
	r.m = m
	var bad error
	for f, n := range fieldNames {
		a, given := m.args[n]
		if !given {
			continue
		}
		id, err := x.convert(f, a.v, m.at, a.at)
		if err != nil {
			bad = err
		}
		r.tuple[f] = id
	}
	return r, bad
}

// tuples evaluates every function for every cell.
func (x *expansion) tuples() [][fields]int32 {
	n := x.d.sweep.n
	out := make([][fields]int32, n)
	for i := range n {
		row := x.d.sweep.row(i)
		if x.trial != nil {
			r, err := x.trial.at(row)
			if err != nil {
				x.failed(err, x.trial.fn)
			}
			out[i] = r.tuple
			if r.m != nil && x.sites[r.tuple] == nil {
				x.sites[r.tuple] = r.m
			}
		} else {
			out[i] = x.fixed
			for f, fn := range x.funcs {
				if fn == nil {
					continue
				}
				id, err := fn.at(row)
				if err != nil {
					x.failed(err, fn.fn)
				}
				out[i][f] = id
			}
		}
		if x.ev.limits.broken() != "" || x.ev.problems.omitted > 0 {
			x.d.bad = true
			return out
		}
	}
	return out
}

func (x *expansion) failed(err error, fn starlark.Callable) {
	x.d.bad = true
	x.ev.reportCell(err, fn, axisNames(x.axes))
}

// apply lets an axis named concurrency or consistency that nothing reads be the load or the level.
func (x *expansion) apply(tuples [][fields]int32) {
	if x.trial != nil {
		or(x.used, x.trial.used)
	}
	for _, fn := range x.funcs {
		if fn != nil {
			or(x.used, fn.used)
		}
	}
	for _, it := range []struct {
		axis string
		f    int
	}{{"concurrency", fLoad}, {"consistency", fLevel}} {
		a := slices.IndexFunc(x.axes, func(ax *sweepAxis) bool { return ax.name == it.axis })
		if a < 0 || x.used[a] {
			continue
		}
		if slices.ContainsFunc(tuples, func(t [fields]int32) bool { return t[it.f] != 0 }) {
			x.ev.report(x.axes[a].at, argument{name: it.axis, word: true}, fmt.Sprintf("nothing reads the axis %s, and %s is given as well", it.axis, fieldNames[it.f]),
				fmt.Sprintf("use p.%s in %s, or leave %s out", it.axis, fieldNames[it.f], fieldNames[it.f]))
			x.used[a] = true
			continue
		}
		ids := x.axisIDs(it.f, x.axes[a])
		if ids == nil {
			x.used[a] = true
			continue
		}
		for i := range tuples {
			t := tuples[i]
			m := x.sites[t]
			t[it.f] = ids[x.d.sweep.row(i)[a]]
			tuples[i] = t
			if m != nil && x.sites[t] == nil {
				x.sites[t] = m
			}
		}
		x.axisF[it.f].ids, x.axisF[it.f].axis = ids, a
		x.used[a] = true
	}
}

func or(into, from []bool) {
	for i, b := range from {
		into[i] = into[i] || b
	}
}

// axisIDs converts the values of an axis to loads or levels.
func (x *expansion) axisIDs(f int, ax *sweepAxis) []int32 {
	var ids []int32
	ok := true
	for i, v := range ax.star {
		if n, isInt := v.(starlark.Int); isInt && f == fLoad {
			if clients, fits := n.Int64(); fits && clientCount(clients) == nil {
				ids = append(ids, x.id(f, closedLoad(clients)))
				continue
			}
		}
		if s, isText := v.(starlark.String); isText && f == fLevel {
			ids = append(ids, x.id(f, string(s)))
			continue
		}
		if v == starlark.None {
			ids = append(ids, 0)
			continue
		}
		msg := fmt.Sprintf("axis %s is the number of clients: a whole number from 1 to %d, not %s", ax.name, maxClients, describe(v))
		if f == fLevel {
			msg = fmt.Sprintf("axis %s is the level: a text, not %s", ax.name, describe(v))
		}
		x.ev.reportElement(ax.at, ax.arg, first(ax, i), msg, "")
		ok = false
	}
	if !ok {
		return nil
	}
	return ids
}

func first(ax *sweepAxis, i int) int {
	if i < len(ax.first) {
		return ax.first[i]
	}
	return 0
}

// unread reports axes that change nothing. A hook may read an axis at run time: then its name stands in the script.
func (x *expansion) unread() {
	for i, ax := range x.axes {
		if x.used[i] {
			continue
		}
		if len(x.d.hooks) > 0 && x.ev.mentioned(ax.name) {
			continue
		}
		x.ev.reportUnread(ax)
	}
}

// unmentioned reports, where some function failed and so it can't be known what it would have read, the axes whose names
// stand nowhere in the script, but for those that a misspelt name meant.
func (x *expansion) unmentioned() {
	for _, ax := range x.axes {
		if ax.name == "concurrency" || ax.name == "consistency" || x.ev.mentioned(ax.name) {
			continue
		}
		meant := slices.ContainsFunc(x.ev.problems.list, func(p *Problem) bool {
			return strings.Contains(p.Hint, strconv.Quote(ax.name)) || strings.Contains(p.Hint, "."+ax.name+"?")
		})
		if !meant {
			x.ev.reportUnread(ax)
		}
	}
}

func (ev *evaluator) reportUnread(ax *sweepAxis) {
	ev.report(ax.at, argument{name: ax.name, word: true}, fmt.Sprintf("nothing reads the axis %s: its values would change nothing", ax.name),
		fmt.Sprintf("use p.%s in a function of the cell", ax.name))
}

func (ev *evaluator) mentioned(name string) bool {
	for _, n := range ev.order {
		if ev.trees[n].mentions(name) {
			return true
		}
	}
	return false
}

// cells fills in axes and cells.
func (x *expansion) cells(e *spec.Experiment, tuples [][fields]int32) {
	for i, ax := range x.axes {
		typ := ax.typ
		if typ == "" {
			typ = "string" // only None
		}
		a := spec.Axis{Name: ax.name, Type: typ, Values: x.present(i), Pos: ax.at.pos()}
		for f, name := range map[int]string{fLoad: "load", fLevel: "level"} {
			if x.axisF[f].ids != nil && x.axisF[f].axis == i {
				a.AppliedAs = name
			}
		}
		e.Axes = append(e.Axes, a)
	}
	k := len(x.axes)
	all := make([]spec.Value, k*len(tuples))
	e.Cells = make([]spec.Cell, len(tuples))
	for i, t := range tuples {
		m := x.measure(t, func(f int) (site, argument) { return x.where(t, f) })
		values := all[i*k : (i+1)*k : (i+1)*k]
		for a, v := range x.d.sweep.row(i) {
			values[a] = x.axes[a].values[v]
		}
		e.Cells[i] = spec.Cell{Values: values, Measure: m}
	}
}

// present are the values of an axis that some cell has; an exclusion may have taken all of one.
func (x *expansion) present(axis int) []spec.Value {
	has := make([]bool, len(x.axes[axis].values))
	for i := range x.d.sweep.n {
		has[x.d.sweep.row(i)[axis]] = true
	}
	var out []spec.Value
	for i, v := range x.axes[axis].values {
		if has[i] {
			out = append(out, v)
		}
	}
	return out
}

// where is the place that a problem with a field is shown at.
func (x *expansion) where(t [fields]int32, f int) (site, argument) {
	if m := x.sites[t]; m != nil {
		if a, given := m.args[fieldNames[f]]; given {
			return m.at, a.at
		}
		return m.at, argument{index: -1}
	}
	if a := x.d.fields[f]; a.v != nil {
		return x.d.at, a.at
	}
	return x.d.at, argument{index: -1}
}
