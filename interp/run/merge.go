package run

import (
	"math"
	"slices"

	"sextant/interp/result"
)

// merged adds up the histograms of one cell's ok trials, over all operation types. Percentiles of several trials come
// from the sum, never from averaging the trials' percentiles.
type merged struct {
	upper    []float64 // ms, ascending
	count    []int64   // parallel to upper
	total    int64
	min, max float64
}

func (m *merged) add(upper float64, n int64) {
	i, found := slices.BinarySearch(m.upper, upper)
	if !found {
		m.upper = slices.Insert(m.upper, i, upper)
		m.count = slices.Insert(m.count, i, 0)
	}
	m.count[i] += n
	m.total += n
}

// quantile is the nearest-rank quantile at q millionths: the same rule as for one trial's histogram. Nil without values.
func (m *merged) quantile(q int64) *float64 {
	if m.total == 0 {
		return nil
	}
	// count*q stays within 63 bits up to 9*10^12 operations
	rank := max((m.total*q+999_999)/1_000_000, 1)
	var seen int64
	for i, n := range m.count {
		if seen += n; seen >= rank {
			v := min(max(m.upper[i], m.min), m.max)
			return &v
		}
	}
	return &m.max
}

// percentiles are the metrics that the merged histogram gives, in millionths.
func percentiles() map[string]int64 {
	return map[string]int64{"p50_ms": 500_000, "p95_ms": 950_000, "p99_ms": 990_000, "p999_ms": 999_000}
}

// mergeLatencies adds the latencies of every trial in cellOf to its cell.
func mergeLatencies(r *result.Reader, schema *result.Schema, cellOf map[string]int, cells []*merged) error {
	cols := schema.Table("latencies").Columns()
	trial, kind := slices.Index(cols, "trial_id"), slices.Index(cols, "kind")
	upper, count := slices.Index(cols, "upper_ms"), slices.Index(cols, "count")
	return r.Each("latencies", func(row []any) error {
		if i, ok := cellOf[row[trial].(string)]; ok && row[kind] == "response" {
			cells[i].add(row[upper].(float64), row[count].(int64))
		}
		return nil
	})
}

// bounds widens the range of a cell by a trial's exact minimum and maximum.
func (m *merged) bounds(low, high any) {
	l, lok := low.(float64)
	h, hok := high.(float64)
	if lok && hok {
		m.min, m.max = math.Min(m.min, l), math.Max(m.max, h)
	}
}

func newMerged() *merged { return &merged{min: math.Inf(1), max: math.Inf(-1)} }
