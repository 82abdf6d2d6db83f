package stat

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Bootstrap is a statistic with the intervals of its resampled values.
type Bootstrap struct {
	Estimate     // Lo and Hi are those of BCa
	SE           float64
	PctLo, PctHi float64 // by percentiles
	Bias, Accel  float64 // z0 and a of BCa
}

// Resample gives the bias-corrected and accelerated interval (Efron 1987) of a statistic from b resamples. The seed decides
// them: the same call gives the same numbers on every machine.
func Resample(x []float64, statistic func([]float64) (float64, error), confidence float64, b int, seed uint64) (Bootstrap, error) {
	if len(x) < 2 {
		return Bootstrap{}, fmt.Errorf("resampling needs at least two values, not %d", len(x))
	}
	if !(confidence > 0 && confidence < 1) || b < 1000 || b > 10_000_000 {
		return Bootstrap{}, fmt.Errorf("%d resamples at a confidence of %v: there must be 1,000 to 10,000,000, at a confidence between 0 and 1", b, confidence)
	}
	if err := usable(x); err != nil {
		return Bootstrap{}, err
	}
	v, err := statistic(x)
	if err != nil {
		return Bootstrap{}, err
	}
	r := rand.New(rand.NewPCG(seed, 0x9e3779b97f4a7c15))
	sample, all := make([]float64, len(x)), make([]float64, b)
	below := 0
	for i := range all {
		for k := range sample {
			sample[k] = x[r.IntN(len(x))]
		}
		if all[i], err = statistic(sample); err != nil {
			return Bootstrap{}, err
		}
		if all[i] < v {
			below++
		}
	}
	out := Bootstrap{Estimate: Estimate{Value: v, N: len(x), Method: fmt.Sprintf("bootstrap, BCa of %d resamples", b)}, SE: *SD(all)}
	slices.Sort(all)
	at := func(p float64) float64 {
		q, _ := Quantile(all, p, LinearType) // of many finite numbers
		return q
	}
	out.PctLo, out.PctHi = at((1-confidence)/2), at(1-(1-confidence)/2)
	if below == 0 || below == b {
		out.Warnings = append(out.Warnings, "the statistic lies at the end of its resamples: the interval by percentiles stands")
		out.Lo, out.Hi = &out.PctLo, &out.PctHi
		return out, nil
	}
	out.Bias = distuv.UnitNormal.Quantile(float64(below) / float64(b))
	if out.Accel, err = jackknife(x, statistic); err != nil {
		return Bootstrap{}, err
	}
	adjusted := func(p float64) float64 {
		z := out.Bias + distuv.UnitNormal.Quantile(p)
		return distuv.UnitNormal.CDF(out.Bias + z/(1-out.Accel*z))
	}
	lo, hi := at(adjusted((1-confidence)/2)), at(adjusted(1-(1-confidence)/2))
	out.Lo, out.Hi = &lo, &hi
	if len(x) < 20 {
		out.Warnings = append(out.Warnings, fmt.Sprintf("only %d values: the interval covers less than it says", len(x)))
	}
	return out, nil
}

// jackknife is the acceleration: the skewness of the statistic's values without one of the sample's each.
func jackknife(x []float64, statistic func([]float64) (float64, error)) (float64, error) {
	var values []float64
	var sum float64
	for i := range x {
		v, err := statistic(append(slices.Clone(x[:i]), x[i+1:]...))
		if err != nil {
			return 0, err
		}
		values, sum = append(values, v), sum+v
	}
	mean := sum / float64(len(values))
	var cube, square float64
	for _, v := range values {
		d := mean - v
		cube, square = cube+d*d*d, square+d*d
	}
	if square == 0 {
		return 0, nil
	}
	return cube / (6 * math.Pow(square, 1.5)), nil
}
