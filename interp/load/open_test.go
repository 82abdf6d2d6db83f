package load

import (
	"context"
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"testing/synctest"
	"time"

	"sextant/interp/driver"
)

func even(rate float64) *Rate { return &Rate{Segments: []Segment{{rate, rate, 0}}} }

func dues(r Rate, seed uint64, warmup time.Duration, until time.Duration) []int64 {
	s := newSchedule(r, seed, warmup)
	var out []int64
	for {
		d, ok := s.next()
		if !ok || d > int64(until) {
			return out
		}
		out = append(out, d)
	}
}

// Schedules are exact: constant, ramps, steps and repeated bursts have as many operations as the integral of their rate.
func TestSchedules(t *testing.T) {
	for name, x := range map[string]struct {
		rate  Rate
		until time.Duration
		want  float64
	}{
		"constant":       {*even(1000), 10 * time.Second, 10_000},
		"slow":           {*even(0.5), 10 * time.Second, 5},
		"ramp":           {Rate{Segments: []Segment{{0, 1000, 10 * time.Second}}}, 10 * time.Second, 5_000},
		"ramp down":      {Rate{Segments: []Segment{{1000, 0, 10 * time.Second}}}, 20 * time.Second, 5_000},
		"after the ramp": {Rate{Segments: []Segment{{0, 1000, 10 * time.Second}}}, 12 * time.Second, 7_000},
		"steps":          {Rate{Segments: []Segment{{100, 100, time.Second}, {200, 200, time.Second}, {50, 50, time.Second}}}, 4 * time.Second, 400},
		"bursts":         {Rate{Repeat: true, Segments: []Segment{{10, 10, 900 * time.Millisecond}, {1000, 1000, 100 * time.Millisecond}}}, 10 * time.Second, 1090},
	} {
		got := dues(x.rate, 1, 0, x.until+time.Nanosecond)
		if math.Abs(float64(len(got))-x.want) > 1 {
			t.Errorf("%s: %d operations, want %v", name, len(got), x.want)
		}
		for i := 1; i < len(got); i++ {
			if got[i] < got[i-1] {
				t.Fatalf("%s: operation %d is due before its predecessor", name, i)
			}
		}
	}
	if got := dues(*even(1000), 1, 2*time.Second, 4*time.Second); len(got) != 4000 {
		t.Errorf("with a warm-up: %d operations", len(got))
	}
}

// Poisson arrivals: mean and variance of counts agree, gaps are exponential, and the seed decides them.
func TestPoissonArrivals(t *testing.T) {
	r := *even(1000)
	r.Poisson = true
	got := dues(r, 7, 0, 100*time.Second)
	if n := float64(len(got)); math.Abs(n-100_000) > 4*math.Sqrt(100_000) {
		t.Errorf("%v operations in 100 s at 1000/s", n)
	}
	counts := map[int64]float64{}
	long := 0
	for i, d := range got {
		counts[d/int64(100*time.Millisecond)]++
		if i > 0 && d-got[i-1] > int64(time.Millisecond) {
			long++
		}
	}
	var sum, sq float64
	for k := range int64(1000) {
		sum += counts[k]
		sq += counts[k] * counts[k]
	}
	if mean, variance := sum/1000, sq/1000-sum*sum/1e6; math.Abs(variance/mean-1) > 0.2 {
		t.Errorf("counts have mean %v and variance %v", mean, variance)
	}
	if share := float64(long) / float64(len(got)); math.Abs(share-math.Exp(-1)) > 0.01 {
		t.Errorf("%v of the gaps are longer than their mean, want 1/e", share)
	}
	again, other := dues(r, 7, 0, time.Second), dues(r, 8, 0, time.Second)
	if again[10] != got[10] || other[10] == got[10] {
		t.Error("the seed does not decide the schedule")
	}
}

func openConfig(f *fakeServer, rate float64) Config {
	cfg := config(f)
	cfg.Rate, cfg.Backlog = even(rate), 1_000_000
	return cfg
}

// Rule 3: the due instant travels with the operation. A server that is fast enough: response is service, nothing waits.
func TestRule3AnEarlyClientsWaitCountsNowhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		f.do = func(ctx context.Context, s *fakeSession, _ int64, _ *driver.Op, _ *driver.Reply) error {
			return s.busy(ctx, time.Millisecond)
		}
		cfg := openConfig(f, 100)
		var marks []time.Duration
		begin := time.Now()
		cfg.OnWindow = func(bool) { marks = append(marks, time.Since(begin)) }
		r, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		invariants(t, r)
		if len(marks) != 2 || marks[1]-marks[0] < cfg.Window || marks[1]-marks[0] > cfg.Window+2*tick {
			t.Errorf("the window was marked at %v", marks)
		}
		if r.Due != 20 || r.Total(OK) != 20 || r.Dropped != 0 {
			t.Errorf("due %d, ok %d, dropped %d; want 20 in 200 ms at 100/s", r.Due, r.Total(OK), r.Dropped)
		}
		if m := r.All().Max(); m != int64(time.Millisecond) || r.AllService().Max() != m {
			t.Errorf("response up to %v, service up to %v; want 1ms", time.Duration(m), time.Duration(r.AllService().Max()))
		}
		if r.Busy != 20*time.Millisecond {
			t.Errorf("busy %v", r.Busy)
		}
	})
}

// Rule 3: a frozen server. Response times hold the pause for everything that was due in it; service times don't.
func TestRule3FrozenServer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		start := time.Now()
		f.do = func(ctx context.Context, s *fakeSession, _ int64, _ *driver.Op, _ *driver.Reply) error {
			if at := time.Since(start); at > time.Second && at < 6*time.Second { // 5 of 10 s
				return s.busy(ctx, 6*time.Second-at)
			}
			return s.busy(ctx, time.Millisecond)
		}
		cfg := openConfig(f, 100)
		cfg.Clients, cfg.Warmup, cfg.Window, cfg.Interval, cfg.Drain = 2, 0, 10*time.Second, time.Second, time.Second
		r, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		invariants(t, r)
		if r.Attempts() != 999 && r.Attempts() != 1000 {
			t.Errorf("%d operations", r.Attempts())
		}
		q := r.All().Quantiles(500_000, 750_000)
		if p50, p75, max := time.Duration(q[0]), time.Duration(q[1]), time.Duration(r.All().Max()); p50 > 500*time.Millisecond || p75 < 2*time.Second || p75 > 3200*time.Millisecond || max < 4900*time.Millisecond {
			t.Errorf("response p50 %v, p75 %v, max %v", p50, p75, max)
		}
		if s := time.Duration(r.AllService().Quantiles(500_000)[0]); s > 2*time.Millisecond {
			t.Errorf("service p50 %v", s)
		}
		grown := false
		for _, s := range r.Slots {
			if s.Op == 0 && s.Index == 4 {
				grown = s.Backlog > 300
			}
		}
		if !grown {
			t.Errorf("the backlog does not show in the series: %+v", r.Slots)
		}
		cfg = config(f) // the same server under a closed loop: two samples hold the pause, and nothing says that more were due
		start = time.Now()
		cfg.Clients, cfg.Warmup, cfg.Window, cfg.Interval = 2, 0, 10*time.Second, time.Second
		if r, err = Run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		if over := r.All().Count() - countBelow(r.All(), time.Second); r.Open || over != 2 {
			t.Errorf("closed loop: open %v, %d samples hold the pause", r.Open, over)
		}
	})
}

func countBelow(h *Hist[uint64], d time.Duration) int64 {
	var n int64
	for _, b := range h.Buckets() {
		if b.Upper < int64(d) {
			n += b.Count
		}
	}
	return n
}

// Too much load: what finds no room is dropped and counted, never silently skipped, and what is left at the end too.
func TestOverload(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		f.do = func(ctx context.Context, s *fakeSession, _ int64, _ *driver.Op, _ *driver.Reply) error {
			return s.busy(ctx, 10*time.Millisecond) // 3 clients: 300/s
		}
		cfg := openConfig(f, 1000)
		cfg.Backlog = 20
		r, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		invariants(t, r)
		if r.Due != 200 || r.Dropped < 100 || r.Dropped > 150 {
			t.Errorf("due %d, dropped %d", r.Due, r.Dropped)
		}
		// the queue is bounded, so nobody waits longer than 20 operations at 300/s and the one in hand take
		if m := time.Duration(r.All().Max()); m > 100*time.Millisecond {
			t.Errorf("response up to %v", m)
		}
		cfg.Backlog, cfg.Drain = 1_000_000, 50*time.Millisecond
		if r, err = Run(t.Context(), cfg); err != nil {
			t.Fatal(err)
		}
		invariants(t, r)
		if r.Dropped == 0 || r.Due != 200 {
			t.Errorf("an unbounded backlog at the end of the drain: due %d, dropped %d", r.Due, r.Dropped)
		}
	})
}

// Conflicts are tried again: the errors are no final ones, the latency covers all attempts.
func TestRetry(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &fakeServer{}
		f.do = func(ctx context.Context, s *fakeSession, n int64, _ *driver.Op, _ *driver.Reply) error {
			if err := s.busy(ctx, time.Millisecond); err != nil {
				return err
			}
			if n%2 == 1 {
				return &driver.Error{Class: driver.Conflict, Code: "40001", Err: errors.New("could not serialize")}
			}
			return nil
		}
		cfg := config(f)
		cfg.Clients, cfg.Retry = 1, Retry{Max: 3, First: 2 * time.Millisecond, Limit: 10 * time.Millisecond}
		r, err := Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		invariants(t, r)
		if ok := r.Total(OK); ok != 50 || r.Attempts() != ok || r.Retried() != ok {
			t.Errorf("%d succeeded of %d, %d attempts were retried; want 50 in 200 ms", ok, r.Attempts(), r.Retried())
		}
		if m := time.Duration(r.All().Min()); m != 4*time.Millisecond {
			t.Errorf("the latency of two attempts and the pause is %v", m)
		}
		cfg.Retry.Max = 0
		if r, err = Run(t.Context(), cfg); err != nil || r.Total(Conflicted) == 0 || r.Retried() != 0 {
			t.Errorf("without retries: %d conflicts, %d retried, %v", r.Total(Conflicted), r.Retried(), err)
		}
	})
}

// Random faults: whatever the server does, the books balance.
func TestInvariantsUnderRandomFaults(t *testing.T) {
	for seed := range uint64(60) {
		synctest.Test(t, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(seed, 1))
			plan := make([]float64, 4000)
			for i := range plan {
				plan[i] = rng.Float64()
			}
			f := &fakeServer{}
			f.do = func(ctx context.Context, s *fakeSession, n int64, _ *driver.Op, reply *driver.Reply) error {
				p := plan[n%int64(len(plan))]
				wait := time.Duration(p * float64(3*time.Millisecond))
				switch {
				case p < 0.002:
					return s.hang(ctx)
				case p < 0.01:
					wait = 60 * time.Millisecond
				}
				if err := s.busy(ctx, wait); err != nil {
					return err
				}
				classes := []driver.Class{driver.Conflict, driver.Connection, driver.Constraint, driver.Other, driver.Timeout, driver.Overload}
				if k := int(p * 100); k >= 20 && k < 20+len(classes) {
					return &driver.Error{Class: classes[k-20], Code: "x", Err: errors.New("planned")}
				}
				if p > 0.9 {
					reply.Rows = 0
				}
				return nil
			}
			f.openErr = func(_ int, n int64) error {
				if n > 5 && plan[n%int64(len(plan))] < 0.3 {
					return &driver.Error{Class: driver.Connection, Err: errors.New("refused")}
				}
				return nil
			}
			cfg := config(f)
			cfg.Clients = 1 + int(seed%5)
			cfg.Timeout = time.Duration(seed%3) * 20 * time.Millisecond
			cfg.Retry = Retry{Max: int(seed % 4), First: time.Millisecond, Limit: 4 * time.Millisecond}
			if seed%2 == 1 {
				cfg.Rate, cfg.Backlog = &Rate{Segments: []Segment{{200, 3000, 150 * time.Millisecond}}, Poisson: seed%4 == 1}, int(1+seed*7)
			}
			r, err := Run(t.Context(), cfg)
			if err != nil {
				t.Fatalf("seed %d: %v", seed, err)
			}
			invariants(t, r)
			wantSlots(t, r, 4)
			if goodput, offered := r.Total(OK), r.Attempts()+r.Dropped; goodput > offered || r.Attempts() == 0 {
				t.Errorf("seed %d: goodput %d, offered %d", seed, goodput, offered)
			}
			if r.Busy > time.Duration(cfg.Clients)*cfg.Window || r.Busy < 0 {
				t.Errorf("seed %d: busy %v", seed, r.Busy)
			}
		})
	}
}

// BenchmarkOpenLoop offers rates to a driver that does nothing, in real time, and prints how well they are met and how
// late operations were sent.
func BenchmarkOpenLoop(b *testing.B) {
	for _, rate := range []float64{10, 1000, 50_000, 1_000_000} {
		b.Run(time.Duration(1e9/rate).String(), func(b *testing.B) {
			cfg := config(&fakeServer{})
			cfg.timers, cfg.Rate, cfg.Backlog = false, even(rate), 1_000_000
			cfg.Clients, cfg.Warmup, cfg.Window, cfg.Interval, cfg.Drain = 4, 200*time.Millisecond, 2*time.Second, time.Second, time.Second
			for b.Loop() {
				r, err := Run(b.Context(), cfg)
				if err != nil {
					b.Fatal(err)
				}
				b.ReportMetric(float64(r.Total(OK))/2/rate, "of-rate")
				b.ReportMetric(float64(r.All().Quantiles(500_000)[0]), "ns-response-p50")
				b.ReportMetric(float64(r.All().Quantiles(990_000)[0]), "ns-response-p99")
			}
		})
	}
}

// A stall allocates nothing: the default backlog has its room from the beginning. A larger one grows, in order.
func TestBacklogHasItsRoom(t *testing.T) {
	sl := slots{window: int64(10 * time.Second), interval: int64(time.Second)}
	for _, bound := range []int{100_000, roomAhead + 50_000} {
		q := newQueue(newSchedule(*even(50_000), 1, 0), sl, bound)
		room := len(q.ring)
		q.arrive(int64(4 * time.Second)) // 200,000 operations are due
		if bound <= roomAhead && len(q.ring) != room {
			t.Errorf("a stall of 4 s took room for %d operations more", len(q.ring)-room)
		}
		if q.n != bound {
			t.Errorf("%d operations wait, the bound is %d", q.n, bound)
		}
		last := int64(-1)
		for range q.n {
			x, ok := q.take(int64(4 * time.Second))
			if !ok || x.due <= last {
				t.Fatalf("%+v after %d", x, last)
			}
			last = x.due
		}
	}
}
