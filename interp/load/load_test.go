package load

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	hdr "github.com/HdrHistogram/hdrhistogram-go"

	"sextant/interp/driver"
)

// invariants hold for every result, whatever the server did.
func invariants(t *testing.T, r *Result) {
	t.Helper()
	for i, op := range r.Ops {
		var slots, errs, missing, sum int64
		for _, s := range r.Slots {
			if s.Op == i && s.Index >= 0 {
				slots += s.OK
				errs += s.Errors
				missing += s.Missing
			}
			if (s.OK == 0) != (s.Latency == nil) {
				t.Errorf("slot %d of %s: %d successes, latency %v", s.Index, op.Name, s.OK, s.Latency)
			}
		}
		for o, n := range op.Count {
			sum += n
			if h := op.Hist[o]; n > 0 && (h == nil || h.Count() != n) {
				t.Errorf("%s %s: count %d, histogram %v", op.Name, Outcome(o), n, h)
			} else if n == 0 && h != nil && h.Count() > 0 {
				t.Errorf("%s %s: count 0, histogram of %d", op.Name, Outcome(o), h.Count())
			}
		}
		if slots != op.Count[OK] || missing != op.Count[NotFound] || errs != sum-op.Count[OK]-op.Count[NotFound] {
			t.Errorf("%s: intervals add up to %d ok, %d missing, %d errors; totals are %v", op.Name, slots, missing, errs, op.Count)
		}
		if l := Summary(op.Hist[OK]); l != nil && !slices.IsSorted([]int64{l.Min, l.P50, l.P90, l.P95, l.P99, l.P999, l.Max}) {
			t.Errorf("%s: percentiles out of order: %+v", op.Name, l)
		}
	}
	var errs int64
	for _, e := range r.Errors {
		errs += e.Count
	}
	if r.Due != 0 && r.Due != r.Attempts()+r.Dropped {
		t.Errorf("%d operations were due, %d sent, %d dropped", r.Due, r.Attempts(), r.Dropped)
	}
	if failed := r.Attempts() - r.Total(OK) - r.Total(NotFound); errs != failed {
		t.Errorf("errors add up to %d, failed operations to %d", errs, failed)
	}
}

// wantSlots are the slots of each operation type: all are there, empty ones too, and they cover the window.
func wantSlots(t *testing.T, r *Result, want int) {
	t.Helper()
	for i := range r.Ops {
		var n int
		var span time.Duration
		for _, s := range r.Slots {
			if s.Op == i && s.Index >= 0 {
				if s.Index != n || s.Start != span {
					t.Errorf("slot %d begins at %v, want slot %d at %v", s.Index, s.Start, n, span)
				}
				n++
				span += s.Length
			}
		}
		if n != want || span != r.Window {
			t.Errorf("%d slots over %v, want %d over %v", n, span, want, r.Window)
		}
	}
}

// Rule 1: fast failures never look like speed, and every operation has one outcome.
func TestRule1FailuresAreNotThroughput(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		f.do = func(ctx context.Context, s *fakeSession, n int64, op *driver.Op, reply *driver.Reply) error {
			if err := s.busy(ctx, time.Millisecond); err != nil {
				return err
			}
			switch n % 4 {
			case 0:
				return &driver.Error{Class: driver.Conflict, Code: "40001", Err: errors.New("could not serialize")}
			case 1:
				reply.Rows = 0
			}
			return nil
		}
		r, err := Run(t.Context(), config(f))
		if err != nil {
			t.Fatal(err)
		}
		invariants(t, r)
		wantSlots(t, r, 4)
		if got := r.Attempts(); got != 600 {
			t.Errorf("%d attempts, want 3 clients x 200 ms / 1 ms", got)
		}
		if ok, conflict, missing := r.Total(OK), r.Total(Conflicted), r.Total(NotFound); ok != 300 || conflict != 150 || missing != 150 {
			t.Errorf("ok %d, conflict %d, not found %d; want 300, 150, 150", ok, conflict, missing)
		}
		if len(r.Errors) != 1 || r.Errors[0].Code != "40001" || r.Errors[0].Count != 150 {
			t.Errorf("errors %+v", r.Errors)
		}
	})
}

// Rule 5: an operation belongs to the phase in which it was due; connecting is an operation of its own.
func TestRule5PhasesDoNotLeak(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		f.do = func(ctx context.Context, s *fakeSession, n int64, _ *driver.Op, _ *driver.Reply) error {
			if n <= 3 { // the first of each client: due in the warm-up, done in the window
				return s.busy(ctx, 80*time.Millisecond)
			}
			return s.busy(ctx, time.Millisecond)
		}
		cfg := config(f)
		r, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		invariants(t, r)
		if want := 3 * cfg.Window; r.Busy < want-time.Millisecond || r.Busy > want {
			t.Errorf("busy %v of %v: the operations of 80 ms kept their clients busy in the window, too", r.Busy, want)
		}
		if got, want := r.Attempts(), int64(3*180); got != want {
			t.Errorf("%d attempts, want %d: the window's first 20 ms had none due", got, want)
		}
		if m := r.All().Max(); m > int64(2*time.Millisecond) {
			t.Errorf("the warm-up's operation of 80 ms is in the window: max %v", time.Duration(m))
		}
		var warm int64
		for _, s := range r.Slots {
			if s.Index < 0 {
				warm += s.OK
			}
		}
		if warm != 3 {
			t.Errorf("the warm-up's slots hold %d operations, want 3", warm)
		}
		if len(r.Session) != 2 || r.Session[0].Name != "connect" || r.Session[0].Hist.Count() != 3 || r.Session[1].Name != "prepare" {
			t.Errorf("session steps %+v", r.Session)
		}
	})
}

// Rule 6: intervals are aligned, empty ones are rows, a shorter last one carries its true length.
func TestRule6Intervals(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		start := time.Now()
		f.do = func(ctx context.Context, s *fakeSession, _ int64, _ *driver.Op, _ *driver.Reply) error {
			at := time.Since(start)
			if at > 115*time.Millisecond && at < 205*time.Millisecond { // frozen over the slots from 110 to 210 ms
				return s.busy(ctx, 212*time.Millisecond-at)
			}
			return s.busy(ctx, time.Millisecond)
		}
		cfg := config(f)
		cfg.Window = 220 * time.Millisecond
		r, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		invariants(t, r)
		wantSlots(t, r, 5)
		for _, s := range r.Slots {
			if s.Index == 2 && s.OK != 0 {
				t.Errorf("slot 2 lies in the pause but has %d operations", s.OK)
			}
			if s.Index == 4 && s.Length != 20*time.Millisecond {
				t.Errorf("the last slot is %v long, want 20 ms", s.Length)
			}
			if s.Index == -2 && (s.Start != -60*time.Millisecond || s.Length != 10*time.Millisecond) {
				t.Errorf("the first warm-up slot begins at %v and is %v long", s.Start, s.Length)
			}
		}
	})
}

// Rule 7: no success, no latency.
func TestRule7NoSuccessNoLatency(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		f.do = func(ctx context.Context, s *fakeSession, _ int64, _ *driver.Op, _ *driver.Reply) error {
			return errors.Join(&driver.Error{Class: driver.Constraint}, s.busy(ctx, time.Millisecond))
		}
		r, err := Run(t.Context(), config(f))
		if err != nil {
			t.Fatal(err)
		}
		invariants(t, r)
		if Summary(r.All()) != nil || r.Total(OK) != 0 || r.Total(ConstraintFailed) != 600 {
			t.Errorf("latency %v, ok %d, constraint %d", Summary(r.All()), r.Total(OK), r.Total(ConstraintFailed))
		}
	})
}

// A hung server can't outlive the drain; its operations are time-outs with the time they took.
func TestHungServerEndsWithTheDrain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		f.do = func(ctx context.Context, s *fakeSession, n int64, _ *driver.Op, _ *driver.Reply) error {
			if n > 300 {
				return s.hang(ctx)
			}
			return s.busy(ctx, time.Millisecond)
		}
		begin := time.Now()
		r, err := Run(t.Context(), config(f))
		if err != nil {
			t.Fatal(err)
		}
		invariants(t, r)
		if d := time.Since(begin); d > 380*time.Millisecond {
			t.Errorf("the trial took %v, want warm-up + window + drain = 360 ms", d)
		}
		if n := r.Total(TimedOut); n != 3 {
			t.Errorf("%d time-outs, want one a client", n)
		}
		wantSlots(t, r, 4)
	})
}

func TestOperationTimeout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		f.do = func(ctx context.Context, s *fakeSession, n int64, _ *driver.Op, _ *driver.Reply) error {
			if n == 200 {
				return s.hang(ctx)
			}
			return s.busy(ctx, time.Millisecond)
		}
		cfg := config(f)
		cfg.Timeout = 30 * time.Millisecond
		r, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		invariants(t, r)
		if r.Total(TimedOut) != 1 {
			t.Fatalf("%d time-outs, want 1", r.Total(TimedOut))
		}
		for _, op := range r.Ops {
			if h := op.Hist[TimedOut]; h != nil && (h.Min() < int64(cfg.Timeout) || h.Max() > int64(cfg.Timeout+2*tick)) {
				t.Errorf("the time-out is recorded as %v", time.Duration(h.Min()))
			}
		}
		if f.sessions.Load() != 4 {
			t.Errorf("%d sessions were opened: the one with an ended operation must be replaced", f.sessions.Load())
		}
	})
}

// A server that goes away for a while: the window stays as long as it is, clients come back, nobody spins.
func TestServerGoesAwayAndComesBack(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		start := time.Now()
		down := func() bool { at := time.Since(start); return at > 100*time.Millisecond && at < 160*time.Millisecond }
		f.do = func(ctx context.Context, s *fakeSession, _ int64, _ *driver.Op, _ *driver.Reply) error {
			if down() {
				return &driver.Error{Class: driver.Connection, Err: errors.New("reset")}
			}
			return s.busy(ctx, time.Millisecond)
		}
		f.openErr = func(int, int64) error {
			if down() {
				return &driver.Error{Class: driver.Connection, Err: errors.New("refused")}
			}
			return nil
		}
		r, err := Run(t.Context(), config(f))
		if err != nil {
			t.Fatal(err)
		}
		invariants(t, r)
		wantSlots(t, r, 4)
		if n := r.Total(ConnectionLost); n != 3 {
			t.Errorf("%d operations lost their connection, want one a client", n)
		}
		if r.Lost != 0 {
			t.Errorf("%d clients stayed without a session: %v", r.Lost, r.LostReason)
		}
		if n := f.sessions.Load(); n > 3+3*5 {
			t.Errorf("%d sessions were tried in 60 ms: clients must pause between attempts", n)
		}
	})
}

func TestServerGoneForGood(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		f.do = func(ctx context.Context, s *fakeSession, n int64, _ *driver.Op, _ *driver.Reply) error {
			if n > 100 {
				return &driver.Error{Class: driver.Connection, Err: errors.New("reset")}
			}
			return s.busy(ctx, time.Millisecond)
		}
		f.openErr = func(_ int, n int64) error {
			if n > 3 {
				return &driver.Error{Class: driver.Connection, Err: errors.New("refused")}
			}
			return nil
		}
		r, err := Run(t.Context(), config(f))
		if err != nil {
			t.Fatal(err)
		}
		invariants(t, r)
		if r.Lost != 3 || r.LostReason == nil {
			t.Errorf("lost %d, reason %v", r.Lost, r.LostReason)
		}
	})
}

func TestSessionsThatCanNotBeOpenedAreAnError(t *testing.T) {
	f := &fakeServer{openErr: func(client int, _ int64) error {
		if client == 2 {
			return &driver.Error{Class: driver.Overload, Code: "53300", Err: errors.New("too many clients")}
		}
		return nil
	}}
	_, err := Run(t.Context(), config(f))
	if c, code := driver.Classify(err); c != driver.Overload || code != "53300" {
		t.Fatalf("error %v", err)
	}
	if f.closed.Load() != f.sessions.Load()-1 {
		t.Errorf("%d of %d sessions were closed", f.closed.Load(), f.sessions.Load()-1)
	}
}

// Ctrl-C in the middle: back within the drain, with the context's cause.
func TestCancelEndsTheTrial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		f.do = func(ctx context.Context, s *fakeSession, _ int64, _ *driver.Op, _ *driver.Reply) error {
			select {
			case <-s.cut:
				return &driver.Error{Class: driver.Timeout}
			case <-time.After(time.Hour):
				return nil
			}
		}
		ctx, cancel := context.WithCancelCause(t.Context())
		why := errors.New("interrupted by the user")
		time.AfterFunc(50*time.Millisecond, func() { cancel(why) })
		begin := time.Now()
		_, err := Run(ctx, config(f))
		if !errors.Is(err, why) {
			t.Errorf("error %v", err)
		}
		if d := time.Since(begin); d > 170*time.Millisecond {
			t.Errorf("it took %v, want 50 ms + the drain", d)
		}
	})
}

// A driver whose Do ignores everything is left behind, and the trial says so.
func TestDeafDriverIsLeftBehind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		release := make(chan struct{})
		f := &fakeServer{do: func(context.Context, *fakeSession, int64, *driver.Op, *driver.Reply) error { <-release; return nil }}
		cfg := config(f)
		cfg.Teardown = 300 * time.Millisecond
		_, err := Run(t.Context(), cfg)
		if c, _ := driver.Classify(err); c != driver.Timeout {
			t.Errorf("error %v", err)
		}
		close(release)
		synctest.Wait()
	})
}

func TestRandIsPureAndFrozen(t *testing.T) {
	var a, b Rand
	a.Seek(1, 2, 3)
	b.Uint64()
	b.Seek(1, 2, 3)
	if x := a.Uint64(); x != b.Uint64() || x != 0x34e4a5bb895a5a0c {
		t.Errorf("the stream of (1, 2, 3) begins with %#x", x)
	}
	seen := map[uint64]bool{}
	for client := range uint64(50) {
		for i := range uint64(50) {
			a.Seek(7, client, i)
			seen[a.Uint64()] = true
		}
	}
	if len(seen) != 2500 {
		t.Errorf("2500 streams begin with %d different numbers", len(seen))
	}
}

// The histogram agrees with the reference implementation on bucket sizes and with a sorted list on quantiles.
func TestHistAgainstOracles(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for round := range 50 {
		var h Hist[uint32]
		ref := hdr.New(1, MaxValue, 3)
		var all []int64
		for range 1 + rng.IntN(3000) {
			v := int64(math.Exp(rng.Float64() * 29))
			h.Record(v)
			all = append(all, v)
			if err := ref.RecordValue(v); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(all)
		var sum int64
		for _, b := range h.Buckets() {
			sum += b.Count
			if !ref.ValuesAreEquivalent(b.Lower, b.Upper) || ref.ValuesAreEquivalent(b.Upper, b.Upper+1) ||
				b.Lower > 0 && ref.ValuesAreEquivalent(b.Lower-1, b.Lower) {
				t.Fatalf("bucket %v is none of the reference's", b)
			}
		}
		if sum != int64(len(all)) || h.Min() != all[0] || h.Max() != all[len(all)-1] {
			t.Fatalf("round %d: %d values, min %d, max %d", round, sum, h.Min(), h.Max())
		}
		for _, q := range []int64{1, 500_000, 900_000, 990_000, 999_000, 1_000_000} {
			rank := (q*int64(len(all)) + 999_999) / 1_000_000
			exact := all[rank-1]
			if got := h.Quantiles(q)[0]; got < exact || float64(got) > float64(exact)*(1+1.0/1024)+1 {
				t.Fatalf("quantile %d of %d values is %d, the exact one %d", q, len(all), got, exact)
			}
		}
	}
}

func TestHistClipsAndSaysSo(t *testing.T) {
	var h Hist[uint64]
	h.Record(MaxValue)
	h.Record(MaxValue + 1)
	h.Record(math.MaxInt64)
	if h.Clipped() != 2 || h.Count() != 3 || h.Max() != MaxValue {
		t.Errorf("clipped %d, count %d, max %d", h.Clipped(), h.Count(), h.Max())
	}
}

func TestHistMergeAndReset(t *testing.T) {
	var a, b Hist[uint32]
	var sum, all Hist[uint64]
	rng := rand.New(rand.NewPCG(3, 4))
	for range 1000 {
		v := rng.Int64N(1 << uint(1+rng.IntN(40)))
		all.Record(v)
		if rng.IntN(2) == 0 {
			a.Record(v)
		} else {
			b.Record(v)
		}
	}
	Merge(&sum, &a)
	Merge(&sum, &b)
	if !slices.Equal(sum.Buckets(), all.Buckets()) || sum.Min() != all.Min() || sum.Max() != all.Max() || sum.Mean() != all.Mean() {
		t.Error("merging the parts differs from recording the whole")
	}
	a.Reset()
	if a.Count() != 0 || len(a.Buckets()) != 0 {
		t.Error("Reset leaves something")
	}
}

// The engine allocates nothing per operation: a million operations cost no more than some fixed memory.
func TestNoAllocationPerOperation(t *testing.T) {
	f := &fakeServer{}
	cfg := config(f)
	cfg.Clients, cfg.Warmup, cfg.Window, cfg.Interval = 1, 0, 100*time.Millisecond, 100*time.Millisecond
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	r, err := Run(t.Context(), cfg)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	if n, a := r.Attempts(), after.Mallocs-before.Mallocs; n < 10_000 || float64(a) > 0.05*float64(n) {
		t.Errorf("%d operations, %d allocations", n, a)
	}
}

func BenchmarkRecorder(b *testing.B) {
	s := slots{window: math.MaxInt64 / 2, interval: math.MaxInt64 / 4}
	rec := newRecorder(newCollector(s, 1, 2), 2)
	b.ReportAllocs()
	for i := 0; b.Loop(); i++ {
		rec.add(i&1, int64(i), int64(i), int64(i)+int64(100_000+i&0xffff), OK)
	}
}

// BenchmarkEngine is the whole cost of an operation with a driver that does nothing.
func BenchmarkEngine(b *testing.B) {
	f := &fakeServer{}
	cfg := config(f)
	cfg.Clients, cfg.Warmup, cfg.Window, cfg.Interval = 1, 0, 500*time.Millisecond, 100*time.Millisecond
	var ops int64
	for b.Loop() {
		r, err := Run(b.Context(), cfg)
		if err != nil {
			b.Fatal(err)
		}
		ops += r.Attempts()
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(ops), "ns/operation")
}
