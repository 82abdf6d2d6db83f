package load

import (
	"bufio"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// lineServer answers requests over TCP as a test says. A request is its length and that many bytes; a reply is the same.
type lineServer struct {
	net.Listener
	answer func(conn, n int64, c net.Conn) error // the n-th request of the conn-th connection; an error closes it
	early  atomic.Bool                           // it answers before it has read all of the request
	served atomic.Int64
	opened atomic.Int64
	wg     sync.WaitGroup
}

func newLineServer(t *testing.T, answer func(conn, n int64, c net.Conn) error) *lineServer {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &lineServer{Listener: l, answer: answer}
	s.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			conn := s.opened.Add(1)
			s.wg.Go(func() { s.serve(conn, c) })
		}
	})
	t.Cleanup(func() {
		if err := l.Close(); err != nil {
			t.Error(err)
		}
		s.wg.Wait()
	})
	return s
}

func (s *lineServer) serve(conn int64, c net.Conn) {
	defer func() { _ = c.Close() }() // the client may have closed it first
	var head [4]byte
	for n := int64(1); ; n++ {
		if _, err := io.ReadFull(c, head[:]); err != nil {
			return
		}
		rest := io.LimitReader(c, int64(binary.BigEndian.Uint32(head[:])))
		if !s.early.Load() {
			if _, err := io.Copy(io.Discard, rest); err != nil {
				return
			}
		}
		s.served.Add(1)
		if s.answer(conn, n, c) != nil {
			return
		}
		if _, err := io.Copy(io.Discard, rest); err != nil {
			return
		}
	}
}

// reply sends one of a size.
func reply(c net.Conn, size int) error {
	_, err := c.Write(append(binary.BigEndian.AppendUint32(nil, uint32(size)), make([]byte, size)...))
	return err
}

// lineSession is a client of it.
type lineSession struct {
	c       *driver.Stream
	request []byte
	in      *bufio.Reader
	buf     []byte
	seen    *seen
	between func() error // sending and reading; may be nil
}

type seen struct {
	polls, blocks atomic.Int64 // sessions
	waits         atomic.Int64
}

func (s *lineSession) Level(context.Context, spec.Level) (string, error) { return "default", nil }
func (s *lineSession) Prepare(context.Context, *driver.Workload) error   { return nil }
func (s *lineSession) Interrupt()                                        { s.c.Cut() }
func (s *lineSession) Close() error                                      { s.c.End(); return s.c.Close() }
func (s *lineSession) CanPoll() bool                                     { return true }
func (s *lineSession) Poll(wait func()) (int, error) {
	if wait == nil {
		s.seen.blocks.Add(1)
		return s.c.Detach(nil)
	}
	s.seen.polls.Add(1)
	return s.c.Detach(func() {
		s.seen.waits.Add(1)
		wait()
	})
}

func (s *lineSession) Do(_ context.Context, _ *driver.Op, reply *driver.Reply) error {
	lost := func(err error) error { return &driver.Error{Class: driver.Connection, Err: err} }
	if _, err := s.c.Write(s.request); err != nil {
		return lost(err)
	}
	if s.between != nil {
		if err := s.between(); err != nil {
			return err
		}
	}
	if _, err := io.ReadFull(s.in, s.buf[:4]); err != nil {
		return lost(err)
	}
	if n := int(binary.BigEndian.Uint32(s.buf)); n > 0 {
		if _, err := io.ReadFull(s.in, s.buf[:n]); err != nil {
			return lost(err)
		}
	}
	reply.Rows = 1
	return nil
}

// lines is a configuration for n clients of the server that send requests of a size.
func lines(s *lineServer, clients, size int, between func() error) (Config, *seen) {
	is := new(seen)
	cfg := config(&fakeServer{})
	cfg.Clients = clients
	cfg.Open = func(ctx context.Context, client int) (driver.Session, error) {
		var d net.Dialer
		c, err := d.DialContext(ctx, "tcp", s.Addr().String())
		if err != nil {
			return nil, err
		}
		st := driver.NewStream(c)
		return &lineSession{st, append(binary.BigEndian.AppendUint32(nil, uint32(size)), make([]byte, size)...), bufio.NewReaderSize(st, 32<<10), make([]byte, 1<<20), is, between}, nil
	}
	return cfg, is
}

// sleepy is a workload whose operations sleep.
type sleepy struct{ Workload }

func (w sleepy) Shape() *driver.Workload {
	s := *w.Workload.Shape()
	s.Ops = slices.Clone(s.Ops)
	s.Ops[1].Sleeps = true
	return &s
}

// Which clients share loops: those of a closed loop that wait for their server alone.
func TestWhoRunsInLoops(t *testing.T) {
	for name, c := range map[string]struct {
		change        func(*Config)
		polls, blocks bool
	}{
		"closed":        {func(*Config) {}, haveLoops, !haveLoops},
		"one client":    {func(c *Config) { c.Clients = 1 }, false, true},
		"think time":    {func(c *Config) { c.Think = time.Millisecond }, false, true},
		"sleeps":        {func(c *Config) { c.Workload = sleepy{c.Workload} }, false, true},
		"open":          {func(c *Config) { c.Rate, c.Backlog = even(1000), 10 }, false, true},
		"open and many": {func(c *Config) { c.Rate, c.Backlog, c.Clients = even(1000), 10, 1000 }, false, false},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLineServer(t, func(_, _ int64, c net.Conn) error { return reply(c, 1) })
			cfg, is := lines(s, 3, 1, nil)
			c.change(&cfg)
			r, err := Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			invariants(t, r)
			n := int64(cfg.Clients)
			if is.polls.Load() != map[bool]int64{true: n}[c.polls] || is.blocks.Load() != map[bool]int64{true: n}[c.blocks] {
				t.Errorf("of %d sessions %d are polled and %d block", n, is.polls.Load(), is.blocks.Load())
			}
			if r.Total(OK) == 0 || r.Total(OK) != r.Attempts() {
				t.Errorf("%d of %d succeeded", r.Total(OK), r.Attempts())
			}
		})
	}
}

// Every request that was answered is counted once, whatever the sizes: also replies that come in pieces and requests for which
// there is no room at once.
func TestLoopsCountEverything(t *testing.T) {
	for _, c := range []struct{ clients, request, reply int }{{2, 0, 0}, {7, 10, 100}, {64, 1, 1}, {5, 100, 300_000}, {3, 8 << 20, 4}} {
		t.Run(fmt.Sprintf("%d clients, %d and %d bytes", c.clients, c.request, c.reply), func(t *testing.T) {
			s := newLineServer(t, func(_, _ int64, conn net.Conn) error { return reply(conn, c.reply) })
			cfg, _ := lines(s, c.clients, c.request, nil)
			cfg.Drain = 10 * time.Second
			r, err := Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			invariants(t, r)
			warm := r.WarmupErrors
			for _, slot := range r.Slots {
				if slot.Index < 0 {
					warm += slot.OK
				}
			}
			if n := warm + r.Attempts(); n != s.served.Load() || r.Total(OK) != r.Attempts() || r.Total(OK) == 0 {
				t.Errorf("%d operations, %d successes, of %d requests that were served", n, r.Total(OK), s.served.Load())
			}
			if r.Lag < 0 || r.Lag > r.Busy {
				t.Errorf("replies waited for %v of %v", r.Lag, r.Busy)
			}
		})
	}
}

// An edge that is reported once is not missed: the end of a connection that came with half a reply, a reply that came while the request
// was still being written, or while the client was doing something else.
func TestLoopsMissNoEdge(t *testing.T) {
	t.Run("the end came with half a reply", func(t *testing.T) {
		s := newLineServer(t, func(_, n int64, c net.Conn) error {
			if n == 3 {
				_, err := c.Write([]byte{0, 0, 0, 100, 1, 2, 3})
				return errors.Join(err, io.EOF)
			}
			return reply(c, 1)
		})
		cfg, _ := lines(s, 3, 1, func() error { time.Sleep(2 * time.Millisecond); return nil }) // both are there when the loop looks
		r, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		invariants(t, r)
		if r.Total(ConnectionLost) == 0 || r.Total(TimedOut) > 0 {
			t.Errorf("%d connections lost, %d time-outs", r.Total(ConnectionLost), r.Total(TimedOut))
		}
	})
	t.Run("the reply came before the request was sent", func(t *testing.T) {
		s := newLineServer(t, func(_, _ int64, c net.Conn) error { return reply(c, 1) })
		s.early.Store(true)
		cfg, _ := lines(s, 3, 16<<20, nil)
		cfg.Drain = 5 * time.Second
		r, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if r.Total(OK) == 0 || r.Total(OK) != r.Attempts() {
			t.Errorf("%d of %d succeeded", r.Total(OK), r.Attempts())
		}
	})
	t.Run("the reply came in a pause", func(t *testing.T) {
		s := newLineServer(t, func(_, _ int64, c net.Conn) error { return reply(c, 1) })
		cfg, _ := lines(s, 3, 1, nil)
		open := cfg.Open
		cfg.Retry = Retry{Max: 1, First: 2 * time.Millisecond, Limit: 2 * time.Millisecond}
		cfg.Open = func(ctx context.Context, client int) (driver.Session, error) {
			c, err := open(ctx, client)
			return &lateReader{c.(*lineSession), false}, err
		}
		r, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		invariants(t, r)
		if r.Total(OK) < 20 || r.Attempts()-r.Total(OK) > 3 || r.Retried() < r.Total(OK) { // after the window nothing is tried again
			t.Errorf("%d of %d succeeded, %d retried", r.Total(OK), r.Attempts(), r.Retried())
		}
	})
}

// lateReader sends its request, says that there was a conflict, and reads the reply when it is asked again.
type lateReader struct {
	*lineSession
	sent bool
}

func (s *lateReader) Do(ctx context.Context, op *driver.Op, reply *driver.Reply) error {
	request := s.request
	defer func() { s.request = request }()
	if s.sent = !s.sent; s.sent {
		_, err := s.c.Write(request)
		return errors.Join(err, &driver.Error{Class: driver.Conflict, Err: errors.New("later")})
	}
	s.request = nil
	return s.lineSession.Do(ctx, op, reply)
}

// A client that gets another session does not hold up the others of its loop.
func TestLoopsAreNotHeldUp(t *testing.T) {
	s := newLineServer(t, func(conn, n int64, c net.Conn) error {
		if conn == 1 && n == 50 {
			return io.EOF
		}
		return reply(c, 1)
	})
	cfg, _ := lines(s, 2, 1, nil) // one loop
	open := cfg.Open
	cfg.Interval = 20 * time.Millisecond
	cfg.Warmup = 0
	cfg.Open = func(ctx context.Context, client int) (driver.Session, error) {
		if s.opened.Load() >= 2 {
			time.Sleep(150 * time.Millisecond)
		}
		return open(ctx, client)
	}
	r, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	invariants(t, r)
	var by [10]int64
	for _, slot := range r.Slots {
		by[slot.Index] += slot.OK
	}
	for i, n := range by {
		if n == 0 {
			t.Errorf("nothing succeeded in interval %d: %v", i, by)
		}
	}
	if r.Total(ConnectionLost) != 1 {
		t.Errorf("%d connections lost", r.Total(ConnectionLost))
	}
}

// A connection that ends with its last reply is noticed and replaced; one that has no answer is ended by its time-out; meanwhile the
// other clients of the loop go on.
func TestLoopsGoOn(t *testing.T) {
	for name, c := range map[string]struct {
		answer  func(conn, n int64, c net.Conn) error
		outcome Outcome
	}{
		"closed with the last reply": {func(conn, n int64, c net.Conn) error {
			if err := reply(c, 1); err != nil || n < 20 {
				return err
			}
			return io.EOF
		}, ConnectionLost},
		"closed without": {func(conn, n int64, c net.Conn) error {
			if n == 20 {
				return io.EOF
			}
			return reply(c, 1)
		}, ConnectionLost},
		"no answer": {func(conn, n int64, c net.Conn) error {
			if n == 100*conn {
				return nil
			}
			return reply(c, 1)
		}, TimedOut},
	} {
		t.Run(name, func(t *testing.T) {
			s := newLineServer(t, c.answer)
			cfg, is := lines(s, 6, 1, nil)
			if c.outcome == TimedOut {
				cfg.Timeout = 30 * time.Millisecond
			}
			open := cfg.Open
			var refused atomic.Int64
			cfg.Open = func(ctx context.Context, client int) (driver.Session, error) {
				if s.opened.Load() >= 6 && refused.Add(1)%2 == 1 { // each replacement needs a second attempt, after a pause
					return nil, errors.New("not now")
				}
				return open(ctx, client)
			}
			r, err := Run(t.Context(), cfg)
			if err != nil {
				t.Fatal(err)
			}
			invariants(t, r)
			if n := r.Total(c.outcome); n == 0 || n != r.Attempts()-r.Total(OK) {
				t.Errorf("%d operations have the outcome %v, %d failed", n, c.outcome, r.Attempts()-r.Total(OK))
			}
			if is.polls.Load() <= 6 && haveLoops {
				t.Errorf("%d sessions were polled: none was replaced", is.polls.Load())
			}
			if n := is.waits.Load(); n > 10*s.served.Load() {
				t.Errorf("%d requests were waited for %d times", s.served.Load(), n)
			}
			if r.Total(OK) < 200 { // a replacement takes 10 to 40 ms, so there is time for many
				t.Errorf("%d successes", r.Total(OK))
			}
		})
	}
}

// What is still reported of a lost connection isn't taken for its successor's.
func TestLoopsTellSessionsApart(t *testing.T) {
	if !haveLoops {
		t.Skip("there are no loops on this system")
	}
	var peers []net.Conn
	got := make(chan net.Conn)
	s := newLineServer(t, func(_, n int64, c net.Conn) error {
		if n == 1 {
			got <- c
		}
		return nil
	})
	cfg, is := lines(s, 1, 1, nil)
	tr := &trial{cfg: cfg, shape: cfg.Workload.Shape(), session: map[sessionKey]*Hist[uint64]{}, clock: startClock(), slots: slots{window: 1, interval: 1}}
	tr.col = newCollector(tr.slots, 1, 2)
	c := newClient(tr, 0)
	request := func() *lineSession {
		t.Helper()
		if err := c.open(t.Context()); err != nil {
			t.Fatal(err)
		}
		x := c.session.(*lineSession)
		if _, err := x.c.Write(x.request); err != nil {
			t.Fatal(err)
		}
		peers = append(peers, <-got)
		return x
	}
	old := request()
	loops, err := newLoops(tr, []*client{c}, 1)
	if err != nil {
		t.Fatal(err)
	}
	if err := peers[0].Close(); err != nil { // this will be reported
		t.Fatal(err)
	}
	now := request()
	if err := c.attach(); err != nil {
		t.Fatal(err)
	}
	err = loops[0].run(func(*client) {
		time.AfterFunc(20*time.Millisecond, func() {
			if err := reply(peers[1], 1); err != nil {
				t.Error(err)
			}
		})
		if _, err := now.in.ReadByte(); err != nil {
			t.Error(err)
		}
	})
	if n := is.waits.Load(); err != nil || n > 3 {
		t.Errorf("a reply was waited for %d times: %v", n, err)
	}
	if err := errors.Join(old.Close(), now.Close()); err != nil {
		t.Error(err)
	}
}
