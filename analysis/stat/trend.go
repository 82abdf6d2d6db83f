package stat

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// A Trend is the Mann-Kendall test for a monotone trend, with Sen's slope.
type Trend struct {
	S        int     // concordant minus discordant pairs
	VarS     float64 // corrected for ties
	Z, P     float64 // with continuity correction, two-sided
	SenSlope float64 // median slope of all pairs, per step of t
	Warnings []string
}

// MannKendall tests x, observed at ascending t, for a trend (Mann 1945, Kendall 1975; ties as in Hipel and McLeod 1994).
// Both need at least three values.
func MannKendall(t, x []float64) (Trend, error) {
	n := len(x)
	if n < 3 || len(t) != n {
		return Trend{}, ErrEmpty
	}
	if err := usable(t, x); err != nil {
		return Trend{}, err
	}
	var r Trend
	slopes := make([]float64, 0, n*(n-1)/2)
	for i := range n {
		for j := i + 1; j < n; j++ {
			switch {
			case x[j] > x[i]:
				r.S++
			case x[j] < x[i]:
				r.S--
			}
			if t[j] != t[i] {
				slopes = append(slopes, (x[j]-x[i])/(t[j]-t[i]))
			}
		}
	}
	r.VarS = kendallVariance(x)
	if r.VarS > 0 && r.S != 0 {
		r.Z = (math.Abs(float64(r.S)) - 1) / math.Sqrt(r.VarS)
		if r.S < 0 {
			r.Z = -r.Z
		}
	}
	r.P = min(2*distuv.UnitNormal.Survival(math.Abs(r.Z)), 1)
	slices.Sort(slopes)
	if k := len(slopes); k > 0 {
		r.SenSlope = (slopes[(k-1)/2] + slopes[k/2]) / 2
	}
	r.Warnings = []string{"autocorrelation makes false trends more frequent than p says"}
	return r, nil
}

// Drift is how far evenly spaced values move from the first to the last by Sen's slope, beside their median, and p of the
// trend behind it.
func Drift(x []float64) (drift, median, p float64, err error) {
	at := make([]float64, len(x))
	for i := range at {
		at[i] = float64(i)
	}
	t, err := MannKendall(at, x)
	if err != nil {
		return 0, 0, 0, err
	}
	median, err = Median(x)
	return t.SenSlope * float64(len(x)-1), median, t.P, err
}

// kendallVariance is the variance of S without a trend, corrected for groups of equal values.
func kendallVariance(x []float64) float64 {
	n := float64(len(x))
	v := n * (n - 1) * (2*n + 5)
	s := slices.Clone(x)
	slices.Sort(s)
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] == s[i] {
			j++
		}
		k := float64(j - i)
		v -= k * (k - 1) * (2*k + 5)
		i = j
	}
	return v / 18
}

// A Truncation is where MSER-5 cuts a warm-up off.
type Truncation struct {
	Batches int
	Cut     int     // batches to leave out
	Index   int     // observations to leave out: 5 per batch
	Stat    float64 // the statistic at the cut
	AtLimit bool    // the minimum is at the end of the search: the series has no steady part that can be seen
}

// mserBatch is the batch size of MSER-5.
const mserBatch = 5

// MSER5 finds the cut d that minimizes sum (Y - mean)^2/(m-d)^2 over the batch means after it, d up to half of them
// (White 1997). It needs at least two batches.
func MSER5(x []float64) (Truncation, error) {
	m := len(x) / mserBatch
	if m < 2 {
		return Truncation{}, ErrEmpty
	}
	if err := usable(x); err != nil {
		return Truncation{}, err
	}
	y := make([]float64, m)
	for i := range y {
		for _, v := range x[i*mserBatch : (i+1)*mserBatch] {
			y[i] += v / mserBatch
		}
	}
	best := Truncation{Batches: m, Stat: math.Inf(1)}
	for d := 0; d <= m/2; d++ {
		var mean, sq float64
		for _, v := range y[d:] {
			mean += v / float64(m-d)
		}
		for _, v := range y[d:] {
			sq += (v - mean) * (v - mean)
		}
		if s := sq / float64(m-d) / float64(m-d); s < best.Stat {
			best.Cut, best.Stat = d, s
		}
	}
	best.Index = best.Cut * mserBatch
	best.AtLimit = best.Cut == m/2
	return best, nil
}
