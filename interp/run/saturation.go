package run

import (
	"cmp"
	"fmt"
	"slices"

	"sextant/interp/spec"
)

// heads are the first cells of a block's ramps, whose cells are put in the order of the ramp's axis. Without a rule that ends ramps
// every cell is one.
func (p *Plan) heads(cells []int32) []int32 {
	e := p.Experiment
	axis := slices.IndexFunc(e.Axes, func(a spec.Axis) bool { return a.Name == e.Stop.Axis })
	if axis < 0 {
		return cells
	}
	if p.ramp == nil {
		p.ramp = map[int32][]int32{}
	}
	place := map[spec.Value]int{}
	for i, v := range e.Axes[axis].Values {
		place[v] = i
	}
	var heads []int32
	ramps := map[string][]int32{}
	for _, c := range cells {
		name := e.Ramp(int(c))
		if ramps[name] == nil {
			heads = append(heads, c)
		}
		ramps[name] = append(ramps[name], c)
	}
	for _, r := range ramps {
		slices.SortStableFunc(r, func(a, b int32) int {
			return cmp.Compare(place[e.Cells[a].Values[axis]], place[e.Cells[b].Values[axis]])
		})
		for _, c := range r {
			p.ramp[c] = r
		}
	}
	return heads
}

// before are the cells before one in its ramp.
func (p *Plan) before(cell int32) []int32 {
	r := p.ramp[cell]
	return r[:max(slices.Index(r, cell), 0)]
}

// saturated is the reason for which a trial isn't run.
type saturated struct{ why string }

func (e *saturated) Error() string { return "saturated: " + e.why }

// noteRate keeps the throughput of a trial for the ramp that it belongs to.
func (r *Runner) noteRate(trial string, rate float64) {
	if r.plan.ramp != nil {
		r.rates[trial] = rate
	}
}

// saturated looks at the first repeat of the cells before a step's in its ramp: those that were measured.
func (r *Runner) saturated(s Step) error {
	var rates []float64
	for _, c := range r.plan.before(s.Cell) {
		t, err := r.plan.ids.Trial(int(c), 0)
		if err != nil {
			return err
		}
		if rate, ok := r.rates[t.ID]; ok {
			rates = append(rates, rate)
		}
	}
	if why := flat(rates, r.plan.Experiment.Stop); why != "" {
		return &saturated{why}
	}
	return nil
}

// flat says why a ramp with these rates ends; "" when it goes on. See spec.Saturation.
func flat(rates []float64, stop spec.Saturation) string {
	if g, ok := meanGain(rates, 3); ok && g < 0 {
		return fmt.Sprintf("over the last 3 steps of %s the rate fell by %.2g %% a step", stop.Axis, -100*g)
	}
	if g, ok := meanGain(rates, 5); ok && g < stop.Gain {
		return fmt.Sprintf("over the last 5 steps of %s the rate rose by %.2g %% a step, below %g %%", stop.Axis, 100*g, 100*stop.Gain)
	}
	return ""
}

// meanGain is the mean relative gain of the last n steps; false when there were fewer.
func meanGain(rates []float64, n int) (float64, bool) {
	if len(rates) < n+1 {
		return 0, false
	}
	var sum float64
	for i := len(rates) - n; i < len(rates); i++ {
		sum += rates[i]/rates[i-1] - 1
	}
	return sum / float64(n), true
}
