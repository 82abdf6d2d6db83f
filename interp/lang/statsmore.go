package lang

import (
	"fmt"

	"go.starlark.net/starlark"

	"sextant/analysis/stat"
)

// statTOST is tost(x, y, margin, alpha = 0.05): is the difference smaller than the margin?
func statTOST(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v, w starlark.Value
	var margin real
	alpha := real(0.05)
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "x", &v, "y", &w, "margin", &margin, "alpha?", &alpha); err != nil {
		return nil, err
	}
	x, err := meanable(b, "x", v)
	if err != nil {
		return nil, err
	}
	y, err := meanable(b, "y", w)
	if err != nil {
		return nil, err
	}
	e, err := stat.TOST(x, y, float64(margin), float64(alpha))
	d := estimate(e.Estimate)
	d["p"], d["equivalent"] = finite(e.P), starlark.Bool(e.Equivalent)
	return named(b, object("equivalence", d), err)
}

// statUSL is usl(load, rate): lambda is called rate1, as lambda is a word of the language.
func statUSL(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v, w starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "n", &v, "rate", &w); err != nil {
		return nil, err
	}
	n, err := numbers(b, "n", v)
	if err != nil {
		return nil, err
	}
	rate, err := meanable(b, "rate", w)
	if err != nil {
		return nil, err
	}
	u, err := stat.USL(n, rate)
	return named(b, object("scaling", starlark.StringDict{"rate1": finite(u.Lambda), "sigma": finite(u.Sigma), "kappa": finite(u.Kappa), "r2": finite(u.R2),
		"peak": optional(u.Peak), "peak_rate": optional(u.PeakRate), "warnings": warnings(u.Warnings)}), err)
}

// statBootstrap is bootstrap(x, statistic = "mean" or "median", confidence, resamples, seed).
func statBootstrap(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	which, confidence, n, seed := "mean", real(defaultConfidence), 10_000, 1
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "x", &v, "statistic?", &which, "confidence?", &confidence, "resamples?", &n, "seed?", &seed); err != nil {
		return nil, err
	}
	read, f := meanable, func(x []float64) (float64, error) {
		e, err := stat.Mean(x, defaultConfidence)
		return e.Value, err
	}
	switch which {
	case "mean":
	case "median":
		read, f = numbers, stat.Median
	default:
		return nil, fmt.Errorf("%s: statistic is mean or median, not %q", b.Name(), which)
	}
	x, err := read(b, "x", v)
	if err != nil {
		return nil, err
	}
	e, err := stat.Resample(x, f, float64(confidence), n, uint64(seed))
	d := estimate(e.Estimate)
	d["se"] = finite(e.SE)
	return named(b, object("estimate", d), err)
}

func statGeomean(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	confidence := real(defaultConfidence)
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "x", &v, "confidence?", &confidence); err != nil {
		return nil, err
	}
	x, err := meanable(b, "x", v)
	if err != nil {
		return nil, err
	}
	e, _, err := stat.GeometricMean(x, float64(confidence))
	return named(b, object("estimate", estimate(e)), err)
}

func statWilcoxon(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	x, y, _, err := two64(b, args, kwargs)
	if err != nil {
		return nil, err
	}
	r, err := stat.SignedRank(x, y)
	return named(b, object("test", starlark.StringDict{"v": finite(r.U1), "exact": starlark.Bool(r.Exact), "p": finite(r.P), "warnings": warnings(r.Warnings)}), err)
}

// statQuantileInterval is quantile_interval(x, p = 0.5): by ranks, without an assumption about the distribution.
func statQuantileInterval(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	p, confidence := real(0.5), real(defaultConfidence)
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "x", &v, "p?", &p, "confidence?", &confidence); err != nil {
		return nil, err
	}
	x, err := numbers(b, "x", v)
	if err != nil {
		return nil, err
	}
	e, cover, err := stat.QuantileInterval(x, float64(p), float64(confidence))
	d := estimate(e)
	d["coverage"] = finite(cover)
	return named(b, object("estimate", d), err)
}
