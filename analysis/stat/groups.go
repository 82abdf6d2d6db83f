package stat

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/mathext"
	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// fTail is the upper tail of F, without losing digits far out (gonum's Survival is 1-CDF).
func fTail(f, d1, d2 float64) float64 {
	if f <= 0 {
		return 1
	}
	return mathext.RegIncBeta(d2/2, d1/2, d2/(d2+d1*f))
}

// A GroupTest compares several groups at once.
type GroupTest struct {
	Statistic float64 // F, or H
	DF1, DF2  float64 // DF2 is 0 for H
	P         float64
	Effect    float64 // eta squared, or epsilon squared: the share of the variation between the groups
}

func checkGroups(groups [][]float64) (n int, err error) {
	if len(groups) < 2 {
		return 0, fmt.Errorf("a comparison needs at least two groups, not %d", len(groups))
	}
	for i, g := range groups {
		if len(g) == 0 {
			return 0, fmt.Errorf("group %d is empty", i)
		}
		n += len(g)
	}
	if err := usable(groups...); err != nil {
		return 0, err
	}
	if n <= len(groups) {
		return 0, fmt.Errorf("%d values in %d groups leave nothing to judge by", n, len(groups))
	}
	return n, nil
}

// ANOVA is the one-way analysis of variance: are the means of the groups equal, given equal variances?
func ANOVA(groups [][]float64) (GroupTest, error) {
	n, err := checkGroups(groups)
	if err != nil {
		return GroupTest{}, err
	}
	var grand, between, within float64
	for _, g := range groups {
		for _, v := range g {
			grand += v / float64(n)
		}
	}
	for _, g := range groups {
		m := stat.Mean(g, nil)
		between += float64(len(g)) * (m - grand) * (m - grand)
		for _, v := range g {
			within += (v - m) * (v - m)
		}
	}
	if within == 0 {
		return GroupTest{}, ErrConstant
	}
	t := GroupTest{DF1: float64(len(groups) - 1), DF2: float64(n - len(groups)), Effect: between / (between + within)}
	t.Statistic = between / t.DF1 / (within / t.DF2)
	t.P = fTail(t.Statistic, t.DF1, t.DF2)
	return t, nil
}

// BrownForsythe tests equal variances: the ANOVA of the distances from each group's median.
func BrownForsythe(groups [][]float64) (GroupTest, error) {
	if _, err := checkGroups(groups); err != nil {
		return GroupTest{}, err
	}
	d := make([][]float64, len(groups))
	for i, g := range groups {
		m, err := Median(g)
		if err != nil {
			return GroupTest{}, err
		}
		for _, v := range g {
			d[i] = append(d[i], math.Abs(v-m))
		}
	}
	return ANOVA(d)
}

// KruskalWallis is the ANOVA of ranks, corrected for ties.
func KruskalWallis(groups [][]float64) (GroupTest, error) {
	n, err := checkGroups(groups)
	if err != nil {
		return GroupTest{}, err
	}
	all := slices.Concat(groups...)
	ranks := midRanks(all)
	total := float64(n)
	var h float64
	at := 0
	for _, g := range groups {
		var sum float64
		for range g {
			sum += ranks[at]
			at++
		}
		h += sum * sum / float64(len(g))
	}
	h = 12/(total*(total+1))*h - 3*(total+1)
	c := 1 - tieSum(all)/(total*total*total-total)
	if c == 0 {
		return GroupTest{}, ErrConstant
	}
	t := GroupTest{Statistic: h / c, DF1: float64(len(groups) - 1)}
	t.P = distuv.ChiSquared{K: t.DF1}.Survival(t.Statistic)
	t.Effect = t.Statistic / (total - 1)
	return t, nil
}

// Bonferroni, Holm and BenjaminiHochberg adjust p values for m tests; m counts those that are not printed, too, and is at
// least len(p).
func Bonferroni(p []float64, m int) []float64 {
	out := make([]float64, len(p))
	for i, v := range p {
		out[i] = min(v*float64(max(m, len(p))), 1)
	}
	return out
}

// Holm steps down from the smallest p; it controls the chance of any false finding.
func Holm(p []float64, m int) []float64 {
	m = max(m, len(p))
	order := ascending(p)
	out := make([]float64, len(p))
	worst := 0.0
	for k, i := range order {
		worst = max(worst, min(p[i]*float64(m-k), 1))
		out[i] = worst
	}
	return out
}

// BenjaminiHochberg steps up from the largest p; it controls the share of false findings.
func BenjaminiHochberg(p []float64, m int) []float64 {
	m = max(m, len(p))
	order := ascending(p)
	out := make([]float64, len(p))
	best := 1.0
	for k := len(order) - 1; k >= 0; k-- {
		best = min(best, p[order[k]]*float64(m)/float64(k+1))
		out[order[k]] = best
	}
	return out
}

func ascending(p []float64) []int {
	order := make([]int, len(p))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int {
		switch {
		case p[a] < p[b]:
			return -1
		case p[a] > p[b]:
			return 1
		}
		return 0
	})
	return order
}
