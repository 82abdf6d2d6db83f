package load

import (
	"context"
	"time"
)

// A clock gives nanoseconds since its start from the monotonic clock: one read, no wall time.
type clock struct{ base time.Time }

func startClock() clock { return clock{time.Now()} }

func (c clock) now() int64 { return int64(time.Since(c.base)) }

// wait blocks until the clock shows at, or the context ends.
func (c clock) wait(ctx context.Context, at int64) error {
	d := at - c.now()
	if d <= 0 {
		return ctx.Err()
	}
	t := time.NewTimer(time.Duration(d))
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// drift is how far the wall clock has moved against the monotonic one since the clock's start.
func (c clock) drift() time.Duration {
	now := time.Now()
	return now.Round(0).Sub(c.base.Round(0)) - now.Sub(c.base)
}
