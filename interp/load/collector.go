package load

import (
	"sync"
	"sync/atomic"
	"time"

	"sextant/interp/driver"
)

// An Outcome is how an operation ended. Every operation has exactly one.
type Outcome uint8

// The outcomes: success, an empty answer, and one per error class.
const (
	OK Outcome = iota
	NotFound
	TimedOut
	ConnectionLost
	Conflicted
	ConstraintFailed
	WasUnavailable
	Overloaded
	AuthFailed
	NoClientResource
	OtherError
	outcomes
)

var outcomeNames = [outcomes]string{"ok", "not_found", "timeout", "connection", "conflict", "constraint", "unavailable",
	"overload", "auth", "client_resource", "other"}

// String is the name in the results.
func (o Outcome) String() string { return outcomeNames[o] }

func outcomeOf(c driver.Class) Outcome {
	for o, n := range outcomeNames {
		if n == string(c) {
			return Outcome(o)
		}
	}
	return OtherError
}

// Slots: the warm-up and the window cut into intervals that are aligned to the start of the window. Slot 0 begins with
// the window, negative slots are warm-up; the first of those and the last of the window may be shorter.
//
// An automatic warm-up may end before its limit: then the window begins with an earlier slot, begin. That is decided while
// this slot is still to come, so nothing due in it was recorded before. Slots keep their numbers until the result is made.
//
// Methods take a pointer: a copy for each operation cost more than all else that is recorded of it.
type slots struct {
	warmup, window, interval int64 // ns; the window starts at warmup on the trial's clock, or begin slots from there
	begin                    *atomic.Int64
	finish                   *atomic.Int64 // instant at which a window that ends by its spread ends, 0 until that is known; nil: it ends by time
}

// first slot of the window: 0, or below.
func (s *slots) windowSlot() int {
	if s.begin == nil {
		return 0
	}
	return int(s.begin.Load())
}

// start and end are those of the window on the trial's clock.
func (s *slots) start() int64 { return s.warmup + int64(s.windowSlot())*s.interval }
func (s *slots) end() int64 {
	limit := s.start() + s.window
	if s.finish != nil {
		if f := s.finish.Load(); f != 0 {
			return min(f, limit)
		}
	}
	return limit
}

func (s *slots) of(t int64) int {
	t -= s.warmup
	if t < 0 {
		return int((t+1)/s.interval) - 1
	}
	return int(t / s.interval)
}

func (s *slots) first() int { return s.of(0) }
func (s *slots) last() int  { return s.of(s.end() - 1) }

// span is a slot's start and end on the trial's clock.
func (s *slots) span(slot int) (from, to int64) {
	from = s.warmup + int64(slot)*s.interval
	return max(from, 0), min(from+s.interval, s.end())
}

// A Slot is one interval of the time series of one operation type.
type Slot struct {
	Index   int           // from 0 in the window; negative in the warm-up
	Op      int           // index into the operation types
	Start   time.Duration // since the start of the window; negative in the warm-up
	Length  time.Duration
	OK      int64
	Errors  int64 // everything that was neither OK nor NotFound
	Missing int64 // NotFound
	// Quantiles in ns of the response time of the OK ones: min, mean, p50, p95, p99, max. Nil when there are none.
	Latency *Latency
	// Open loop: of the whole trial, the same for every operation type.
	Dropped int64 // operations due in the slot that were never sent
	Backlog int64 // operations due and not sent at the slot's end
}

// Latency is a summary of a histogram in nanoseconds.
type Latency struct {
	Min, P50, P90, P95, P99, P999, Max int64
	Mean                               float64
	Clipped                            int64
}

func summarize[C uint32 | uint64](h *Hist[C]) *Latency {
	if h.Count() == 0 {
		return nil
	}
	q := h.Quantiles(500_000, 900_000, 950_000, 990_000, 999_000)
	return &Latency{Min: h.Min(), P50: q[0], P90: q[1], P95: q[2], P99: q[3], P999: q[4], Max: h.Max(), Mean: h.Mean(), Clipped: h.Clipped()}
}

// slotAcc gathers one slot over all clients until the last of them has passed it.
type slotAcc struct {
	passed int
	ops    []slotOp
}

type slotOp struct {
	ok      Hist[uint32]
	service Hist[uint32]
	counts  [outcomes]int64
	touched bool
}

// collector merges what clients hand over when they pass from one slot to the next: once an interval and client, so its
// lock is never part of an operation.
type collector struct {
	slots   slots
	clients int

	mu     sync.Mutex
	open   map[int]*slotAcc
	done   []Slot // finished slots, unordered
	total  []opTotal
	free   []*slotAcc
	newest int    // slot that a client has reached
	rates  spread // successes of the window's finished slots
}

// opTotal is the window's sum of one operation type.
type opTotal struct {
	counts [outcomes]int64
	hists  [outcomes]*Hist[uint64]
	// service times of successes, where they differ from the response times; else nil
	service *Hist[uint64]
}

func (t *opTotal) hist(o Outcome) *Hist[uint64] {
	if t.hists[o] == nil {
		t.hists[o] = new(Hist[uint64])
	}
	return t.hists[o]
}

func newCollector(s slots, clients, ops int) *collector {
	return &collector{slots: s, clients: clients, open: map[int]*slotAcc{}, total: make([]opTotal, ops), newest: s.first()}
}

// pass takes what a client recorded in slot `from` and notes that it has reached slot `to`. Slots in between had no
// operation of this client.
func (c *collector) pass(rec []opRec, from, to int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	acc := c.slot(from)
	for i := range rec {
		r := &rec[i]
		if !r.touched {
			continue
		}
		so := &acc.ops[i]
		so.touched = true
		Merge(&so.ok, &r.ok)
		r.ok.Reset()
		Merge(&so.service, &r.service)
		r.service.Reset()
		for o, n := range r.counts {
			so.counts[o] += n
		}
		if from >= c.slots.windowSlot() {
			for o, h := range r.failed {
				if h != nil {
					Merge(c.total[i].hist(Outcome(o)), h)
				}
			}
		}
		r.failed = [outcomes]*Hist[uint32]{}
		r.counts = [outcomes]int64{}
		r.touched = false
	}
	c.newest = max(c.newest, to)
	for s := from; s < to; s++ {
		a := c.slot(s)
		if a.passed++; a.passed == c.clients {
			c.finish(s, a)
		}
	}
}

func (c *collector) slot(s int) *slotAcc {
	if a := c.open[s]; a != nil {
		return a
	}
	var a *slotAcc
	if n := len(c.free); n > 0 {
		a, c.free = c.free[n-1], c.free[:n-1]
	} else {
		a = &slotAcc{ops: make([]slotOp, len(c.total))}
	}
	c.open[s] = a
	return a
}

// finish turns a slot that every client has passed into a row of the series and adds it to the window's totals.
func (c *collector) finish(s int, a *slotAcc) {
	from, to := c.slots.span(s)
	var succeeded int64
	for i := range a.ops {
		so := &a.ops[i]
		row := Slot{Index: s, Op: i, Start: time.Duration(from), Length: time.Duration(to - from),
			OK: so.counts[OK], Missing: so.counts[NotFound], Latency: summarize(&so.ok)}
		for o, n := range so.counts {
			if Outcome(o) > NotFound {
				row.Errors += n
			}
		}
		c.done = append(c.done, row)
		succeeded += row.OK
		if s >= c.slots.windowSlot() {
			t := &c.total[i]
			for o, n := range so.counts {
				t.counts[o] += n
			}
			if so.ok.Count() > 0 {
				Merge(t.hist(OK), &so.ok)
			}
			if so.service.Count() > 0 {
				if t.service == nil {
					t.service = new(Hist[uint64])
				}
				Merge(t.service, &so.service)
			}
		}
		if so.touched {
			so.ok.Reset()
			so.service.Reset()
			so.counts = [outcomes]int64{}
			so.touched = false
		}
	}
	if s >= c.slots.windowSlot() {
		c.rates.add(float64(succeeded))
	}
	a.passed = 0
	delete(c.open, s)
	c.free = append(c.free, a)
}
