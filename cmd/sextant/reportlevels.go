package main

import (
	"slices"

	"sextant/analysis/report"
	"sextant/analysis/stat"
	engine "sextant/interp/run"
	"sextant/interp/spec"
)

// levelAxis is the axis of the consistency level, or -1.
func (v *view) levelAxis() int {
	for _, i := range v.axes {
		if a := v.m.Axes[i]; a.AppliedAs == "level" || a.Name == "consistency" || a.Name == "level" {
			return i
		}
	}
	return -1
}

// costs draws what each level costs against the first one: the change of the mean throughput with its interval.
func (v *view) costs() (out []*report.Figure, left int) {
	x := v.levelAxis()
	if x < 0 || v.m.Repeats < 2 {
		return nil, 0
	}
	base := spec.Display(v.m.Axes[x].Values[0])
	by := map[string][]float64{}
	for _, s := range v.samples {
		by[s.Cell.ID] = s.Values["throughput_ops_s"]
	}
	figures, bars := v.facets(v.others(x))
	for _, f := range v.groups(v.all(), figures) {
		fig := &report.Figure{Title: v.titled("Throughput against "+base, figures, f.name), Of: v.m.Axes[x].Name, Kind: report.Bars, XLabel: v.names(bars), YLabel: "change (%)",
			Note: "Change of the mean against " + v.m.Axes[x].Name + " = " + base + ", whiskers: 95 % interval of the ratio of means."}
		groups := v.groups(f.cells, bars)
		series := map[string]*report.Series{}
		for i, g := range groups {
			name := g.name
			if name == "" {
				name = v.m.Experiment
			}
			fig.Labels = append(fig.Labels, name)
			first := slices.IndexFunc(g.cells, func(c *engine.CellSummary) bool { return spec.Display(c.Cell.Values[x]) == base })
			for _, c := range g.cells {
				level := spec.Display(c.Cell.Values[x])
				if first < 0 || level == base {
					continue
				}
				r, err := stat.Ratio(by[c.Cell.ID], by[g.cells[first].Cell.ID], 0.95)
				if err != nil || r.Lo == nil {
					continue // too few trials are left: no bar
				}
				s := series[level]
				if s == nil {
					s = &report.Series{Name: level, Y: make([]*float64, len(groups)), Lo: make([]*float64, len(groups)), Hi: make([]*float64, len(groups))}
					series[level] = s
				}
				pct := func(v float64) *float64 { v = 100 * (v - 1); return &v }
				s.Y[i], s.Lo[i], s.Hi[i] = pct(r.Value), pct(*r.Lo), pct(*r.Hi)
			}
		}
		for _, val := range v.m.Axes[x].Values {
			if s := series[spec.Display(val)]; s != nil {
				fig.Series = append(fig.Series, *s)
			}
		}
		if len(fig.Series) > 0 {
			out = append(out, fig)
		}
	}
	return capped(out)
}

// scaling fits the universal scalability law to the mean rates along the number of clients.
func (v *view) scaling() (*report.Figure, *report.Table) {
	x := -1
	for _, i := range v.axes {
		if v.m.Axes[i].AppliedAs == "load" || v.m.Axes[i].Name == "concurrency" || v.m.Axes[i].Name == "clients" {
			x = i
		}
	}
	if x < 0 || v.m.Axes[x].Type != "int" || len(v.m.Axes[x].Values) < 4 {
		return nil, nil
	}
	lines := v.others(x)
	t := &report.Table{Columns: []report.Column{{Name: v.names(lines), Left: true}, {Name: "λ (ops/s of one)"}, {Name: "σ (contention)"}, {Name: "κ (coherency)"}, {Name: "R²"}, {Name: "peak at"}, {Name: "peak ops/s"}}}
	fig := &report.Figure{Title: "Scalability law", Of: v.names(lines), XLabel: v.m.Axes[x].Name, YLabel: "throughput (ops/s)", Note: "Curves: least squares of X(N) = λN / (1 + σ(N-1) + κN(N-1)) through the means; they describe, and don't predict far beyond the last point."}
	for _, g := range v.groups(v.all(), lines) {
		var n, rate []float64
		for _, c := range g.cells {
			if y, _, _ := value(c, "throughput_ops_s"); y != nil {
				n, rate = append(n, number(c.Cell.Values[x])), append(rate, *y)
			}
		}
		s, err := stat.USL(n, rate)
		name := g.name
		if name == "" {
			name = v.m.Experiment
		}
		if err != nil {
			t.Rows = append(t.Rows, []string{name, "-", "-", "-", "-", "-", err.Error()})
			continue
		}
		t.Rows = append(t.Rows, []string{name, report.Number(&s.Lambda), report.Number(&s.Sigma), report.Number(&s.Kappa), report.Number(&s.R2), report.Number(s.Peak), report.Number(s.PeakRate)})
		if len(fig.Series) < report.MaxSeries {
			curve := report.Series{Name: name}
			top := slices.Max(n)
			for i := range 61 {
				at := 1 + (top-1)*float64(i)/60
				y := s.At(at)
				curve.X, curve.Y = append(curve.X, at), append(curve.Y, &y)
			}
			fig.Series = append(fig.Series, curve)
		}
	}
	if len(fig.Series) == 0 {
		return nil, t
	}
	return fig, t
}
