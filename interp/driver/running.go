package driver

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Running marks the time in which a session has an operation that Interrupt can end by asking its server.
type Running struct {
	now   atomic.Int64 // number of the operation in progress; negative or zero between them
	count int64
	asks  sync.WaitGroup
}

// Begin and End stand around an operation.
func (r *Running) Begin() {
	r.count++
	r.now.Store(r.count)
}

// End is the end of the operation that began last.
func (r *Running) End() { r.now.Store(-r.count) }

// grace is how long the server may take to end an operation that it was asked to end.
const grace = time.Second

// Interrupt has the server asked, in the background, to end the operation in progress, and the connection cut when it doesn't. The
// session is lost then; its operation comes back with an error.
func (r *Running) Interrupt(ask func(ctx context.Context) error, cut func()) {
	n := r.now.Load()
	if n <= 0 {
		return
	}
	r.asks.Go(func() {
		ctx, cancel := context.WithTimeout(context.Background(), grace)
		defer cancel()
		err := ask(ctx)
		look := time.NewTicker(5 * time.Millisecond)
		defer look.Stop()
		for err == nil && r.now.Load() == n {
			select {
			case <-ctx.Done():
				err = ctx.Err()
			case <-look.C:
			}
		}
		if r.now.Load() == n {
			cut()
		}
	})
}

// Wait waits until nothing is asked any more.
func (r *Running) Wait() { r.asks.Wait() }
