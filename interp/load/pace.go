package load

import (
	"math"
	"sync"
	"time"
)

// A Segment is a piece of a rate's course: from From to To operations a second, linearly, over Length. A Length of 0 lasts
// for ever.
type Segment struct {
	From, To float64
	Length   time.Duration
}

// A Rate is how fast operations are due in an open loop: segments one after the other, from the start of the window; the
// last one's final rate stays. Repeat begins anew instead. The warm-up has the rate at which the first segment begins.
type Rate struct {
	Segments []Segment
	Repeat   bool
	Poisson  bool // exponential gaps of the same mean; otherwise evenly spaced
}

// schedule gives the due instants of an open loop in order: pure in rate and seed, computed as they are needed. Operation
// k is due when the integral of the rate over time reaches k (evenly), or the sum of k exponential numbers (Poisson
// arrivals of a changing rate, by the inverse of its integral; Cinlar 1975).
type schedule struct {
	rate   Rate
	rng    Rand
	warmup float64 // s
	at     float64 // s on the trial's clock: begin of what is left of the current segment
	seg    int     // -1: the warm-up
	in     float64 // s that the current segment has used up
	need   float64 // of the integral, until the next operation
}

func newSchedule(r Rate, seed uint64, warmup time.Duration) *schedule {
	s := &schedule{rate: r, warmup: warmup.Seconds(), seg: -1}
	s.rng.Seek(seed, math.MaxUint64-1, 0)
	if s.warmup == 0 {
		s.seg = 0
	}
	return s
}

// gap is how much of the integral lies before the next operation.
func (s *schedule) gap() float64 {
	if !s.rate.Poisson {
		return 1
	}
	return -math.Log(1 - s.rng.Float64())
}

// next is the due instant of the next operation in ns on the trial's clock; false when the rate has come to 0 for good.
func (s *schedule) next() (int64, bool) {
	s.need += s.gap()
	for {
		from, to, length := s.segment()
		left := length - s.in
		a := from
		slope := 0.0
		if !math.IsInf(length, 1) {
			slope = (to - from) / length
			a += slope * s.in
		}
		dt, ok := reach(a, slope, s.need)
		if ok && dt <= left {
			s.in += dt
			s.at += dt
			s.need = 0
			return int64(s.at * 1e9), true
		}
		if math.IsInf(left, 1) {
			return 0, false
		}
		s.need -= (a + slope*left/2) * left
		s.at += left
		s.in = 0
		s.seg++
		if s.seg == len(s.rate.Segments) && s.rate.Repeat {
			s.seg = 0
		}
	}
}

// segment is the current piece: its rates and its length in seconds.
func (s *schedule) segment() (from, to, length float64) {
	segs := s.rate.Segments
	switch {
	case s.seg < 0:
		return segs[0].From, segs[0].From, s.warmup
	case s.seg >= len(segs):
		last := segs[len(segs)-1].To
		return last, last, math.Inf(1)
	case segs[s.seg].Length <= 0:
		return segs[s.seg].To, segs[s.seg].To, math.Inf(1)
	}
	g := segs[s.seg]
	return g.From, g.To, g.Length.Seconds()
}

// reach solves a*t + slope*t^2/2 = need for the smallest t >= 0.
func reach(a, slope, need float64) (float64, bool) {
	if slope == 0 {
		if a <= 0 {
			return 0, false
		}
		return need / a, true
	}
	d := a*a + 2*slope*need
	if d < 0 {
		return 0, false
	}
	t := 2 * need / (a + math.Sqrt(d)) // the form that doesn't cancel
	return t, t >= 0 && !math.IsNaN(t) && !math.IsInf(t, 0)
}

// queue hands the operations of an open loop to clients in the order in which they are due. What is due while all clients
// are busy waits here, up to a bound; what is due beyond it is dropped, and counted.
type queue struct {
	mu      sync.Mutex
	s       *schedule
	slots   slots
	bound   int
	ring    []ticket // the backlog, oldest first
	head, n int
	next    ticket // due next
	more    bool   // next is valid
	series  []arrivals
	first   int   // slot of series[0]
	upto    int64 // arrivals before this instant are in the series
}

// ticket is one operation: its number, which decides what it does, and when it is due.
type ticket struct {
	number uint64
	due    int64
}

// arrivals is one slot of the backlog's course.
type arrivals struct {
	due, dropped int64
	backlog      int64 // at the slot's end
}

// roomAhead is the backlog for which there is room from the beginning, 2 MiB.
const roomAhead = 1 << 17

func newQueue(s *schedule, sl slots, bound int) *queue {
	q := &queue{s: s, slots: sl, bound: max(bound, 1), first: sl.first()}
	q.series = make([]arrivals, sl.last()-q.first+1)
	q.ring = make([]ticket, min(q.bound, roomAhead))
	clear(q.ring) // so that the memory is there, too: a stall is no time to ask for it
	q.advance()
	return q
}

// advance computes the next operation that is due.
func (q *queue) advance() {
	due, ok := q.s.next()
	q.more = ok
	q.next = ticket{q.next.number + 1, due}
}

// take gives the next operation to a free client: one that waits, or the next one to come. False: there will be none.
func (q *queue) take(now int64) (ticket, bool) {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.arrive(now)
	if q.n > 0 {
		t := q.ring[q.head]
		q.head = (q.head + 1) % len(q.ring)
		q.n--
		return t, true
	}
	if !q.more || q.next.due >= q.slots.end() {
		return ticket{}, false
	}
	t := q.next
	q.close(t.due)
	q.series[q.slots.of(t.due)-q.first].due++
	q.advance()
	return t, true
}

// arrive lets everything that is due by now join the backlog or be dropped. Between two calls nobody takes anything, so
// it doesn't matter that it happens later than the due instants.
func (q *queue) arrive(now int64) {
	for q.more && q.next.due <= now && q.next.due < q.slots.end() {
		q.close(q.next.due)
		a := &q.series[q.slots.of(q.next.due)-q.first]
		a.due++
		if q.n >= q.bound {
			a.dropped++
		} else {
			q.push(q.next)
		}
		q.advance()
	}
	q.close(min(now, q.slots.end()))
}

// close writes the backlog down for the slots that end by t.
func (q *queue) close(t int64) {
	for q.upto < t {
		slot := q.slots.of(q.upto)
		_, to := q.slots.span(slot)
		if to > t {
			return
		}
		q.series[slot-q.first].backlog = int64(q.n)
		q.upto = to
	}
}

func (q *queue) push(t ticket) {
	if q.n == len(q.ring) {
		bigger := make([]ticket, min(2*len(q.ring), q.bound))
		for i := range q.n {
			bigger[i] = q.ring[(q.head+i)%len(q.ring)]
		}
		q.ring, q.head = bigger, 0
	}
	q.ring[(q.head+q.n)%len(q.ring)] = t
	q.n++
}

// finish counts what nobody will send any more as dropped, in the slots where it was due.
func (q *queue) finish() {
	q.mu.Lock()
	defer q.mu.Unlock()
	q.arrive(q.slots.end())
	for ; q.n > 0; q.n-- {
		q.series[q.slots.of(q.ring[q.head].due)-q.first].dropped++
		q.head = (q.head + 1) % len(q.ring)
	}
}
