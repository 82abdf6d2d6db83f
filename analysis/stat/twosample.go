package stat

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// A Test is the result of a test of a difference. Estimate is the effect (x minus y) with its interval.
type Test struct {
	Estimate
	Statistic float64
	DF        float64 // NaN-free: 0 where the test has none
	P         float64 // two-sided
}

// tTail is the two-sided tail probability of Student's t, without losing digits far out.
func tTail(t, df float64) float64 {
	return min(2*distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.CDF(-math.Abs(t)), 1)
}

func tQuantile(p, df float64) float64 {
	return distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}.Quantile(p)
}

// ErrConstant is a test of values that don't vary: it has no error to compare with.
var ErrConstant = fmt.Errorf("the values don't vary: the test is undefined")

// satterthwaite is the degrees of freedom of the sum of two variances of means, a from m and b from n values.
func satterthwaite(a, b float64, m, n int) float64 {
	return (a + b) * (a + b) / (a*a/float64(m-1) + b*b/float64(n-1))
}

// welch is the difference of two means, its standard error and degrees of freedom, for unequal variances.
func welch(x, y []float64) (diff, se, df float64, err error) {
	if err := usable(x, y); err != nil {
		return 0, 0, 0, err
	}
	if len(x) < 2 || len(y) < 2 {
		return 0, 0, 0, fmt.Errorf("Welch's test needs two values in each sample, not %d and %d", len(x), len(y))
	}
	mx, vx := stat.MeanVariance(x, nil)
	my, vy := stat.MeanVariance(y, nil)
	a, b := vx/float64(len(x)), vy/float64(len(y))
	if a+b == 0 {
		return 0, 0, 0, ErrConstant
	}
	return mx - my, math.Sqrt(a + b), satterthwaite(a, b, len(x), len(y)), nil
}

// Welch compares two means without assuming equal variances (Welch 1947, degrees of freedom of Satterthwaite).
func Welch(x, y []float64, confidence float64) (Test, error) {
	diff, se, df, err := welch(x, y)
	if err != nil {
		return Test{}, err
	}
	return tTest("Welch's t", diff, se, df, len(x)+len(y), confidence), nil
}

// Paired compares two samples whose values belong together, such as the rounds of a block.
func Paired(x, y []float64, confidence float64) (Test, error) {
	if err := usable(x, y); err != nil {
		return Test{}, err
	}
	if len(x) != len(y) || len(x) < 2 {
		return Test{}, fmt.Errorf("a paired test needs pairs, at least two, not %d and %d values", len(x), len(y))
	}
	d := make([]float64, len(x))
	for i := range x {
		d[i] = x[i] - y[i]
	}
	m, v := stat.MeanVariance(d, nil)
	if v == 0 {
		return Test{}, ErrConstant
	}
	return tTest("paired t", m, math.Sqrt(v/float64(len(d))), float64(len(d)-1), len(d), confidence), nil
}

func tTest(method string, diff, se, df float64, n int, confidence float64) Test {
	half := tQuantile(1-(1-confidence)/2, df) * se
	lo, hi := diff-half, diff+half
	t := Test{Estimate: Estimate{Value: diff, Lo: &lo, Hi: &hi, N: n, Method: method}, Statistic: diff / se, DF: df}
	t.P = tTail(t.Statistic, df)
	return t
}

// A RankTest is the Mann-Whitney test: U1 counts the pairs in which x is the larger (ties by half).
type RankTest struct {
	U1, U2   float64
	Exact    bool
	P        float64 // two-sided: exact without ties and for small samples, else by the normal distribution
	PNormal  float64 // with tie and continuity correction
	Warnings []string
}

// exactUpTo is the product of sample sizes up to which the exact distribution of U is counted.
const exactUpTo = 2500

// MannWhitney tests whether values of one sample tend to be larger than those of the other.
func MannWhitney(x, y []float64) (RankTest, error) {
	if err := usable(x, y); err != nil {
		return RankTest{}, err
	}
	m, n := len(x), len(y)
	if m == 0 || n == 0 {
		return RankTest{}, ErrEmpty
	}
	r := RankTest{U1: pairs(x, y)}
	r.U2 = float64(m*n) - r.U1
	all := append(slices.Clone(x), y...)
	ties := tieSum(all)
	mean := float64(m*n) / 2
	total := float64(m + n)
	variance := float64(m*n) / 12 * (total + 1 - ties/(total*(total-1)))
	if variance > 0 {
		z := max(math.Abs(r.U1-mean)-0.5, 0) / math.Sqrt(variance)
		r.PNormal = min(2*distuv.UnitNormal.Survival(z), 1)
	} else {
		r.PNormal = 1
	}
	r.P = r.PNormal
	if ties == 0 && m*n <= exactUpTo {
		r.P, r.Exact = min(2*uCDF(m, n, int(math.Round(min(r.U1, r.U2)))), 1), true
	} else if ties > 0 {
		r.Warnings = append(r.Warnings, "ties: p by the normal approximation")
	}
	if least := MannWhitneyMinP(m, n); least > 0.05 {
		r.Warnings = append(r.Warnings, fmt.Sprintf("with %d and %d values p can't be below %.2g", m, n, least))
	}
	return r, nil
}

// pairs counts the pairs in which x is larger, ties by half.
func pairs(x, y []float64) float64 {
	var u float64
	for _, a := range x {
		for _, b := range y {
			switch {
			case a > b:
				u++
			case a == b:
				u += 0.5
			}
		}
	}
	return u
}

// tieSum is the sum of t^3 - t over groups of t equal values.
func tieSum(all []float64) float64 {
	s := slices.Clone(all)
	slices.Sort(s)
	var sum float64
	for i := 0; i < len(s); {
		j := i
		for j < len(s) && s[j] == s[i] {
			j++
		}
		t := float64(j - i)
		sum += t*t*t - t
		i = j
	}
	return sum
}

// uDistribution is the probability of each value of U for samples of m and n values without ties.
func uDistribution(m, n int) []float64 {
	// count[k][u]: ways to choose k of the first i+k ranks with statistic u (Mann and Whitney 1947, by recursion)
	prev := make([][]float64, n+1)
	for j := range prev {
		prev[j] = []float64{1}
	}
	for i := 1; i <= m; i++ {
		cur := make([][]float64, n+1)
		cur[0] = []float64{1}
		for j := 1; j <= n; j++ {
			c := make([]float64, i*j+1)
			for u := range c {
				if u < len(cur[j-1]) {
					c[u] += float64(j) / float64(i+j) * cur[j-1][u]
				}
				if k := u - j; k >= 0 && k < len(prev[j]) {
					c[u] += float64(i) / float64(i+j) * prev[j][k]
				}
			}
			cur[j] = c
		}
		prev = cur
	}
	return prev[n]
}

// uCDF is P(U <= u).
func uCDF(m, n, u int) float64 {
	var p float64
	for k, q := range uDistribution(m, n) {
		if k <= u {
			p += q
		}
	}
	return p
}

// MannWhitneyMinP is the smallest two-sided p that samples of m and n values can give.
func MannWhitneyMinP(m, n int) float64 {
	c := 1.0
	for i := 1; i <= m; i++ {
		c *= float64(n+i) / float64(i)
	}
	return min(2/c, 1)
}

// HodgesLehmann is the median of all differences x_i - y_j, with the interval that inverts the exact rank test.
func HodgesLehmann(x, y []float64, confidence float64) (Estimate, error) {
	if err := usable(x, y); err != nil {
		return Estimate{}, err
	}
	m, n := len(x), len(y)
	if m == 0 || n == 0 {
		return Estimate{}, ErrEmpty
	}
	d := make([]float64, 0, m*n)
	for _, a := range x {
		for _, b := range y {
			d = append(d, a-b)
		}
	}
	slices.Sort(d)
	med, err := Median(d)
	if err != nil {
		return Estimate{}, err
	}
	e := Estimate{Value: med, N: m + n, Method: "Hodges-Lehmann shift, rank interval"}
	if m*n > exactUpTo {
		e.Warnings = append(e.Warnings, "no interval: the samples are too large for the exact distribution")
		return e, nil
	}
	k, p := 0, 0.0 // the largest k with P(U <= k-1) <= alpha/2
	for _, q := range uDistribution(m, n) {
		if p+q > (1-confidence)/2 {
			break
		}
		p += q
		k++
	}
	if k == 0 { // even the widest interval covers less
		k = 1
		e.Warnings = append(e.Warnings, fmt.Sprintf("%d and %d values: the interval covers only %.0f %%", m, n, 100*(1-2*uCDF(m, n, 0))))
	}
	lo, hi := d[k-1], d[m*n-k]
	e.Lo, e.Hi = &lo, &hi
	return e, nil
}

// An Effect is the size of a difference, free of its unit.
type Effect struct {
	CohenD, HedgesG float64
	PooledSD        float64
	CliffDelta      float64 // P(x > y) - P(x < y)
	Warnings        []string
}

// EffectSize gives Cohen's d (pooled deviation), Hedges' g (exact correction by gamma functions) and Cliff's delta.
func EffectSize(x, y []float64) (Effect, error) {
	if err := usable(x, y); err != nil {
		return Effect{}, err
	}
	if len(x) < 2 || len(y) < 2 {
		return Effect{}, fmt.Errorf("an effect size needs two values in each sample, not %d and %d", len(x), len(y))
	}
	mx, vx := stat.MeanVariance(x, nil)
	my, vy := stat.MeanVariance(y, nil)
	df := float64(len(x) + len(y) - 2)
	e := Effect{PooledSD: math.Sqrt((float64(len(x)-1)*vx + float64(len(y)-1)*vy) / df)}
	if e.PooledSD == 0 {
		return Effect{}, ErrConstant
	}
	e.CohenD = (mx - my) / e.PooledSD
	a, _ := math.Lgamma(df / 2)
	b, _ := math.Lgamma((df - 1) / 2)
	e.HedgesG = e.CohenD * math.Exp(a-b) / math.Sqrt(df/2)
	e.CliffDelta = 2*pairs(x, y)/float64(len(x)*len(y)) - 1
	if len(x) < few || len(y) < few {
		e.Warnings = append(e.Warnings, "few values: an effect size says little")
	}
	return e, nil
}
