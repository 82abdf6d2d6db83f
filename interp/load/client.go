package load

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"sextant/interp/driver"
)

// A client is one worker with a session of its own. Its run method is the hot path.
type client struct {
	t   *trial
	id  int
	gen Generator
	ack Acker // gen, when it wants to know
	rec *recorder

	session driver.Session // nil while it has none; written by the client, under mu
	lost    error          // why it has none

	// busy is the instant at which the operation in flight was sent, plus 1; 0 between operations. The supervisor
	// reads it; cut tells the client that the supervisor has ended the operation with that mark.
	busy atomic.Int64
	cut  atomic.Int64

	mu     sync.Mutex
	cancel context.CancelFunc // of the context that Do gets, where the session is no Interrupter
}

func newClient(t *trial, id int) *client {
	c := &client{t: t, id: id, gen: t.cfg.Workload.Client(id)}
	c.ack, _ = c.gen.(Acker)
	c.rec = newRecorder(t.col, len(t.shape.Ops))
	return c
}

// errLate is an operation that succeeded after the supervisor had ended it. Its client had given up, so it is a time-out;
// and a request to cancel it may still be under way, so its session can't be used for another one.
var errLate = &driver.Error{Class: driver.Timeout, Code: "client", Err: errors.New("succeeded after its time-out")}

// open gets a session: connected, level set and read back, statements prepared.
func (c *client) open(ctx context.Context) error {
	start := time.Now()
	s, err := c.t.cfg.Open(ctx, c.id)
	c.t.noteSession("connect", time.Since(start), err)
	if err != nil {
		return fmt.Errorf("client %d: %w", c.id, err)
	}
	start = time.Now()
	err = s.Prepare(ctx, c.t.shape)
	c.t.noteSession("prepare", time.Since(start), err)
	if err != nil {
		return errors.Join(fmt.Errorf("client %d: preparing the operations: %w", c.id, err), s.Close())
	}
	c.mu.Lock()
	c.session = s
	c.mu.Unlock()
	return nil
}

func (c *client) closeSession() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.session != nil {
		_ = c.session.Close() // the session is over either way; what it did is already counted
		c.session = nil
	}
}

// run offers operations one after the other until the window ends: closed loop, so no schedule exists and an
// operation is due when it is sent.
func (c *client) run(ctx context.Context) {
	defer c.rec.close()
	var (
		r     Rand
		op    driver.Op
		reply driver.Reply
		clk   = c.t.clock
		end   = c.t.end
		think = int64(c.t.cfg.Think)
		seed  = c.t.cfg.Seed
		id    = uint64(c.id)
	)
	dctx, stop := c.opContext(ctx)
	defer func() { stop() }()
	for i := uint64(0); ctx.Err() == nil; i++ {
		r.Seek(seed, id, i)
		c.gen.Next(&r, &op)
		sent := clk.now()
		if sent >= end {
			return
		}
		reply = driver.Reply{}
		c.busy.Store(sent + 1)
		err := c.session.Do(dctx, &op, &reply)
		done := clk.now()
		c.busy.Store(0)
		if err == nil && c.cut.Load() == sent+1 {
			err = errLate
		}
		switch {
		case err != nil:
			stop()
			if dctx, stop = c.failed(ctx, err, &op, sent, done); dctx == nil {
				stop = func() {}
				return
			}
		case reply.Rows == 0 && c.t.shape.Ops[op.Type].Action != driver.Scan:
			c.rec.add(op.Type, sent, done-sent, NotFound)
		default:
			c.rec.add(op.Type, sent, done-sent, OK)
		}
		if c.ack != nil {
			c.ack.Ack(&op, err == nil)
		}
		if think > 0 && clk.wait(ctx, done+think) != nil {
			return
		}
	}
}

// opContext is the context for Do. An Interrupter is ended by Interrupt, so it shares the trial's context; any other
// session gets one that the supervisor can cancel.
func (c *client) opContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := c.session.(driver.Interrupter); ok {
		return ctx, func() {}
	}
	dctx, cancel := context.WithCancel(ctx)
	c.mu.Lock()
	c.cancel = cancel
	c.mu.Unlock()
	return dctx, cancel
}

// failed records an operation that had an error and, where the session is gone, gets a new one. It returns the context
// for the next operation, or nil when there will be none.
func (c *client) failed(ctx context.Context, err error, op *driver.Op, sent, done int64) (context.Context, context.CancelFunc) {
	cut := c.cut.Swap(0) == sent+1
	class, _ := driver.Classify(err)
	if cut && class != driver.Timeout {
		err = &driver.Error{Class: driver.Timeout, Code: "client", Err: fmt.Errorf("ended after %v by the client: %w", time.Duration(done-sent), err)}
	}
	c.rec.add(op.Type, sent, done-sent, c.rec.fail(err, sent))
	if !cut && class != driver.Connection {
		return c.opContext(ctx)
	}
	if !c.reopen(ctx) {
		return nil, nil
	}
	return c.opContext(ctx)
}

// The pause between attempts to get a lost session back doubles from the first to the last of these.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// reopen replaces a lost session, trying until the window ends. Meanwhile the client sends nothing: no fast failures.
func (c *client) reopen(ctx context.Context) bool {
	c.closeSession()
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		left := c.t.end - c.t.clock.now()
		if left <= 0 || ctx.Err() != nil {
			return false
		}
		octx, cancel := context.WithTimeout(ctx, time.Duration(left))
		c.lost = c.open(octx)
		cancel()
		if c.lost == nil {
			return true
		}
		if c.t.clock.wait(ctx, c.t.clock.now()+int64(pause)) != nil {
			return false
		}
	}
}

// watch ends the operation in flight when it is over its time-out, or in any case when all must end.
func (c *client) watch(now int64, all bool) {
	mark := c.busy.Load()
	if mark == 0 || c.cut.Load() == mark {
		return
	}
	if !all && (c.t.cfg.Timeout <= 0 || now-(mark-1) < int64(c.t.cfg.Timeout)) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.busy.Load() != mark || c.session == nil {
		return
	}
	c.cut.Store(mark)
	if in, ok := c.session.(driver.Interrupter); ok {
		in.Interrupt()
	} else if c.cancel != nil {
		c.cancel()
	}
}
