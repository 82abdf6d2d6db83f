package load

import (
	"math"
	"time"

	"sextant/analysis/stat"
)

// WarmupFloor is the shortest automatic warm-up: two batches of MSER-5 on data of a second.
const WarmupFloor = 10 * time.Second

// settle ends an automatic warm-up once the rate is steady: MSER-5 over the rates of its seconds leaves out a beginning,
// at least as much as the floor has followed since, and that has no trend (with a few batches MSER-5 alone takes a steady
// rise for noise). The window then begins with the slot after the next.
func (t *trial) settle(now int64) {
	if !t.cfg.Auto || t.steady || now < int64(WarmupFloor) {
		return
	}
	rates := t.col.secondRates()
	if len(rates) == t.settled {
		return // no second has ended since the last look
	}
	t.settled = len(rates)
	cut, err := stat.MSER5(rates)
	if err != nil || cut.AtLimit || len(rates)-cut.Index < int(WarmupFloor/time.Second) {
		return
	}
	if trending(rates[cut.Index:]) {
		return
	}
	if next := t.slots.of(now) + 2; next < 0 {
		t.slots.begin.Store(int64(next))
	}
	t.steady = true
}

// The limits of a trend that keeps the warm-up going.
const (
	trendP     = 0.05
	trendDrift = 0.05 // of the median, over the seconds looked at
)

func trending(rates []float64) bool {
	drift, median, p, err := stat.Drift(rates)
	return err == nil && p < trendP && math.Abs(drift) > trendDrift*median
}

// secondRates are the successes a second so far, over all operation types, from the slots that every client has passed;
// slots longer than a second stand for themselves.
func (c *collector) secondRates() []float64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	counts := map[int]float64{}
	first, last := c.slots.first(), c.slots.first()-1
	for _, s := range c.done {
		counts[s.Index] += float64(s.OK)
		last = max(last, s.Index)
	}
	per := max(int(int64(time.Second)/c.slots.interval), 1)
	if from, to := c.slots.span(first); to-from < c.slots.interval {
		first++ // it is shorter than the others
	}
	var out []float64
	for i := first; i+per-1 <= last; i += per {
		var sum float64
		for k := range per {
			sum += counts[i+k]
		}
		out = append(out, sum/(float64(per)*float64(c.slots.interval)/1e9))
	}
	return out
}
