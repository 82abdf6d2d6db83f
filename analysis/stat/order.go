package stat

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// QuantileInterval is the distribution-free interval of the p-quantile by ranks of the sample: the smallest and largest
// ranks whose binomial tails beyond hold (1-confidence)/2 at most each. An end that the sample is too small for is nil, with a
// warning; the real coverage is at least the asked one.
func QuantileInterval(x []float64, p, confidence float64) (Estimate, float64, error) {
	if len(x) == 0 {
		return Estimate{}, 0, ErrEmpty
	}
	if !(p > 0 && p < 1) || !(confidence > 0 && confidence < 1) {
		return Estimate{}, 0, fmt.Errorf("a quantile %v at a confidence of %v: both must be between 0 and 1", p, confidence)
	}
	if err := usable(x); err != nil {
		return Estimate{}, 0, err
	}
	v, err := Quantile(x, p, LinearType)
	if err != nil {
		return Estimate{}, 0, err
	}
	n := len(x)
	lo, hi := binomialQuantile((1-confidence)/2, n, p), binomialQuantile(1-(1-confidence)/2, n, p)+1
	s := slices.Sorted(slices.Values(x))
	e := Estimate{Value: v, N: n, Method: "quantile, interval by ranks"}
	if lo >= 1 {
		e.Lo = &s[lo-1]
	}
	if hi <= n {
		e.Hi = &s[hi-1]
	}
	if e.Lo == nil || e.Hi == nil {
		e.Warnings = append(e.Warnings, fmt.Sprintf("%d values are too few for both ends of an interval at %v %%", n, 100*confidence))
	}
	b := distuv.Binomial{N: float64(n), P: p}
	cover := b.CDF(float64(hi - 1))
	if lo >= 1 {
		cover -= b.CDF(float64(lo - 1))
	}
	return e, min(cover, 1), nil
}

// binomialQuantile is the smallest k with P(X <= k) >= q.
func binomialQuantile(q float64, n int, p float64) int {
	b := distuv.Binomial{N: float64(n), P: p}
	var cum float64
	for k := range n {
		if cum += b.Prob(float64(k)); cum >= q*(1-1e-12) {
			return k
		}
	}
	return n
}

// SignedRank is Wilcoxon's test of pairs: V is the sum of the ranks of positive differences x-y. Pairs without a difference are
// left out. P is exact without ties, up to 50 pairs, else by the normal distribution with tie and continuity correction.
func SignedRank(x, y []float64) (RankTest, error) {
	if err := usable(x, y); err != nil {
		return RankTest{}, err
	}
	if len(x) != len(y) || len(x) == 0 {
		return RankTest{}, fmt.Errorf("a paired test needs pairs, not %d and %d values", len(x), len(y))
	}
	var size []float64
	var positive []bool
	for i := range x {
		if d := x[i] - y[i]; d != 0 {
			size, positive = append(size, math.Abs(d)), append(positive, d > 0)
		}
	}
	n := len(size)
	if n == 0 {
		return RankTest{}, ErrConstant
	}
	r := RankTest{}
	if n < len(x) {
		r.Warnings = append(r.Warnings, fmt.Sprintf("%d pairs without a difference are left out", len(x)-n))
	}
	ranks, ties := midRanks(size), tieSum(size)
	for i, p := range positive {
		if p {
			r.U1 += ranks[i]
		}
	}
	total := float64(n) * float64(n+1) / 2
	r.U2 = total - r.U1
	sd := math.Sqrt(float64(n)*float64(n+1)*float64(2*n+1)/24 - ties/48)
	z := (math.Abs(r.U1-total/2) - 0.5) / sd
	r.PNormal = min(2*distuv.UnitNormal.CDF(-max(z, 0)), 1)
	r.P = r.PNormal
	if ties == 0 && n <= 50 {
		r.Exact, r.P = true, signedRankP(n, int(r.U1))
	}
	return r, nil
}

// signedRankP is the two-sided exact probability of V among n pairs: all 2^n signs are equally likely.
func signedRankP(n, v int) float64 {
	most := n * (n + 1) / 2
	ways := make([]float64, most+1)
	ways[0] = 1
	for r := 1; r <= n; r++ {
		for s := most; s >= r; s-- {
			ways[s] += ways[s-r]
		}
	}
	v = min(v, most-v)
	var tail float64
	for _, w := range ways[:v+1] {
		tail += w
	}
	return min(2*tail/math.Pow(2, float64(n)), 1)
}
