package load

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"time"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// fakeServer is a scriptable driver in memory: what an operation does is a function of its number.
type fakeServer struct {
	do       func(ctx context.Context, s *fakeSession, n int64, op *driver.Op, reply *driver.Reply) error
	openErr  func(client int, n int64) error
	sessions atomic.Int64
	closed   atomic.Int64
	ops      atomic.Int64
}

type fakeSession struct {
	srv    *fakeServer
	client int
	cut    chan struct{} // one token per Interrupt
	gone   chan struct{}
	once   sync.Once
}

func (f *fakeServer) open(_ context.Context, client int) (driver.Session, error) {
	n := f.sessions.Add(1)
	if f.openErr != nil {
		if err := f.openErr(client, n); err != nil {
			return nil, err
		}
	}
	return &fakeSession{srv: f, client: client, cut: make(chan struct{}, 1), gone: make(chan struct{})}, nil
}

func (s *fakeSession) Level(context.Context, spec.Level) (string, error) { return "default", nil }
func (s *fakeSession) Prepare(context.Context, *driver.Workload) error   { return nil }
func (s *fakeSession) Close() error {
	s.once.Do(func() { close(s.gone); s.srv.closed.Add(1) })
	return nil
}

func (s *fakeSession) Do(ctx context.Context, op *driver.Op, reply *driver.Reply) error {
	n := s.srv.ops.Add(1)
	reply.Rows = 1
	if s.srv.do == nil {
		return nil
	}
	return s.srv.do(ctx, s, n, op, reply)
}

func (s *fakeSession) Interrupt() {
	select {
	case s.cut <- struct{}{}:
	default:
	}
}

// hang waits until it is interrupted or its context ends.
func (s *fakeSession) hang(ctx context.Context) error {
	select {
	case <-s.cut:
		return &driver.Error{Class: driver.Timeout, Err: errors.New("interrupted")}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// busy takes d of wall time, unless interrupted.
func (s *fakeSession) busy(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return nil
	case <-s.cut:
		return &driver.Error{Class: driver.Timeout, Err: errors.New("interrupted")}
	case <-ctx.Done():
		return ctx.Err()
	}
}

// fakeWorkload has two operation types that take turns.
type fakeWorkload struct{ start atomic.Int64 }

func (*fakeWorkload) Rows(int) int64              { return 0 }
func (*fakeWorkload) Row(int, int64, *driver.Row) {}
func (w *fakeWorkload) Start(uint64)              { w.start.Add(1) }
func (*fakeWorkload) Client(int) Generator        { return fakeGenerator{} }
func (*fakeWorkload) Shape() *driver.Workload {
	return &driver.Workload{Ops: []driver.OpType{{Name: "read", Action: driver.Read}, {Name: "update", Action: driver.Update}}}
}

type fakeGenerator struct{}

func (fakeGenerator) Next(r *Rand, op *driver.Op) { op.Type = int(r.Uint64() & 1) }

func config(f *fakeServer) Config {
	return Config{Clients: 3, Warmup: 60 * time.Millisecond, Window: 200 * time.Millisecond, Interval: 50 * time.Millisecond,
		Drain: 100 * time.Millisecond, Seed: 1, timers: true, Workload: &fakeWorkload{}, Open: f.open}
}

// timed is the configuration of a server whose operations take what a course over the time from now on says; marks gives when the
// window's beginning and end were told.
func timed(take func(at time.Duration) time.Duration) (cfg Config, marks func() []time.Duration) {
	start := time.Now()
	f := &fakeServer{}
	f.do = func(ctx context.Context, s *fakeSession, _ int64, _ *driver.Op, _ *driver.Reply) error {
		return s.busy(ctx, take(time.Since(start)))
	}
	cfg = config(f)
	var told []time.Duration
	cfg.OnWindow = func(bool) { told = append(told, time.Since(start)) }
	return cfg, func() []time.Duration { return told }
}
