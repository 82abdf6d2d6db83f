package main

import (
	"bufio"
	"fmt"
	"slices"
	"strings"
	"time"

	"sextant/analysis/report"
	"sextant/builtins"
	engine "sextant/interp/run"
	"sextant/interp/spec"
)

// showPlan prints a plan: five lines and, when whole, everything that was excluded and every level.
func (e *env) showPlan(p *engine.Plan, out string, whole bool) error {
	x := p.Experiment
	e.line("experiment %s: %s x %s = %s in %s", x.Name, count(len(p.Cells), "cell"), count(x.Repeats, "repeat"), count(len(p.Steps), "trial"), count(len(p.Blocks), "block"))
	e.line("  axes       %s", axesText(x))
	e.line("  measures   %s", measuresText(p))
	for i, ex := range x.Exclusions {
		if !whole && i > 0 {
			e.line("             and %s", count(len(x.Exclusions)-1, "more exclusion"))
			break
		}
		e.line("  excluded   %s: %s (%s)", count(ex.Count, "combination"), ex.Why, ex.Pos)
	}
	if whole {
		for _, l := range levelLines(p) {
			e.line("  level      %s", l)
		}
	}
	if x.Stop.Axis != "" {
		e.line("  stop       along %s once the rate rises by less than %g %% a step: at most the trials above", x.Stop.Axis, 100*x.Stop.Gain)
	}
	measured, err := engine.MeasuredLoads(out, x.Name)
	if err != nil {
		return err
	}
	est := p.Estimate(measured)
	how := "estimated"
	if est.Measured > 0 {
		how = fmt.Sprintf("%d of %d measured by earlier runs", est.Measured, est.LoadRuns)
	}
	if est.LoadRuns == 0 {
		e.line("  loads      none")
	} else {
		e.line("  loads      %s of %s, about %s (%s)", count(est.LoadRuns, "load"), count(datasets(p), "dataset"), span(est.Loads), how)
	}
	if est.Resets > 0 {
		e.line("  resets     %s of them, about %s: trials insert or delete, or reset is \"always\"", count(est.Resets, "load"), span(est.ResetFor))
	}
	if est.Trims > 0 {
		e.line("  resets     %s: the tables that trials fill are emptied", count(est.Trims, "time"))
	}
	form := "Mon 15:04"
	if est.Total() > 6*24*time.Hour {
		form = "2 Jan 2006"
	}
	about := "about"
	early := func(c int32) bool { m := x.Cells[c].Measure; return m.Operations > 0 || m.Until.Error > 0 || m.Auto }
	if x.Stop.Axis != "" || slices.ContainsFunc(p.Cells, early) {
		about = "at most"
	}
	e.line("  time       %s %s, until %s (windows and warm-ups %s)", about, span(est.Total()), time.Now().Add(est.Total()).Format(form), span(est.Windows))
	return nil
}

func datasets(p *engine.Plan) int {
	seen := map[string]bool{}
	for _, b := range p.Blocks {
		seen[b.Dataset] = true
	}
	return len(seen)
}

// line prints one line, cut to the terminal's width.
func (e *env) line(format string, a ...any) {
	text := fmt.Sprintf(format, a...)
	if r := []rune(text); e.width > 0 && len(r) > e.width {
		text = string(r[:e.width-1]) + "…"
	}
	fmt.Fprintln(e.stdout, text)
}

// count is "1 cell" or "3 cells".
func count[N int | int64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// span shows a duration without false precision.
func span(d time.Duration) string {
	switch {
	case d >= time.Hour:
		return fmt.Sprintf("%dh%02dm", int(d.Hours()), int(d.Minutes())%60)
	case d >= time.Minute:
		return fmt.Sprintf("%dm%02ds", int(d.Minutes()), int(d.Seconds())%60)
	case d >= 10*time.Second:
		return fmt.Sprintf("%ds", int(d.Seconds()+0.5))
	}
	return fmt.Sprintf("%.1fs", d.Seconds())
}

// manyValues is from how many values on an axis is shown by its ends.
const manyValues = 8

func axesText(x *spec.Experiment) string {
	if len(x.Axes) == 0 {
		return "none: one cell"
	}
	var parts []string
	for _, a := range x.Axes {
		var vals []string
		for _, v := range a.Values {
			vals = append(vals, spec.Display(v))
		}
		if len(vals) > manyValues {
			vals = []string{vals[0], vals[1], "...", vals[len(vals)-1], fmt.Sprintf("(%d)", len(vals))}
		}
		text := a.Name + " " + strings.Join(vals, ",")
		if a.AppliedAs != "" && a.AppliedAs != a.Name {
			text += " (the " + a.AppliedAs + ")"
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// measuresText names the systems and workloads, and the shortest and longest window.
func measuresText(p *engine.Plan) string {
	seen := map[string]bool{}
	var pairs []string
	var low, high *spec.Measure
	for _, c := range p.Cells {
		m := p.Experiment.Cells[c].Measure
		name := m.Workload.Type
		if w, ok := m.Workload.Params["workload"].(string); ok {
			name += " " + w
		}
		text := name + " on " + m.System.Name
		if !seen[text] {
			seen[text] = true
			pairs = append(pairs, text)
		}
		if low == nil || m.Window < low.Window {
			low = m
		}
		if high == nil || m.Window > high.Window {
			high = m
		}
	}
	if len(pairs) > 4 {
		pairs = append(pairs[:3], fmt.Sprintf("and %d more", len(pairs)-3))
	}
	window := low.Window.String()
	if low.Operations > 0 {
		window = fmt.Sprintf("of %d operations, at most %s", low.Operations, low.Window)
	}
	if low.Until.Error > 0 {
		window = fmt.Sprintf("until the rate is known to %g %%, %s to %s", 100*low.Until.Error, low.Until.AtLeast, low.Window)
	}
	if low.Window != high.Window {
		window += " to " + high.Window.String()
	}
	return fmt.Sprintf("%s; window %s after %s", strings.Join(pairs, ", "), window, low.Warmup)
}

// levelLines say for each level how it will be set and read back.
func levelLines(p *engine.Plan) []string {
	types := map[string]*spec.SystemType{}
	for _, t := range builtins.Registry().Systems {
		types[t.Name] = t
	}
	seen := map[string]bool{}
	var out []string
	for _, c := range p.Cells {
		m := p.Experiment.Cells[c].Measure
		if len(m.Level.Settings) == 0 {
			if k := m.System.Type + " default"; !seen[k] {
				seen[k] = true
				out = append(out, m.System.Type+" default: as the server has it, read back")
			}
			continue
		}
		for _, s := range m.Level.Settings {
			k := m.System.Type + " " + s.Name + "=" + s.Value
			if seen[k] {
				continue
			}
			seen[k] = true
			for _, l := range types[m.System.Type].Levels {
				if l.Name == s.Name {
					out = append(out, k+": "+l.Doc)
				}
			}
		}
	}
	return out
}

// showCells lists every cell with its ids.
func (e *env) showCells(p *engine.Plan) error {
	ids, err := p.CellIDs()
	if err != nil {
		return err
	}
	t := &report.Table{Columns: []report.Column{{Name: "cell", Left: true}}}
	for _, a := range p.Experiment.Axes {
		t.Columns = append(t.Columns, report.Column{Name: a.Name, Left: true})
	}
	for _, n := range []string{"system", "workload", "level"} {
		t.Columns = append(t.Columns, report.Column{Name: n, Left: true})
	}
	t.Columns = append(t.Columns, report.Column{Name: "clients"}, report.Column{Name: "rows"}, report.Column{Name: "window"})
	for i, c := range p.Cells {
		cell := p.Experiment.Cells[c]
		m := cell.Measure
		row := []string{ids[i]}
		for _, v := range cell.Values {
			row = append(row, spec.Display(v))
		}
		t.Rows = append(t.Rows, append(row, m.System.Name, m.Workload.Type, m.Level.String(), fmt.Sprint(m.Load.Clients),
			fmt.Sprint(m.Workload.Dataset.Rows), m.Window.String()))
	}
	b := bufio.NewWriter(e.stdout)
	if _, err := t.Write(b, 0, false); err != nil {
		return err
	}
	return b.Flush()
}
