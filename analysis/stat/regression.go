package stat

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// A Coefficient is one of a linear fit with its standard error, t interval and two-sided p.
type Coefficient struct {
	Value, SE, Lo, Hi, P float64
}

// A Fit is a linear model fitted by least squares; Coefficients begin with the intercept.
type Fit struct {
	Coefficients []Coefficient
	R2, AdjR2    float64
	Sigma        float64 // residual standard deviation
	F            float64 // against the intercept alone
	DF           int     // of the residuals
}

// Linear fits y = b0 + b1 x1 + b2 x2 + ... by least squares (QR). Predictors are lists as long as y. Residuals that depend on
// each other, as those of intervals of one run do, make the errors too small.
func Linear(y []float64, confidence float64, predictors ...[]float64) (Fit, error) {
	n, k := len(y), len(predictors)+1
	if k < 2 || n <= k {
		return Fit{}, fmt.Errorf("a fit of %d coefficients needs a predictor and more than %d values, not %d", k, k, n)
	}
	if !(confidence > 0 && confidence < 1) {
		return Fit{}, fmt.Errorf("a confidence of %v is not between 0 and 1", confidence)
	}
	if err := usable(append([][]float64{y}, predictors...)...); err != nil {
		return Fit{}, err
	}
	x := mat.NewDense(n, k, nil)
	for i := range n {
		x.Set(i, 0, 1)
		for j, p := range predictors {
			if len(p) != n {
				return Fit{}, fmt.Errorf("predictor %d has %d values, y has %d", j+1, len(p), n)
			}
			x.Set(i, j+1, p[i])
		}
	}
	var qr mat.QR
	qr.Factorize(x)
	if c := qr.Cond(); !(c < 1e12) {
		return Fit{}, fmt.Errorf("a predictor is constant, or follows from the others: %w", ErrConstant)
	}
	var b mat.VecDense
	if err := qr.SolveVecTo(&b, false, mat.NewVecDense(n, y)); err != nil {
		return Fit{}, fmt.Errorf("solving the normal equations: %w", err)
	}
	var fitted, r, inverse mat.Dense
	fitted.Mul(x, &b)
	mean := stat.Mean(y, nil)
	var left, total float64
	for i, v := range y {
		left += (v - fitted.At(i, 0)) * (v - fitted.At(i, 0))
		total += (v - mean) * (v - mean)
	}
	if total == 0 {
		return Fit{}, ErrConstant
	}
	qr.RTo(&r)
	if err := inverse.Inverse(r.Slice(0, k, 0, k)); err != nil {
		return Fit{}, fmt.Errorf("the fit's covariance: %w", err)
	}
	df := n - k
	f := Fit{R2: 1 - left/total, Sigma: math.Sqrt(left / float64(df)), DF: df}
	f.AdjR2 = 1 - (1-f.R2)*float64(n-1)/float64(df)
	f.F = (total - left) / float64(k-1) / (left / float64(df))
	q := tQuantile(1-(1-confidence)/2, float64(df))
	for j := range k {
		var s float64
		for c := j; c < k; c++ {
			s += inverse.At(j, c) * inverse.At(j, c)
		}
		c := Coefficient{Value: b.AtVec(j), SE: f.Sigma * math.Sqrt(s)}
		c.Lo, c.Hi = c.Value-q*c.SE, c.Value+q*c.SE
		if c.SE > 0 {
			c.P = tTail(math.Abs(c.Value/c.SE), float64(df))
		}
		f.Coefficients = append(f.Coefficients, c)
	}
	if left == 0 {
		f.F = math.MaxFloat64
	}
	return f, nil
}

// A Factor is one line of an analysis of variance.
type Factor struct {
	SumSq, F, P float64
	DF          int
}

// A TwoWay is an analysis of variance by two factors; AB is their interaction, nil where there is one value a cell.
type TwoWay struct {
	A, B       Factor
	AB         *Factor
	ResidualSS float64
	ResidualDF int
}

// ANOVA2 analyses y by two factors, whose levels stand beside each value. Every combination must have the same number of
// values: with unequal ones the sums of squares depend on the order of the factors. With one value a combination the factors
// are taken to add up (randomised blocks).
func ANOVA2(y []float64, a, b []string) (TwoWay, error) {
	if len(a) != len(y) || len(b) != len(y) {
		return TwoWay{}, fmt.Errorf("%d values with %d and %d levels", len(y), len(a), len(b))
	}
	if err := usable(y); err != nil {
		return TwoWay{}, err
	}
	sums, counts := map[[2]string]float64{}, map[[2]string]int{}
	for i, v := range y {
		for _, k := range [][2]string{{a[i], ""}, {"", b[i]}, {a[i], b[i]}} {
			if k[0] == "" && k[1] == "" || a[i] == "" || b[i] == "" {
				return TwoWay{}, fmt.Errorf("value %d has no level", i)
			}
			sums[k] += v
			counts[k]++
		}
	}
	var la, lb, each int
	for k, n := range counts {
		switch {
		case k[1] == "":
			la++
		case k[0] == "":
			lb++
		default:
			if each != 0 && each != n {
				return TwoWay{}, fmt.Errorf("some combinations have %d values and some %d: an analysis by two factors needs as many of each", each, n)
			}
			each = n
		}
	}
	if la < 2 || lb < 2 || len(y) != la*lb*each {
		return TwoWay{}, fmt.Errorf("%d values of %d and %d levels: an analysis by two factors needs two levels of each, and every combination", len(y), la, lb)
	}
	mean := func(k [2]string) float64 { return sums[k] / float64(counts[k]) }
	grand := stat.Mean(y, nil)
	var ssA, ssB, ssAB, ssRes float64
	for i, v := range y {
		ma, mb, mab := mean([2]string{a[i], ""}), mean([2]string{"", b[i]}), mean([2]string{a[i], b[i]})
		ssA += (ma - grand) * (ma - grand)
		ssB += (mb - grand) * (mb - grand)
		ssAB += (mab - ma - mb + grand) * (mab - ma - mb + grand)
		ssRes += (v - mab) * (v - mab)
	}
	out := TwoWay{ResidualSS: ssRes, ResidualDF: la * lb * (each - 1)}
	if each == 1 {
		out.ResidualSS, out.ResidualDF = ssAB, (la-1)*(lb-1)
	}
	if out.ResidualSS == 0 {
		return TwoWay{}, ErrConstant
	}
	factor := func(ss float64, df int) Factor {
		f := ss / float64(df) / (out.ResidualSS / float64(out.ResidualDF))
		return Factor{SumSq: ss, DF: df, F: f, P: fTail(f, float64(df), float64(out.ResidualDF))}
	}
	out.A, out.B = factor(ssA, la-1), factor(ssB, lb-1)
	if each > 1 {
		ab := factor(ssAB, (la-1)*(lb-1))
		out.AB = &ab
	}
	return out, nil
}
