package load

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"sextant/interp/driver"
)

// fakeTransactor is a fake session that has transactions.
type fakeTransactor struct {
	*fakeSession
	open      bool
	rollbacks int
	broken    bool // Rollback loses the connection
}

func (s *fakeTransactor) Add(context.Context, driver.Statement) (int, error) { return 0, nil }
func (s *fakeTransactor) InTransaction() bool                                { return s.open }
func (s *fakeTransactor) Run(context.Context, int, []driver.Arg, *driver.Result) error {
	return nil
}

func (s *fakeTransactor) Rollback(context.Context) error {
	s.rollbacks++
	if s.broken {
		return &driver.Error{Class: driver.Connection, Code: "gone", Err: errors.New("gone")}
	}
	s.open = false
	return nil
}

// programWorkload runs one function as its only operation.
type programWorkload struct {
	fakeWorkload
	run func(ctx context.Context, s *fakeTransactor, reply *driver.Reply) error
}

func (w *programWorkload) Shape() *driver.Workload {
	return &driver.Workload{Ops: []driver.OpType{{Name: "mine", Action: driver.Transaction}}}
}
func (w *programWorkload) Client(int) Generator        { return w }
func (w *programWorkload) Next(_ *Rand, op *driver.Op) { op.Type, op.Program = 0, w }
func (w *programWorkload) Run(ctx context.Context, s driver.Session, reply *driver.Reply) error {
	return w.run(ctx, s.(*fakeTransactor), reply)
}

// programs runs a trial of one client whose operation is run; it gives the sessions that were opened.
func programs(t *testing.T, change func(*Config), run func(ctx context.Context, s *fakeTransactor, reply *driver.Reply) error) (*Result, []*fakeTransactor) {
	t.Helper()
	f := &fakeServer{}
	cfg := config(f)
	cfg.Clients, cfg.Workload = 1, &programWorkload{run: run}
	var all []*fakeTransactor
	cfg.Open = func(ctx context.Context, client int) (driver.Session, error) {
		s, err := f.open(ctx, client)
		if err != nil {
			return nil, err
		}
		all = append(all, &fakeTransactor{fakeSession: s.(*fakeSession)})
		return all[len(all)-1], nil
	}
	if change != nil {
		change(&cfg)
	}
	r, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	invariants(t, r)
	return r, all
}

// A program that ends well with its transaction open has not done what it says: it is an error, and rolled back.
func TestOpenTransactionIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, all := programs(t, nil, func(ctx context.Context, s *fakeTransactor, _ *driver.Reply) error {
			if s.open {
				t.Error("the operation before left its transaction open")
			}
			s.open = true
			return s.busy(ctx, time.Millisecond)
		})
		if r.Total(OK) != 0 || r.Total(OtherError) == 0 || len(r.Errors) != 1 || r.Errors[0].Code != "open transaction" {
			t.Errorf("%d ok, errors %+v", r.Total(OK), r.Errors)
		}
		if len(all) != 1 || all[0].rollbacks == 0 {
			t.Errorf("%d sessions, %+v", len(all), all[0])
		}
	})
}

// A program that fails within a transaction is rolled back before it is tried again, and its own error is what counts.
func TestFailedTransactionIsRolledBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		r, all := programs(t, func(c *Config) { c.Retry = Retry{Max: 3, First: time.Millisecond, Limit: time.Millisecond} },
			func(ctx context.Context, s *fakeTransactor, reply *driver.Reply) error {
				if s.open {
					t.Error("the attempt before left its transaction open")
				}
				if n++; n%2 == 1 {
					s.open = true
					return &driver.Error{Class: driver.Conflict, Code: "40001", Err: errors.New("conflict")}
				}
				reply.Rows = 0 // is no outcome of its own: a transaction is not about one row
				return s.busy(ctx, time.Millisecond)
			})
		if r.Total(OK) == 0 || r.Total(NotFound) != 0 || r.Attempts() != r.Total(OK) || r.Retried() != r.Total(OK) || len(all) != 1 {
			t.Errorf("%d ok, %d attempts, %d retried, errors %+v", r.Total(OK), r.Attempts(), r.Retried(), r.Errors)
		}
		r, all = programs(t, nil, func(ctx context.Context, s *fakeTransactor, _ *driver.Reply) error {
			s.open, s.broken = true, true
			return errors.Join(s.busy(ctx, 20*time.Millisecond), &driver.Error{Class: driver.Conflict, Code: "40001", Err: errors.New("conflict")})
		})
		if r.Total(ConnectionLost) == 0 || len(all) < 3 {
			t.Errorf("a rollback that loses the connection: %+v, %d sessions", r.Errors, len(all))
		}
	})
}

// A program between two statements is ended by its context; the session that it was in is replaced.
func TestProgramTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		n := 0
		r, all := programs(t, func(c *Config) { c.Timeout = 30 * time.Millisecond }, func(ctx context.Context, s *fakeTransactor, _ *driver.Reply) error {
			if n++; n == 80 {
				<-ctx.Done()
				return ctx.Err()
			}
			return s.busy(ctx, time.Millisecond)
		})
		if r.Total(TimedOut) != 1 || r.Total(OK) == 0 || len(all) != 2 {
			t.Errorf("%d time-outs, %d ok, %d sessions", r.Total(TimedOut), r.Total(OK), len(all))
		}
	})
}

// The interpreter's own time is that of the window, warm-up and drain left out.
func TestInterpreterTime(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		r, _ := programs(t, nil, func(ctx context.Context, s *fakeTransactor, reply *driver.Reply) error {
			reply.Own = int64(250 * time.Microsecond)
			return s.busy(ctx, time.Millisecond)
		})
		if want := time.Duration(r.Total(OK)) * 250 * time.Microsecond; r.Own != want || r.Total(OK) < 150 {
			t.Errorf("%v of the interpreter in %d operations, want %v", r.Own, r.Total(OK), want)
		}
	})
}
