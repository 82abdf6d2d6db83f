package main

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sextant/analysis/report"
	"sextant/interp/result"
	engine "sextant/interp/run"
	"sextant/interp/spec"
)

func (e *env) showCommand() *cobra.Command {
	var asCSV, asJSON bool
	var by projection
	c := &cobra.Command{Use: "show RUN [TABLE]", Short: "Show what a run has measured", Args: args(cobra.RangeArgs(1, 2)),
		Long: `Show what a run has measured: the table of its cells, or any of its tables. RUN is the run's folder or
results/<experiment>/latest; the run may still be going on.`,
		RunE: func(c *cobra.Command, a []string) error {
			dir, err := runFolder(a[0])
			if err != nil {
				return err
			}
			if asCSV && asJSON {
				return &usageError{fmt.Errorf("--csv and --json exclude each other")}
			}
			if by.asked() {
				if len(a) > 1 || asCSV || asJSON {
					return &usageError{fmt.Errorf("--rows, --columns, --metric and --where are for the table of cells")}
				}
				return e.showProjection(dir, &by)
			}
			if len(a) == 1 {
				if asCSV || asJSON {
					return &usageError{fmt.Errorf("--csv and --json need a table: sextant show %s summary --csv", a[0])}
				}
				return e.showRun(dir)
			}
			return e.showTable(dir, a[1], asCSV, asJSON)
		}}
	c.Flags().StringVar(&by.rows, "rows", "", "the `AXES` that make the rows of the table of cells, with commas between")
	c.Flags().StringVar(&by.columns, "columns", "", "the `AXIS` whose values make its columns")
	c.Flags().StringVar(&by.metric, "metric", "", "the `COLUMN` of trials that it shows (throughput_ops_s without)")
	c.Flags().StringVar(&by.where, "where", "", "only the cells whose axes have these `VALUES`, such as scale=1000,consistency=off")
	c.Flags().BoolVar(&asCSV, "csv", false, "the table as CSV")
	c.Flags().BoolVar(&asJSON, "json", false, "the table as JSON, one object a line")
	return c
}

// showRun prints the table of cells, where the Parquet is, and how to open it.
func (e *env) showRun(dir string) error {
	m, err := engine.ReadManifest(dir)
	if err != nil {
		return &usageError{err}
	}
	cells, err := engine.Summarize(dir, m)
	if err != nil {
		return err
	}
	var axes []string
	for _, a := range m.Axes {
		axes = append(axes, a.Name)
	}
	if len(cells) == 0 {
		fmt.Fprintln(e.stdout, "no trial is done yet")
		return nil
	}
	fmt.Fprintln(e.stdout)
	dropped, err := report.Cells(axes, reportCells(cells)).Write(e.stdout, e.width, e.terminal)
	if err != nil {
		return err
	}
	if len(dropped) > 0 {
		fmt.Fprintf(e.stdout, "(no room for %s: sextant show %s summary)\n", strings.Join(dropped, ", "), shorter(dir))
	}
	fmt.Fprintln(e.stdout, "ops/s: mean of n trials ± 95 % t interval; percentiles: histograms merged")
	e.whereItIs(dir)
	return nil
}

func reportCells(cells []engine.CellSummary) []report.Cell {
	var out []report.Cell
	for _, c := range cells {
		rc := report.Cell{Metrics: map[string]report.Metric{}, Flags: c.Flags}
		if c.Attempts > 0 {
			rc.ErrorPct = 100 * float64(c.Attempts-c.Succeeded) / float64(c.Attempts)
		}
		for _, v := range c.Cell.Values {
			rc.Values = append(rc.Values, spec.Display(v))
		}
		for _, r := range c.Metrics {
			rc.Metrics[r.Metric] = report.Metric{Mean: r.Mean, Lo: r.Lo, Hi: r.Hi, CVPct: r.CVPct, Merged: r.Merged}
			rc.Failed = int(r.Failed)
			if r.Metric == "throughput_ops_s" {
				rc.N = int(r.N)
			}
		}
		out = append(out, rc)
	}
	return out
}

// shorter is a path as it is typed: relative when it lies below.
func shorter(dir string) string {
	abs, err := filepath.Abs(dir)
	if err != nil {
		return dir
	}
	wd, err := filepath.Abs(".")
	if err != nil {
		return dir
	}
	if rel, err := filepath.Rel(wd, abs); err == nil && !strings.HasPrefix(rel, "..") {
		return rel
	}
	return dir
}

// whereItIs says how a notebook opens the trials.
func (e *env) whereItIs(dir string) {
	short := shorter(dir)
	fmt.Fprintf(e.stdout, "\nParquet: %s\n", short)
	if result.Sealed(dir) {
		fmt.Fprintf(e.stdout, "  import pandas as pd; trials = pd.read_parquet(%q, dtype_backend=\"pyarrow\")\n", filepath.Join(short, "trials.parquet"))
		return
	}
	fmt.Fprintf(e.stdout, "  import duckdb; trials = duckdb.sql(\"from '%s'\").df()  # not finished: the parts so far\n", filepath.Join(short, "tables", "*", "trials.parquet"))
}

// showTable prints the rows of one table.
func (e *env) showTable(dir, table string, asCSV, asJSON bool) error {
	m, err := engine.ReadManifest(dir)
	if err != nil {
		return &usageError{err}
	}
	schema, err := m.Schema()
	if err != nil {
		return err
	}
	t := schema.Table(table)
	if t == nil {
		extras, err := result.Extras(dir)
		if err != nil {
			return err
		}
		if slices.Contains(extras, table) {
			return e.showExtra(dir, table, asCSV, asJSON)
		}
		names := extras
		for _, t := range schema.Tables {
			names = append(names, t.Name)
		}
		return &usageError{fmt.Errorf("there is no table %q; %s", table, hint(table, "there are", names))}
	}
	rows := result.OpenRun(dir, schema)
	ofTable := func(fn func(row []any) error) error { return rows.Each(table, fn) }
	switch {
	case asCSV:
		return e.tableCSV(t.Columns(), ofTable)
	case asJSON:
		return e.tableJSON(t.Columns(), ofTable)
	}
	out := &report.Table{}
	for _, c := range t.Columns() {
		out.Columns = append(out.Columns, report.Column{Name: c, Left: true})
	}
	err = rows.Each(table, func(row []any) error {
		line := make([]string, len(row))
		for i, v := range row {
			line[i] = cellText(out.Columns[i].Name, v)
		}
		out.Rows = append(out.Rows, line)
		return nil
	})
	if err != nil {
		return err
	}
	_, err = out.Write(e.stdout, 0, false)
	return err
}

// cellText shows one value; instants as text.
func cellText(column string, v any) string {
	switch v := v.(type) {
	case nil:
		return ""
	case int64:
		if column == "at" || column == "started_at" {
			return time.UnixMicro(v).UTC().Format(time.RFC3339Nano)
		}
	case string:
		return strings.ReplaceAll(v, "\n", " ")
	}
	return fmt.Sprint(v)
}

// each calls a function for every row of a table.
type each func(fn func(row []any) error) error

func (e *env) tableCSV(cols []string, rows each) error {
	w := csv.NewWriter(e.stdout)
	if err := w.Write(cols); err != nil {
		return err
	}
	line := make([]string, len(cols))
	err := rows(func(row []any) error {
		for i, v := range row {
			line[i] = ""
			switch v := v.(type) {
			case nil:
			case string:
				line[i] = v
			default:
				line[i] = cellText(cols[i], v)
			}
		}
		return w.Write(line)
	})
	w.Flush()
	if err != nil {
		return err
	}
	return w.Error()
}

func (e *env) tableJSON(cols []string, rows each) error {
	b := bufio.NewWriter(e.stdout)
	err := rows(func(row []any) error {
		b.WriteByte('{')
		for i, v := range row {
			if n, ok := v.(int64); ok && (cols[i] == "at" || cols[i] == "started_at") {
				v = cellText(cols[i], n)
			}
			j, err := json.Marshal(v)
			if err != nil {
				return err
			}
			if i > 0 {
				b.WriteByte(',')
			}
			fmt.Fprintf(b, "%q:%s", cols[i], j)
		}
		b.WriteString("}\n")
		return nil
	})
	if err != nil {
		return err
	}
	return b.Flush()
}

// showExtra prints a table that an analysis has made.
func (e *env) showExtra(dir, table string, asCSV, asJSON bool) error {
	x, err := result.ReadExtra(dir, table)
	if err != nil {
		return err
	}
	ofExtra := func(fn func(row []any) error) error {
		for _, r := range x.Rows {
			if err := fn(r); err != nil {
				return err
			}
		}
		return nil
	}
	switch {
	case asCSV:
		return e.tableCSV(x.Columns, ofExtra)
	case asJSON:
		return e.tableJSON(x.Columns, ofExtra)
	}
	return e.printExtra(x, 0)
}
