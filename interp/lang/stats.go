package lang

import (
	"fmt"
	"regexp"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"sextant/analysis/stat"
)

// statsModule is `stats`: the functions of analysis/stat on lists of numbers, and tables made of result tables.
func statsModule() starlark.Value {
	ns := &namespace{name: "stats", members: map[string]starlark.Value{}}
	for name, fn := range map[string]builtin{
		"mean": statMean, "t_interval": statMean, "sd": ofOne(stat.SD), "cv": ofOne(stat.CV), "stability": statStability, "median": statMedian, "quantile": statQuantile,
		"welch": ofTwo(stat.Welch), "paired": ofTwo(stat.Paired), "pearson": ofTwo(stat.Pearson), "ratio": estimateOfTwo(stat.Ratio), "hodges_lehmann": estimateOfTwo(stat.HodgesLehmann),
		"mann_whitney": statMannWhitney, "spearman": statSpearman, "kendall": statKendall, "mann_kendall": statMannKendall, "cohen": statEffect, "cliff": statEffect,
		"anova": ofGroups(stat.ANOVA), "kruskal": ofGroups(stat.KruskalWallis), "brown_forsythe": ofGroups(stat.BrownForsythe),
		"bonferroni": adjusted(stat.Bonferroni), "holm": adjusted(stat.Holm), "bh": adjusted(stat.BenjaminiHochberg),
		"tost": statTOST, "usl": statUSL, "bootstrap": statBootstrap, "geomean": statGeomean, "wilcoxon": statWilcoxon, "quantile_interval": statQuantileInterval,
		"summary_interval": statSummaryInterval, "run_difference": statRunDifference, "changepoints": statChangepoints, "linear": statLinear, "fieller": statFieller, "sample_size": statSampleSize,
		"change_pct": statChange, "littles_law": statLittle,
		"summary": statSummary, "penalty": statPenalty, "scalability": statScalability, "correlation_matrix": statMatrix,
	} {
		ns.members[name] = starlark.NewBuiltin("stats."+name, fn)
	}
	return ns
}

// percentile are names of columns that hold percentiles or extremes.
var percentile = regexp.MustCompile(`(^|_)p[0-9]+_(ms|s)$|(^|_)(min|max)_ms$`)

// noMean refuses the mean of percentiles or extremes.
func noMean(name string) error {
	if percentile.MatchString(name) {
		return fmt.Errorf("%s is a percentile or an extreme of each trial, and the mean of those is none: use stats.median, or the column merged of r.summary, which is the percentile over all trials", name)
	}
	return nil
}

// numbers reads a list of numbers. None is an error: what it stands for must be decided first.
func numbers(b *starlark.Builtin, what string, v starlark.Value) ([]float64, error) {
	it, ok := v.(starlark.Iterable)
	if _, text := v.(starlark.String); !ok || text {
		return nil, fmt.Errorf("%s: %s must be a list of numbers, not %s", b.Name(), what, describe(v))
	}
	var out []float64
	iter := it.Iterate()
	defer iter.Done()
	var x starlark.Value
	for iter.Next(&x) {
		f, ok := starlark.AsFloat(x)
		if !ok {
			hint := ""
			if x == starlark.None {
				hint = ": leave out what was not measured, such as .where(lambda r: r.x != None)"
			}
			return nil, fmt.Errorf("%s: %s holds %s, which is no number%s", b.Name(), what, describe(x), hint)
		}
		out = append(out, f)
	}
	return out, nil
}

// meanable is numbers for a statistic that is made of means.
func meanable(b *starlark.Builtin, what string, v starlark.Value) ([]float64, error) {
	if c, ok := v.(*columnValue); ok {
		if err := noMean(c.name); err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name(), err)
		}
	}
	return numbers(b, what, v)
}

// optional is a number, or None where it is undefined.
func optional(f *float64) starlark.Value { return fromValue(nullable(f)) }

func finite(f float64) starlark.Value { return optional(&f) }

func warnings(list []string) starlark.Value { return starlark.String(strings.Join(list, "; ")) }

func object(name string, d starlark.StringDict) starlark.Value {
	return starlarkstruct.FromStringDict(starlark.String(name), d)
}

func estimate(e stat.Estimate) starlark.StringDict {
	return starlark.StringDict{"value": finite(e.Value), "lo": optional(e.Lo), "hi": optional(e.Hi), "n": starlark.MakeInt(e.N), "method": starlark.String(e.Method), "warnings": warnings(e.Warnings)}
}

// named puts the function's name before an error of the statistics.
func named(b *starlark.Builtin, v starlark.Value, err error) (starlark.Value, error) {
	if err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	return v, nil
}

const defaultConfidence = 0.95

// real is an argument that is a number, whole or not.
type real float64

func (r *real) Unpack(v starlark.Value) error {
	f, ok := starlark.AsFloat(v)
	if _, isBool := v.(starlark.Bool); !ok || isBool || f-f != 0 {
		return fmt.Errorf("got %s, want a number", describe(v))
	}
	*r = real(f)
	return nil
}

func statMean(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	confidence := defaultConfidence
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "x", &v, "confidence?", &confidence); err != nil {
		return nil, err
	}
	x, err := meanable(b, "x", v)
	if err != nil {
		return nil, err
	}
	e, err := stat.Mean(x, confidence)
	return named(b, object("estimate", estimate(e)), err)
}

func ofOne(f func([]float64) *float64) builtin {
	return func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var v starlark.Value
		if err := starlark.UnpackArgs(b.Name(), args, kwargs, "x", &v); err != nil {
			return nil, err
		}
		x, err := numbers(b, "x", v)
		if err != nil {
			return nil, err
		}
		return optional(f(x)), nil
	}
}

// statStability is the class of a CV in percent.
func statStability(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var cv starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "cv_pct", &cv); err != nil {
		return nil, err
	}
	if cv == starlark.None {
		return starlark.None, nil
	}
	f, ok := starlark.AsFloat(cv)
	if !ok {
		return nil, fmt.Errorf("%s takes a CV in percent, not %s", b.Name(), describe(cv))
	}
	return starlark.String(stat.Stability(f)), nil
}

func statMedian(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "x", &v); err != nil {
		return nil, err
	}
	x, err := numbers(b, "x", v)
	if err != nil {
		return nil, err
	}
	m, err := stat.Median(x)
	return named(b, finite(m), err)
}

func statQuantile(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var v starlark.Value
	var p real
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "x", &v, "p", &p); err != nil {
		return nil, err
	}
	x, err := numbers(b, "x", v)
	if err != nil {
		return nil, err
	}
	q, err := stat.Quantile(x, float64(p), stat.LinearType)
	return named(b, finite(q), err)
}

// two64 reads two samples and a confidence.
func two64(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (x, y []float64, confidence float64, err error) {
	var v, w starlark.Value
	confidence = defaultConfidence
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "x", &v, "y", &w, "confidence?", &confidence); err != nil {
		return nil, nil, 0, err
	}
	if !(confidence > 0 && confidence < 1) {
		return nil, nil, 0, fmt.Errorf("%s: confidence must be between 0 and 1", b.Name())
	}
	if x, err = numbers(b, "x", v); err == nil {
		y, err = numbers(b, "y", w)
	}
	return x, y, confidence, err
}

func ofTwo(f func(x, y []float64, confidence float64) (stat.Test, error)) builtin {
	return func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		x, y, confidence, err := two64(b, args, kwargs)
		if err != nil {
			return nil, err
		}
		t, err := f(x, y, confidence)
		d := estimate(t.Estimate)
		d["statistic"], d["df"], d["p"] = finite(t.Statistic), finite(t.DF), finite(t.P)
		return named(b, object("test", d), err)
	}
}

func estimateOfTwo(f func(x, y []float64, confidence float64) (stat.Estimate, error)) builtin {
	return func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		x, y, confidence, err := two64(b, args, kwargs)
		if err != nil {
			return nil, err
		}
		e, err := f(x, y, confidence)
		return named(b, object("estimate", estimate(e)), err)
	}
}

func statMannWhitney(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	x, y, _, err := two64(b, args, kwargs)
	if err != nil {
		return nil, err
	}
	r, err := stat.MannWhitney(x, y)
	return named(b, object("test", starlark.StringDict{"u": finite(r.U1), "exact": starlark.Bool(r.Exact), "p": finite(r.P), "warnings": warnings(r.Warnings)}), err)
}

func statSpearman(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	x, y, _, err := two64(b, args, kwargs)
	if err != nil {
		return nil, err
	}
	t, err := stat.Spearman(x, y)
	d := estimate(t.Estimate)
	d["p"] = finite(t.P)
	return named(b, object("test", d), err)
}

func statKendall(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	x, y, _, err := two64(b, args, kwargs)
	if err != nil {
		return nil, err
	}
	k, err := stat.Kendall(x, y)
	return named(b, object("test", starlark.StringDict{"value": finite(k.TauB), "p": finite(k.P)}), err)
}

func statMannKendall(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	t, x, _, err := two64(b, args, kwargs)
	if err != nil {
		return nil, err
	}
	r, err := stat.MannKendall(t, x)
	return named(b, object("trend", starlark.StringDict{"slope": finite(r.SenSlope), "warnings": warnings(r.Warnings), "p": finite(r.P)}), err)
}

func statEffect(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	x, y, _, err := two64(b, args, kwargs)
	if err != nil {
		return nil, err
	}
	e, err := stat.EffectSize(x, y)
	return named(b, object("effect", starlark.StringDict{"d": finite(e.CohenD), "g": finite(e.HedgesG), "cliff": finite(e.CliffDelta), "warnings": warnings(e.Warnings)}), err)
}

func ofGroups(f func([][]float64) (stat.GroupTest, error)) builtin {
	return func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if len(kwargs) > 0 {
			return nil, fmt.Errorf("%s takes no keywords: give one list a group", b.Name())
		}
		var groups [][]float64
		for i, a := range args {
			x, err := numbers(b, fmt.Sprintf("group %d", i+1), a)
			if err != nil {
				return nil, err
			}
			groups = append(groups, x)
		}
		g, err := f(groups)
		return named(b, object("test", starlark.StringDict{"statistic": finite(g.Statistic), "df1": finite(g.DF1), "df2": finite(g.DF2), "p": finite(g.P), "effect": finite(g.Effect)}), err)
	}
}

func adjusted(f func(p []float64, m int) []float64) builtin {
	return func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var v starlark.Value
		m := 0
		if err := starlark.UnpackArgs(b.Name(), args, kwargs, "p", &v, "m?", &m); err != nil {
			return nil, err
		}
		p, err := numbers(b, "p", v)
		if err != nil {
			return nil, err
		}
		for _, x := range p {
			if !(x >= 0 && x <= 1) {
				return nil, fmt.Errorf("%s: %v is no p value", b.Name(), x)
			}
		}
		if m != 0 && m < len(p) {
			return nil, fmt.Errorf("%s: m = %d is less than the %d p values", b.Name(), m, len(p))
		}
		var out []starlark.Value
		for _, x := range f(p, max(m, len(p))) {
			out = append(out, starlark.Float(x))
		}
		return starlark.NewList(out), nil
	}
}

func statChange(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var base, now real
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "base", &base, "now", &now); err != nil {
		return nil, err
	}
	c, err := stat.ChangePct(float64(base), float64(now))
	return named(b, finite(c), err)
}

func statLittle(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var x, r, z real
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "throughput_ops_s", &x, "response_s", &r, "think_s?", &z); err != nil {
		return nil, err
	}
	return finite(stat.LittlesLaw(float64(x), float64(r), float64(z))), nil
}
