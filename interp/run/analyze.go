package run

import (
	"context"
	"fmt"
	"slices"

	"sextant/interp/lang"
	"sextant/interp/result"
)

// Analyze calls the analyze hook of a sealed run's experiment; what the hook gives to r.table becomes a file beside the run's
// own tables. It returns the names of those, in order.
func Analyze(ctx context.Context, dir string, m *Manifest, h *lang.Hook, log func(text string)) (made []string, err error) {
	schema, err := m.Schema()
	if err != nil {
		return nil, err
	}
	rows := result.OpenRun(dir, schema)
	if !rows.Sealed() {
		return nil, fmt.Errorf("the run in %s is not finished: sextant resume %s", dir, dir)
	}
	a := &analysis{dir: dir, m: m, schema: schema, rows: rows, log: log}
	err = h.Analyze(ctx, a)
	return a.made, err
}

// analysis is the lang.ResultSource of a run.
type analysis struct {
	dir    string
	m      *Manifest
	schema *result.Schema
	rows   *result.Reader
	log    func(text string)
	made   []string
}

func (a *analysis) Names() []string {
	var out []string
	for _, t := range a.schema.Tables {
		out = append(out, t.Name)
	}
	return out
}

func (a *analysis) Axes() []string {
	var out []string
	for _, x := range a.m.Axes {
		out = append(out, x.Name)
	}
	return out
}

func (a *analysis) Log(text string) { a.log(text) }

func (a *analysis) Table(name string) (*lang.Table, error) {
	from := name
	if name == "all_trials" {
		from = "trials"
	}
	cols := a.schema.Table(from).Columns()
	out := &lang.Table{Name: name, Columns: cols}
	for _, x := range a.Axes() {
		if slices.Contains(cols, x) {
			out.Axes = append(out.Axes, x)
		}
	}
	status, marks := slices.Index(cols, "status"), indexes(cols, Flags())
	failed, flagged, all := 0, 0, 0
	err := a.rows.Each(from, func(row []any) error {
		all++
		if name == "trials" {
			if row[status] != "ok" {
				failed++
				return nil
			}
			if slices.ContainsFunc(marks, func(c int) bool { return row[c] == true }) {
				flagged++
				return nil
			}
		}
		line := slices.Clone(row)
		for i, v := range line {
			if n, ok := v.(int32); ok {
				line[i] = int64(n)
			}
		}
		out.Rows = append(out.Rows, line)
		return nil
	})
	if failed+flagged > 0 {
		a.log(fmt.Sprintf("%d of %d trials are left out: %d not ok, %d flagged (r.all_trials has them)", failed+flagged, all, failed, flagged))
	}
	return out, err
}

// maxCells bounds the size of a table that an analysis makes.
const maxCells = 50_000_000

func (a *analysis) Emit(t *lang.Table) error {
	if len(t.Rows)*len(t.Columns) > maxCells {
		return fmt.Errorf("table %s has %d rows of %d columns: more than an analysis may make", t.Name, len(t.Rows), len(t.Columns))
	}
	if slices.Contains(a.made, t.Name) {
		return fmt.Errorf("the table %s was made before in this analysis", t.Name)
	}
	x := &result.Extra{Name: t.Name, Columns: t.Columns, Rows: t.Rows}
	if err := result.WriteExtra(a.dir, x, result.Meta{RunID: a.m.RunID, PlanHash: a.m.PlanHash}); err != nil {
		return err
	}
	a.made = append(a.made, t.Name)
	return nil
}
