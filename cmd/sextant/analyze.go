package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"sextant/analysis/report"
	"sextant/interp/lang"
	"sextant/interp/result"
	engine "sextant/interp/run"
)

func (e *env) analyzeCommand() *cobra.Command {
	return &cobra.Command{Use: "analyze RUN [FILE]", Short: "Run the analyze hook on a finished run again, of its own script or of another file", Args: args(cobra.RangeArgs(1, 2)),
		RunE: func(c *cobra.Command, a []string) error {
			dir, m, err := openRun(a[0])
			if err != nil {
				return err
			}
			file, lookup := filepath.Join(dir, "script", filepath.FromSlash(m.Script)), func(n string) (string, bool) { v, ok := m.Env[n]; return v, ok }
			if len(a) == 2 {
				file, lookup = a[1], e.lookup
			}
			p, err := e.eval(c.Context(), file, lookup)
			if err != nil {
				return err
			}
			h := p.Hook(m.Experiment, "analyze")
			if h == nil {
				return &usageError{fmt.Errorf("%s has no analyze hook for the experiment %q", file, m.Experiment)}
			}
			ctx, stop := e.interruptible(c.Context())
			defer stop()
			return e.analyze(ctx, dir, m, h)
		}}
}

// analyzed shows a run and does its analysis, if its script has one.
func (e *env) analyzed(ctx context.Context, p *lang.Program, show func(dir string) error) func(dir string) error {
	return func(dir string) error {
		if err := show(dir); err != nil {
			return err
		}
		m, err := engine.ReadManifest(dir)
		if err != nil {
			return err
		}
		h := p.Hook(m.Experiment, "analyze")
		if h == nil || m.Noise || !result.Sealed(dir) {
			return nil
		}
		return e.analyze(ctx, dir, m, h)
	}
}

// analyze runs the hook and prints the tables that it made.
func (e *env) analyze(ctx context.Context, dir string, m *engine.Manifest, h *lang.Hook) error {
	made, err := engine.Analyze(ctx, dir, m, h, func(text string) { fmt.Fprintf(e.stdout, "analyze: %s\n", text) })
	for _, name := range made {
		x, rerr := result.ReadExtra(dir, name)
		if rerr != nil {
			return rerr
		}
		fmt.Fprintf(e.stdout, "\n%s (%s)\n", name, filepath.Join(shorter(dir), name+".parquet"))
		if werr := e.printExtra(x, shownRows); werr != nil {
			return werr
		}
	}
	if errors.Is(ctx.Err(), context.Canceled) && err != nil {
		return errInterrupted
	}
	if err != nil {
		fmt.Fprintf(e.stderr, "sextant: the analysis failed: %v\nthe run is complete; mend the script, then: sextant analyze %s FILE\n", err, shorter(dir))
		return exitError(exitFailed)
	}
	return nil
}

// shownRows is how many rows of an analysis' table a run prints.
const shownRows = 40

// printExtra prints the first rows of a table; most is 0 for all.
func (e *env) printExtra(x *result.Extra, most int) error {
	out := &report.Table{}
	for i, c := range x.Columns {
		left, same := true, len(x.Rows) > 1
		for _, r := range x.Rows {
			switch r[i].(type) {
			case int64, float64:
				left = false
			}
			same = same && r[i] == x.Rows[0][i]
		}
		// where there is no room, columns that say the same in every row go first, then those on the right
		drop := i
		if same && i > 0 {
			drop += len(x.Columns)
		}
		out.Columns = append(out.Columns, report.Column{Name: c, Left: left, Drop: drop})
	}
	for i, r := range x.Rows {
		if most > 0 && i >= most {
			break
		}
		line := make([]string, len(r))
		for k, v := range r {
			line[k] = cellText(x.Columns[k], v)
			if f, ok := v.(float64); ok && most > 0 {
				line[k] = fmt.Sprintf("%.4g", f)
			}
		}
		out.Rows = append(out.Rows, line)
	}
	width := 0
	if most > 0 {
		width = e.width
	}
	dropped, err := out.Write(e.stdout, width, e.terminal)
	if err != nil {
		return err
	}
	if n := len(x.Rows); most > 0 && n > most {
		fmt.Fprintf(e.stdout, "(%s more)\n", count(n-most, "row"))
	}
	if len(dropped) > 0 {
		fmt.Fprintf(e.stdout, "(no room for %s)\n", strings.Join(dropped, ", "))
	}
	return nil
}
