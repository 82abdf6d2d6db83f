package load

import (
	"context"
	"errors"
	"fmt"
	"hash/maphash"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"sextant/interp/driver"
)

// A Config says how one trial's load is offered.
type Config struct {
	Clients  int
	Pipeline int           // operations that a client sends before it reads the first reply; 0 and 1: one. Closed loops only
	Think    time.Duration // closed loop: pause of a client between done and its next operation
	Rate     *Rate         // open loop: when operations are due; nil: closed loop
	Backlog  int           // open loop: how many operations may wait for a client
	Retry    Retry         // of operations that ended in a conflict
	Warmup   time.Duration
	Auto     bool // the warm-up ends as soon as the rate is steady; Warmup is its limit
	Window   time.Duration
	Interval time.Duration // of the time series
	// Operations ends the window after this many were sent; Window is its limit then. 0: the window ends by time.
	Operations int64
	// Until ends the window as soon as its rate is known well enough; Window is its limit then. Closed loops only. The zero Until: the window ends by time.
	Until    Until
	Drain    time.Duration // after the window, for operations in flight
	Timeout  time.Duration // of one operation; 0: none but the trial's end
	Connect  time.Duration // deadline for opening all sessions; 0: 30 s
	Teardown time.Duration // deadline for closing them, and for one that doesn't end when told to; 0: 10 s
	Seed     uint64
	Workload Workload
	// Verify is of about how many rows the trial keeps account what was written, for Result.Ledger; 0: none. The workload is one over records.
	Verify int64
	// Open makes a session of one client with its level set and read back. It is called from several goroutines.
	Open func(ctx context.Context, client int) (driver.Session, error)
	// OnWindow is called by the supervisor at the start (begin true) and the end of the window. May be nil.
	OnWindow func(begin bool)
	timers   bool // wait by timers only: under a test's fake time
}

// A Retry says how an operation that ended in a conflict is tried again. The latency of the operation covers all attempts.
type Retry struct {
	Max   int           // further attempts; 0: none
	First time.Duration // pause before the first of them; it doubles
	Limit time.Duration // longest pause
}

// A Result is everything that one trial's load has shown.
type Result struct {
	Started time.Time     // wall clock at the start of the window
	Ledger  *Ledger       // what was written, warm-up and drain included; nil without Config.Verify
	Warmup  time.Duration // as it was
	Steady  bool          // an automatic warm-up found the rate steady
	Window  time.Duration // measured span
	Ops     []OpResult    // parallel to the workload's operation types
	Slots   []Slot        // the time series, by operation type and slot
	Errors  []ErrorStat   // of operations due in the window
	Session []SessionOp   // connect, prepare: apart from the workload's operations
	// WarmupErrors counts failures due in the warm-up (they are in no other figure but the warm-up slots).
	WarmupErrors int64
	// Lost is the number of clients without a session at the end, and LostReason why.
	Lost       int
	LostReason error
	// ClockJump is how far the wall clock moved against the monotonic one during the trial.
	ClockJump time.Duration
	// Busy is the time of the window that the clients spent in operations, whenever those were due. It is the window times
	// the mean number of operations in flight.
	Busy time.Duration
	// Batches is the time of the window that the clients spent in batches, each from its sending to its last reply; 0 without
	// a pipeline.
	Batches time.Duration
	// Lag is the time of the window that replies which had come waited for the generator to take those that had come with them. What came while it was busy with
	// such a round waited for the next one, about as long again, which nobody sees.
	Lag time.Duration
	// Own is how much of it programs spent in an interpreter of their own (scripted transactions); 0 where there is none.
	Own time.Duration
	// Open loop: operations due in the window, how many of them were never sent, and how late those were sent whose client
	// was waiting for their instant.
	Open         bool
	Due, Dropped int64
	Late         *Hist[uint64]
}

// An OpResult is one operation type's window.
type OpResult struct {
	Name  string
	Count [outcomes]int64         // by Outcome
	Hist  [outcomes]*Hist[uint64] // response times in ns; nil where nothing was seen
	// Service times of the successes in an open loop; nil in a closed one, where they are the response times.
	Service *Hist[uint64]
}

// A SessionOp is one step of getting a session: "connect" (TLS, login, level set and read back) or "prepare".
type SessionOp struct {
	Name    string
	Outcome Outcome
	Hist    *Hist[uint64]
}

// Run opens the sessions, offers the load and returns what happened. An error means that there is no result: a session
// could not be opened, or ctx ended. Every goroutine that it started has ended when it returns.
func Run(ctx context.Context, cfg Config) (*Result, error) {
	shape := cfg.Workload.Shape()
	t := &trial{cfg: cfg, shape: shape, hashes: maphash.MakeSeed(), session: map[sessionKey]*Hist[uint64]{}}
	t.slots = slots{warmup: int64(cfg.Warmup), window: int64(cfg.Window), interval: int64(cfg.Interval)}
	if cfg.Until.Error > 0 {
		t.slots.finish = new(atomic.Int64)
	}
	t.left.Store(cfg.Operations)
	if cfg.Auto {
		t.slots.begin = new(atomic.Int64)
	}
	t.col = newCollector(t.slots, cfg.Clients, len(shape.Ops))
	if cfg.Rate != nil {
		t.queue = newQueue(newSchedule(*cfg.Rate, cfg.Seed, cfg.Warmup), t.slots, cfg.Backlog)
	}
	cfg.Workload.Start(cfg.Seed)
	clients, err := t.connectAll(ctx)
	if err != nil {
		return nil, err
	}
	if err := t.offer(ctx, clients); err != nil {
		return nil, err // a session is still in use by an operation that doesn't end: the system's Close takes them all
	}
	if err := closeAll(clients, t.grace()); err != nil {
		return nil, err
	}
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	if t.queue != nil && (cfg.Operations == 0 || t.left.Load() > 0) {
		t.queue.finish() // a window that has sent all its operations leaves nothing behind
	}
	return t.result(clients), nil
}

type trial struct {
	cfg     Config
	shape   *driver.Workload
	slots   slots
	left    atomic.Int64 // operations that the window may still send, when it ends by their count
	steady  bool         // the warm-up has settled
	settled int          // seconds that were looked at for it
	clock   clock
	col     *collector
	queue   *queue       // of an open loop; nil in a closed one
	hashes  maphash.Seed // of the ledgers

	mu      sync.Mutex
	session map[sessionKey]*Hist[uint64]
}

type sessionKey struct {
	name    string
	outcome Outcome
}

// openers bounds how many sessions are opened at the same time, so that a thousand clients don't overflow the server's
// accept queue.
const openers = 32

// connectAll opens every client's session within the deadline for it.
func (t *trial) connectAll(ctx context.Context) ([]*client, error) {
	deadline := t.cfg.Connect
	if deadline <= 0 {
		deadline = 30 * time.Second
	}
	cctx, cancel := context.WithTimeoutCause(ctx, deadline, fmt.Errorf("not all of %d sessions were open within %v: %w", t.cfg.Clients, deadline, context.DeadlineExceeded))
	defer cancel()
	clients := make([]*client, t.cfg.Clients)
	errs := make([]error, t.cfg.Clients)
	gate := make(chan struct{}, openers)
	var wg sync.WaitGroup
	for i := range clients {
		clients[i] = newClient(t, i)
		wg.Go(func() {
			gate <- struct{}{}
			defer func() { <-gate }()
			if errs[i] = clients[i].open(cctx); errs[i] != nil {
				cancel() // the others need not go on: without all sessions there is no trial
			}
		})
	}
	wg.Wait()
	if err := firstCause(errs); err != nil {
		_ = closeAll(clients, t.grace()) // the first error is the one that matters
		if cause := context.Cause(cctx); errors.Is(err, context.DeadlineExceeded) && cause != nil {
			err = cause
		}
		return nil, err
	}
	return clients, nil
}

// firstCause is the first error that isn't just the echo of another one's cancel.
func firstCause(errs []error) error {
	var echo error
	for _, err := range errs {
		if err != nil && !errors.Is(err, context.Canceled) {
			return err
		}
		if echo == nil {
			echo = err
		}
	}
	return echo
}

// closeAll closes the sessions in parallel. One that takes longer than the deadline is left behind and said.
func closeAll(clients []*client, deadline time.Duration) error {
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(c.closeSession)
	}
	return within(&wg, deadline, "a session did not close")
}

// within waits for wg, at most for the deadline.
func within(wg *sync.WaitGroup, deadline time.Duration, what string) error {
	done := make(chan struct{})
	go func() { wg.Wait(); close(done) }()
	timer := time.NewTimer(deadline)
	defer timer.Stop()
	select {
	case <-done:
		return nil
	case <-timer.C:
		return &driver.Error{Class: driver.Timeout, Err: fmt.Errorf("%s within %v", what, deadline)}
	}
}

// offer runs all clients from the start of the warm-up to the end of the drain. A session whose Do doesn't come back
// even when ended is an error: its goroutine is left behind and nothing that it recorded is used.
func (t *trial) offer(ctx context.Context, clients []*client) error {
	lctx, cancel := context.WithCancel(ctx)
	defer cancel()
	single, loops, err := t.arrange(clients)
	if err != nil {
		return err
	}
	t.clock = startClock()
	var wg sync.WaitGroup
	for _, c := range single {
		wg.Go(func() { c.run(lctx) })
	}
	processors.add(len(loops)) // see loop.ready
	defer processors.add(-len(loops))
	broken := make([]error, len(loops))
	for i, l := range loops {
		wg.Go(func() { broken[i] = l.run(func(c *client) { c.run(lctx) }) })
	}
	finished := make(chan struct{})
	go func() { wg.Wait(); close(finished) }()
	if err := t.supervise(ctx, cancel, clients, finished); err != nil {
		return err
	}
	return errors.Join(broken...)
}

// tick is how often the supervisor looks at the clients; a time-out is noticed at most this late.
const tick = 5 * time.Millisecond

// supervise marks the window, ends operations that are over their time-out, and after the drain ends everything.
func (t *trial) supervise(ctx context.Context, cancel context.CancelFunc, clients []*client, finished <-chan struct{}) error {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	begun, ended := false, false
	mark := func() {
		now := t.clock.now()
		if !begun && now >= t.slots.start() {
			begun = true
			t.cfg.onWindow(true)
		}
		if !ended && now >= t.slots.end() {
			ended = true
			t.cfg.onWindow(false)
		}
	}
	mark()
	stop := int64(math.MaxInt64) // of everything, when the run is interrupted
	done := ctx.Done()
	for {
		select {
		case <-finished:
			// The clients of an open loop have nothing more to do once the last operation is done; the window still lasts.
			if ctx.Err() == nil && t.cfg.Operations == 0 && t.clock.now() < t.slots.end() {
				_ = t.clock.wait(ctx, t.slots.end())
			}
			mark()
			if begun && !ended {
				t.cfg.onWindow(false)
			}
			return nil
		case <-done:
			done = nil
			stop = t.clock.now() + int64(t.cfg.Drain)
			cancel()
		case <-ticker.C:
			mark()
		}
		now := t.clock.now()
		if begun {
			t.converge(now)
		} else {
			t.settle(now)
		}
		over := min(stop, t.slots.end()+int64(t.cfg.Drain))
		for _, c := range clients {
			c.watch(now, now >= over)
		}
		if now >= over {
			cancel()
		}
		if now >= over+int64(t.grace()) {
			return &driver.Error{Class: driver.Timeout, Err: fmt.Errorf("an operation did not end within %v after it was told to", t.grace())}
		}
	}
}

func (t *trial) grace() time.Duration {
	if t.cfg.Teardown <= 0 {
		return 10 * time.Second
	}
	return t.cfg.Teardown
}

func (c *Config) onWindow(begin bool) {
	if c.OnWindow != nil {
		c.OnWindow(begin)
	}
}

// noteSession counts a step of opening a session.
func (t *trial) noteSession(name string, d time.Duration, err error) {
	o := OK
	if err != nil {
		class, _ := driver.Classify(err)
		o = outcomeOf(class)
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	k := sessionKey{name, o}
	if t.session[k] == nil {
		t.session[k] = new(Hist[uint64])
	}
	t.session[k].Record(int64(d))
}
