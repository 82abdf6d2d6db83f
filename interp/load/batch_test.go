package load

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"sextant/interp/driver"
)

// batchSession is a fake session that takes batches: each reply takes a millisecond more; what reply n says is a function of n.
type batchSession struct {
	*fakeSession
	queued int
	sizes  *[]int
	reply  func(n int64) (rows int64, err error)
	broken func(n int64) bool // the connection is lost at reply n
	group  int                // replies that come in one piece; 0: one
}

func (s *batchSession) Queue(*driver.Op) error { s.queued++; return nil }

func (s *batchSession) Flush(ctx context.Context, done func(i int, reply *driver.Reply, arrived bool, err error)) error {
	n := s.queued
	s.queued = 0
	*s.sizes = append(*s.sizes, n)
	for i := range n {
		arrived := i%max(s.group, 1) == 0
		if arrived {
			if err := s.busy(ctx, time.Millisecond); err != nil {
				return err
			}
		} else {
			time.Sleep(10 * time.Microsecond) // to be read, which is no time of the server's
		}
		k := s.srv.ops.Add(1)
		if s.broken != nil && s.broken(k) {
			return &driver.Error{Class: driver.Connection, Code: "gone", Err: errors.New("gone")}
		}
		rows, err := int64(1), error(nil)
		if s.reply != nil {
			rows, err = s.reply(k)
		}
		done(i, &driver.Reply{Rows: rows}, arrived, err)
	}
	return nil
}

// batched runs a trial of one client with batches of 8.
func batched(t *testing.T, change func(*Config), reply func(int64) (int64, error), broken func(int64) bool) (*Result, []int) {
	t.Helper()
	f := &fakeServer{}
	cfg := config(f)
	cfg.Clients, cfg.Pipeline = 1, 8
	if change != nil {
		change(&cfg)
	}
	var sizes []int
	cfg.Open = func(ctx context.Context, client int) (driver.Session, error) {
		s, err := f.open(ctx, client)
		if err != nil {
			return nil, err
		}
		return &batchSession{fakeSession: s.(*fakeSession), sizes: &sizes, reply: reply, broken: broken}, nil
	}
	res, err := Run(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	return res, sizes
}

// Replies that came in one piece have one time, that at which they came.
func TestBatchArrivals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		cfg := config(f)
		cfg.Clients, cfg.Pipeline = 1, 8
		cfg.Open = func(ctx context.Context, client int) (driver.Session, error) {
			s, err := f.open(ctx, client)
			return &batchSession{fakeSession: s.(*fakeSession), sizes: new([]int), group: 4}, err
		}
		res, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		// four at 1 ms, four at 2 ms and the 30 us in which the first four were read
		if l := Summary(res.All()); l.P50 > 1.01e6 || l.Max > 2.05e6 || l.Max < 2.02e6 {
			t.Errorf("%+v", l)
		}
	})
}

// The operations of a batch are sent as one, each has the latency of its own reply, and in flight are as many as the batch has on
// average left.
func TestBatches(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res, sizes := batched(t, nil, nil, nil)
		l := Summary(res.All())
		if n := res.Total(OK); n != 200 || l.Min < int64(time.Millisecond) || l.Max > int64(8200*time.Microsecond) || l.P50 < int64(3900*time.Microsecond) || l.P50 > int64(4100*time.Microsecond) {
			t.Errorf("%d operations, %+v", res.Total(OK), l)
		}
		for _, n := range sizes {
			if n != 8 {
				t.Errorf("a batch of %d", n)
			}
		}
		if busy := res.Batches.Seconds() / res.Window.Seconds(); busy < 0.999 || busy > 1.001 {
			t.Errorf("the client was in batches for %.3f of the window", busy)
		}
		if in := res.Busy.Seconds() / res.Window.Seconds(); in < 4.4 || in > 4.6 {
			t.Errorf("%.2f in flight, want 4.5", in)
		}
	})
}

// An error is that of its own operation; nothing found is not found; a lost connection fails what has no reply, and the client goes
// on with a new session. Every operation is counted once.
func TestBatchOutcomes(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res, _ := batched(t, nil, func(n int64) (int64, error) {
			switch n % 8 {
			case 3:
				return 0, &driver.Error{Class: driver.Constraint, Code: "no", Err: errors.New("no")}
			case 5:
				return 0, nil
			}
			return 1, nil
		}, func(n int64) bool { return n == 101 })
		ok, missing, failed := res.Total(OK), res.Total(NotFound), res.Attempts()-res.Total(OK)-res.Total(NotFound)
		var no, gone int64
		for _, e := range res.Errors {
			switch e.Code {
			case "no":
				no = e.Count
			case "gone":
				gone = e.Count
			}
		}
		if gone != 4 || no < 20 || failed != no+gone || missing < 20 || ok < 120 || res.Lost != 0 {
			t.Errorf("%d ok, %d missing, %d failed: %d no, %d gone; %d lost", ok, missing, failed, no, gone, res.Lost)
		}
	})
}

// A window by count sends exactly its operations, the last batch is shorter; sessions that take no batches are refused.
func TestBatchLimits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		res, sizes := batched(t, func(c *Config) { c.Operations, c.Window, c.Warmup = 50, time.Minute, 0 }, nil, nil)
		if res.Attempts() != 50 || sizes[len(sizes)-1] != 2 {
			t.Errorf("%d operations in batches of %v", res.Attempts(), sizes)
		}
	})
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		cfg := config(f)
		cfg.Clients, cfg.Pipeline = 1, 2
		res, err := Run(t.Context(), cfg)
		if err == nil && (res.Lost != 1 || !strings.Contains(res.LostReason.Error(), "can't be pipelined")) {
			t.Errorf("a session without batches: %+v", res)
		}
	})
}
