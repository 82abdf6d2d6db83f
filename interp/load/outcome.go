package load

import (
	"cmp"
	"slices"
	"time"
)

// result puts together what the clients recorded. All clients have ended.
func (t *trial) result(clients []*client) *Result {
	res := &Result{Started: t.clock.base.Add(time.Duration(t.slots.start())), Warmup: time.Duration(t.slots.start()), Steady: t.steady, Window: time.Duration(t.slots.end() - t.slots.start()), ClockJump: t.clock.drift()}
	if t.cfg.Verify > 0 {
		res.Ledger = &Ledger{}
		for _, c := range clients {
			res.Ledger.clients = append(res.Ledger.clients, c.ledger)
		}
	}
	for i, o := range t.shape.Ops {
		res.Ops = append(res.Ops, OpResult{Name: o.Name, Count: t.col.total[i].counts, Hist: t.col.total[i].hists, Service: t.col.total[i].service})
	}
	res.Slots = t.col.done
	t.arrivals(res)
	t.cutShort(res, clients)
	for i := range res.Slots {
		res.Slots[i].Index -= t.slots.windowSlot()
		res.Slots[i].Start -= time.Duration(t.slots.start())
	}
	slices.SortFunc(res.Slots, func(a, b Slot) int {
		return cmp.Or(cmp.Compare(a.Op, b.Op), cmp.Compare(a.Index, b.Index))
	})
	for _, s := range res.Slots {
		if s.Index < 0 {
			res.WarmupErrors += s.Errors
		}
	}
	res.Late = new(Hist[uint64])
	for _, c := range clients {
		Merge(res.Late, &c.rec.late)
		res.Busy += time.Duration(c.rec.busy)
		res.Batches += time.Duration(c.rec.batch)
		res.Lag += time.Duration(c.rec.lag)
		res.Own += time.Duration(c.rec.spent)
	}
	res.Errors = mergeErrors(clients)
	for k, h := range t.session {
		res.Session = append(res.Session, SessionOp{Name: k.name, Outcome: k.outcome, Hist: h})
	}
	slices.SortFunc(res.Session, func(a, b SessionOp) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Outcome, b.Outcome))
	})
	for _, c := range clients {
		if c.lost != nil {
			res.Lost++
			res.LostReason = c.lost
		}
	}
	return res
}

// cutShort gives a window that has ended by the count of its operations its true length. The slots after it go.
func (t *trial) cutShort(res *Result, clients []*client) {
	if t.cfg.Operations == 0 || t.left.Load() > 0 {
		return
	}
	var end int64
	for _, c := range clients {
		end = max(end, c.done)
	}
	end = min(max(end, t.slots.start()+1), t.slots.end())
	res.Window = time.Duration(end - t.slots.start())
	res.Slots = slices.DeleteFunc(res.Slots, func(s Slot) bool { return int64(s.Start) >= end })
	for i := range res.Slots {
		s := &res.Slots[i]
		s.Length = min(s.Length, time.Duration(end)-s.Start)
	}
	res.Due = res.Attempts()
	res.Dropped = 0
	if t.queue != nil { // those that had no room while it lasted
		for i, a := range t.queue.series {
			slot := t.queue.first + i
			if from, _ := t.slots.span(slot); slot >= t.slots.windowSlot() && from < end {
				res.Dropped += a.dropped
			}
		}
		res.Due += res.Dropped
	}
}

// arrivals adds what the queue of an open loop has seen.
func (t *trial) arrivals(res *Result) {
	if t.queue == nil {
		return
	}
	res.Open = true
	for i := range res.Slots {
		s := &res.Slots[i]
		a := t.queue.series[s.Index-t.queue.first]
		s.Dropped, s.Backlog = a.dropped, a.backlog
	}
	for i, a := range t.queue.series {
		if slot := t.queue.first + i; slot >= t.slots.windowSlot() && slot <= t.slots.last() {
			res.Due += a.due
			res.Dropped += a.dropped
		}
	}
}

func mergeErrors(clients []*client) []ErrorStat {
	sum := map[errKey]*ErrorStat{}
	for _, c := range clients {
		for k, e := range c.rec.errs {
			s := sum[k]
			if s == nil {
				copied := *e
				sum[k] = &copied
				continue
			}
			s.Count += e.Count
			s.Retried += e.Retried
			if e.First < s.First {
				s.First, s.Sample = e.First, e.Sample
			}
			s.Last = max(s.Last, e.Last)
		}
	}
	out := make([]ErrorStat, 0, len(sum))
	for _, e := range sum {
		out = append(out, *e)
	}
	slices.SortFunc(out, func(a, b ErrorStat) int {
		return cmp.Or(cmp.Compare(b.Count, a.Count), cmp.Compare(a.Class, b.Class), cmp.Compare(a.Code, b.Code))
	})
	return out
}

// Total adds up a count over the operation types.
func (r *Result) Total(of ...Outcome) int64 {
	var n int64
	for i := range r.Ops {
		for _, o := range of {
			n += r.Ops[i].Count[o]
		}
	}
	return n
}

// Attempts is the number of operations due in the window, whatever became of them.
func (r *Result) Attempts() int64 {
	var n int64
	for i := range r.Ops {
		for _, c := range r.Ops[i].Count {
			n += c
		}
	}
	return n
}

// All merges the response times of the successes of every operation type.
func (r *Result) All() *Hist[uint64] {
	var h Hist[uint64]
	for i := range r.Ops {
		if o := r.Ops[i].Hist[OK]; o != nil {
			Merge(&h, o)
		}
	}
	return &h
}

// AllService merges the service times of the successes; those of a closed loop are its response times.
func (r *Result) AllService() *Hist[uint64] {
	if !r.Open {
		return r.All()
	}
	var h Hist[uint64]
	for i := range r.Ops {
		if o := r.Ops[i].Service; o != nil {
			Merge(&h, o)
		}
	}
	return &h
}

// Retried is the number of attempts that were followed by another one.
func (r *Result) Retried() int64 {
	var n int64
	for _, e := range r.Errors {
		n += e.Retried
	}
	return n
}

// Summary is a histogram's summary, nil when it is empty or nil.
func Summary(h *Hist[uint64]) *Latency {
	if h == nil {
		return nil
	}
	return summarize(h)
}

// Outcomes lists every outcome.
func Outcomes() []Outcome {
	out := make([]Outcome, outcomes)
	for i := range out {
		out[i] = Outcome(i)
	}
	return out
}
