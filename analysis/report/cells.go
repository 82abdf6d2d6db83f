package report

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// A Metric is one metric over a cell's trials. Nil: undefined.
type Metric struct {
	Mean, Lo, Hi, CVPct *float64
	Merged              *float64 // a percentile of all trials together
}

// A Cell is one line of the table.
type Cell struct {
	Values    []string          // shown values of the axes
	N, Failed int               // ok trials, failed and skipped ones
	ErrorPct  float64           // operations that did not succeed, in per cent of those sent
	Metrics   map[string]Metric // by column of trials
	Flags     []string          // that some of its trials have
}

// Cells is the table of an experiment: throughput with the 95 % t interval of its mean over n trials, percentiles from
// the merged histograms, the best of each in bold. Units are in the heads.
func Cells(axes []string, cells []Cell) *Table {
	t := &Table{Bold: map[[2]int]bool{}}
	for _, a := range axes {
		t.Columns = append(t.Columns, Column{Name: a, Left: true})
	}
	k := len(axes)
	t.Columns = append(t.Columns, Column{Name: "ops/s"}, Column{Name: "± 95 %"}, Column{Name: "CV %", Drop: 2}, Column{Name: "n"},
		Column{Name: "p50 ms"}, Column{Name: "p95 ms", Drop: 1}, Column{Name: "p99 ms"})
	failed, errors := false, false
	for _, c := range cells {
		failed, errors = failed || c.Failed > 0, errors || c.ErrorPct > 0
	}
	if errors {
		t.Columns = append(t.Columns, Column{Name: "errors %"})
	}
	if failed {
		t.Columns = append(t.Columns, Column{Name: "failed n"})
	}
	flags := false
	for _, c := range cells {
		flags = flags || len(c.Flags) > 0
	}
	if flags {
		t.Columns = append(t.Columns, Column{Name: "flags", Left: true, Drop: 3})
	}
	for _, c := range cells {
		x := c.Metrics["throughput_ops_s"]
		row := append(append([]string(nil), c.Values...), Number(x.Mean), half(x), cv(x.CVPct), strconv.Itoa(c.N),
			Number(c.Metrics["p50_ms"].Merged), Number(c.Metrics["p95_ms"].Merged), Number(c.Metrics["p99_ms"].Merged))
		if errors {
			row = append(row, Number(&c.ErrorPct))
		}
		if failed {
			row = append(row, strconv.Itoa(c.Failed))
		}
		if flags {
			row = append(row, strings.Join(c.Flags, ","))
		}
		t.Rows = append(t.Rows, row)
	}
	if len(cells) > 1 {
		t.best(cells, k, func(c *Cell) *float64 { return c.Metrics["throughput_ops_s"].Mean }, false)
		for i, p := range []string{"p50_ms", "p95_ms", "p99_ms"} {
			t.best(cells, k+4+i, func(c *Cell) *float64 { return c.Metrics[p].Merged }, true)
		}
	}
	return t
}

// best makes the best values of a column bold; every one that reads the same.
func (t *Table) best(cells []Cell, column int, value func(*Cell) *float64, low bool) {
	var top *float64
	for i := range cells {
		if v := value(&cells[i]); v != nil && (top == nil || low == (*v < *top) && *v != *top) {
			top = v
		}
	}
	for i := range cells {
		if v := value(&cells[i]); v != nil && Number(v) == Number(top) {
			t.Bold[[2]int{i, column}] = true
		}
	}
}

// Number shows four significant digits, three below 1.
func Number(v *float64) string {
	if v == nil {
		return "-"
	}
	switch a := math.Abs(*v); {
	case a == 0:
		return "0"
	case a >= 1000:
		return strconv.FormatFloat(*v, 'f', 0, 64)
	case a >= 100:
		return strconv.FormatFloat(*v, 'f', 1, 64)
	case a >= 10:
		return strconv.FormatFloat(*v, 'f', 2, 64)
	case a >= 1:
		return strconv.FormatFloat(*v, 'f', 3, 64)
	case a >= 1e-5:
		return strconv.FormatFloat(*v, 'f', 2-int(math.Floor(math.Log10(a))), 64)
	}
	return strconv.FormatFloat(*v, 'g', 3, 64)
}

// half is half the width of the interval; "-" for one trial.
func half(m Metric) string {
	if m.Lo == nil || m.Hi == nil {
		return "-"
	}
	h := (*m.Hi - *m.Lo) / 2
	return Number(&h)
}

func cv(v *float64) string {
	if v == nil {
		return "-"
	}
	return fmt.Sprintf("%.1f", *v)
}
