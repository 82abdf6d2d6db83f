package main

import (
	"fmt"
	"slices"
	"strings"

	"sextant/analysis/report"
	engine "sextant/interp/run"
	"sextant/interp/spec"
)

// projection is what the flags of show say: which axes make rows, which one columns, and of what.
type projection struct {
	rows, columns, metric, where string
}

func (p *projection) asked() bool {
	return p.rows != "" || p.columns != "" || p.metric != "" || p.where != ""
}

// showProjection prints one metric as a table of rows and columns by the axes' values.
func (e *env) showProjection(dir string, p *projection) error {
	m, err := engine.ReadManifest(dir)
	if err != nil {
		return &usageError{err}
	}
	v, err := newView(dir, m, p.where)
	if err != nil {
		return err
	}
	t, note, err := v.project(p)
	if err != nil {
		return err
	}
	if _, err := t.Write(e.stdout, 0, e.terminal); err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, note)
	return nil
}

// project makes the table. Axes that are named nowhere and have several values make rows as well, so that no value stands for
// several cells.
func (v *view) project(p *projection) (*report.Table, string, error) {
	metric := p.metric
	if metric == "" {
		metric = "throughput_ops_s"
	}
	if err := checkMetric(metric); err != nil {
		return nil, "", err
	}
	if len(v.cells) == 0 {
		return nil, "", &usageError{fmt.Errorf("no trial of these cells is done")}
	}
	column := -1
	if p.columns != "" {
		var err error
		if column, err = v.axis(p.columns); err != nil {
			return nil, "", err
		}
	}
	var rows []int
	for _, name := range strings.Split(p.rows, ",") {
		if name = strings.TrimSpace(name); name == "" {
			continue
		}
		i, err := v.axis(name)
		if err != nil {
			return nil, "", err
		}
		if i == column || slices.Contains(rows, i) {
			return nil, "", &usageError{fmt.Errorf("the axis %s is named twice", name)}
		}
		rows = append(rows, i)
	}
	for _, i := range v.free(v.axes) {
		if i != column && !slices.Contains(rows, i) {
			rows = append(rows, i)
		}
	}
	t := &report.Table{Bold: map[[2]int]bool{}}
	for _, i := range rows {
		t.Columns = append(t.Columns, report.Column{Name: v.m.Axes[i].Name, Left: true})
	}
	heads := []string{metric}
	if column >= 0 {
		heads = nil
		for _, val := range v.m.Axes[column].Values {
			if slices.ContainsFunc(v.cells, func(c engine.CellSummary) bool { return spec.Display(c.Cell.Values[column]) == spec.Display(val) }) {
				heads = append(heads, spec.Display(val))
			}
		}
	}
	for _, h := range heads {
		t.Columns = append(t.Columns, report.Column{Name: h})
	}
	for _, g := range v.groups(v.all(), rows) {
		var line []string
		for _, i := range rows {
			line = append(line, spec.Display(g.cells[0].Cell.Values[i]))
		}
		for range heads {
			line = append(line, "-")
		}
		for _, c := range g.cells {
			k := 0
			if column >= 0 {
				k = slices.Index(heads, spec.Display(c.Cell.Values[column]))
			}
			line[len(rows)+k] = small(c, metric)
		}
		t.Rows = append(t.Rows, line)
	}
	note := unitOf(metric)
	if column >= 0 {
		note += " by " + v.m.Axes[column].Name
	}
	if r := v.cells[0].Metric(metric); r != nil && r.Merged != nil {
		return t, note + ": of all trials of a cell together", nil
	}
	return t, note + ": mean of the trials ± 95 % t interval; of two trials both values, of one that one", nil
}

// small is a metric of a cell by the rules for small samples: one value as it is, of two both, from three on the mean with
// its interval. Percentiles are those of all trials together.
func small(c *engine.CellSummary, metric string) string {
	r := c.Metric(metric)
	switch {
	case r == nil || r.N == 0:
		return "-"
	case r.Merged != nil:
		return report.Number(r.Merged)
	case r.N == 1 || r.Lo == nil || r.Hi == nil:
		return report.Number(r.Mean)
	case r.N == 2:
		return report.Number(r.Min) + ", " + report.Number(r.Max)
	}
	half := (*r.Hi - *r.Lo) / 2
	return report.Number(r.Mean) + " ± " + report.Number(&half)
}
