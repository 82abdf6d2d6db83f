package stat

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/stat"
	"gonum.org/v1/gonum/stat/distuv"
)

// An Equivalence is the answer to: is the difference smaller than a margin? (two one-sided tests)
type Equivalence struct {
	Estimate          // x minus y, with the interval at 1 - 2 alpha
	PLower, PUpper, P float64
	Equivalent        bool
}

// TOST tests whether two means differ by less than a margin, by two one-sided Welch tests at alpha (Schuirmann 1987).
func TOST(x, y []float64, margin, alpha float64) (Equivalence, error) {
	if !(margin > 0) || !(alpha > 0 && alpha < 0.5) {
		return Equivalence{}, fmt.Errorf("a margin of %v at alpha %v: the margin must be above 0, alpha between 0 and 0.5", margin, alpha)
	}
	diff, se, df, err := welch(x, y)
	if err != nil {
		return Equivalence{}, err
	}
	t := distuv.StudentsT{Mu: 0, Sigma: 1, Nu: df}
	e := Equivalence{Estimate: tTest("two one-sided Welch tests", diff, se, df, len(x)+len(y), 1-2*alpha).Estimate,
		PLower: t.CDF(-(diff + margin) / se), PUpper: t.CDF((diff - margin) / se)}
	e.P = max(e.PLower, e.PUpper)
	e.Equivalent = e.P < alpha
	return e, nil
}

// GeometricMean of positive values, with the interval of the mean of their logarithms; gsd is the geometric deviation.
func GeometricMean(x []float64, confidence float64) (e Estimate, gsd *float64, err error) {
	logs := make([]float64, len(x))
	for i, v := range x {
		if !(v > 0) {
			return Estimate{}, nil, fmt.Errorf("a geometric mean needs values above 0, not %v", v)
		}
		logs[i] = math.Log(v)
	}
	if e, err = Mean(logs, confidence); err != nil {
		return e, nil, err
	}
	e.Method, e.Value = "geometric mean, t interval of the logarithms", math.Exp(e.Value)
	if sd := SD(logs); sd != nil {
		g, lo, hi := math.Exp(*sd), math.Exp(*e.Lo), math.Exp(*e.Hi)
		gsd, e.Lo, e.Hi = &g, &lo, &hi
	}
	return e, gsd, nil
}

// TwoLevels is the variation within and between runs (random effects).
type TwoLevels struct {
	Estimate                // mean of the run means, with the interval over runs alone
	Within, Between float64 // variance within runs; between them, without what comes from within (0 at least)
	MeansVariance   float64 // of the run means
	Best            int     // intervals a run that are the best use of the time, where it can be told; else 0
}

// TwoLevelMean is the mean over runs of equally many intervals. costInterval and costRun are what one more interval and one more
// run cost, for Best.
func TwoLevelMean(runs [][]float64, confidence, costInterval, costRun float64) (TwoLevels, error) {
	if len(runs) < 2 {
		return TwoLevels{}, fmt.Errorf("a mean over two levels needs at least two runs, not %d", len(runs))
	}
	n := len(runs[0])
	var means []float64
	var out TwoLevels
	for i, r := range runs {
		if len(r) != n || n < 2 {
			return TwoLevels{}, fmt.Errorf("run %d has %d values, the first %d: all need the same number, two at least", i+1, len(r), n)
		}
		if err := usable(r); err != nil {
			return TwoLevels{}, err
		}
		m, v := stat.MeanVariance(r, nil)
		means = append(means, m)
		out.Within += v / float64(len(runs))
	}
	var err error
	if out.Estimate, err = Mean(means, confidence); err != nil {
		return out, err
	}
	out.Method = "mean of run means, t interval over runs"
	_, out.MeansVariance = stat.MeanVariance(means, nil)
	out.Between = max(out.MeansVariance-out.Within/float64(n), 0)
	if out.Between > 0 && costInterval > 0 && costRun > 0 {
		out.Best = int(math.Ceil(math.Sqrt(costRun / costInterval * out.Within / out.Between)))
	}
	return out, nil
}
