package run

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sextant/interp/spec"
)

// cassandra-stress goes on while there are few rates, or the mean gain of the last 3 steps is not negative and that of the last 5
// is the target (StressAction.hasAverageImprovement, version 3.11).
func TestARampEndsWhenTheRateIsFlat(t *testing.T) {
	for _, c := range []struct {
		rates []float64
		ends  string // what the reason holds; "": it goes on
	}{
		{nil, ""},
		{[]float64{100}, ""},
		{[]float64{100, 50, 25}, ""}, // two steps
		{[]float64{100, 50, 25, 24}, "the last 3 steps of threads the rate fell by 35 %"},
		{[]float64{100, 90, 100, 110}, ""},
		{[]float64{100, 100, 100, 100}, ""},           // not negative, and five steps are to come
		{[]float64{100, 100, 100, 100, 100}, ""},      // four steps
		{[]float64{100, 200, 201, 199, 200, 201}, ""}, // the first of the five was large
		{[]float64{100, 200, 201, 202, 203, 204, 205}, "the last 5 steps of threads the rate rose by 0.5 % a step, below 2 %"},
		{[]float64{100, 200, 400, 399, 398, 397}, "fell by 0.25 %"},
		{[]float64{100, 102.1, 104.3, 106.5, 108.8, 111.1}, ""},
		{[]float64{1000, 100, 102.1, 104.3, 106.5, 108.8, 111.1}, ""}, // what was before doesn't count
	} {
		why := flat(c.rates, spec.Saturation{Axis: "threads", Gain: 0.02})
		if (why == "") != (c.ends == "") || !strings.Contains(why, c.ends) {
			t.Errorf("%v: %q, want %q", c.rates, why, c.ends)
		}
	}
}

// Cells of a ramp run in the order of their axis in every round, ramps are shuffled, and a ramp is a block's.
func TestRampsStayTogether(t *testing.T) {
	e := sample(3, 4)
	levels := map[spec.Value]int{"c": 0, "a": 1, "b": 2}
	e.Axes[0].Values, e.Axes[1].Values, e.Axes[2].Values = []spec.Value{"one", "two"}, []spec.Value{int64(10), int64(20)}, []spec.Value{"c", "a", "b"}
	plain, err := mustPlan(t, e).Hash()
	if err != nil {
		t.Fatal(err)
	}
	e.Axes = append(e.Axes, spec.Axis{Name: "threads", Type: "int", Values: []spec.Value{int64(1), int64(2)}})
	var cells []spec.Cell
	for _, c := range e.Cells {
		for _, n := range e.Axes[3].Values {
			cells = append(cells, spec.Cell{Values: append(slices.Clone(c.Values), n), Measure: c.Measure})
		}
	}
	e.Cells = cells
	e.Stop = spec.Saturation{Axis: "level", Gain: 0.02}
	p := mustPlan(t, e)
	if len(p.Steps) != 96 || len(p.Blocks) != 4 {
		t.Fatalf("%d steps in %d blocks", len(p.Steps), len(p.Blocks))
	}
	var firsts []string
	for at := 0; at < len(p.Steps); at += 3 {
		ramp := e.Ramp(int(p.Steps[at].Cell))
		firsts = append(firsts, ramp)
		for i, s := range p.Steps[at : at+3] {
			if e.Ramp(int(s.Cell)) != ramp || levels[e.Cells[s.Cell].Values[2]] != i || s.Block != int32(at/24) || s.Repeat != int32(at/6%4) {
				t.Errorf("step %d is %+v of ramp %s, level %v", at+i, s, e.Ramp(int(s.Cell)), e.Cells[s.Cell].Values[2])
			}
			if b := p.before(s.Cell); len(b) != i || i > 0 && b[i-1] != p.Steps[at+i-1].Cell {
				t.Errorf("before step %d: %v", at+i, b)
			}
		}
	}
	orders := map[bool]bool{}
	for i := 0; i < len(firsts); i += 2 {
		orders[firsts[i] < firsts[i+1]] = true
	}
	if len(orders) != 2 {
		t.Error("ramps are not shuffled")
	}
	if h, err := p.Hash(); err != nil || h == plain {
		t.Errorf("a rule that ends ramps makes the same plan: %v", err)
	}
	was, err := NewManifest(p)
	if err != nil {
		t.Fatal(err)
	}
	e.Stop.Gain = 0.1
	now, err := NewManifest(mustPlan(t, e))
	if err != nil {
		t.Fatal(err)
	}
	if d := was.Difference(now); len(d) != 1 || !strings.Contains(d[0], "ramps ended by") {
		t.Errorf("the difference is %q", d)
	}
}

// The first repeat decides for all; cells that were not measured are left out of the ramp.
func TestTheFirstRepeatDecides(t *testing.T) {
	e := sample(1, 2)
	e.Stop = spec.Saturation{Axis: "level", Gain: 0.02}
	e.Axes[2].Values = nil
	m := e.Cells[0].Measure
	e.Cells = nil
	for i := range 7 {
		v := fmt.Sprint(i)
		e.Axes[2].Values = append(e.Axes[2].Values, v)
		e.Cells = append(e.Cells, spec.Cell{Values: []spec.Value{"one", int64(10), v}, Measure: m})
	}
	p := mustPlan(t, e)
	r := &Runner{plan: p, rates: map[string]float64{}}
	set := func(repeat int, rates ...float64) {
		for i, v := range rates {
			tr, err := p.ids.Trial(i, repeat)
			if err != nil {
				t.Fatal(err)
			}
			delete(r.rates, tr.ID)
			if v > 0 {
				r.rates[tr.ID] = v
			}
		}
	}
	check := func(when string, first int) {
		t.Helper()
		for _, s := range p.Steps {
			var flat *saturated
			err := r.saturated(s)
			if skipped := errors.As(err, &flat); err != nil && !skipped || skipped != (int(s.Cell) >= first) {
				t.Errorf("%s: step %+v: %v", when, s, err)
			}
		}
	}
	set(0, 100, 200, 300, 290, 280)
	set(1, 100, 90, 80, 70, 60)
	check("five are measured", 7) // 50, -3, -3 %: it goes on
	set(0, 100, 200, 300, 290, 280, 270)
	check("six are measured", 6)
	set(0, 100, 200, 0, 290, 280, 270)
	check("one has failed", 7)
}
