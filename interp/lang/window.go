package lang

import (
	"fmt"
	"time"

	"go.starlark.net/starlark"

	"sextant/interp/spec"
)

// operations is operations(n, limit=): a window that ends after n operations, or at its limit.
func (ev *evaluator) operations(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	at := ev.here(t)
	table := []spec.Param{{Name: "n", Kind: spec.KindInt, Required: true, Check: between(1, 1<<50)}, orElse(lengthParam("limit"), time.Hour)}
	p, _, ok := ev.params(at, "operations", table, 1, args, kwargs)
	if !ok {
		return invalid{}, nil
	}
	w := window{operations: p["n"].(int64), limit: p["limit"].(time.Duration)}
	return &windowValue{kind: "operations", text: fmt.Sprintf("<%d operations>", w.operations), w: w}, nil
}

// orElse is a parameter that may be left out.
func orElse(p spec.Param, value any) spec.Param {
	p.Required, p.Default = false, value
	return p
}

// share is a parameter from above 0 to below 1.
func share(name string, value float64) spec.Param {
	return spec.Param{Name: name, Kind: spec.KindFloat, Default: value, Check: func(v any) error {
		if f := v.(float64); !(f > 0 && f < 1) {
			return fmt.Errorf("must be above 0 and below 1, not %v", f)
		}
		return nil
	}}
}

// until is until(error=, at_least=, at_most=): a window that ends when its rate is known well enough. The defaults are those of
// cassandra-stress, whose measurements are intervals of a second.
func (ev *evaluator) until(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	at := ev.here(t)
	table := []spec.Param{share("error", 0.02), orElse(lengthParam("at_least"), 30*time.Second), orElse(lengthParam("at_most"), 200*time.Second)}
	p, got, ok := ev.params(at, "until", table, 1, args, kwargs)
	if !ok {
		return invalid{}, nil
	}
	w := window{until: spec.Until{Error: p["error"].(float64), AtLeast: p["at_least"].(time.Duration)}, limit: p["at_most"].(time.Duration)}
	if w.until.AtLeast > w.limit {
		name := "at_least"
		if _, given := got[name]; !given {
			name = "at_most"
		}
		ev.report(at, got[name].at, fmt.Sprintf("at_least %v is longer than at_most %v", w.until.AtLeast, w.limit), "")
		return invalid{}, nil
	}
	return &windowValue{kind: "until", text: fmt.Sprintf("<until %g>", w.until.Error), w: w}, nil
}

// saturation is saturation(axis, gain=): ramps along an axis end when the rate does not rise any more.
func (ev *evaluator) saturation(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	at := ev.here(t)
	p, _, ok := ev.params(at, "saturation", []spec.Param{{Name: "axis", Kind: spec.KindString, Required: true}, share("gain", 0.02)}, 1, args, kwargs)
	if !ok {
		return invalid{}, nil
	}
	return &stopValue{s: spec.Saturation{Axis: p["axis"].(string), Gain: p["gain"].(float64)}}, nil
}

// declareStop reads the keyword stop.
func (ev *evaluator) declareStop(d *declaration, a arg) {
	d.stopAt = a.at
	switch v := a.v.(type) {
	case nil, starlark.NoneType:
	case invalid:
		d.bad = true
	case *stopValue:
		d.stop = v.s
		var names []string
		for _, ax := range d.axes() {
			if names = append(names, ax.name); ax.name == v.s.Axis {
				return
			}
		}
		ev.complain(d, a.at, fmt.Sprintf("the sweep has no axis %q", v.s.Axis), didYouMean(v.s.Axis, names))
	default:
		ev.complain(d, a.at, "stop must be saturation(...), not "+describe(v), `write stop = saturation("concurrency")`)
	}
}

// ramps sees that the cells of a ramp are of one system and workload: only then are their rates one curve.
func (x *expansion) ramps(e *spec.Experiment) {
	e.Stop = x.d.stop
	if e.Stop.Axis == "" {
		return
	}
	first := map[string]*spec.Measure{}
	for i := range e.Cells {
		m := e.Cells[i].Measure
		if m == nil {
			return // reported
		}
		ramp := e.Ramp(i)
		if o := first[ramp]; o == nil {
			first[ramp] = m
		} else if o.System != m.System || o.Workload != m.Workload {
			x.ev.report(x.d.at, x.d.stopAt, fmt.Sprintf("the axis %s changes the system or the workload, so its rates are no ramp", e.Stop.Axis), "a ramp raises the load alone")
			return
		}
	}
}
