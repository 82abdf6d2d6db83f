package main

import (
	"encoding/csv"
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"sextant/analysis/report"
	"sextant/builtins/workload"
	"sextant/interp/driver"
	"sextant/interp/lang"
	"sextant/interp/load"
	engine "sextant/interp/run"
	"sextant/interp/spec"
)

// dataCommand shows the rows that would be loaded.
func (e *env) dataCommand() *cobra.Command {
	var sel selection
	var rows int
	var asCSV bool
	c := &cobra.Command{Use: "data FILE", Short: "Show the rows that would be loaded, without touching a server", Args: args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, a []string) error {
			if rows < 0 {
				return &usageError{fmt.Errorf("--rows must not be negative, not %d", rows)}
			}
			p, plans, err := e.planned(c, &sel, a[0])
			if err != nil {
				return err
			}
			shown := map[string]bool{}
			for _, plan := range plans {
				for _, b := range plan.Blocks {
					key := spec.CanonicalString(map[string]any{"schema": b.Measure.Workload.Dataset.Schema, "rows": b.Measure.Workload.Dataset.Rows})
					if shown[key] {
						continue // the same rows in another system
					}
					shown[key] = true
					if err := e.showData(plan, b.Measure, p, rows, asCSV); err != nil {
						return err
					}
				}
			}
			return nil
		}}
	sel.flags(c)
	c.Flags().IntVar(&rows, "rows", 5, "`N` first rows of each table")
	c.Flags().BoolVar(&asCSV, "csv", false, "whole values, as CSV")
	return c
}

func (e *env) planned(c *cobra.Command, sel *selection, file string) (*lang.Program, []*engine.Plan, error) {
	p, err := e.eval(c.Context(), file, e.lookup)
	if err != nil {
		return nil, nil, err
	}
	plans, err := sel.plans(p)
	return p, plans, err
}

func (e *env) showData(plan *engine.Plan, m *spec.Measure, p *lang.Program, rows int, asCSV bool) error {
	w, err := workload.New(m.Workload, plan.Experiment.Seed, p)
	if err != nil {
		return err
	}
	tables := w.Shape().Tables
	if len(tables) == 0 {
		fmt.Fprintf(e.stdout, "%s: workload %s loads nothing\n", plan.Experiment.Name, m.Workload.Type)
	}
	for t, table := range tables {
		fmt.Fprintf(e.stdout, "%s: table %s of workload %s, %s\n", plan.Experiment.Name, table.Name, m.Workload.Type, count(table.Rows, "row"))
		var names []string
		if table.Key != "" {
			names = append(names, table.Key)
		}
		for _, f := range table.Fields {
			names = append(names, f.Name)
		}
		out := [][]string{names}
		var row driver.Row
		for i := range min(int64(rows), table.Rows) {
			w.Row(t, i, &row)
			var line []string
			if table.Key != "" {
				line = append(line, string(row.Key))
			}
			for f, v := range row.Values {
				text := string(v)
				if table.Fields[f].Type == driver.Blob {
					text = fmt.Sprintf("0x%x", v)
				}
				if v == nil {
					text = "NULL"
				}
				line = append(line, text)
			}
			out = append(out, line)
		}
		if asCSV {
			if err := csv.NewWriter(e.stdout).WriteAll(out); err != nil {
				return err
			}
			continue
		}
		if err := e.aligned(out); err != nil {
			return err
		}
	}
	return nil
}

// widestValue is how much of a value a table on a terminal shows.
const widestValue = 24

// aligned prints rows in columns, the first as their heads.
func (e *env) aligned(rows [][]string) error {
	for _, r := range rows {
		for i := range r {
			r[i] = shortened(r[i])
		}
		r[0] = "  " + r[0]
	}
	t := &report.Table{Rows: rows[1:]}
	for _, name := range rows[0] {
		t.Columns = append(t.Columns, report.Column{Name: name, Left: true})
	}
	_, err := t.Write(e.stdout, 0, false)
	return err
}

// shortened is a value in one line of a table: what would move the terminal's cursor is written as Go writes it.
func shortened(s string) string {
	if strings.ContainsFunc(s, unicode.IsControl) {
		s = strings.Trim(strconv.Quote(s), `"`)
	}
	if utf8.RuneCountInString(s) > widestValue {
		return string([]rune(s)[:widestValue-3]) + "..."
	}
	return s
}

// opsCommand shows the first operations of a cell.
func (e *env) opsCommand() *cobra.Command {
	var sel selection
	var n, client, repeat int
	c := &cobra.Command{Use: "ops FILE", Short: "Show the first operations of a cell, without touching a server", Args: args(cobra.ExactArgs(1)),
		Long: `Show the first operations that one client of a cell would do, exactly as its first trial does them: the first cell that
--where takes. What a script or \if does by the server's answer can't be seen.`,
		RunE: func(c *cobra.Command, a []string) error {
			if n < 0 || client < 0 {
				return &usageError{fmt.Errorf("--operations and --client must not be negative")}
			}
			p, plans, err := e.planned(c, &sel, a[0])
			if err != nil {
				return err
			}
			plan := plans[0]
			if repeat < 1 || repeat > plan.Experiment.Repeats {
				return &usageError{fmt.Errorf("--repeat is from 1 to %d", plan.Experiment.Repeats)}
			}
			step := engine.Step{Cell: plan.Cells[0], Repeat: int32(repeat - 1)}
			m := plan.Measure(step)
			if client >= m.Load.Clients {
				return &usageError{fmt.Errorf("--client is from 0 to %d in this cell", m.Load.Clients-1)}
			}
			t, err := plan.Trial(step)
			if err != nil {
				return err
			}
			w, err := workload.New(m.Workload, plan.Experiment.Seed, p)
			if err != nil {
				return err
			}
			who, stream := fmt.Sprintf("client %d of %d", client, m.Load.Clients), uint64(client)
			if m.Load.Shape == "open" {
				who, stream = "whichever client is free", load.OpenStream
			}
			fmt.Fprintf(e.stdout, "%s: %s on %s, %s\n", plan.Experiment.Name, stepName(plan, step), m.System.Name, who)
			workload.Trace(c.Context(), w, t.Seed, client, stream, n, func(text string) { fmt.Fprintln(e.stdout, text) })
			return nil
		}}
	sel.flags(c)
	c.Flags().IntVarP(&n, "operations", "n", 20, "`N` first operations")
	c.Flags().IntVar(&client, "client", 0, "`NUMBER` of the client, from 0")
	c.Flags().IntVar(&repeat, "repeat", 1, "`NUMBER` of the trial of the cell, from 1")
	return c
}
