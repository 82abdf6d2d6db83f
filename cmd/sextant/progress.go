package main

import (
	"fmt"
	"io"
	"strings"
	"time"

	"sextant/interp/result"
	engine "sextant/interp/run"
	"sextant/interp/spec"
)

// progress shows a run: on a terminal one line that changes, elsewhere a line per trial. Failures and notes are lines of
// their own in both. It shows nothing that isn't in the committed rows or events.
type progress struct {
	w        io.Writer
	terminal bool
	width    int
	plan     *engine.Plan
	began    time.Time
	total    int
	done     int
	left     time.Duration // estimated windows and warm-ups of the trials that are left
	spent    time.Duration // the same of those done in this start
	open     bool          // a changing line stands on the terminal
	now      func() time.Time
	loaded   map[string]bool // datasets whose first loading was told
}

func (e *env) progress() *progress {
	return &progress{w: e.stdout, terminal: e.terminal, width: e.width, now: time.Now}
}

func (p *progress) Begin(dir string, plan *engine.Plan, done int) {
	p.plan, p.total, p.done, p.began = plan, len(plan.Steps), done, p.now()
	for _, s := range plan.Steps {
		m := plan.Measure(s)
		p.left += m.Warmup + m.Window
	}
	if p.total > 0 {
		p.left = time.Duration(float64(p.left) * float64(p.total-done) / float64(p.total))
	}
	p.print("run %s", dir)
	if done > 0 {
		p.print("%d of %s are done already", done, count(p.total, "trial"))
	}
}

func (p *progress) Trial(_ int, s engine.Step, _ *spec.Measure) {
	if !p.terminal {
		return
	}
	p.status(fmt.Sprintf("[%d/%d]", p.done+1, p.total), p.cell(s))
}

func (p *progress) Done(_ int, s engine.Step, row *result.TrialRow) {
	p.done++
	m := p.plan.Measure(s)
	p.spent += m.Warmup + m.Window
	p.left -= m.Warmup + m.Window
	text := fmt.Sprintf("[%d/%d] %s", p.done, p.total, p.cell(s))
	switch {
	case row.Status != "ok":
		reason := ""
		if row.Reason != nil {
			reason, _, _ = strings.Cut(*row.Reason, "\n") // the place in the script is in the row
		}
		p.print("%s: %s: %s", text, row.Status, reason)
	case p.terminal:
		p.status(fmt.Sprintf("[%d/%d]", p.done, p.total), p.cell(s)+outcome(row))
	default:
		p.print("%s%s%s", text, outcome(row), p.eta())
	}
}

// outcome is what a trial has shown, in a few words.
func outcome(row *result.TrialRow) string {
	text := ""
	if row.Throughput != nil {
		text = fmt.Sprintf(": %.0f ops/s", *row.Throughput)
	}
	if row.P99Ms != nil {
		text += fmt.Sprintf(", p99 %.3g ms", *row.P99Ms)
	}
	for _, f := range []struct {
		set  *bool
		name string
	}{{row.ErrorsHigh, "errors_high"}, {row.ClientBound, "client_bound"}, {row.Overloaded, "overloaded"}, {row.Throttled, "throttled"},
		{row.Unsteady, "unsteady"}, {row.ClockJump, "clock_jump"}} {
		if f.set != nil && *f.set {
			text += ", " + f.name
		}
	}
	return text
}

// eta scales the windows that are left by what those done took in all.
func (p *progress) eta() string {
	if p.spent <= 0 || p.left <= 0 {
		return ""
	}
	took := p.now().Sub(p.began)
	return fmt.Sprintf(" (%s left)", span(time.Duration(float64(p.left)*float64(took)/float64(p.spent))))
}

func (p *progress) Note(kind, text string) {
	switch kind {
	case "start", "resume", "interrupted":
		return // the command says it
	case "dataset": // a workload that inserts gets its rows anew before each trial: once is enough
		what, _, _ := strings.Cut(text, " in ")
		if p.loaded[what] {
			return
		}
		if p.loaded == nil {
			p.loaded = map[string]bool{}
		}
		p.loaded[what] = true
	}
	p.print("%s: %s", kind, text)
}

// cell names a step's cell by its axes.
func (p *progress) cell(s engine.Step) string { return stepName(p.plan, s) }

func stepName(plan *engine.Plan, s engine.Step) string {
	x := plan.Experiment
	var parts []string
	for i, a := range x.Axes {
		parts = append(parts, a.Name+"="+spec.Display(x.Cells[s.Cell].Values[i]))
	}
	if x.Repeats > 1 {
		parts = append(parts, fmt.Sprintf("repeat %d", s.Repeat+1))
	}
	if len(parts) == 0 {
		return x.Name
	}
	return strings.Join(parts, " ")
}

const barWidth = 12

// status replaces the changing line.
func (p *progress) status(place, text string) {
	full := barWidth * p.done / max(p.total, 1)
	line := strings.Repeat("█", full) + strings.Repeat("░", barWidth-full) + " " + place + p.eta() + " " + text
	if r := []rune(line); len(r) > p.width-1 {
		line = string(r[:p.width-1])
	}
	fmt.Fprintf(p.w, "\r\x1b[K%s", line)
	p.open = true
}

// print writes a line that stays.
func (p *progress) print(format string, a ...any) {
	if p.open {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.open = false
	}
	fmt.Fprintf(p.w, format+"\n", a...)
}

// end leaves the terminal clean.
func (p *progress) end() {
	if p.open {
		fmt.Fprint(p.w, "\r\x1b[K")
		p.open = false
	}
}
