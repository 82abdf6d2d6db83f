package stat

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
)

// Ratio is mean(x)/mean(y) of positive values with the interval of its logarithm (delta method, Satterthwaite's degrees of
// freedom).
func Ratio(x, y []float64, confidence float64) (Estimate, error) {
	if err := usable(x, y); err != nil {
		return Estimate{}, err
	}
	if len(x) < 2 || len(y) < 2 {
		return Estimate{}, fmt.Errorf("a ratio with its interval needs two values in each sample, not %d and %d", len(x), len(y))
	}
	mx, vx := stat.MeanVariance(x, nil)
	my, vy := stat.MeanVariance(y, nil)
	if mx <= 0 || my <= 0 {
		return Estimate{}, fmt.Errorf("a ratio of means needs positive means, not %v and %v", mx, my)
	}
	a, b := vx/float64(len(x))/(mx*mx), vy/float64(len(y))/(my*my)
	e := Estimate{Value: mx / my, N: len(x) + len(y), Method: "ratio of means, log-delta interval"}
	if a+b == 0 {
		e.Lo, e.Hi = &e.Value, &e.Value
		e.Warnings = append(e.Warnings, "the values don't vary")
		return e, nil
	}
	half := tQuantile(1-(1-confidence)/2, satterthwaite(a, b, len(x), len(y))) * math.Sqrt(a+b)
	lo, hi := e.Value*math.Exp(-half), e.Value*math.Exp(half)
	e.Lo, e.Hi = &lo, &hi
	return e, nil
}

// ChangePct is the change from base to now in per cent of base: the only definition that is printed as "change".
func ChangePct(base, now float64) (float64, error) {
	if base == 0 {
		return 0, fmt.Errorf("a change from 0 has no per cent")
	}
	return 100 * (now - base) / base, nil
}

// Scalability is how the rate grew when the resource did: the ratio of the rates and its share of the ideal.
func Scalability(rateLow, rateHigh, nLow, nHigh float64) (ratio, efficiency float64, err error) {
	if rateLow <= 0 || nLow <= 0 || nHigh <= 0 {
		return 0, 0, fmt.Errorf("scalability needs positive rates and sizes, not %v at %v and %v at %v", rateLow, nLow, rateHigh, nHigh)
	}
	ratio = rateHigh / rateLow
	return ratio, ratio / (nHigh / nLow), nil
}

// LittlesLaw is the mean number of clients that a throughput and a response time imply: X (R + Z), in operations a second
// and seconds.
func LittlesLaw(throughput, response, think float64) float64 { return throughput * (response + think) }
