package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sextant/analysis/report"
	"sextant/interp/result"
	engine "sextant/interp/run"
	"sextant/interp/spec"
)

func (e *env) reportCommand() *cobra.Command {
	var out string
	c := &cobra.Command{Use: "report RUN", Short: "Write a report of a run: one HTML file with tables and figures", Args: args(cobra.ExactArgs(1)),
		Long: `Write a report of a run as one HTML file that needs no network: what must not be overlooked, the tables with their
intervals, figures with their numbers, the plan, the machine and the servers, the script. It can be printed.`,
		RunE: func(c *cobra.Command, a []string) error {
			dir, m, err := openRun(a[0])
			if err != nil {
				return err
			}
			page, err := reportPage(dir, m)
			if err != nil {
				return err
			}
			if out == "" {
				out = filepath.Join(dir, "report.html")
			}
			if err := writeFile(out, func(f *os.File) error { return page.Write(f) }); err != nil {
				return err
			}
			fmt.Fprintf(e.stdout, "report: %s\n", shorter(out))
			return nil
		}}
	c.Flags().StringVarP(&out, "output", "o", "", "`FILE` to write; report.html in the run's folder without")
	return c
}

// reportPage puts the whole report together.
func reportPage(dir string, m *engine.Manifest) (*report.Page, error) {
	v, err := newView(dir, m, "")
	if err != nil {
		return nil, err
	}
	if len(v.cells) == 0 {
		return nil, &usageError{fmt.Errorf("no trial of %s is done yet", shorter(dir))}
	}
	schema, err := m.Schema()
	if err != nil {
		return nil, err
	}
	reader := result.OpenRun(dir, schema)
	p := &report.Page{Title: m.Experiment, Lead: paragraphs(m.Doc)}
	notices, facts, err := attention(reader, schema, m)
	if err != nil {
		return nil, err
	}
	p.Facts = append([][2]string{{"run", m.RunID}, {"started", m.Created.UTC().Format("2006-01-02 15:04 UTC")}, {"sextant", m.Product}}, facts...)
	if len(notices) > 0 {
		p.Sections = append(p.Sections, report.Section{ID: "attention", Title: "What must not be overlooked", Notices: notices})
	}
	axes := []string{}
	for _, a := range m.Axes {
		axes = append(axes, a.Name)
	}
	p.Sections = append(p.Sections, report.Section{ID: "cells", Title: "Cells",
		Tables: []report.PageTable{{Caption: "Every cell: mean of n trials ± 95 % t interval; percentiles: histograms of its trials merged", Table: report.Cells(axes, reportCells(v.cells))}}})
	figures := v.figures()
	over, hist, err := v.series(reader, schema)
	if err != nil {
		return nil, err
	}
	figures = append(figures, report.Section{ID: "time", Title: "Over time", Figures: over}, report.Section{ID: "histograms", Title: "Response times", Figures: hist})
	for _, s := range figures {
		if s.Figures = slices.DeleteFunc(s.Figures, func(f *report.Figure) bool { return f.Empty() }); len(s.Figures)+len(s.Tables) > 0 {
			p.Sections = append(p.Sections, s)
		}
	}
	p.Sections = append(p.Sections, planSection(m))
	environment, err := environmentSection(reader, schema)
	if err != nil {
		return nil, err
	}
	p.Sections = append(p.Sections, environment)
	script, err := os.ReadFile(filepath.Join(dir, "script", filepath.FromSlash(m.Script)))
	if err != nil {
		return nil, fmt.Errorf("reading the run's copy of the script: %w", err)
	}
	p.Sections = append(p.Sections, report.Section{ID: "script", Title: "Script", Code: string(script)})
	return p, nil
}

// paragraphs are the paragraphs of a docstring without its line breaks.
func paragraphs(doc string) []string {
	var out []string
	for _, p := range strings.Split(doc, "\n\n") {
		if p = strings.Join(strings.Fields(p), " "); p != "" {
			out = append(out, p)
		}
	}
	return out
}

// figures are those that are made from the cells alone.
func (v *view) figures() []report.Section {
	section := func(id, title string) report.Section { return report.Section{ID: id, Title: title} }
	add := func(s *report.Section, f []*report.Figure, left int) {
		s.Figures = append(s.Figures, f...)
		if left > 0 {
			s.Paragraphs = append(s.Paragraphs, fmt.Sprintf("%d more figures of this kind have no room here; sextant plot draws any.", left))
		}
	}
	rate, costs := section("throughput", "Throughput"), section("costs", "What each level costs")
	latency, law := section("latency", "Latency"), section("scalability", "Scalability")
	x := v.numeric()
	if x >= 0 {
		f, left := v.curves("Throughput", "throughput_ops_s", x, false, "Mean of the trials, bands: 95 % t interval.")
		add(&rate, f, left)
		f, left = v.heat(x)
		add(&rate, f, left)
		f, left = v.curves("p99 of the response time", "p99_ms", x, true, "Of all trials of a cell together.")
		add(&latency, f, left)
	} else {
		f, left := v.bars("Throughput", "throughput_ops_s", "Mean of the trials, whiskers: 95 % t interval.")
		add(&rate, f, left)
	}
	f, left := v.percentiles()
	add(&latency, f, left)
	f, left = v.costs()
	add(&costs, f, left)
	if fig, table := v.scaling(); table != nil {
		if fig != nil {
			law.Figures = append(law.Figures, fig)
		}
		law.Tables = append(law.Tables, report.PageTable{Caption: "Universal scalability law", Table: table})
	}
	return []report.Section{rate, costs, latency, law}
}

// attention is what a reader must know before any number, and the counts of trials.
func attention(r *result.Reader, schema *result.Schema, m *engine.Manifest) (notices []string, facts [][2]string, err error) {
	status, reasons, flagged := map[string]int{}, map[string]int{}, map[string]int{}
	marks := engine.Flags()
	err = tableOf(r, schema, "trials", append([]string{"status", "reason"}, marks...), func(v []any) error {
		s, _ := v[0].(string)
		status[s]++
		if s != "ok" {
			why, _ := v[1].(string)
			why, _, _ = strings.Cut(why, "\n")
			reasons[s+": "+why]++
		}
		for i, name := range marks {
			if v[2+i] == true {
				flagged[name]++
			}
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	done := status["ok"] + status["failed"] + status["skipped"]
	facts = [][2]string{{"trials", fmt.Sprintf("%d of %d done", done, m.Trials)}, {"ok", fmt.Sprint(status["ok"])}, {"failed", fmt.Sprint(status["failed"])}, {"skipped", fmt.Sprint(status["skipped"])}}
	if !r.Sealed() {
		notices = append(notices, fmt.Sprintf("The run is not finished: %d of %d trials are done.", done, m.Trials))
	}
	for _, why := range sorted(reasons) {
		notices = append(notices, fmt.Sprintf("%s %s", count(reasons[why], "trial"), why))
	}
	for _, name := range marks {
		if flagged[name] > 0 {
			notices = append(notices, fmt.Sprintf("%s marked %s: %s.", count(flagged[name], "trial"), name, flagMeaning()[name]))
		}
	}
	if m.Repeats == 1 {
		notices = append(notices, "Every cell was measured once: there is no deviation and no interval, and differences can't be told from noise.")
	}
	warnings := map[string]int{}
	err = tableOf(r, schema, "events", []string{"kind", "text"}, func(v []any) error {
		if v[0] == "warning" {
			warnings[v[1].(string)]++
		}
		return nil
	})
	const mostWarnings = 12
	for i, w := range sorted(warnings) {
		if i == mostWarnings {
			notices = append(notices, fmt.Sprintf("and %d more warnings in the table events", len(warnings)-mostWarnings))
			break
		}
		text := w
		if n := warnings[w]; n > 1 {
			text = fmt.Sprintf("%s (%d times)", w, n)
		}
		notices = append(notices, text)
	}
	return notices, facts, err
}

func flagMeaning() map[string]string {
	return map[string]string{"client_bound": "the generator, not the server, was a limit", "overloaded": "the backlog of the open loop grew or operations were dropped",
		"throttled": "a CPU limit held sextant back", "unsteady": "the rate had a trend within the window", "clock_jump": "the wall clock jumped",
		"errors_high": "more than 1 % of the operations did not succeed"}
}

func planSection(m *engine.Manifest) report.Section {
	axes := &report.Table{Columns: []report.Column{{Name: "axis", Left: true}, {Name: "values", Left: true}, {Name: "applied as", Left: true}}}
	for _, a := range m.Axes {
		var values []string
		for _, v := range a.Values {
			values = append(values, spec.Display(v))
		}
		axes.Rows = append(axes.Rows, []string{a.Name, strings.Join(values, ", "), a.AppliedAs})
	}
	s := report.Section{ID: "plan", Title: "Plan", Tables: []report.PageTable{{Caption: "Axes", Table: axes}}}
	s.Paragraphs = append(s.Paragraphs, fmt.Sprintf("%s of %s, seed %d.", count(m.Repeats, "repeat"), count(len(m.Cells), "cell"), m.Seed))
	for _, x := range m.Exclusions {
		s.Paragraphs = append(s.Paragraphs, fmt.Sprintf("Excluded: %s (%s).", count(x.Count, "combination"), x.Why))
	}
	measures := &report.Table{Columns: []report.Column{{Name: "system", Left: true}, {Name: "workload", Left: true}, {Name: "load", Left: true}, {Name: "level", Left: true}, {Name: "warm-up"}, {Name: "window"}}}
	seen := map[string]bool{}
	for _, x := range m.Measures {
		load := x.Load.Shape
		if x.Load.Think > 0 {
			load += ", think " + x.Load.Think.String()
		}
		row := []string{x.System.Name, x.Workload.Type + " (" + strings.Join(x.Workload.Ops, ", ") + ")", load, x.Level.String(), x.Warmup.String(), x.Window.String()}
		if key := strings.Join(row, "\x00"); !seen[key] {
			seen[key] = true
			measures.Rows = append(measures.Rows, row)
		}
	}
	s.Tables = append(s.Tables, report.PageTable{Caption: "What was measured", Table: measures})
	return s
}

func environmentSection(r *result.Reader, schema *result.Schema) (report.Section, error) {
	s := report.Section{ID: "environment", Title: "Machine and servers"}
	t := &report.Table{Columns: []report.Column{{Name: "of", Left: true}, {Name: "fact", Left: true}, {Name: "value", Left: true}}}
	seen := map[string]bool{}
	err := tableOf(r, schema, "environment", []string{"system", "key", "value"}, func(v []any) error {
		of, key, value := v[0].(string), v[1].(string), v[2].(string)
		if of == "" {
			of = "machine"
		}
		if k := of + "\x00" + key + "\x00" + value; !seen[k] {
			seen[k] = true
			t.Rows = append(t.Rows, []string{of, key, value})
		}
		return nil
	})
	s.Tables = []report.PageTable{{Caption: "Facts, as they were read before each start", Table: t}}
	return s, err
}

// timeline is one interval of one cell: the rates of its trials, each summed up over the operation types, and the slowest operation.
type timeline struct {
	start       float64
	n           int // trials
	sum, lo, hi float64
	worst       float64
}

func (t *timeline) add(rate float64) {
	if t.n++; t.n == 1 {
		t.lo, t.hi = rate, rate
	}
	t.sum, t.lo, t.hi = t.sum+rate, min(t.lo, rate), max(t.hi, rate)
}

// series draws the rate and the slowest operation over the window, and the distribution of response times.
func (v *view) series(r *result.Reader, schema *result.Schema) (over, hist []*report.Figure, err error) {
	cellOf := map[string]string{}
	if err := tableOf(r, schema, "trials", []string{"trial_id", "cell_id", "status"}, func(row []any) error {
		if row[2] == "ok" {
			cellOf[row[0].(string)] = row[1].(string)
		}
		return nil
	}); err != nil {
		return nil, nil, err
	}
	rates, of := map[int32]float64{}, ""      // of the trial at hand: a trial's rows stand together
	lines := map[string]map[int32]*timeline{} // by cell
	flush := func() {
		for i, rate := range rates {
			lines[cellOf[of]][i].add(rate)
		}
		clear(rates)
	}
	if err := tableOf(r, schema, "intervals", []string{"trial_id", "phase", "interval", "start_s", "rate_ops_s", "max_ms"}, func(row []any) error {
		cell, ok := cellOf[row[0].(string)]
		if !ok || row[1] != "window" {
			return nil
		}
		if trial := row[0].(string); trial != of {
			flush()
			of = trial
		}
		i := row[2].(int32)
		if lines[cell] == nil {
			lines[cell] = map[int32]*timeline{}
		}
		if lines[cell][i] == nil {
			lines[cell][i] = &timeline{start: row[3].(float64)}
		}
		rates[i] += row[4].(float64)
		if m, ok := row[5].(float64); ok {
			lines[cell][i].worst = max(lines[cell][i].worst, m)
		}
		return nil
	}); err != nil {
		return nil, nil, err
	}
	flush()
	bins := map[string]map[int]float64{}
	if err := tableOf(r, schema, "latencies", []string{"trial_id", "kind", "lower_ms", "upper_ms", "count"}, func(row []any) error {
		cell, ok := cellOf[row[0].(string)]
		if !ok || row[1] != "response" {
			return nil
		}
		if bins[cell] == nil {
			bins[cell] = map[int]float64{}
		}
		bins[cell][binOf((row[2].(float64)+row[3].(float64))/2)] += float64(row[4].(int64))
		return nil
	}); err != nil {
		return nil, nil, err
	}
	figures, by := v.facets(v.axes)
	for _, f := range v.groups(v.all(), figures) {
		rate := &report.Figure{Title: v.titled("Rate", figures, f.name), Of: v.names(by), XLabel: "second of the window", YLabel: "ops/s", Note: "Mean of the trials, bands: lowest and highest of them."}
		slow := &report.Figure{Title: v.titled("Slowest operation", figures, f.name), Of: v.names(by), XLabel: "second of the window", YLabel: "ms", LogY: true, Note: "Of each interval, over all trials."}
		dist := &report.Figure{Title: v.titled("Response times", figures, f.name), Of: v.names(by), XLabel: "response time (ms)", YLabel: "% of operations", LogX: true, Note: "Share in each of 20 bins a decade, all trials together."}
		for _, g := range v.groups(f.cells, by) {
			rate.Series = append(rate.Series, rateSeries(g.name, lines[g.cells[0].Cell.ID]))
			slow.Series = append(slow.Series, slowSeries(g.name, lines[g.cells[0].Cell.ID]))
			dist.Series = append(dist.Series, distribution(g.name, bins[g.cells[0].Cell.ID]))
		}
		over, hist = append(over, rate, slow), append(hist, dist)
	}
	return over[:min(len(over), most)], hist[:min(len(hist), most)], nil
}

func intervalsOf(l map[int32]*timeline) []*timeline {
	var keys []int32
	for i := range l {
		keys = append(keys, i)
	}
	slices.Sort(keys)
	var out []*timeline
	for _, i := range keys {
		out = append(out, l[i])
	}
	return out
}

func rateSeries(name string, l map[int32]*timeline) report.Series {
	s := report.Series{Name: name}
	for _, t := range intervalsOf(l) {
		mean := t.sum / float64(max(t.n, 1))
		s.X, s.Y = append(s.X, t.start), append(s.Y, &mean)
		if t.n > 1 {
			s.Lo, s.Hi = append(s.Lo, &t.lo), append(s.Hi, &t.hi)
		}
	}
	return s
}

func slowSeries(name string, l map[int32]*timeline) report.Series {
	s := report.Series{Name: name}
	for _, t := range intervalsOf(l) {
		var y *float64
		if t.worst > 0 {
			y = &t.worst
		}
		s.X, s.Y = append(s.X, t.start), append(s.Y, y)
	}
	return s
}

// binsPerDecade is how fine the distribution of response times is drawn.
const binsPerDecade = 20

func binOf(ms float64) int { return int(math.Floor(math.Log10(max(ms, 1e-6)) * binsPerDecade)) }

func distribution(name string, bins map[int]float64) report.Series {
	s := report.Series{Name: name}
	var keys []int
	total := 0.0
	for b, n := range bins {
		keys = append(keys, b)
		total += n
	}
	if len(keys) == 0 {
		return s
	}
	slices.Sort(keys)
	for b := keys[0]; b <= keys[len(keys)-1]; b++ {
		share := 100 * bins[b] / total
		s.X, s.Y = append(s.X, math.Pow(10, (float64(b)+0.5)/binsPerDecade)), append(s.Y, &share)
	}
	return s
}

// writeFile writes a file whole or not at all.
func writeFile(path string, write func(w *os.File) error) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), "."+filepath.Base(path)+"-*")
	if err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	defer func() {
		if err != nil {
			_ = f.Close() // it is removed
			_ = os.Remove(f.Name())
		}
	}()
	if err := write(f); err != nil {
		return err
	}
	if err := f.Chmod(0o644); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := f.Close(); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return fmt.Errorf("writing %s: %w", path, err)
	}
	return nil
}
