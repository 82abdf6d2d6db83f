package run

import (
	"fmt"
	"slices"

	"sextant/analysis/stat"
	"sextant/interp/result"
)

// indexes are the places of names among columns.
func indexes(columns, names []string) []int {
	out := make([]int, len(names))
	for k, n := range names {
		out[k] = slices.Index(columns, n)
	}
	return out
}

// Metrics are the columns of trials that the summary describes.
func Metrics() []string {
	return []string{"throughput_ops_s", "mean_ms", "p50_ms", "p95_ms", "p99_ms", "p999_ms", "max_ms", "client_cpu_pct", "server_cpu_pct"}
}

// confidence of every interval in the summary.
const confidence = 0.95

// A CellSummary is what the trials of one cell have shown, by metric.
type CellSummary struct {
	Cell    ManifestCell
	Metrics []result.SummaryRow
	// Operations of the ok trials.
	Attempts, Succeeded int64
	Flags               []string // set in any of its trials
}

// Flags are the columns of trials that mark one.
func Flags() []string {
	return []string{"client_bound", "overloaded", "throttled", "unsteady", "clock_jump", "errors_high"}
}

// Metric is the row of a metric, or nil when no trial of the cell has a value for it.
func (c *CellSummary) Metric(name string) *result.SummaryRow {
	for i := range c.Metrics {
		if c.Metrics[i].Metric == name {
			return &c.Metrics[i]
		}
	}
	return nil
}

// Summarize describes every cell of a run by its committed ok trials, in the order of the plan. Cells without any
// committed trial are left out.
func Summarize(dir string, m *Manifest) ([]CellSummary, error) {
	schema, err := m.Schema()
	if err != nil {
		return nil, err
	}
	index := make(map[string]int, len(m.Cells))
	for i, c := range m.Cells {
		index[c.ID] = i
	}
	names := Metrics()
	values := make([][][]float64, len(m.Cells)) // by cell and metric
	cols := schema.Table("trials").Columns()
	failed := make([]int32, len(m.Cells))
	hists := make([]*merged, len(m.Cells))
	counts := make([][2]int64, len(m.Cells)) // attempts, succeeded
	flagged := make([][]string, len(m.Cells))
	attempts, succeeded := slices.Index(cols, "attempts"), slices.Index(cols, "succeeded")
	cellOf := map[string]int{} // ok trials
	cell, status, trial := slices.Index(cols, "cell_id"), slices.Index(cols, "status"), slices.Index(cols, "trial_id")
	low, high := slices.Index(cols, "min_ms"), slices.Index(cols, "max_ms")
	at, flagAt := indexes(cols, names), indexes(cols, Flags())
	reader := result.OpenRun(dir, schema)
	err = reader.Each("trials", func(row []any) error {
		i, ok := index[row[cell].(string)]
		if !ok {
			return fmt.Errorf("trial of the cell %v, which the plan hasn't", row[cell])
		}
		if values[i] == nil {
			values[i], hists[i] = make([][]float64, len(names)), newMerged()
		}
		if row[status] != "ok" {
			failed[i]++
			return nil
		}
		cellOf[row[trial].(string)] = i
		for k, c := range []int{attempts, succeeded} {
			n, _ := row[c].(int64)
			counts[i][k] += n
		}
		for k, c := range flagAt {
			if f := Flags()[k]; row[c] == true && !slices.Contains(flagged[i], f) {
				flagged[i] = append(flagged[i], f)
			}
		}
		hists[i].bounds(row[low], row[high])
		for k, c := range at {
			if v, ok := row[c].(float64); ok {
				values[i][k] = append(values[i][k], v)
			}
		}
		return nil
	})
	if err == nil {
		err = mergeLatencies(reader, schema, cellOf, hists)
	}
	if err != nil {
		return nil, err
	}
	var out []CellSummary
	for i, c := range m.Cells {
		if values[i] == nil {
			continue
		}
		cs := CellSummary{Cell: c, Attempts: counts[i][0], Succeeded: counts[i][1], Flags: flagged[i]}
		for k, n := range names {
			if len(values[i][k]) == 0 && n != "throughput_ops_s" {
				continue
			}
			row, err := summaryRow(m, c.ID, n, values[i][k], failed[i])
			if err != nil {
				return nil, err
			}
			if q, ok := percentiles()[n]; ok {
				row.Merged = hists[i].quantile(q)
			}
			cs.Metrics = append(cs.Metrics, row)
		}
		out = append(out, cs)
	}
	return out, nil
}

func summaryRow(m *Manifest, cell, metric string, x []float64, failed int32) (result.SummaryRow, error) {
	row := result.SummaryRow{RunID: m.RunID, Experiment: m.Experiment, CellID: cell, Metric: metric, N: int32(len(x)), Failed: failed}
	if len(x) == 0 {
		return row, nil // a cell whose trials all failed stays visible
	}
	s, err := stat.Summarize(x, confidence)
	if err != nil {
		return row, fmt.Errorf("summary of %s: %w", metric, err)
	}
	row.Mean, row.SD, row.CVPct, row.Lo, row.Hi = &s.Mean.Value, s.SD, s.CVPct, s.Mean.Lo, s.Mean.Hi
	row.Median, row.Min, row.Max = &s.Median, &s.Min, &s.Max
	if s.Stability != "" {
		row.Stability = &s.Stability
	}
	return row, nil
}

// appendSummary commits the rows of the summary, just before the run is sealed.
func (r *Runner) appendSummary() error {
	m, err := ReadManifest(r.dir)
	if err != nil {
		return err
	}
	cells, err := Summarize(r.dir, m)
	if err != nil {
		return err
	}
	for _, c := range cells {
		for _, row := range c.Metrics {
			if err := r.sink.AppendCell("summary", row, c.Cell.Values); err != nil {
				return err
			}
		}
	}
	return r.flushLog()
}
