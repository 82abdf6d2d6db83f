package stat

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// An Estimate is a number with its interval (nil ends: there is none), sample size, method and warnings.
type Estimate struct {
	Value    float64
	Lo, Hi   *float64
	N        int
	Method   string
	Warnings []string
}

// ErrEmpty is a statistic of no values.
var ErrEmpty = errors.New("a statistic of no values is undefined")

// ErrRange is a sample with a value that can't be computed with.
var ErrRange = errors.New("a value is not finite, or too large for its square to be")

// usable refuses samples with NaN, infinite or huge values, whose squares would overflow.
func usable(samples ...[]float64) error {
	for _, x := range samples {
		for _, v := range x {
			if !(math.Abs(v) < 1e150) {
				return ErrRange
			}
		}
	}
	return nil
}

// few is the sample size below which a t interval rests on very few degrees of freedom.
const few = 5

// Mean is the arithmetic mean with its two-sided t interval, mean +- t(1-a/2, n-1) sd/sqrt(n), at a confidence in (0, 1).
// One value has no interval. The values must be independent replicates such as whole runs, not intervals of one run.
func Mean(x []float64, confidence float64) (Estimate, error) {
	if len(x) == 0 {
		return Estimate{}, ErrEmpty
	}
	if !(confidence > 0 && confidence < 1) {
		return Estimate{}, fmt.Errorf("a confidence of %v is not between 0 and 1", confidence)
	}
	if err := usable(x); err != nil {
		return Estimate{}, err
	}
	e := Estimate{Value: stat.Mean(x, nil), N: len(x), Method: "mean, t interval"}
	sd := SD(x)
	if sd == nil {
		e.Warnings = append(e.Warnings, "one value: no deviation, no interval")
		return e, nil
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(len(x) - 1)}.Quantile(1 - (1-confidence)/2)
	half := t * *sd / math.Sqrt(float64(len(x)))
	lo, hi := e.Value-half, e.Value+half
	e.Lo, e.Hi = &lo, &hi
	if len(x) < few {
		e.Warnings = append(e.Warnings, fmt.Sprintf("only %d values: the interval is wide", len(x)))
	}
	return e, nil
}

// SD is the sample standard deviation (n-1), by two passes; nil for fewer than two values.
func SD(x []float64) *float64 {
	if len(x) < 2 {
		return nil
	}
	sd := stat.StdDev(x, nil)
	return &sd
}

// CV is the coefficient of variation in percent, 100 sd/mean; nil for fewer than two values or a mean of 0.
func CV(x []float64) *float64 {
	sd := SD(x)
	if sd == nil {
		return nil
	}
	m := stat.Mean(x, nil)
	if m == 0 {
		return nil
	}
	cv := 100 * *sd / m
	return &cv
}

// Quantile types of Hyndman and Fan (1996): which value lies at a fraction p between two order statistics.
type QuantileType int

const (
	NearestRank     QuantileType = 1 // the smallest value with at least p of the sample at or below it
	WeibullType     QuantileType = 6 // (n+1)p
	LinearType      QuantileType = 7 // (n-1)p + 1: R's and NumPy's default
	MedianUnbiased8 QuantileType = 8 // (n+1/3)p + 1/3
)

// Quantile is the p-quantile of x, p in [0, 1]. x is not changed.
func Quantile(x []float64, p float64, typ QuantileType) (float64, error) {
	if len(x) == 0 {
		return 0, ErrEmpty
	}
	if !(p >= 0 && p <= 1) {
		return 0, fmt.Errorf("a quantile at %v is not between 0 and 1", p)
	}
	if err := usable(x); err != nil {
		return 0, err
	}
	s := slices.Clone(x)
	slices.Sort(s)
	n := float64(len(s))
	var h float64
	switch typ {
	case NearestRank:
		// The nudge undoes the rounding of p*n: 100*0.07 is 7.000000000000001 in binary.
		return s[clamp(int(math.Ceil(n*p-1e-9))-1, len(s))], nil
	case WeibullType:
		h = (n + 1) * p
	case LinearType:
		h = (n-1)*p + 1
	case MedianUnbiased8:
		h = (n+1.0/3)*p + 1.0/3
	default:
		return 0, fmt.Errorf("quantile type %d is not one of 1, 6, 7, 8", typ)
	}
	k := math.Floor(h)
	lo, hi := s[clamp(int(k)-1, len(s))], s[clamp(int(k), len(s))]
	return lo + (h-k)*(hi-lo), nil
}

func clamp(i, n int) int { return min(max(i, 0), n-1) }

// Median is the middle value, or the mean of the two in the middle.
func Median(x []float64) (float64, error) { return Quantile(x, 0.5, LinearType) }

// SmallestDifference is the difference between the means of two samples of n values each, in the unit of sd, that chance
// alone exceeds once in 20 times: t(0.975, 2n-2) sd sqrt(2/n).
func SmallestDifference(sd float64, n int) float64 {
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: float64(2*n - 2)}.Quantile(0.975)
	return t * sd * math.Sqrt(2/float64(n))
}
