package load

import (
	"context"
	"testing"
	"testing/synctest"
	"time"

	"sextant/interp/driver"
)

// A window by count has exactly that many operations and ends with the last of them; its limit by time holds.
func TestWindowByCount(t *testing.T) {
	for name, x := range map[string]struct {
		operations int64
		open       bool
		window     time.Duration
		attempts   int64
	}{
		"closed":        {1000, false, 334 * time.Millisecond, 1000}, // 3 clients, 1 ms each
		"open":          {100, true, 1000 * time.Millisecond, 100},   // at 100/s
		"closed, limit": {1 << 40, false, 2 * time.Second, 6000},
		"open, limit":   {1 << 40, true, 2 * time.Second, 200},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := &fakeServer{}
				f.do = func(ctx context.Context, s *fakeSession, _ int64, _ *driver.Op, _ *driver.Reply) error {
					return s.busy(ctx, time.Millisecond)
				}
				cfg := config(f)
				if x.open {
					cfg.Rate, cfg.Backlog = even(100), 1000
				}
				cfg.Window, cfg.Operations = 2*time.Second, x.operations
				marks := 0
				cfg.OnWindow = func(bool) { marks++ }
				r, err := Run(t.Context(), cfg)
				if err != nil {
					t.Fatal(err)
				}
				invariants(t, r)
				if d := r.Window - x.window; d < -12*time.Millisecond || d > 12*time.Millisecond || r.Attempts() != x.attempts || marks != 2 {
					t.Errorf("%d operations in %v, %d marks; want %d in %v", r.Attempts(), r.Window, marks, x.attempts, x.window)
				}
				if r.Dropped != 0 || x.open && r.Due != x.attempts {
					t.Errorf("due %d, dropped %d: nothing was left behind", r.Due, r.Dropped)
				}
				var length time.Duration
				for _, s := range r.Slots {
					if s.Op == 0 && s.Index >= 0 {
						length += s.Length
					}
				}
				if length != r.Window {
					t.Errorf("the intervals are %v long together, the window %v", length, r.Window)
				}
			})
		})
	}
}
