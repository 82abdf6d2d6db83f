package load

import (
	"sextant/interp/driver"
)

// opRec is what one client has recorded of one operation type in its current slot.
type opRec struct {
	ok      Hist[uint32] // response times of successes
	service Hist[uint32] // their service times; stays empty in a closed loop, where the two are equal
	counts  [outcomes]int64
	failed  [outcomes]*Hist[uint32] // made when first needed: failures are not the fast path
	touched bool
}

// recorder belongs to one client's goroutine. On the way of an operation it takes no lock and allocates nothing; once
// an interval it hands its slot over.
type recorder struct {
	col   *collector
	ops   []opRec
	slot  int
	until int64        // end of the current slot on the trial's clock
	split bool         // service times are recorded apart
	busy  int64        // ns of the window spent in operations
	lag   int64        // ns of the window that replies waited in a loop for those before them
	batch int64        // ns of the window from the sending of a batch to its last reply
	spent int64        // ns of the window that programs spent in an interpreter of their own
	late  Hist[uint32] // ns between due and sent of operations whose client was waiting for them
	errs  map[errKey]*ErrorStat
}

type errKey struct {
	class driver.Class
	code  string
}

// An ErrorStat counts the errors of one class and code that were due in the window.
type ErrorStat struct {
	Class       driver.Class
	Code        string
	Count       int64  // operations that ended in it
	Retried     int64  // attempts that ended in it and were followed by another one
	First, Last int64  // ns since the start of the window: due instants
	Sample      string // the first one's message
}

func newRecorder(c *collector, ops int) *recorder {
	r := &recorder{col: c, ops: make([]opRec, ops), errs: map[errKey]*ErrorStat{}}
	r.slot = c.slots.first()
	_, r.until = c.slots.span(r.slot)
	return r
}

// add counts one operation that was due at due, sent at sent and done at done.
func (r *recorder) add(op int, due, sent, done int64, o Outcome) {
	if due >= r.until && !r.roll(due) {
		return
	}
	// An operation that was sent in the warm-up and is still under way in the window keeps its client busy all the same.
	if from, to := max(sent, r.col.slots.start()), min(done, r.col.slots.end()); to > from {
		r.busy += to - from
	}
	rec := &r.ops[op]
	rec.touched = true
	rec.counts[o]++
	d := done - due
	if o == OK {
		rec.ok.Record(d)
		if r.split {
			rec.service.Record(done - sent)
		}
		return
	}
	if rec.failed[o] == nil {
		rec.failed[o] = new(Hist[uint32])
	}
	rec.failed[o].Record(d)
}

// batched counts the time of a batch.
func (r *recorder) batched(sent, done int64) {
	if from, to := max(sent, r.col.slots.start()), min(done, r.col.slots.end()); to > from {
		r.batch += to - from
	}
}

// held counts the time that a reply waited in a loop.
func (r *recorder) held(came, taken int64) {
	if r.window(came) {
		r.lag += taken - came
	}
}

// own counts time that an attempt of a program, done at t, spent in its own interpreter.
func (r *recorder) own(ns, t int64) {
	if r.window(t) {
		r.spent += ns
	}
}

// window says whether instant t is in it.
func (r *recorder) window(t int64) bool { return t >= r.col.slots.start() && t < r.col.slots.end() }

// roll hands the current slot over and moves on to the one of instant t. False: t is after the window, whose end was set
// while the operation was being sent.
func (r *recorder) roll(t int64) bool {
	if t >= r.col.slots.end() {
		return false
	}
	to := r.col.slots.of(t)
	r.col.pass(r.ops, r.slot, to)
	r.slot = to
	_, r.until = r.col.slots.span(to)
	return true
}

// close hands over what is left: the client will record no more.
func (r *recorder) close() { r.col.pass(r.ops, r.slot, r.col.slots.last()+1) }

// fail keeps account of an error that ended an operation due at t.
func (r *recorder) fail(err error, t int64) Outcome {
	class, code := driver.Classify(err)
	if r.window(t) {
		r.note(class, code, err, t-r.col.slots.start()).Count++
	}
	return outcomeOf(class)
}

// again keeps account of an error after which the operation due at t is tried again.
func (r *recorder) again(err error, t int64) {
	if r.window(t) {
		class, code := driver.Classify(err)
		r.note(class, code, err, t-r.col.slots.start()).Retried++
	}
}

func (r *recorder) note(class driver.Class, code string, err error, at int64) *ErrorStat {
	k := errKey{class, code}
	s := r.errs[k]
	if s == nil {
		s = &ErrorStat{Class: class, Code: code, First: at, Sample: err.Error()}
		r.errs[k] = s
	}
	s.Last = at
	return s
}
