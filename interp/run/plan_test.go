package run

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"sextant/interp/spec"
)

// sample is an experiment over two systems, two scales and three levels.
func sample(seed uint64, repeats int) *spec.Experiment {
	e := &spec.Experiment{Name: "x", Repeats: repeats, Seed: seed, Axes: []spec.Axis{{Name: "sys", Type: "string"}, {Name: "scale", Type: "int"}, {Name: "level", Type: "string"}}}
	systems := map[string]*spec.System{}
	works := map[int64]*spec.Workload{}
	for _, level := range []string{"a", "b", "c"} { // levels vary slowest, so datasets and systems alternate
		for _, sys := range []string{"one", "two"} {
			for _, scale := range []int64{10, 20} {
				if systems[sys] == nil {
					systems[sys] = &spec.System{Type: sys, Maker: "local", Name: sys, Options: map[string]any{}}
				}
				if works[scale] == nil {
					works[scale] = &spec.Workload{Type: "w", Params: map[string]any{"n": scale}, Dataset: spec.Dataset{Rows: scale, Schema: map[string]any{}}}
				}
				m := &spec.Measure{System: systems[sys], Workload: works[scale], Load: spec.Load{Shape: "closed", Clients: 1}, Window: time.Second, Reset: "auto",
					Level: spec.Level{Settings: []spec.Setting{{Name: "l", Value: level}}}}
				e.Cells = append(e.Cells, spec.Cell{Values: []spec.Value{sys, scale, level}, Measure: m})
			}
		}
	}
	return e
}

func mustPlan(t *testing.T, e *spec.Experiment) *Plan {
	t.Helper()
	p, err := NewPlan(e, nil)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// Blocks share a dataset, blocks of one system stand together, and within a block every repeat is a round with each cell
// once.
func TestOrder(t *testing.T) {
	p := mustPlan(t, sample(1, 5))
	if len(p.Steps) != 60 || len(p.Blocks) != 4 {
		t.Fatalf("%d steps in %d blocks", len(p.Steps), len(p.Blocks))
	}
	var order []string
	for i, b := range p.Blocks {
		order = append(order, b.System.Name)
		if b.Trials != 15 {
			t.Errorf("block %d has %d trials", i, b.Trials)
		}
	}
	if fmt.Sprint(order) != "[one one two two]" {
		t.Errorf("systems alternate: %v", order)
	}
	shuffled := false
	for at := 0; at < len(p.Steps); at += 3 {
		round := p.Steps[at : at+3]
		var cells []int32
		for _, s := range round {
			cells = append(cells, s.Cell)
			if s.Block != int32(at/15) || s.Repeat != int32(at/3%5) {
				t.Errorf("step %d is %+v", at, s)
			}
			if m := p.Measure(s); m.System != p.Blocks[s.Block].System || m.Workload != p.Blocks[s.Block].Measure.Workload {
				t.Errorf("step %+v needs another dataset than its block", s)
			}
		}
		shuffled = shuffled || !slices.IsSorted(cells)
		slices.Sort(cells)
		if len(slices.Compact(cells)) != 3 {
			t.Errorf("a round doesn't have each cell once: %+v", round)
		}
	}
	if !shuffled {
		t.Error("no round is shuffled")
	}
}

// The order is a function of the seed, and the ids are not one of the order.
func TestOrderIsSeeded(t *testing.T) {
	a, b, c := mustPlan(t, sample(1, 5)), mustPlan(t, sample(1, 5)), mustPlan(t, sample(2, 5))
	if !slices.Equal(a.Steps, b.Steps) {
		t.Error("the same seed gives another order")
	}
	if slices.Equal(a.Steps, c.Steps) {
		t.Error("another seed gives the same order")
	}
	seen := map[string]bool{}
	for _, s := range a.Steps {
		tr, err := a.Trial(s)
		if err != nil || seen[tr.ID] {
			t.Fatalf("trial %+v: %v, twice: %v", s, err, seen[tr.ID])
		}
		seen[tr.ID] = true
	}
	ha, erra := a.Hash()
	hb, errb := b.Hash()
	hc, errc := c.Hash()
	if ha != hb || ha == hc || erra != nil || errb != nil || errc != nil {
		t.Errorf("hashes: %s %s %s", ha, hb, hc)
	}
}

func TestRestoreRules(t *testing.T) {
	for _, x := range []struct {
		reset               string
		trims, fresh, first bool
		want                bool
	}{
		{"auto", false, false, true, true}, {"never", false, true, true, true}, {"always", false, true, false, true},
		{"auto", false, true, false, false}, {"auto", false, false, false, true}, {"never", false, false, false, false},
		{"auto", true, false, false, false}, {"auto", true, false, true, true}, {"always", true, false, false, true},
	} {
		if got := needsLoad(&spec.Measure{Reset: x.reset, Workload: &spec.Workload{Trims: x.trims}}, x.fresh, x.first); got != x.want {
			t.Errorf("%+v: %v", x, got)
		}
	}
}

// A workload that changes the number of rows pays its load before every trial; the estimate knows it.
func TestEstimate(t *testing.T) {
	e := sample(1, 5)
	if est := mustPlan(t, e).Estimate(nil); est.LoadRuns != 4 || est.Resets != 0 || est.ResetFor != 0 || est.Windows != 60*time.Second {
		t.Errorf("%+v", est)
	}
	for i := range e.Cells {
		e.Cells[i].Measure.Workload.Resizes = true
	}
	p := mustPlan(t, e)
	if est := p.Estimate(map[string]time.Duration{p.Blocks[0].Dataset: 10 * time.Second}); est.LoadRuns != 60 || est.Resets != 56 || est.Measured != 15 || est.Loads < 150*time.Second || est.ResetFor < 140*time.Second || est.ResetFor >= est.Loads {
		t.Errorf("%+v", est)
	}
	for i := range e.Cells {
		e.Cells[i].Measure.Workload.Trims = true
	}
	if est := mustPlan(t, e).Estimate(nil); est.LoadRuns != 4 || est.Resets != 0 || est.Trims != 56 {
		t.Errorf("%+v", est)
	}
}

func TestDifferenceNamesTheField(t *testing.T) {
	was, err := NewManifest(mustPlan(t, sample(1, 5)))
	if err != nil {
		t.Fatal(err)
	}
	e := sample(1, 5)
	e.Cells[0].Measure.Window = 2 * time.Second
	now, err := NewManifest(mustPlan(t, e))
	if err != nil {
		t.Fatal(err)
	}
	if d := fmt.Sprint(was.Difference(now)); d != "[cell 0 differs: measure.measure was 1000000000 and is 2000000000]" {
		t.Errorf("got %s", d)
	}
	if d := was.Difference(was); d != nil {
		t.Errorf("the same plan differs: %v", d)
	}
	if now, err = NewManifest(mustPlan(t, sample(1, 6))); err != nil || fmt.Sprint(was.Difference(now)) != "[repeats were 5 and are 6]" {
		t.Errorf("repeats: %v %v", was.Difference(now), err)
	}
}
