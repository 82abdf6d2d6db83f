package load

import (
	"errors"
	"math"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// relativeError is the definition in two passes.
func relativeError(rates []float64) float64 {
	var mean, sq float64
	for _, v := range rates {
		mean += v / float64(len(rates))
	}
	for _, v := range rates {
		sq += (v - mean) * (v - mean) / float64(len(rates))
	}
	return math.Sqrt(sq) / math.Sqrt(float64(len(rates))) / mean
}

// A window that ends by its spread ends one to two intervals after the first at which the rule holds, and holds everything up
// to there; one whose rate stays too uncertain ends at its limit.
func TestWindowUntil(t *testing.T) {
	const interval = 500 * time.Millisecond
	alternating := func(at time.Duration) time.Duration {
		if at/interval%2 == 0 {
			return 5 * time.Millisecond
		}
		return 10 * time.Millisecond
	}
	for name, x := range map[string]struct {
		take    func(at time.Duration) time.Duration // of an operation
		error   float64
		limited bool
	}{
		"steady":      {func(time.Duration) time.Duration { return 10 * time.Millisecond }, 0.02, false},
		"alternating": {alternating, 0.04, false},
		"too noisy":   {alternating, 0.001, true},
	} {
		for _, auto := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					cfg, marked := timed(x.take)
					cfg.Warmup, cfg.Window, cfg.Interval = time.Second, 60*time.Second, interval
					if cfg.Auto = auto; auto {
						cfg.Warmup = 50 * time.Second
					}
					cfg.Until = Until{Error: x.error, AtLeast: 3 * time.Second}
					r, err := Run(t.Context(), cfg)
					if err != nil {
						t.Fatal(err)
					}
					invariants(t, r)
					marks := marked()
					rates := r.Rates()
					if len(rates) != int(r.Window/interval) || r.Window%interval != 0 {
						t.Fatalf("%d rates in a window of %v", len(rates), r.Window)
					}
					wantSlots(t, r, len(rates))
					first := int(cfg.Until.AtLeast / interval) // intervals after which the rule holds
					for first < len(rates) && relativeError(rates[:first]) >= x.error {
						first++
					}
					switch n := len(rates); {
					case x.limited && (r.Window != cfg.Window || first < n):
						t.Errorf("the window took %v; the rule held after %d intervals", r.Window, first)
					case !x.limited && (n < first+1 || n > first+2):
						t.Errorf("the rule held after %d intervals, the window had %d", first, n)
					case !x.limited && name == "alternating" && first < 60:
						t.Errorf("the rule held after %d intervals: nothing was waited for", first)
					}
					if got, ok := r.RateError(); !ok || math.Abs(got-relativeError(rates)) > 1e-12 {
						t.Errorf("the relative standard error is %v, not %v", got, relativeError(rates))
					}
					if len(marks) != 2 || marks[1]-marks[0] < r.Window-2*tick || marks[1]-marks[0] > r.Window+2*tick {
						t.Errorf("the window of %v was marked at %v", r.Window, marks)
					}
					if took, limit := time.Since(start), r.Warmup+r.Window+cfg.Drain; took > limit {
						t.Errorf("the trial took %v, not %v", took, limit)
					}
				})
			})
		}
	}
}

// What is sent after an end that was set meanwhile is in no figure.
func TestAfterTheEnd(t *testing.T) {
	tr := &trial{cfg: Config{Until: Until{Error: 0.1}}}
	tr.slots = slots{window: 100, interval: 10, finish: new(atomic.Int64)}
	c := newCollector(tr.slots, 2, 1)
	tr.col = c
	a, b := newRecorder(c, 1), newRecorder(c, 1)
	for i := range int64(3) {
		a.add(0, 10*i, 10*i, 10*i+1, OK)
		b.add(0, 10*i, 10*i, 10*i+1, OK)
	}
	a.add(0, 40, 40, 41, OK) // one client is far ahead of what the supervisor takes for now
	tr.converge(20)
	if end := c.slots.end(); end != 60 {
		t.Fatalf("the window ends at %d", end)
	}
	a.add(0, 59, 59, 65, OK)
	a.add(0, 60, 60, 61, OK)
	b.add(0, 75, 75, 76, b.fail(errors.New("late"), 75))
	b.again(errors.New("late"), 75)
	a.close()
	b.close()
	if got := c.total[0].counts[OK]; got != 8 || len(a.errs)+len(b.errs) != 0 || c.total[0].hists[OtherError] != nil || len(c.done) != 6 {
		t.Errorf("%d successes, errors %v %v, %d slots", got, a.errs, b.errs, len(c.done))
	}
	tr.converge(20)
	if end := c.slots.end(); end != 60 {
		t.Errorf("the end moved to %d", end)
	}
}
