package stat

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// Pearson is the product-moment correlation with Fisher's interval, tanh(atanh r +- z/sqrt(n-3)), and a t test.
func Pearson(x, y []float64, confidence float64) (Test, error) {
	if err := usable(x, y); err != nil {
		return Test{}, err
	}
	if len(x) != len(y) || len(x) < 4 {
		return Test{}, fmt.Errorf("a correlation needs at least four pairs, not %d and %d values", len(x), len(y))
	}
	r := stat.Correlation(x, y, nil)
	if r-r != 0 {
		return Test{}, ErrConstant
	}
	return PearsonOf(r, len(x), confidence)
}

// PearsonOf is Pearson for a published r of n pairs.
func PearsonOf(r float64, n int, confidence float64) (Test, error) {
	if n < 4 || !(r >= -1 && r <= 1) {
		return Test{}, fmt.Errorf("r = %v of %d pairs is no correlation with an interval", r, n)
	}
	z := distuv.UnitNormal.Quantile(1 - (1-confidence)/2)
	f := math.Atanh(r)
	half := z / math.Sqrt(float64(n-3))
	lo, hi := math.Tanh(f-half), math.Tanh(f+half)
	t := Test{Estimate: Estimate{Value: r, Lo: &lo, Hi: &hi, N: n, Method: "Pearson's r, Fisher interval"}, DF: float64(n - 2)}
	if r*r < 1 {
		t.Statistic = r * math.Sqrt(t.DF/(1-r*r))
		t.P = tTail(t.Statistic, t.DF)
	}
	t.Warnings = []string{"autocorrelated values make false correlations more frequent than p says"}
	return t, nil
}

// midRanks gives each value its rank, equal values their mean rank.
func midRanks(x []float64) []float64 {
	order := make([]int, len(x))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		switch {
		case x[a] < x[b]:
			return -1
		case x[a] > x[b]:
			return 1
		}
		return 0
	})
	r := make([]float64, len(x))
	for i := 0; i < len(order); {
		j := i
		for j < len(order) && x[order[j]] == x[order[i]] {
			j++
		}
		for k := i; k < j; k++ {
			r[order[k]] = float64(i+j+1) / 2
		}
		i = j
	}
	return r
}

// Spearman is the correlation of the ranks (ties: mid-ranks), with its t approximation.
func Spearman(x, y []float64) (Test, error) {
	if err := usable(x, y); err != nil {
		return Test{}, err
	}
	t, err := Pearson(midRanks(x), midRanks(y), 0.95)
	t.Method, t.Lo, t.Hi = "Spearman's rho, t approximation", nil, nil
	return t, err
}

// A KendallResult is tau-b with its test.
type KendallResult struct {
	TauB float64
	Z, P float64 // normal, without continuity correction, corrected for ties
}

// Kendall is tau-b, which allows for ties.
func Kendall(x, y []float64) (KendallResult, error) {
	if err := usable(x, y); err != nil {
		return KendallResult{}, err
	}
	n := len(x)
	if len(y) != n || n < 3 {
		return KendallResult{}, fmt.Errorf("Kendall's tau needs at least three pairs, not %d and %d values", n, len(y))
	}
	var s, tx, ty float64
	for i := range n {
		for j := range i {
			a, b := sign(x[i]-x[j]), sign(y[i]-y[j])
			s += a * b
			if a == 0 {
				tx++
			}
			if b == 0 {
				ty++
			}
		}
	}
	all := float64(n*(n-1)) / 2
	if tx == all || ty == all {
		return KendallResult{}, ErrConstant
	}
	k := KendallResult{TauB: s / math.Sqrt((all-tx)*(all-ty))}
	k.Z = s / math.Sqrt(kendallS(x, y))
	k.P = min(2*distuv.UnitNormal.Survival(math.Abs(k.Z)), 1)
	return k, nil
}

func sign(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	}
	return 0
}

// kendallS is the variance of S under independence, with ties in both (Kendall 1970).
func kendallS(x, y []float64) float64 {
	n := float64(len(x))
	groups := func(v []float64, f func(t float64) float64) float64 {
		s := slices.Clone(v)
		slices.Sort(s)
		var sum float64
		for i := 0; i < len(s); {
			j := i
			for j < len(s) && s[j] == s[i] {
				j++
			}
			sum += f(float64(j - i))
			i = j
		}
		return sum
	}
	v0 := func(t float64) float64 { return t * (t - 1) * (2*t + 5) }
	v1 := func(t float64) float64 { return t * (t - 1) }
	v2 := func(t float64) float64 { return t * (t - 1) * (t - 2) }
	v := (n*(n-1)*(2*n+5) - groups(x, v0) - groups(y, v0)) / 18
	v += groups(x, v1) * groups(y, v1) / (2 * n * (n - 1))
	if n > 2 {
		v += groups(x, v2) * groups(y, v2) / (9 * n * (n - 1) * (n - 2))
	}
	return v
}

// Autocorrelation is that of a series at a lag: sum (x_t-m)(x_{t+k}-m) / sum (x_t-m)^2.
func Autocorrelation(x []float64, lag int) (float64, error) {
	if lag < 1 || lag >= len(x) {
		return 0, fmt.Errorf("a lag of %d is not within a series of %d", lag, len(x))
	}
	if err := usable(x); err != nil {
		return 0, err
	}
	m := stat.Mean(x, nil)
	var num, den float64
	for i, v := range x {
		den += (v - m) * (v - m)
		if i+lag < len(x) {
			num += (v - m) * (x[i+lag] - m)
		}
	}
	if den == 0 {
		return 0, ErrConstant
	}
	return num / den, nil
}

// EffectiveSize is how many independent values an autocorrelated series is worth, n(1-r1)/(1+r1), at most n.
func EffectiveSize(x []float64) (float64, error) {
	r, err := Autocorrelation(x, 1)
	if err != nil {
		return 0, err
	}
	n := float64(len(x))
	return min(n*(1-r)/(1+r), n), nil
}

// DurbinWatson is sum (e_t - e_{t-1})^2 / sum e_t^2 of residuals: 2 without autocorrelation.
func DurbinWatson(residuals []float64) (float64, error) {
	if err := usable(residuals); err != nil {
		return 0, err
	}
	var num, den float64
	for i, e := range residuals {
		den += e * e
		if i > 0 {
			num += (e - residuals[i-1]) * (e - residuals[i-1])
		}
	}
	if den == 0 {
		return 0, ErrConstant
	}
	return num / den, nil
}
