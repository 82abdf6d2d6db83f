package lang

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"sextant/interp/spec"
)

// The keywords of measure(...), which experiment(...) takes as well; each has a number for the tuples that make a
// spec.Measure.
const (
	fSystem = iota
	fWorkload
	fLoad
	fLevel
	fWarmup
	fWindow
	fInterval
	fTimeout
	fReset
	fRetry
	fVerify
	fields
)

var fieldNames = [fields]string{"system", "workload", "load", "consistency", "warmup", "measure", "interval", "timeout", "reset", "retry", "verify"}

func asDuration(v any) (time.Duration, bool) { d, ok := v.(time.Duration); return d, ok }

// defaultWarmup is the warm-up where a script says nothing.
const defaultWarmup = 2 * time.Second

// window is one that ends by the count of its operations, or by the spread of its rate, and its limit.
type window struct {
	operations int64
	until      spec.Until
	limit      time.Duration
}

// autoWarmup is the limit of warmup = "auto".
const autoWarmup = time.Minute

// maxVerified bounds the rows of a trial that are verified: their writes are kept in memory.
const maxVerified = 1_000_000

// maxSpan bounds every duration of a script.
const maxSpan = 30 * 24 * time.Hour

// toField converts the value of one keyword to what its place in a spec.Measure takes.
func toField(f int, v starlark.Value) (any, error) {
	switch f {
	case fSystem:
		if s, ok := v.(*systemValue); ok {
			return s, nil
		}
		return nil, badKind(v, "a system such as sqlite.local()", "")
	case fWorkload:
		if w, ok := v.(*workloadValue); ok {
			return w.w, nil
		}
		return nil, badKind(v, `a workload such as workload.ycsb("a")`, "")
	case fLoad:
		switch l := v.(type) {
		case *loadValue:
			return l, nil
		case starlark.Int:
			return nil, badKind(v, "a load", fmt.Sprintf("write closed(%s)", l))
		}
		return nil, badKind(v, "a load such as closed(16)", "")
	case fRetry:
		switch r := v.(type) {
		case *retryValue:
			return r.r, nil
		case starlark.Int:
			if n, ok := r.Int64(); ok && n >= 0 && n <= maxRetries {
				return spec.Retry{Max: int(n)}, nil
			}
			return nil, &wrongKind{fmt.Sprintf("must be from 0 to %d, not %s", maxRetries, r), ""}
		}
		return nil, badKind(v, "a number of further attempts, or backoff(...)", "")
	case fLevel:
		if s, ok := v.(starlark.String); ok {
			return string(s), nil
		}
		return nil, badKind(v, `a level as text such as "off"`, "")
	case fVerify:
		n, ok := v.(starlark.Int)
		if i, fits := n.Int64(); ok && fits && i >= 1 && i <= maxVerified {
			return i, nil
		}
		return nil, badKind(v, fmt.Sprintf("a number of rows from 1 to %d", maxVerified), "")
	case fReset:
		if s, ok := v.(starlark.String); ok {
			return string(s), oneOf(string(s), []string{"auto", "always", "never"})
		}
		return nil, badKind(v, `"auto", "always" or "never"`, "")
	}
	if w, is := v.(*windowValue); is && f == fWindow {
		return w.w, nil
	}
	if f == fWarmup && v == starlark.String("auto") {
		return "auto", nil
	}
	v2, err := toDuration(v)
	if err != nil {
		return nil, err
	}
	d := v2.(time.Duration) // toDuration gives nothing else
	if d < 0 || d > maxSpan || f == fWindow && d < time.Millisecond || f == fInterval && d < time.Millisecond {
		return nil, &wrongKind{fmt.Sprintf("can't be %v", d), ""}
	}
	return d, nil
}

// measure is measure(...), the result of a trial function. Its arguments are checked when the cell is.
func (ev *evaluator) measure(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	at := ev.here(t)
	var params []param
	for f, n := range fieldNames {
		params = append(params, param{n, f == fSystem || f == fWorkload || f == fWindow})
	}
	got, ok := ev.bind(at, "measure", params, 0, args, kwargs)
	if !ok {
		return invalid{}, nil
	}
	return &measureValue{args: got, at: at}, nil
}

// resolver makes the Measures of one experiment; equal ones are one.
type resolver struct {
	ev       *evaluator
	d        *declaration
	values   [fields][]any // by id-1; id 0 means not given
	ids      [fields]map[any]int32
	measures map[[fields]int32]*spec.Measure
	systems  map[string]*systemValue
	works    map[string]*spec.Workload
}

func newResolver(ev *evaluator, d *declaration) *resolver {
	r := &resolver{ev: ev, d: d, measures: map[[fields]int32]*spec.Measure{}, systems: map[string]*systemValue{}, works: map[string]*spec.Workload{}}
	for f := range r.ids {
		r.ids[f] = map[any]int32{}
	}
	return r
}

// id gives a converted value its number; equal values have the same.
func (r *resolver) id(f int, v any) int32 {
	var key = v
	switch x := v.(type) {
	case *systemValue:
		k := x.s.Name + "\x00" + spec.CanonicalString(x.s.Canonical())
		if r.systems[k] == nil {
			r.systems[k] = x
		}
		v, key = r.systems[k], r.systems[k]
	case *loadValue:
		key = spec.CanonicalString(x.l.Canonical()) // its rate is a slice, so it can't be a key itself
	case *spec.Workload:
		k := x.Type + "\x00" + spec.CanonicalString(x.Params)
		if r.works[k] == nil {
			r.works[k] = x
		}
		v, key = r.works[k], r.works[k]
	}
	if n, ok := r.ids[f][key]; ok {
		return n
	}
	r.values[f] = append(r.values[f], v)
	n := int32(len(r.values[f]))
	r.ids[f][key] = n
	return n
}

func (r *resolver) value(f int, id int32) any {
	if id == 0 {
		return nil
	}
	return r.values[f][id-1]
}

// measure makes the Measure of a tuple, or reports why there is none. where finds the place of a keyword.
func (r *resolver) measure(t [fields]int32, where func(f int) (site, argument)) *spec.Measure {
	if m, ok := r.measures[t]; ok {
		return m
	}
	m := r.build(t, where)
	r.measures[t] = m
	return m
}

func (r *resolver) build(t [fields]int32, where func(f int) (site, argument)) *spec.Measure {
	ok := true
	bad := func(f int, msg, hint string) {
		s, a := where(f)
		r.ev.report(s, a, msg, hint)
		ok = false
	}
	sys := r.value(fSystem, t[fSystem]).(*systemValue) // both are required
	work := r.value(fWorkload, t[fWorkload]).(*spec.Workload)
	m := &spec.Measure{System: sys.s, Workload: work, Warmup: defaultWarmup, Reset: "auto", Load: spec.Load{Shape: "closed", Clients: 1}}
	if l, is := r.value(fLoad, t[fLoad]).(*loadValue); is {
		m.Load = l.l
	}
	m.Window, _ = asDuration(r.value(fWindow, t[fWindow]))
	if w, is := r.value(fWindow, t[fWindow]).(window); is {
		m.Operations, m.Until, m.Window = w.operations, w.until, w.limit
	}
	if m.Until.Error > 0 && m.Load.Shape == "open" {
		bad(fWindow, "until(...) is for closed loops: the rate of an open one is what was asked for, not what was found", `write measure = "60s"`)
	}
	if d, is := asDuration(r.value(fWarmup, t[fWarmup])); is {
		m.Warmup = d
	} else if r.value(fWarmup, t[fWarmup]) == "auto" {
		m.Auto, m.Warmup = true, autoWarmup
		if len(m.Load.Rate) > 1 || len(m.Load.Rate) == 1 && m.Load.Rate[0].From != m.Load.Rate[0].To {
			bad(fWarmup, `can't be "auto" when the offered rate changes: nothing is steady then`, `write warmup = "10s"`)
		}
	}
	m.Timeout, _ = asDuration(r.value(fTimeout, t[fTimeout]))
	m.Interval = min(time.Second, m.Window)
	if d, is := asDuration(r.value(fInterval, t[fInterval])); is {
		m.Interval = d
	}
	if p, is := r.value(fRetry, t[fRetry]).(spec.Retry); is {
		m.Retry = p
	}
	if s, is := r.value(fReset, t[fReset]).(string); is {
		m.Reset = s
	}
	m.Verify, _ = r.value(fVerify, t[fVerify]).(int64)
	if m.Verify > 0 && !work.Verifies {
		bad(fVerify, fmt.Sprintf("verify needs operations that are on records, whose writes can be read back: those of workload %s are not", work.Type), "workload.records without transactions, ycsb and mix can be verified")
	} else if m.Verify > 0 && !work.Modifies {
		bad(fVerify, fmt.Sprintf("verify has nothing to do: workload %s does not write", work.Type), "")
	}
	if m.Load.Pipeline > 1 && !work.Pipelines {
		bad(fLoad, fmt.Sprintf("workload %s can't be pipelined", work.Type), "workload.redis can; pgbench's scripts have \\startpipeline")
	}
	if m.Load.Pipeline > 1 && m.Retry.Max > 0 {
		bad(fRetry, "can't be used with a pipeline: the operations behind the one that is tried again are under way already", "")
	}
	switch {
	case m.Until.Error > 0 && m.Until.AtLeast < 2*m.Interval:
		bad(fWindow, fmt.Sprintf("at_least %v is less than two intervals of %v: no spread can be told from them", m.Until.AtLeast, m.Interval), "")
	case m.Interval > m.Window:
		bad(fInterval, fmt.Sprintf("an interval of %v is longer than the measured %v", m.Interval, m.Window), "")
	case (m.Window+m.Warmup)/m.Interval > maxIntervals:
		bad(fInterval, fmt.Sprintf("%v in intervals of %v are more than %d intervals", m.Window+m.Warmup, m.Interval, maxIntervals), "")
	}
	if m.Reset == "never" && work.Resizes {
		bad(fReset, fmt.Sprintf("workload %s inserts or deletes: without a reset every trial would measure another amount of data", work.Type), `write reset = "auto"`)
	}
	for i, a := range work.Actions {
		if sys.typ.Ops != nil && a != spec.Scripted && !slices.Contains(sys.typ.Ops, a) {
			what := work.Ops[i]
			if a != what {
				what += ", a " + a
			}
			bad(fWorkload, fmt.Sprintf("%s can't do the operation %s", sys.typ.Name, what), "it can do "+strings.Join(sys.typ.Ops, ", "))
		} else if sys.typ.CheckAction != nil {
			if err := sys.typ.CheckAction(sys.s, a); err != nil {
				bad(fWorkload, err.Error(), "")
			}
		}
	}
	if sys.typ.CheckSize != nil {
		if err := sys.typ.CheckSize(sys.s, work.Size); err != nil {
			bad(fWorkload, err.Error(), "")
		}
	}
	if text, is := r.value(fLevel, t[fLevel]).(string); is {
		l, err := sys.typ.ParseLevel(text)
		if err == nil && sys.typ.CheckLevel != nil {
			err = sys.typ.CheckLevel(sys.s, l)
		}
		if err != nil {
			hint := ""
			if le, is := err.(*spec.LevelError); is {
				if hint = didYouMean(strings.ToLower(le.Token), le.Candidates); hint == "" {
					hint = "there are " + strings.Join(le.Candidates, ", ")
				}
			}
			s, a := where(fLevel)
			r.reportLevel(s, a, text, err.Error(), hint)
			ok = false
		}
		m.Level = l
	}
	if !ok {
		return nil
	}
	return m
}

// maxIntervals bounds the time series of one trial.
const maxIntervals = 1_000_000

// reportLevel points at the level's own text: in the list of the axis when it comes from there.
func (r *resolver) reportLevel(s site, a argument, text, msg, hint string) {
	for _, ax := range r.d.axes() {
		for i, v := range ax.values {
			if v == text && (ax.name == "consistency" || a.name == "") && i < len(ax.first) {
				r.ev.reportElement(ax.at, ax.arg, ax.first[i], msg, hint)
				return
			}
		}
	}
	r.ev.report(s, a, msg, hint)
}
