package load

import (
	"context"
	"time"

	"golang.org/x/sys/unix"
)

// coarse is how early a timer of the runtime is left for a precise wait: its own resolution is about a millisecond.
const coarse = 3 * time.Millisecond

// spinBelow is the wait that is too short to be slept.
const spinBelow = 2 * time.Microsecond

// waitPrecisely waits until the clock shows at, some microseconds late at most on an idle machine: a timer for the long
// part, nanosleep without slack for the rest. The clients of an open loop wait with it.
func (c clock) waitPrecisely(ctx context.Context, at int64) error {
	if left := time.Duration(at - c.now()); left > 2*coarse {
		if err := c.wait(ctx, at-int64(coarse)); err != nil {
			return err
		}
	}
	for {
		left := time.Duration(at - c.now())
		switch {
		case left <= 0:
			return ctx.Err()
		case left < spinBelow:
			continue
		}
		// Of this thread only; the goroutine may wake up on another one next time, so it is set each time.
		_ = unix.Prctl(unix.PR_SET_TIMERSLACK, 1, 0, 0, 0)
		ts := unix.NsecToTimespec(int64(left))
		_ = unix.Nanosleep(&ts, nil) // woken early: the loop looks again
	}
}
