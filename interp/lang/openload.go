package lang

import (
	"fmt"
	"time"

	"go.starlark.net/starlark"

	"sextant/interp/spec"
)

const (
	maxRetries     = 1000
	maxRate        = 100_000_000 // operations a second; more than any generator offers
	defaultBacklog = 100_000
	defaultClients = 64
)

// open is open(rate=, arrivals=, clients=, max_backlog=): operations are due by a schedule, whatever the server does.
func (ev *evaluator) open(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	at := ev.here(t)
	got, ok := ev.bind(at, "open", []param{{"rate", true}, {"arrivals", false}, {"clients", false}, {"max_backlog", false}}, 1, args, kwargs)
	if !ok {
		return invalid{}, nil
	}
	l := spec.Load{Shape: "open", Clients: defaultClients, Arrivals: "constant", MaxBacklog: defaultBacklog}
	bad := func(name, msg, hint string) {
		ok = false
		ev.report(at, got[name].at, name+" "+msg, hint)
	}
	if r, is := got["rate"].v.(*rateValue); is {
		l.Rate, l.Repeat = r.segments, r.repeat
	} else if f, msg := positiveRate(got["rate"].v); msg == "" {
		l.Rate = []spec.RateSegment{{From: f, To: f}}
	} else {
		bad("rate", msg, "")
	}
	if a, given := got["arrivals"]; given {
		s, _ := a.v.(starlark.String)
		if err := oneOf(string(s), []string{"constant", "poisson"}); err != nil {
			bad("arrivals", `must be "constant" or "poisson", not `+describe(a.v), didYouMean(string(s), []string{"constant", "poisson"}))
		}
		l.Arrivals = string(s)
	}
	for _, n := range []struct {
		name string
		high int64
		set  *int
	}{{"clients", maxClients, &l.Clients}, {"max_backlog", 1 << 30, &l.MaxBacklog}} {
		a, given := got[n.name]
		if !given || a.v == starlark.None {
			continue
		}
		i, isInt := a.v.(starlark.Int)
		v, fits := i.Int64()
		if !isInt || !fits || v < 1 || v > n.high {
			bad(n.name, fmt.Sprintf("must be a whole number from 1 to %d, not %s", n.high, describe(a.v)), "")
			continue
		}
		*n.set = int(v)
	}
	if !ok {
		return invalid{}, nil
	}
	return &loadValue{l: l}, nil
}

// positiveRate reads a rate in operations a second, or says why it is none.
func positiveRate(v starlark.Value) (float64, string) {
	f, isNumber := starlark.AsFloat(v)
	if !isNumber || !(f > 0 && f <= maxRate) {
		return 0, fmt.Sprintf("must be a number of operations a second above 0 and up to %d, or ramp(...), steps(...), bursts(...), not %s", maxRate, describe(v))
	}
	return f, ""
}

func rateParam(name string) spec.Param {
	return spec.Param{Name: name, Kind: spec.KindFloat, Required: true, Check: func(v any) error {
		if f := v.(float64); f < 0 || f > maxRate {
			return fmt.Errorf("must be from 0 to %d operations a second, not %v", maxRate, f)
		}
		return nil
	}}
}

func lengthParam(name string) spec.Param {
	return spec.Param{Name: name, Kind: spec.KindDuration, Required: true, Check: func(v any) error {
		if d := v.(time.Duration); d < time.Millisecond || d > maxSpan {
			return fmt.Errorf("must be from 1ms to %v, not %v", maxSpan, d)
		}
		return nil
	}}
}

// ramp is ramp(first, last, over=): a rate that changes linearly, and then stays.
func (ev *evaluator) ramp(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	at := ev.here(t)
	p, got, ok := ev.params(at, "ramp", []spec.Param{rateParam("first"), rateParam("last"), lengthParam("over")}, 2, args, kwargs)
	if !ok {
		return invalid{}, nil
	}
	s := spec.RateSegment{From: p["first"].(float64), To: p["last"].(float64), Length: p["over"].(time.Duration)}
	if s.From+s.To == 0 {
		ev.report(at, got["last"].at, "last must be above 0 when first is 0", "")
		return invalid{}, nil
	}
	return &rateValue{segments: []spec.RateSegment{s}}, nil
}

// steps is steps([a, b, ...], each=): constant rates one after the other; the last one stays.
func (ev *evaluator) steps(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	at := ev.here(t)
	table := []spec.Param{{Name: "rates", Kind: spec.KindList, Required: true}, lengthParam("each")}
	p, got, ok := ev.params(at, "steps", table, 1, args, kwargs)
	if !ok {
		return invalid{}, nil
	}
	r := &rateValue{}
	for _, v := range p["rates"].([]any) {
		f, msg := positiveRate(fromValue(v))
		if msg != "" {
			ev.report(at, got["rates"].at, "a step "+msg, "")
			return invalid{}, nil
		}
		r.segments = append(r.segments, spec.RateSegment{From: f, To: f, Length: p["each"].(time.Duration)})
	}
	if len(r.segments) == 0 {
		ev.report(at, got["rates"].at, "rates names no step", "")
		return invalid{}, nil
	}
	return r, nil
}

// bursts is bursts(base, peak, every=, length=): a constant rate with bursts at the end of every period.
func (ev *evaluator) bursts(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	at := ev.here(t)
	p, got, ok := ev.params(at, "bursts", []spec.Param{rateParam("base"), rateParam("peak"), lengthParam("every"), lengthParam("length")}, 2, args, kwargs)
	if !ok {
		return invalid{}, nil
	}
	base, peak := p["base"].(float64), p["peak"].(float64)
	every, length := p["every"].(time.Duration), p["length"].(time.Duration)
	switch {
	case length >= every:
		ev.report(at, got["length"].at, fmt.Sprintf("length %v must be below every %v", length, every), "")
		return invalid{}, nil
	case peak <= 0:
		ev.report(at, got["peak"].at, "peak must be above 0", "")
		return invalid{}, nil
	}
	return &rateValue{repeat: true, segments: []spec.RateSegment{{From: base, To: base, Length: every - length}, {From: peak, To: peak, Length: length}}}, nil
}

// backoff is backoff(max, first=, limit=): further attempts with pauses that double from first to limit.
func (ev *evaluator) backoff(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	at := ev.here(t)
	table := []spec.Param{{Name: "max", Kind: spec.KindInt, Required: true, Check: between(1, maxRetries)},
		{Name: "first", Kind: spec.KindDuration, Default: time.Millisecond, Check: notNegative},
		{Name: "limit", Kind: spec.KindDuration, Default: 100 * time.Millisecond, Check: notNegative}}
	p, _, ok := ev.params(at, "backoff", table, 1, args, kwargs)
	if !ok {
		return invalid{}, nil
	}
	r := spec.Retry{Max: int(p["max"].(int64)), First: p["first"].(time.Duration), Limit: p["limit"].(time.Duration)}
	r.Limit = max(r.Limit, r.First)
	return &retryValue{r: r}, nil
}
