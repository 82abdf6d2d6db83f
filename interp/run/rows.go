package run

import (
	"time"

	"sextant/interp/load"
	"sextant/interp/result"
)

func ptr[T any](v T) *T { return &v }

func ms(ns int64) *float64 { return ptr(float64(ns) / 1e6) }

func micros(t time.Time) int64 { return t.UnixMicro() }

// errorsHigh is the share of attempts without success from which a trial is marked.
const errorsHigh = 0.01

// clockJump is the step of the wall clock from which a trial is marked.
const clockJump = 100 * time.Millisecond

// fillCounts puts the counts of a measured trial into its row.
func fillCounts(row *result.TrialRow, r *load.Result) {
	w := r.Window.Seconds()
	attempts := r.Attempts()
	ok, missing, late := r.Total(load.OK), r.Total(load.NotFound), r.Total(load.TimedOut)
	row.StartedAt = ptr(micros(r.Started))
	row.WindowS, row.WarmupS = ptr(w), ptr(r.Warmup.Seconds())
	row.Attempts, row.Succeeded, row.NotFound, row.TimedOut = ptr(attempts), ptr(ok), ptr(missing), ptr(late)
	row.Failed = ptr(attempts - ok - missing - late)
	row.Dropped, row.Retried = ptr(r.Dropped), ptr(r.Retried())
	row.Scheduled = r.Open
	row.Throughput, row.Offered = ptr(float64(ok)/w), ptr(float64(attempts+r.Dropped)/w)
	if e, ok := r.RateError(); ok {
		row.RateError = &e
	}
	row.ErrorsHigh = ptr(attempts > 0 && float64(attempts-ok) > errorsHigh*float64(attempts))
	if r.Own > 0 {
		row.ScriptS = ptr(r.Own.Seconds())
	}
	row.ClockJump = ptr(r.ClockJump.Abs() > clockJump)
	fillLatency(row, load.Summary(r.All()), load.Summary(r.AllService()))
}

// fillLatency sets response and service times, which are equal in a closed loop.
func fillLatency(row *result.TrialRow, l, service *load.Latency) {
	if l == nil || service == nil {
		return
	}
	row.MinMs, row.MaxMs, row.MeanMs = ms(l.Min), ms(l.Max), ptr(l.Mean/1e6)
	row.P50Ms, row.P90Ms, row.P95Ms, row.P99Ms, row.P999Ms = ms(l.P50), ms(l.P90), ms(l.P95), ms(l.P99), ms(l.P999)
	row.Clipped = ptr(l.Clipped)
	row.ServiceMeanMs, row.ServiceMaxMs = ptr(service.Mean/1e6), ms(service.Max)
	row.ServiceP50Ms, row.ServiceP90Ms, row.ServiceP95Ms = ms(service.P50), ms(service.P90), ms(service.P95)
	row.ServiceP99Ms, row.ServiceP999Ms = ms(service.P99), ms(service.P999)
}

// appendDetails stages the rows of every table that a measured trial has beside its own.
func appendDetails(sink *result.Sink, id string, r *load.Result, hide func(string) string) error {
	for i := range r.Ops {
		if err := appendOp(sink, id, &r.Ops[i], r.Window); err != nil {
			return err
		}
	}
	for _, s := range r.Session {
		row := operationRow(id, s.Name, "session", s.Outcome, s.Hist.Count(), load.Summary(s.Hist))
		if err := sink.Append("operations", row); err != nil {
			return err
		}
	}
	for i := range r.Slots {
		if err := sink.Append("intervals", intervalRow(id, r, &r.Slots[i])); err != nil {
			return err
		}
	}
	for _, e := range r.Errors {
		row := result.ErrorRow{TrialID: id, Class: string(e.Class), Code: e.Code, Count: e.Count, Retried: e.Retried,
			FirstS: float64(e.First) / 1e9, LastS: float64(e.Last) / 1e9, Sample: hide(e.Sample)}
		if err := sink.Append("errors", row); err != nil {
			return err
		}
	}
	return nil
}

func appendOp(sink *result.Sink, id string, op *load.OpResult, window time.Duration) error {
	for _, o := range load.Outcomes() {
		if op.Count[o] == 0 && o != load.OK {
			continue
		}
		row := operationRow(id, op.Name, "window", o, op.Count[o], load.Summary(op.Hist[o]))
		row.Rate = ptr(float64(op.Count[o]) / window.Seconds())
		if err := sink.Append("operations", row); err != nil {
			return err
		}
	}
	if err := appendBuckets(sink, id, op.Name, "response", op.Hist[load.OK]); err != nil {
		return err
	}
	return appendBuckets(sink, id, op.Name, "service", op.Service)
}

func appendBuckets(sink *result.Sink, id, op, kind string, h *load.Hist[uint64]) error {
	if h == nil {
		return nil
	}
	for _, b := range h.Buckets() {
		row := result.LatencyRow{TrialID: id, Operation: op, Kind: kind,
			LowerMs: float64(b.Lower) / 1e6, UpperMs: float64(b.Upper) / 1e6, Count: b.Count}
		if err := sink.Append("latencies", row); err != nil {
			return err
		}
	}
	return nil
}

func operationRow(id, name, phase string, o load.Outcome, count int64, l *load.Latency) result.OperationRow {
	row := result.OperationRow{TrialID: id, Operation: name, Phase: phase, Outcome: o.String(), Count: count}
	if l != nil {
		row.MinMs, row.MaxMs, row.MeanMs = ms(l.Min), ms(l.Max), ptr(l.Mean/1e6)
		row.P50Ms, row.P90Ms, row.P95Ms, row.P99Ms, row.P999Ms = ms(l.P50), ms(l.P90), ms(l.P95), ms(l.P99), ms(l.P999)
	}
	return row
}

func intervalRow(id string, r *load.Result, s *load.Slot) result.IntervalRow {
	row := result.IntervalRow{TrialID: id, Operation: r.Ops[s.Op].Name, Phase: "window", Interval: int32(s.Index),
		StartS: s.Start.Seconds(), DurationS: s.Length.Seconds(), Count: s.OK, Errors: s.Errors, NotFound: s.Missing,
		Rate: float64(s.OK) / s.Length.Seconds()}
	if s.Index < 0 {
		row.Phase = "warmup"
	}
	if r.Open {
		row.Dropped, row.Backlog = &s.Dropped, &s.Backlog
	}
	if l := s.Latency; l != nil {
		row.MinMs, row.MaxMs, row.MeanMs = ms(l.Min), ms(l.Max), ptr(l.Mean/1e6)
		row.P50Ms, row.P95Ms, row.P99Ms = ms(l.P50), ms(l.P95), ms(l.P99)
	}
	return row
}
