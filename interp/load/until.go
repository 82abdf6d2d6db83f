package load

import (
	"math"
	"time"
)

// Until ends a window once the relative standard error of the mean of its intervals' rates is below Error: (s / sqrt(m)) / mean
// over m whole intervals, s with divisor m, each interval taken as independent of the others. That is the rule by which
// cassandra-stress stops. It is looked at after every interval from AtLeast on, so a rate that wanders slowly ends it
// early by chance: a trend over the window is a flag of its own.
type Until struct {
	Error   float64 // above 0
	AtLeast time.Duration
}

// converge ends the window by Until: with the slot after the one that is under way, so nothing that was recorded falls out
// of it.
func (t *trial) converge(now int64) {
	if t.slots.finish == nil || t.slots.finish.Load() != 0 {
		return
	}
	c := t.col
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.rates.n*t.slots.interval < int64(t.cfg.Until.AtLeast) || !(c.rates.relative() < t.cfg.Until.Error) {
		return
	}
	_, end := t.slots.span(max(t.slots.of(now), c.newest) + 1)
	t.slots.finish.Store(end)
}

// spread is the mean and the squared deviations of a sequence (Welford 1962).
type spread struct {
	n        int64
	mean, m2 float64
}

func (s *spread) add(v float64) {
	s.n++
	d := v - s.mean
	s.mean += d / float64(s.n)
	s.m2 += d * (v - s.mean)
}

// relative is the relative standard error of the mean: NaN without values or when all are 0.
func (s *spread) relative() float64 {
	return math.Sqrt(s.m2/float64(s.n)) / math.Sqrt(float64(s.n)) / s.mean
}

// Rates are the successes a second of the window's intervals; a last, shorter one is left out.
func (r *Result) Rates() []float64 {
	var out []float64
	var length time.Duration
	for _, s := range r.Slots { // by operation type, then by slot
		if s.Index == 0 {
			length = s.Length
		}
		if s.Index < 0 || s.Length != length {
			continue
		}
		if s.Op == 0 {
			out = append(out, 0)
		}
		out[s.Index] += float64(s.OK) / s.Length.Seconds()
	}
	return out
}

// RateError is the relative standard error of the mean of Rates; false below two intervals and when nothing succeeded.
func (r *Result) RateError() (float64, bool) {
	var s spread
	for _, v := range r.Rates() {
		s.add(v)
	}
	return s.relative(), s.n > 1 && s.mean > 0
}
