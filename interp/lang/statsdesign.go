package lang

import (
	"fmt"

	"go.starlark.net/starlark"

	"sextant/analysis/stat"
)

// statSummaryInterval is summary_interval(mean, sd, n, confidence = 0.95): from a printed summary.
func statSummaryInterval(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var mean, sd real
	var n int
	confidence := real(defaultConfidence)
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "mean", &mean, "sd", &sd, "n", &n, "confidence?", &confidence); err != nil {
		return nil, err
	}
	e, err := stat.MeanFromSummary(float64(mean), float64(sd), n, float64(confidence))
	return named(b, object("estimate", estimate(e)), err)
}

// statRunDifference is run_difference(first, second): two runs of the same.
func statRunDifference(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var first, second real
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "first", &first, "second", &second); err != nil {
		return nil, err
	}
	change, mean, cv, err := stat.RunDifference(float64(first), float64(second))
	return named(b, object("difference", starlark.StringDict{"change_pct": finite(change), "mean": finite(mean), "cv_pct": finite(cv)}), err)
}

// statChangepoints is changepoints(x, factor = 3, min_segment = 5): where the level of a series shifts.
func statChangepoints(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	factor, least := real(stat.PenaltyFactor), 5
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "x", &v, "factor?", &factor, "min_segment?", &least); err != nil {
		return nil, err
	}
	x, err := numbers(b, "x", v)
	if err != nil {
		return nil, err
	}
	if !(factor >= 0) {
		return nil, fmt.Errorf("%s: factor must not be negative", b.Name())
	}
	sigma, err := stat.NoiseSigma(x)
	if err != nil {
		return named(b, nil, err)
	}
	s, err := stat.ChangePoints(x, float64(factor)*stat.PenaltyUnit(sigma, len(x)), least)
	at := make([]starlark.Value, len(s.At))
	for i, k := range s.At {
		at[i] = starlark.MakeInt(k)
	}
	return named(b, starlark.NewList(at), err)
}

// statLinear is linear(y, x1, x2, ...): coefficients with their intervals, the intercept first.
func statLinear(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(kwargs) > 0 || len(args) < 2 {
		return nil, fmt.Errorf("%s takes (y, x1, ...): lists of numbers", b.Name())
	}
	var lists [][]float64
	for i, a := range args {
		what := "y"
		if i > 0 {
			what = fmt.Sprintf("x%d", i)
		}
		x, err := numbers(b, what, a)
		if err != nil {
			return nil, err
		}
		lists = append(lists, x)
	}
	f, err := stat.Linear(lists[0], defaultConfidence, lists[1:]...)
	var coef []starlark.Value
	for _, c := range f.Coefficients {
		coef = append(coef, object("coefficient", starlark.StringDict{"value": finite(c.Value), "se": finite(c.SE), "lo": finite(c.Lo), "hi": finite(c.Hi), "p": finite(c.P)}))
	}
	return named(b, object("fit", starlark.StringDict{"coefficients": starlark.NewList(coef), "r2": finite(f.R2), "sigma": finite(f.Sigma), "df": starlark.MakeInt(f.DF)}), err)
}

// statFieller is fieller(x, y, confidence = 0.95): the ratio of means, with an interval that is honest about a small denominator.
func statFieller(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	x, y, confidence, err := two64(b, args, kwargs)
	if err != nil {
		return nil, err
	}
	e, _, _, err := stat.Fieller(x, y, confidence, false)
	return named(b, object("estimate", estimate(e)), err)
}

// statSampleSize is sample_size(delta, sd, power = 0.8, alpha = 0.05): repeats that each of two groups needs.
func statSampleSize(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var delta, sd real
	power, alpha := real(0.8), real(0.05)
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "delta", &delta, "sd", &sd, "power?", &power, "alpha?", &alpha); err != nil {
		return nil, err
	}
	_, n, err := stat.SampleSize(float64(delta), float64(sd), float64(power), float64(alpha))
	return named(b, starlark.MakeInt(n), err)
}
