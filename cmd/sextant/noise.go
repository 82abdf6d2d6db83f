package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"sextant/analysis/report"
	"sextant/analysis/stat"
	engine "sextant/interp/run"
	"sextant/interp/spec"
)

func (e *env) noiseCommand() *cobra.Command {
	var sel selection
	var repeats int
	var out string
	c := &cobra.Command{Use: "noise FILE|RUN", Short: "Show how much a measurement varies on this machine when nothing is changed", Args: args(cobra.ExactArgs(1)),
		Long: `Show how much a measurement varies when nothing is changed. FILE: the first cell of the script's experiment is run again and
again (an A/A experiment; results go to OUT/noise). RUN: the repeats within the cells of a run are taken. Differences
between cells below what is printed can't be told from noise.`,
		RunE: func(c *cobra.Command, a []string) error {
			if _, err := os.Stat(filepath.Join(a[0], "plan.json")); err == nil {
				dir, err := runFolder(a[0])
				if err != nil {
					return err
				}
				return e.showNoise(dir)
			}
			if repeats < 3 {
				return &usageError{fmt.Errorf("--repeats must be at least 3, not %d", repeats)}
			}
			return e.measureNoise(c.Context(), a[0], sel, repeats, filepath.Join(out, "noise"))
		}}
	sel.flags(c)
	c.Flags().IntVar(&repeats, "repeats", 10, "how often the cell is run")
	c.Flags().StringVar(&out, "out", "results", "`FOLDER` of the results")
	return c
}

func (e *env) measureNoise(ctx context.Context, file string, sel selection, repeats int, out string) error {
	p, err := e.eval(ctx, file, e.lookup)
	if err != nil {
		return err
	}
	plans, err := sel.plans(p)
	if err != nil {
		return err
	}
	x, err := noiseOf(plans[0].Experiment, sel.where, repeats)
	if err != nil {
		return err
	}
	plan, err := planOf(x, "")
	if err != nil {
		return err
	}
	if err := e.showPlan(plan, out, false); err != nil {
		return err
	}
	return e.all(ctx, []*engine.Plan{plan}, func(ctx context.Context, plan *engine.Plan, obs engine.Observer) (*engine.Report, error) {
		opt := e.options(out, false, obs)
		opt.Noise = true
		return engine.Start(ctx, opt, p, plan, sel.where)
	}, e.showNoise)
}

// noiseOf is the A/A experiment: the first cell that an expression takes, again and again.
func noiseOf(x *spec.Experiment, where string, repeats int) (*spec.Experiment, error) {
	plan, err := planOf(x, where)
	if err != nil {
		return nil, err
	}
	first := plan.Cells[0]
	one := *x
	one.Cells, one.Repeats = x.Cells[first:first+1], repeats
	return &one, nil
}

// noiseMetrics are what the spread is shown of.
func noiseMetrics() []string {
	return []string{"throughput_ops_s", "mean_ms", "p50_ms", "p95_ms", "p99_ms"}
}

// showNoise prints the spread of repeats, pooled over the cells of a run.
func (e *env) showNoise(dir string) error {
	m, err := engine.ReadManifest(dir)
	if err != nil {
		return &usageError{err}
	}
	cells, err := engine.Summarize(dir, m)
	if err != nil {
		return err
	}
	t := &report.Table{Columns: []report.Column{{Name: "metric", Left: true}, {Name: "cells"}, {Name: "n"}, {Name: "CV %"}, {Name: "largest CV %"}, {Name: "can't tell below, n = 3"}, {Name: "n = 5"}, {Name: "n = 10"}}}
	for _, metric := range noiseMetrics() {
		if row := noiseRow(metric, cells); row != nil {
			t.Rows = append(t.Rows, row)
		}
	}
	if len(t.Rows) == 0 {
		return fmt.Errorf("%s has no cell with two finished trials: nothing can be said about noise", dir)
	}
	fmt.Fprintln(e.stdout)
	if _, err := t.Write(e.stdout, 0, false); err != nil {
		return err
	}
	fmt.Fprintln(e.stdout, "CV: of the repeats within a cell, pooled. Can't tell below: two cells of n repeats each that are")
	fmt.Fprintln(e.stdout, "the same differ by more only once in 20 times.")
	return nil
}

// noiseRow pools the CVs of the cells by their degrees of freedom; nil when no cell has two trials.
func noiseRow(metric string, cells []engine.CellSummary) []string {
	var sum, worst float64
	var free, n, used int
	for i := range cells {
		r := cells[i].Metric(metric)
		if r == nil || r.CVPct == nil {
			continue
		}
		k := int(r.N) - 1
		sum += float64(k) * *r.CVPct * *r.CVPct
		free += k
		n += int(r.N)
		used++
		worst = max(worst, *r.CVPct)
	}
	if free == 0 {
		return nil
	}
	cv := math.Sqrt(sum / float64(free))
	row := []string{metric, fmt.Sprint(used), fmt.Sprint(n), fmt.Sprintf("%.2f", cv), fmt.Sprintf("%.2f", worst)}
	for _, k := range []int{3, 5, 10} {
		row = append(row, fmt.Sprintf("%.1f %%", stat.SmallestDifference(cv, k)))
	}
	return row
}
