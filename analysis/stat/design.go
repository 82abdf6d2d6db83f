package stat

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/integrate/quad"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Power is the probability that a two-sided t test at level alpha tells a difference of means of delta between two groups of n
// values each with standard deviation sd. n may be a fraction, from 2 on. Both tails count.
func Power(n, delta, sd, alpha float64) (float64, error) {
	if !(n >= 2) || n > 1e7 || !(sd > 0) || !(alpha > 0 && alpha < 1) || math.IsNaN(delta) || math.IsInf(delta, 0) || sd > 1e150 || math.Abs(delta) > 1e150 {
		return 0, fmt.Errorf("the power of %v values a group for %v with deviation %v at level %v is undefined", n, delta, sd, alpha)
	}
	df := 2 * (n - 1)
	shift := math.Abs(delta) / sd * math.Sqrt(n/2)
	critical := tQuantile(1-alpha/2, df)
	return 1 - nonCentralT(critical, df, shift) + nonCentralT(-critical, df, shift), nil
}

// nonCentralT is P(T <= t) of Student's t with df degrees of freedom and noncentrality shift: the mean of the normal CDF at
// t s - shift over the distribution of s = sqrt(chi-square/df).
func nonCentralT(t, df, shift float64) float64 {
	chi := distuv.ChiSquared{K: df}
	wide := 9 / math.Sqrt(2*df)
	low, high := max(1-wide, 0), 1+wide
	f := func(s float64) float64 {
		return distuv.UnitNormal.CDF(t*s-shift) * 2 * df * s * chi.Prob(df*s*s)
	}
	// The density is smooth but where s is near 0 with few degrees of freedom: pieces keep the quadrature exact.
	const pieces = 8
	var sum float64
	for i := range pieces {
		a, b := low+(high-low)*float64(i)/pieces, low+(high-low)*float64(i+1)/pieces
		sum += quad.Fixed(f, a, b, 60, quad.Legendre{}, 0)
	}
	return min(max(sum, 0), 1)
}

// SampleSize is how many values each of two groups needs for a two-sided t test at level alpha to tell a difference of means of
// delta with a power, given the standard deviation: exactly, and rounded up.
func SampleSize(delta, sd, power, alpha float64) (exact float64, n int, err error) {
	if !(power > 0 && power < 1) || delta == 0 {
		return 0, 0, fmt.Errorf("no sample size tells a difference of %v with power %v", delta, power)
	}
	low, high := 2.0, 2.0
	for {
		p, err := Power(high, delta, sd, alpha)
		if err != nil {
			return 0, 0, err
		}
		if p >= power {
			break
		}
		if low, high = high, 2*high; high > 1e7 {
			return 0, 0, fmt.Errorf("more than 10^7 values a group would be needed to tell %v with deviation %v", delta, sd)
		}
	}
	for range 100 {
		mid := (low + high) / 2
		p, err := Power(mid, delta, sd, alpha)
		if err != nil {
			return 0, 0, err
		}
		if p >= power {
			high = mid
		} else {
			low = mid
		}
	}
	return high, int(math.Ceil(high - 1e-9)), nil
}

// Fieller is the ratio mean(x)/mean(y) with Fieller's interval. Where the denominator's mean can't be told from 0 (g >= 1) the
// interval is unbounded, and its ends are nil. With pooled the variances are taken to be equal; without, the degrees of freedom
// are Satterthwaite's at the estimated ratio.
func Fieller(x, y []float64, confidence float64, pooled bool) (e Estimate, df, g float64, err error) {
	if err := usable(x, y); err != nil {
		return Estimate{}, 0, 0, err
	}
	if len(x) < 2 || len(y) < 2 || !(confidence > 0 && confidence < 1) {
		return Estimate{}, 0, 0, fmt.Errorf("a ratio with its interval needs two values in each sample and a confidence between 0 and 1, not %d, %d and %v", len(x), len(y), confidence)
	}
	mx, my, m, n := stat.Mean(x, nil), stat.Mean(y, nil), float64(len(x)), float64(len(y))
	if my == 0 {
		return Estimate{}, 0, 0, fmt.Errorf("a ratio to a mean of 0 is undefined")
	}
	sx, sy := *SD(x), *SD(y) // two values and more have one
	va, vb := sx*sx/m, sy*sy/n
	ratio := mx / my
	e = Estimate{Value: ratio, N: len(x) + len(y), Method: "ratio of means, Fieller"}
	if pooled {
		df = m + n - 2
		s2 := ((m-1)*sx*sx + (n-1)*sy*sy) / df
		va, vb = s2/m, s2/n
	} else if va+vb > 0 {
		r2 := ratio * ratio
		df = (va + r2*vb) * (va + r2*vb) / (va*va/(m-1) + r2*r2*vb*vb/(n-1))
	}
	if va+vb == 0 || df == 0 || math.IsNaN(df) {
		e.Lo, e.Hi = &e.Value, &e.Value
		e.Warnings = append(e.Warnings, "the values don't vary")
		return e, 0, 0, nil
	}
	t := tQuantile(1-(1-confidence)/2, df)
	g = t * t * vb / (my * my)
	if g >= 1 {
		e.Warnings = append(e.Warnings, "the denominator can't be told from 0: the interval is unbounded")
		return e, df, g, nil
	}
	half := t / math.Abs(my) * math.Sqrt((1-g)*va+ratio*ratio*vb)
	lo, hi := (ratio-half)/(1-g), (ratio+half)/(1-g)
	e.Lo, e.Hi = &lo, &hi
	return e, df, g, nil
}

// ShortestMedianRanks is the shortest interval of order statistics that covers the median of n values with a confidence, the
// leftmost of several (as benchstat has it): ranks from 1, where 0 and n+1 mean that the end is unbounded.
func ShortestMedianRanks(n int, confidence float64) (lo, hi int, coverage float64, ambiguous bool, err error) {
	if n < 1 || n > 10_000 || !(confidence > 0 && confidence < 1) {
		return 0, 0, 0, false, fmt.Errorf("no ranks of %d values at a confidence of %v", n, confidence)
	}
	b := distuv.Binomial{N: float64(n), P: 0.5}
	for width := 1; width <= n+1; width++ {
		best, count := 0.0, 0
		for from := 0; from+width <= n+1; from++ {
			var c float64
			for i := from; i < from+width; i++ {
				c += b.Prob(float64(i))
			}
			switch {
			case c > best*(1+1e-12):
				best, lo, count = c, from, 1
			case c > best*(1-1e-12):
				count++
			}
		}
		if best >= confidence {
			return lo, lo + width, best, count > 1, nil
		}
	}
	return 0, n + 1, 1, false, nil
}

// SDFactors are what a standard deviation of n normal values is to be multiplied with for the ends of its interval.
func SDFactors(n int, confidence float64) (lo, hi float64, err error) {
	if n < 2 || !(confidence > 0 && confidence < 1) {
		return 0, 0, fmt.Errorf("no interval of the deviation of %d values at a confidence of %v", n, confidence)
	}
	chi := distuv.ChiSquared{K: float64(n - 1)}
	tail := (1 - confidence) / 2
	return math.Sqrt(chi.K / chi.Quantile(1-tail)), math.Sqrt(chi.K / chi.Quantile(tail)), nil
}
