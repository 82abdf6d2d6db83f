package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sextant/analysis/report"
	"sextant/interp/result"
	engine "sextant/interp/run"
	"sextant/interp/spec"
)

// view is a run as figures need it: its cells by their axes.
type view struct {
	m       *engine.Manifest
	cells   []engine.CellSummary
	samples []engine.Sample
	axes    []int // those with several values
}

// newView reads a run; where, when it isn't empty, takes some of its cells ("scale=1000,consistency=off").
func newView(dir string, m *engine.Manifest, where string) (*view, error) {
	v := &view{m: m}
	var err error
	if v.cells, err = engine.Summarize(dir, m); err != nil {
		return nil, err
	}
	if v.samples, err = engine.Samples(dir, m, []string{"throughput_ops_s"}, false); err != nil {
		return nil, err
	}
	for i, a := range m.Axes {
		if len(a.Values) > 1 {
			v.axes = append(v.axes, i)
		}
	}
	if where != "" {
		if v.cells, err = v.where(where); err != nil {
			return nil, err
		}
	}
	return v, nil
}

// axis is the number of an axis by its name, or an error that names them all.
func (v *view) axis(name string) (int, error) {
	var names []string
	for i, a := range v.m.Axes {
		if a.Name == name {
			return i, nil
		}
		names = append(names, a.Name)
	}
	return 0, &usageError{fmt.Errorf("the run has no axis %q; %s", name, hint(name, "it has", names))}
}

// numeric is the axis to draw along: concurrency, else the first one of numbers with several values, else -1.
func (v *view) numeric() int {
	found := -1
	for _, i := range v.axes {
		a := v.m.Axes[i]
		if a.Type != "int" && a.Type != "float" || slices.Contains(a.Values, nil) {
			continue
		}
		if a.Name == "concurrency" {
			return i
		}
		if found < 0 {
			found = i
		}
	}
	return found
}

// others are the axes with several values but for some.
func (v *view) others(but ...int) []int {
	var out []int
	for _, i := range v.axes {
		if !slices.Contains(but, i) {
			out = append(out, i)
		}
	}
	return out
}

// label is the values of some axes of a cell, in the order of names.
func (v *view) label(c *engine.CellSummary, axes []int) string {
	var parts []string
	for _, i := range axes {
		parts = append(parts, spec.Display(c.Cell.Values[i]))
	}
	return strings.Join(parts, " / ")
}

// names are the names of some axes, as label gives their values.
func (v *view) names(axes []int) string {
	var parts []string
	for _, i := range axes {
		parts = append(parts, v.m.Axes[i].Name)
	}
	return strings.Join(parts, " / ")
}

// titled adds to a title what a figure is of, where there are several.
func (v *view) titled(title string, axes []int, name string) string {
	if len(axes) == 0 {
		return title
	}
	return title + ", " + v.names(axes) + " = " + name
}

// group is a set of cells that share the values of some axes.
type group struct {
	name  string
	cells []*engine.CellSummary
}

// groups puts cells together that share the values of axes, in the order of the plan.
func (v *view) groups(cells []*engine.CellSummary, axes []int) []group {
	var out []group
	at := map[string]int{}
	for _, c := range cells {
		name := v.label(c, axes)
		i, ok := at[name]
		if !ok {
			i = len(out)
			at[name] = i
			out = append(out, group{name: name})
		}
		out[i].cells = append(out[i].cells, c)
	}
	return out
}

func (v *view) all() []*engine.CellSummary {
	var out []*engine.CellSummary
	for i := range v.cells {
		out = append(out, &v.cells[i])
	}
	return out
}

// facets splits the axes that make series into those of the figures and those of the lines, so that no figure has more lines
// than can be told apart.
func (v *view) facets(axes []int) (figures, lines []int) {
	for k := range len(axes) + 1 {
		n := 1
		for _, i := range axes[k:] {
			n *= len(v.m.Axes[i].Values)
		}
		if n <= report.MaxSeries {
			return axes[:k], axes[k:]
		}
	}
	return axes, nil
}

// most is how many figures of a kind a report has.
const most = 12

// value is a metric of a cell: percentiles over all trials together, else the mean with its interval.
func value(c *engine.CellSummary, metric string) (y, lo, hi *float64) {
	r := c.Metric(metric)
	switch {
	case r == nil:
		return nil, nil, nil
	case r.Merged != nil:
		return r.Merged, nil, nil
	}
	return r.Mean, r.Lo, r.Hi
}

// along is the series of a group's cells along an axis: by its labels for bars, by its numbers for lines.
func (v *view) along(g group, x int, metric string, f *report.Figure) report.Series {
	s := report.Series{Name: g.name}
	if f.Kind == report.Bars {
		n := len(f.Labels)
		s.Y, s.Lo, s.Hi = make([]*float64, n), make([]*float64, n), make([]*float64, n)
		for _, c := range g.cells {
			i := slices.Index(f.Labels, spec.Display(c.Cell.Values[x]))
			s.Y[i], s.Lo[i], s.Hi[i] = value(c, metric)
		}
		return s
	}
	cells := slices.Clone(g.cells)
	slices.SortStableFunc(cells, func(a, b *engine.CellSummary) int {
		return cmp.Compare(number(a.Cell.Values[x]), number(b.Cell.Values[x]))
	})
	for _, c := range cells {
		y, lo, hi := value(c, metric)
		if f.LogY && y != nil && *y <= 0 {
			y = nil // it has no logarithm
		}
		s.X = append(s.X, number(c.Cell.Values[x]))
		s.Y, s.Lo, s.Hi = append(s.Y, y), append(s.Lo, lo), append(s.Hi, hi)
	}
	return s
}

// curves draws a metric along an axis: a figure for each facet, a line for each combination of the lines' axes.
func (v *view) curves(title, metric string, x int, logY bool, note string) (out []*report.Figure, left int) {
	figures, lines := v.facets(v.others(x))
	for _, f := range v.groups(v.all(), figures) {
		fig := &report.Figure{Title: v.titled(title, figures, f.name), Of: v.names(lines), XLabel: v.m.Axes[x].Name, YLabel: unitOf(metric), LogY: logY, LogX: spread(v.m.Axes[x].Values), Note: note}
		for _, l := range v.groups(f.cells, lines) {
			fig.Series = append(fig.Series, v.along(l, x, metric, fig))
		}
		out = append(out, fig)
	}
	return capped(out)
}

func capped(f []*report.Figure) ([]*report.Figure, int) {
	if len(f) > most {
		return f[:most], len(f) - most
	}
	return f, 0
}

func number(v spec.Value) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// spread says whether values want a logarithmic axis: all above 0, and the largest eight times the smallest or more.
func spread(values []spec.Value) bool {
	low, high := number(values[0]), number(values[0])
	for _, v := range values {
		low, high = min(low, number(v)), max(high, number(v))
	}
	return low > 0 && high/low >= 8
}

// unitOf is a metric's name with its unit as a figure shows it.
func unitOf(metric string) string {
	for ending, unit := range map[string]string{"_ops_s": "ops/s", "_ms": "ms", "_pct": "%", "_bytes": "bytes", "_s": "s"} {
		if name, ok := strings.CutSuffix(metric, ending); ok && (ending != "_s" || !strings.HasSuffix(metric, "_ops_s")) {
			return strings.ReplaceAll(name, "_", " ") + " (" + unit + ")"
		}
	}
	return strings.ReplaceAll(metric, "_", " ")
}

// bars draws a metric of every cell where no axis has numbers.
func (v *view) bars(title, metric, note string) (out []*report.Figure, left int) {
	if len(v.axes) == 0 {
		return nil, 0
	}
	x := v.axes[len(v.axes)-1]
	figures, lines := v.facets(v.others(x))
	for _, f := range v.groups(v.all(), figures) {
		fig := &report.Figure{Title: v.titled(title, figures, f.name), Of: v.names(lines), Kind: report.Bars, XLabel: v.m.Axes[x].Name, YLabel: unitOf(metric), Note: note}
		for _, val := range v.m.Axes[x].Values {
			fig.Labels = append(fig.Labels, spec.Display(val))
		}
		for _, l := range v.groups(f.cells, lines) {
			fig.Series = append(fig.Series, v.along(l, x, metric, fig))
		}
		out = append(out, fig)
	}
	return capped(out)
}

// percentiles draws the latency percentiles of each cell.
func (v *view) percentiles() (out []*report.Figure, left int) {
	labels, metrics := []string{"p50", "p95", "p99", "p99.9", "max"}, []string{"p50_ms", "p95_ms", "p99_ms", "p999_ms", "max_ms"}
	figures, lines := v.facets(v.axes)
	for _, f := range v.groups(v.all(), figures) {
		fig := &report.Figure{Title: v.titled("Response time", figures, f.name), Of: v.names(lines), Labels: labels, XLabel: "percentile", YLabel: "ms", LogY: true, Note: "Percentiles of all trials of a cell together; the maximum is the highest of any."}
		for _, l := range v.groups(f.cells, lines) {
			s := report.Series{Name: l.name}
			for i, name := range metrics {
				y, _, _ := value(l.cells[0], name)
				if r := l.cells[0].Metric(name); name == "max_ms" && r != nil {
					y = r.Max
				}
				if y != nil && *y <= 0 {
					y = nil
				}
				s.X, s.Y = append(s.X, float64(i)), append(s.Y, y)
			}
			fig.Series = append(fig.Series, s)
		}
		out = append(out, fig)
	}
	return capped(out)
}

// heat draws the throughput over two axes of numbers.
func (v *view) heat(x int) (out []*report.Figure, left int) {
	y := -1
	for _, i := range v.others(x) {
		if t := v.m.Axes[i].Type; y < 0 && (t == "int" || t == "float") {
			y = i
		}
	}
	if x < 0 || y < 0 {
		return nil, 0
	}
	for _, f := range v.groups(v.all(), v.others(x, y)) {
		fig := &report.Figure{Title: v.titled("Throughput", v.others(x, y), f.name), Kind: report.Heat, XLabel: v.m.Axes[x].Name, YLabel: v.m.Axes[y].Name, Note: "Mean ops/s; darker is faster."}
		for _, val := range v.m.Axes[x].Values {
			fig.Labels = append(fig.Labels, spec.Display(val))
		}
		for _, val := range v.m.Axes[y].Values {
			fig.RowLabels = append(fig.RowLabels, spec.Display(val))
			fig.Grid = append(fig.Grid, make([]*float64, len(fig.Labels)))
		}
		for _, c := range f.cells {
			mean, _, _ := value(c, "throughput_ops_s")
			fig.Grid[slices.Index(fig.RowLabels, spec.Display(c.Cell.Values[y]))][slices.Index(fig.Labels, spec.Display(c.Cell.Values[x]))] = mean
		}
		out = append(out, fig)
	}
	return capped(out)
}

// tableOf reads a table of a run row by row, with the named columns only.
func tableOf(r *result.Reader, schema *result.Schema, table string, columns []string, fn func(v []any) error) error {
	all := schema.Table(table).Columns()
	at := make([]int, len(columns))
	for i, c := range columns {
		if at[i] = slices.Index(all, c); at[i] < 0 {
			return fmt.Errorf("table %s has no column %s", table, c)
		}
	}
	out := make([]any, len(columns))
	return r.Each(table, func(row []any) error {
		for i, k := range at {
			out[i] = row[k]
		}
		return fn(out)
	})
}

func sorted[K ~string, V any](m map[K]V) []K { return slices.Sorted(maps.Keys(m)) }
