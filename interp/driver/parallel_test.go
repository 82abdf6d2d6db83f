package driver

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
)

// Every number is taken once; an error ends the others; a context that has ended is the error.
func TestParallel(t *testing.T) {
	each := func(ctx context.Context, n int64, fn func(i int64) error) error {
		return Parallel(ctx, 4, n, func(_ context.Context, next func() (int64, bool)) error {
			for i, ok := next(); ok; i, ok = next() {
				if err := fn(i); err != nil {
					return err
				}
			}
			return nil
		})
	}
	var seen [1000]atomic.Int32
	if err := each(t.Context(), 1000, func(i int64) error { seen[i].Add(1); return nil }); err != nil {
		t.Fatal(err)
	}
	for i := range seen {
		if n := seen[i].Load(); n != 1 {
			t.Fatalf("%d was taken %d times", i, n)
		}
	}
	if err := each(t.Context(), 0, func(int64) error { return errors.New("called") }); err != nil {
		t.Errorf("nothing to do: %v", err)
	}
	var done atomic.Int64
	bad := errors.New("bad")
	if err := each(t.Context(), 1<<40, func(i int64) error { done.Add(1); return map[bool]error{true: bad}[i == 100] }); !errors.Is(err, bad) || done.Load() > 1_000_000 {
		t.Errorf("after an error %d were done: %v", done.Load(), err)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(bad)
	if err := each(ctx, 10, func(int64) error { t.Error("called"); return nil }); !errors.Is(err, bad) {
		t.Errorf("with an ended context: %v", err)
	}
}
