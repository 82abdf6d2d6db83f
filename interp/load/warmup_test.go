package load

import (
	"testing"
	"testing/synctest"
	"time"
)

// An automatic warm-up ends once a server that becomes faster for 15 s is steady; what came before is in no figure of the
// window. One that never settles ends at its limit.
func TestAutomaticWarmup(t *testing.T) {
	for name, x := range map[string]struct {
		take   func(at time.Duration) time.Duration // of an operation
		low    time.Duration
		high   time.Duration
		steady bool
	}{
		"steady at once": {func(time.Duration) time.Duration { return 10 * time.Millisecond }, 10 * time.Second, 20 * time.Second, true},
		"faster for 15 s": {func(at time.Duration) time.Duration {
			return 10*time.Millisecond + max(0, (15*time.Second-at)/100)
		}, 20 * time.Second, 45 * time.Second, true},
		"ever slower": {func(at time.Duration) time.Duration { return 10*time.Millisecond + at/200 }, 60 * time.Second, 60 * time.Second, false},
	} {
		for _, open := range []bool{false, true} {
			if open && !x.steady {
				continue // the rate of an open loop is what was asked for
			}
			t.Run(name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					start := time.Now()
					cfg, marked := timed(x.take)
					cfg.Auto, cfg.Warmup, cfg.Window, cfg.Interval, cfg.Drain = true, 60*time.Second, 4*time.Second, 500*time.Millisecond, time.Second
					if open {
						cfg.Rate, cfg.Backlog = even(20), 100
					}
					r, err := Run(t.Context(), cfg)
					if err != nil {
						t.Fatal(err)
					}
					invariants(t, r)
					marks := marked()
					wantSlots(t, r, 8)
					if r.Warmup < x.low && !open || r.Warmup > x.high || r.Steady != x.steady {
						t.Errorf("the warm-up took %v, steady: %v", r.Warmup, r.Steady)
					}
					if len(marks) != 2 || marks[0] < r.Warmup || marks[0] > r.Warmup+2*tick || marks[1]-marks[0] < cfg.Window-2*tick {
						t.Errorf("the window was marked at %v, the warm-up took %v", marks, r.Warmup)
					}
					if took := time.Since(start); took > r.Warmup+cfg.Window+cfg.Drain {
						t.Errorf("the trial took %v", took)
					}
					var warm int64
					for _, s := range r.Slots {
						if s.Index < 0 {
							warm += s.OK
						}
					}
					if open && (r.Due != 80 || r.Attempts() != 80) || warm == 0 {
						t.Errorf("due %d, attempts %d, in the warm-up %d", r.Due, r.Attempts(), warm)
					}
				})
			})
		}
	}
}
