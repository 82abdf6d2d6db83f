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
	rng Rand   // here, because a generator may keep what it is given
	own uint64 // stream of its numbers
	// keyed: by operation type, whether it is about one row, so that finding none is an outcome
	keyed []bool
	// ledger: what was written; nil when nothing is to be verified
	ledger *ledger
	// programs: the workload has operations that are programs, which look at their context between statements
	programs bool

	loop  *loop // that runs it as member place; nil: it has a goroutine of its own
	place int
	block bool // its session's system calls block

	session driver.Session // nil while it has none; written by the client, under mu
	lost    error          // why it has none

	// busy is the instant at which the operation in flight was sent, plus 1; 0 between operations. The supervisor
	// reads it; cut tells the client that the supervisor has ended the operation with that mark.
	busy atomic.Int64
	cut  atomic.Int64
	done int64 // instant at which the last operation ended
	last int64 // instant at which the last failed attempt was sent

	mu     sync.Mutex
	cancel context.CancelFunc // of the context that Do gets, where the session is no Interrupter
}

func newClient(t *trial, id int) *client {
	c := &client{t: t, id: id, gen: t.cfg.Workload.Client(id), own: stream(t.cfg.Seed, uint64(id))}
	c.ack, _ = c.gen.(Acker)
	c.rec = newRecorder(t.col, len(t.shape.Ops))
	if t.cfg.Verify > 0 {
		c.ledger = newLedger(t.shape, t.cfg.Verify, t.hashes)
	}
	for _, o := range t.shape.Ops {
		c.keyed = append(c.keyed, o.One || o.Action != driver.Scan && o.Action != driver.Transaction)
		c.programs = c.programs || o.Action == driver.Transaction
	}
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

// run offers operations until there are no more: in a closed loop one after the other until the window ends, so that no
// schedule exists and an operation is due when it is sent; in an open loop those that the queue hands out.
func (c *client) run(ctx context.Context) {
	defer c.rec.close()
	dctx, stop := c.opContext(ctx)
	defer func() { stop() }()
	var (
		op    driver.Op
		reply driver.Reply
		open  = c.t.queue != nil
		think = int64(c.t.cfg.Think)
	)
	c.rec.split = open
	if c.t.cfg.Pipeline > 1 {
		c.batches(ctx)
		return
	}
	for i := uint64(0); ctx.Err() == nil; i++ {
		due, ok := c.next(ctx, i, &op)
		if !ok || !c.t.more(due, open) {
			return
		}
		sent, done, err := c.attempt(dctx, &op, &reply, open)
		if !open {
			if due = sent; sent >= c.t.slots.end() {
				return
			}
		}
		for tries := 0; err != nil && tries < c.t.cfg.Retry.Max && driver.IsConflict(err); tries++ {
			c.rec.again(err, due)
			if c.pause(ctx, tries) != nil {
				break
			}
			_, done, err = c.attempt(dctx, &op, &reply, open)
		}
		if c.ledger != nil {
			c.ledger.note(&op, reply.Rows, err, sent, done)
		}
		switch {
		case err != nil:
			stop()
			if dctx, stop = c.failed(ctx, err, &op, due, sent, done); dctx == nil {
				stop = func() {}
				return
			}
		case reply.Rows == 0 && c.keyed[op.Type]:
			c.rec.add(op.Type, due, sent, done, NotFound)
		default:
			c.rec.add(op.Type, due, sent, done, OK)
		}
		c.done = done
		if c.ack != nil {
			c.ack.Ack(&op, err == nil)
		}
		if think > 0 && c.t.clock.wait(ctx, done+think) != nil {
			return
		}
	}
}

// next makes the client's next operation, and in an open loop waits for its due instant. What operation n does is a
// function of (seed, client, n) in a closed loop, of (seed, n) in an open one, whoever sends it.
func (c *client) next(ctx context.Context, i uint64, op *driver.Op) (due int64, ok bool) {
	r := &c.rng
	if c.t.queue == nil {
		r.at(c.own, i)
		c.gen.Next(r, op)
		return 0, true
	}
	now := c.t.clock.now()
	t, ok := c.t.queue.take(now)
	if !ok {
		return 0, false
	}
	r.Seek(c.t.cfg.Seed, OpenStream, t.number)
	c.gen.Next(r, op)
	if t.due <= now {
		return t.due, true // it has waited for a client
	}
	wait := c.t.clock.waitPrecisely
	if c.t.cfg.timers {
		wait = c.t.clock.wait
	}
	if wait(ctx, t.due) != nil {
		return 0, false
	}
	if t.due >= c.t.slots.start() {
		c.rec.late.Record(c.t.clock.now() - t.due)
	}
	return t.due, true
}

// more takes one of the operations that a window by count may send. It ends the window when there are none left.
func (t *trial) more(due int64, open bool) bool {
	if t.cfg.Operations == 0 {
		return true
	}
	if !open {
		due = t.clock.now()
	}
	return due < t.slots.start() || t.left.Add(-1) >= 0
}

// OpenStream is the stream of all operations of an open loop; no client has this number.
const OpenStream = 1 << 63

// attempt does the operation once. In a closed loop nothing is sent once the window has ended: the caller looks at sent.
func (c *client) attempt(ctx context.Context, op *driver.Op, reply *driver.Reply, open bool) (sent, done int64, err error) {
	sent = c.t.clock.now()
	if !open && sent >= c.t.slots.end() {
		return sent, sent, nil
	}
	*reply = driver.Reply{Overcome: reply.Overcome[:0]}
	c.busy.Store(sent + 1)
	if op.Program == nil {
		err = c.session.Do(ctx, op, reply)
	} else {
		err = c.program(ctx, op, reply)
	}
	done = c.t.clock.now()
	c.busy.Store(0)
	for _, e := range reply.Overcome {
		c.rec.again(e, sent)
	}
	if err == nil && c.cut.Load() == sent+1 {
		err = errLate
	}
	if err != nil {
		c.last = sent
	}
	return sent, done, err
}

// program runs an operation that is a transaction. One that it leaves open is rolled back, and that is part of it: the next
// attempt or operation begins outside of any transaction.
func (c *client) program(ctx context.Context, op *driver.Op, reply *driver.Reply) error {
	err := op.Program.Run(ctx, c.session, reply)
	c.rec.own(reply.Own, c.t.clock.now())
	if err != nil && (driver.IsConnection(err) || ctx.Err() != nil) {
		return err // the session is replaced
	}
	t, ok := c.session.(driver.Transactor)
	if !ok || err == nil && !t.InTransaction() {
		return err
	}
	if err == nil {
		err = &driver.Error{Class: driver.Other, Code: "open transaction", Err: errors.New("the operation ended without ending its transaction: it was rolled back")}
	}
	if rerr := t.Rollback(ctx); rerr != nil && driver.IsConnection(rerr) {
		return rerr
	}
	return err
}

// pause waits before the next attempt of an operation.
func (c *client) pause(ctx context.Context, tries int) error {
	r := c.t.cfg.Retry
	if r.First <= 0 {
		return ctx.Err()
	}
	d := r.First << min(tries, 30)
	if d > r.Limit || d <= 0 {
		d = r.Limit
	}
	var err error
	c.aside(func() { err = c.t.clock.wait(ctx, c.t.clock.now()+int64(d)) })
	return err
}

// aside does what may block, without holding up the clients that run in the same loop.
func (c *client) aside(fn func()) {
	if c.loop == nil {
		fn()
		return
	}
	c.loop.outside(c.place, fn)
}

// opContext is the context for Do. An Interrupter is ended by Interrupt, so it shares the trial's context; any other
// session, and a program between its statements, gets one that the supervisor can cancel.
func (c *client) opContext(ctx context.Context) (context.Context, context.CancelFunc) {
	if _, ok := c.session.(driver.Interrupter); ok && !c.programs {
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
func (c *client) failed(ctx context.Context, err error, op *driver.Op, due, sent, done int64) (context.Context, context.CancelFunc) {
	cut := c.cut.Swap(0) == c.last+1
	class, _ := driver.Classify(err)
	if cut && class != driver.Timeout {
		err = &driver.Error{Class: driver.Timeout, Code: "client", Err: fmt.Errorf("ended after %v by the client: %w", time.Duration(done-c.last), err)}
	}
	c.rec.add(op.Type, due, sent, done, c.rec.fail(err, due))
	if !cut && class != driver.Connection {
		return c.opContext(ctx)
	}
	if !c.replace(ctx) {
		return nil, nil
	}
	return c.opContext(ctx)
}

// replace gets another session in place of a lost one; false: there was none to be had in time.
func (c *client) replace(ctx context.Context) bool {
	ok := false
	c.aside(func() { ok = c.reopen(ctx) })
	if !ok {
		return false
	}
	c.lost = c.attach()
	return c.lost == nil
}

// polled is the session where its waiting can be taken over, else nil.
func (c *client) polled() driver.Polled {
	if p, ok := c.session.(driver.Polled); ok && p.CanPoll() {
		return p
	}
	return nil
}

// attach lets the session wait in the client's way.
func (c *client) attach() error {
	p := c.polled()
	switch {
	case p == nil:
		return nil
	case c.loop != nil:
		return c.loop.attach(c.place, p)
	case c.block:
		_, err := p.Poll(nil)
		return err
	}
	return nil
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
		left := c.t.slots.end() - c.t.clock.now()
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
	if c.cancel != nil {
		c.cancel()
	}
	if in, ok := c.session.(driver.Interrupter); ok {
		in.Interrupt()
	}
}
