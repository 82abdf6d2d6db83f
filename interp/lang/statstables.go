package lang

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"sextant/analysis/stat"
)

// metricOf checks that a metric is a number that means can be made of.
func (t *tableValue) metricOf(b *starlark.Builtin, name string) (int, error) {
	i, err := t.index(name)
	if err != nil {
		return 0, fmt.Errorf("%s: metric: %w", b.Name(), err)
	}
	if err := noMean(name); err != nil {
		return 0, fmt.Errorf("%s: %w", b.Name(), err)
	}
	return i, nil
}

// others reads `by`, whose default are the table's axes without one.
func (t *tableValue) others(b *starlark.Builtin, by starlark.Value, without string) (names []string, at []int, err error) {
	if by == nil || by == starlark.None {
		for _, a := range t.Axes {
			if a != without {
				names = append(names, a)
			}
		}
	} else {
		list, ok := by.(*starlark.List)
		if !ok {
			return nil, nil, fmt.Errorf("%s: by must be a list of names of columns, not %s", b.Name(), describe(by))
		}
		for i := range list.Len() {
			s, ok := list.Index(i).(starlark.String)
			if !ok {
				return nil, nil, fmt.Errorf("%s: by holds %s", b.Name(), describe(list.Index(i)))
			}
			names = append(names, string(s))
		}
	}
	for _, n := range names {
		i, err := t.index(n)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: by: %w", b.Name(), err)
		}
		at = append(at, i)
	}
	return names, at, nil
}

// along finds the columns of an axis and of a metric, and those of the cells that are compared along the axis.
func (v *tableValue) along(b *starlark.Builtin, axis, metric string, by starlark.Value) (a, m int, names []string, at []int, err error) {
	if a, err = v.index(axis); err != nil {
		return 0, 0, nil, nil, fmt.Errorf("%s: axis: %w", b.Name(), err)
	}
	if m, err = v.metricOf(b, metric); err != nil {
		return 0, 0, nil, nil, err
	}
	names, at, err = v.others(b, by, axis)
	return a, m, names, at, err
}

// sample is the numbers of a column; null is left out, and anything else is an error.
func (t *tableValue) sample(b *starlark.Builtin, c int) ([]float64, error) {
	var out []float64
	for _, r := range t.Rows {
		switch r[c].(type) {
		case nil:
		case int64, float64:
			out = append(out, numberOf(r[c]))
		default:
			return nil, fmt.Errorf("%s: column %s holds %v, which is no number", b.Name(), t.Columns[c], r[c])
		}
	}
	return out, nil
}

func nullable(f *float64) any {
	if f == nil || *f-*f != 0 {
		return nil
	}
	return *f
}

// statSummary is summary(table, metric, by = axes): n, mean, deviation, CV, its class, interval, median, extremes.
func statSummary(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var t *tableValue
	var metric string
	var by starlark.Value
	confidence := defaultConfidence
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "table", &t, "metric", &metric, "by?", &by, "confidence?", &confidence); err != nil {
		return nil, err
	}
	m, err := t.metricOf(b, metric)
	if err != nil {
		return nil, err
	}
	names, at, err := t.others(b, by, "")
	if err != nil {
		return nil, err
	}
	out := &Table{Name: "summary", Columns: append(slices.Clone(names), "metric", "n", "mean", "sd", "cv_pct", "stability", "lo", "hi", "median", "min", "max"), Axes: names}
	keys, parts := t.inOrder(at)
	for i, p := range parts {
		x, err := p.sample(b, m)
		if err != nil {
			return nil, err
		}
		line := append(slices.Clone(keys[i]), metric, int64(len(x)))
		if len(x) == 0 {
			out.Rows = append(out.Rows, append(line, make([]any, 9)...))
			continue
		}
		s, err := stat.Summarize(x, confidence)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name(), err)
		}
		var class any
		if s.Stability != "" {
			class = s.Stability
		}
		out.Rows = append(out.Rows, append(line, s.Mean.Value, nullable(s.SD), nullable(s.CVPct), class, nullable(s.Mean.Lo), nullable(s.Mean.Hi), s.Median, s.Min, s.Max))
	}
	return &tableValue{Table: out}, nil
}

// statPenalty is penalty(table, axis, baseline, metric, by = other axes): the change of the mean against a baseline level in
// per cent, with the interval of the ratio of means, Welch's p and p adjusted over the table (Holm).
func statPenalty(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var t *tableValue
	var axis, metric string
	var baseline, by starlark.Value
	confidence := defaultConfidence
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "table", &t, "axis", &axis, "baseline", &baseline, "metric", &metric, "by?", &by, "confidence?", &confidence); err != nil {
		return nil, err
	}
	a, m, names, at, err := t.along(b, axis, metric, by)
	if err != nil {
		return nil, err
	}
	base, err := toValue(baseline)
	if err != nil {
		return nil, fmt.Errorf("%s: baseline: %w", b.Name(), err)
	}
	levels, _ := t.inOrder([]int{a})
	if !slices.ContainsFunc(levels, func(l []any) bool { return compareValues(l[0], base) == 0 }) {
		var have []string
		for _, l := range levels {
			have = append(have, fromValue(l[0]).String())
		}
		return nil, fmt.Errorf("%s: no trial has %s = %s; there are %s", b.Name(), axis, baseline.String(), strings.Join(have, ", "))
	}
	out := &Table{Name: "penalty", Columns: append(slices.Clone(names), axis, "baseline", "metric", "n", "n_baseline", "mean", "mean_baseline", "change_pct", "lo_pct", "hi_pct", "p", "p_adjusted", "note"), Axes: names}
	width := len(out.Columns)
	var p []float64
	var tested []int
	keys, parts := t.inOrder(at)
	for i, part := range parts {
		levels, of := part.inOrder([]int{a})
		k := slices.IndexFunc(levels, func(l []any) bool { return compareValues(l[0], base) == 0 })
		var y []float64
		if k >= 0 {
			if y, err = of[k].sample(b, m); err != nil {
				return nil, err
			}
		}
		for j := range of {
			if j == k {
				continue
			}
			x, err := of[j].sample(b, m)
			if err != nil {
				return nil, err
			}
			line := make([]any, 0, width)
			line = append(append(line, keys[i]...), levels[j][0], base, metric, int64(len(x)), int64(len(y)))
			rest, pv := change(x, y, confidence)
			if pv != nil {
				p, tested = append(p, *pv), append(tested, len(out.Rows))
			}
			out.Rows = append(out.Rows, append(line, rest...))
		}
	}
	for i, adj := range stat.Holm(p, len(p)) {
		out.Rows[tested[i]][width-2] = adj
	}
	return &tableValue{Table: out}, nil
}

// change is mean, mean of the baseline, change in per cent with its interval, p, an empty place for p adjusted, and a note.
func change(x, y []float64, confidence float64) (cells []any, p *float64) {
	cells = make([]any, 8)
	mx, errx := stat.Mean(x, confidence)
	my, erry := stat.Mean(y, confidence)
	if errx == nil {
		cells[0] = mx.Value
	}
	if erry == nil {
		cells[1] = my.Value
	}
	if errx != nil || erry != nil {
		cells[7] = "not measured on both sides"
		return cells, nil
	}
	c, err := stat.ChangePct(my.Value, mx.Value)
	if err != nil {
		cells[7] = err.Error()
		return cells, nil
	}
	cells[2] = c
	if r, err := stat.Ratio(x, y, confidence); err == nil {
		lo, hi := 100*(*r.Lo-1), 100*(*r.Hi-1)
		cells[3], cells[4] = nullable(&lo), nullable(&hi)
		if len(r.Warnings) > 0 {
			cells[7] = strings.Join(r.Warnings, "; ")
		}
	} else {
		cells[7] = "no interval: " + err.Error()
	}
	if w, err := stat.Welch(x, y, confidence); err == nil {
		cells[5] = w.P
		return cells, &w.P
	}
	return cells, nil
}

// statScalability is scalability(table, axis, metric, by = other axes): how the mean grew from the smallest value of a
// numeric axis, and the share of the ideal.
func statScalability(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var t *tableValue
	var axis, metric string
	var by starlark.Value
	confidence := defaultConfidence
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "table", &t, "axis", &axis, "metric", &metric, "by?", &by, "confidence?", &confidence); err != nil {
		return nil, err
	}
	a, m, names, at, err := t.along(b, axis, metric, by)
	if err != nil {
		return nil, err
	}
	out := &Table{Name: "scalability", Columns: append(slices.Clone(names), axis+"_low", axis+"_high", "metric", "mean_low", "mean_high", "ratio", "lo", "hi", "efficiency"), Axes: names}
	keys, parts := t.inOrder(at)
	for i, part := range parts {
		levels, of := part.inOrder([]int{a})
		for _, l := range levels {
			if _, ok := l[0].(string); ok || l[0] == nil {
				return nil, fmt.Errorf("%s: the axis %s holds %v, which is no number", b.Name(), axis, l[0])
			}
		}
		low, err := of[0].sample(b, m)
		if err != nil {
			return nil, err
		}
		for k := 1; k < len(of); k++ {
			high, err := of[k].sample(b, m)
			if err != nil {
				return nil, err
			}
			line := append(slices.Clone(keys[i]), levels[0][0], levels[k][0], metric)
			cells := make([]any, 6)
			ml, errl := stat.Mean(low, confidence)
			mh, errh := stat.Mean(high, confidence)
			if errl == nil && errh == nil {
				cells[0], cells[1] = ml.Value, mh.Value
				if ratio, eff, err := stat.Scalability(ml.Value, mh.Value, numberOf(levels[0][0]), numberOf(levels[k][0])); err == nil {
					cells[2], cells[5] = ratio, eff
				}
				if r, err := stat.Ratio(high, low, confidence); err == nil {
					cells[3], cells[4] = nullable(r.Lo), nullable(r.Hi)
				}
			}
			out.Rows = append(out.Rows, append(line, cells...))
		}
	}
	return &tableValue{Table: out}, nil
}

// statMatrix is correlation_matrix(table, columns): Pearson's r of each pair with Fisher's interval, p, and p times the number of
// pairs (Bonferroni).
func statMatrix(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var t *tableValue
	var columns *starlark.List
	confidence := defaultConfidence
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "table", &t, "columns", &columns, "confidence?", &confidence); err != nil {
		return nil, err
	}
	var list starlark.Tuple
	for i := range columns.Len() {
		list = append(list, columns.Index(i))
	}
	names, at, err := t.names(b, list)
	if err != nil {
		return nil, err
	}
	out := &Table{Name: "correlations", Columns: []string{"x", "y", "n", "r", "lo", "hi", "p", "p_adjusted", "note"}}
	pairs := len(at) * (len(at) - 1) / 2
	for i := range at {
		for j := i + 1; j < len(at); j++ {
			var x, y []float64
			for _, r := range t.Rows {
				_, okx := r[at[i]].(string)
				_, oky := r[at[j]].(string)
				if okx || oky {
					return nil, fmt.Errorf("%s: %s or %s holds texts", b.Name(), names[i], names[j])
				}
				if r[at[i]] != nil && r[at[j]] != nil {
					x, y = append(x, numberOf(r[at[i]])), append(y, numberOf(r[at[j]]))
				}
			}
			line := []any{names[i], names[j], int64(len(x)), nil, nil, nil, nil, nil, nil}
			if r, err := stat.Pearson(x, y, confidence); err != nil {
				line[8] = err.Error()
			} else {
				line[3], line[4], line[5], line[6] = r.Value, nullable(r.Lo), nullable(r.Hi), r.P
				line[7] = stat.Bonferroni([]float64{r.P}, pairs)[0]
			}
			out.Rows = append(out.Rows, line)
		}
	}
	return &tableValue{Table: out}, nil
}
