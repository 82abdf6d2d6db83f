package load

import (
	"testing"
	"time"
	"unsafe"
)

// Rule 10: a clock that was set, or a machine that slept, moves the wall clock against the monotonic one, and that is seen.
func TestRule10ClockStepsAreNoticed(t *testing.T) {
	c := startClock()
	if d := c.drift().Abs(); d > 10*time.Millisecond {
		t.Fatalf("nothing has happened, and the clocks drift by %v", d)
	}
	for _, step := range []time.Duration{2 * time.Second, -3 * time.Second} {
		moved := startClock()
		(*struct {
			wall uint64
			ext  int64 // monotonic reading: nothing in package time sets it alone
		})(unsafe.Pointer(&moved.base)).ext += int64(step)
		if d := moved.drift(); (d - step).Abs() > 10*time.Millisecond {
			t.Errorf("a step of %v is seen as %v", step, d)
		}
	}
}
