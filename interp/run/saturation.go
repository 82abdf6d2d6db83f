package run

import (
	"cmp"
	"fmt"
	"slices"

	"sextant/interp/spec"
)

// ramps puts the cells of a block into ramps, in order of their first cells; each is in the order of its axis. Without a rule that
// ends ramps every cell is one.
func (p *Plan) ramps(cells []int32) [][]int32 {
	e := p.Experiment
	axis := slices.IndexFunc(e.Axes, func(a spec.Axis) bool { return a.Name == e.Stop.Axis })
	var out [][]int32
	if axis < 0 {
		for i := range cells {
			out = append(out, cells[i:i+1])
		}
		return out
	}
	place := map[spec.Value]int{}
	for i, v := range e.Axes[axis].Values {
		place[v] = i
	}
	index := map[string]int{}
	for _, c := range cells {
		name := e.Ramp(int(c))
		i, ok := index[name]
		if !ok {
			i = len(out)
			index[name] = i
			out = append(out, nil)
		}
		out[i] = append(out[i], c)
	}
	for _, r := range out {
		slices.SortStableFunc(r, func(a, b int32) int {
			return cmp.Compare(place[e.Cells[a].Values[axis]], place[e.Cells[b].Values[axis]])
		})
		for i, c := range r {
			p.before[c] = r[:i]
		}
	}
	return out
}

// saturated is the reason for which a trial isn't run.
type saturated struct{ why string }

func (e *saturated) Error() string { return "saturated: " + e.why }

// saturated looks at the first repeat of the cells before a step's in its ramp: those that were measured.
func (r *Runner) saturated(s Step) error {
	var rates []float64
	for _, c := range r.plan.before[s.Cell] {
		t, err := r.plan.ids.Trial(int(c), 0)
		if err != nil {
			return err
		}
		if rate, ok := r.rates[t.ID]; ok {
			rates = append(rates, rate)
		}
	}
	stop := r.plan.Experiment.Stop
	if why := flat(rates, stop.Gain); why != "" {
		return &saturated{fmt.Sprintf(why, stop.Axis)}
	}
	return nil
}

// flat says, with a place for the axis' name, why a ramp with these rates ends; "" when it goes on. See spec.Saturation.
func flat(rates []float64, gain float64) string {
	if g, ok := meanGain(rates, 3); ok && g < 0 {
		return fmt.Sprintf("over the last 3 steps of %%s the rate fell by %.2g %%%% a step", -100*g)
	}
	if g, ok := meanGain(rates, 5); ok && g < gain {
		return fmt.Sprintf("over the last 5 steps of %%s the rate rose by %.2g %%%% a step, below %g %%%%", 100*g, 100*gain)
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
