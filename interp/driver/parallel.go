package driver

import (
	"context"
	"sync"
	"sync/atomic"
)

// Parallel works through 0 to n-1 with several workers, until one fails. Each worker takes the numbers that next gives it until there are no more; what
// it needs for all of them, such as a connection, it makes before. The error is the first one's, or why ctx has ended.
func Parallel(ctx context.Context, workers int, n int64, work func(ctx context.Context, next func() (i int64, ok bool)) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var taken atomic.Int64
	next := func() (int64, bool) {
		if ctx.Err() != nil {
			return 0, false
		}
		i := taken.Add(1) - 1
		return i, i < n
	}
	var wg sync.WaitGroup
	for range min(int64(workers), n) {
		wg.Go(func() {
			if err := work(ctx, next); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	return context.Cause(ctx)
}
