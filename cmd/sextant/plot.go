package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"sextant/analysis/report"
	engine "sextant/interp/run"
	"sextant/interp/spec"
)

// Size of a figure in points.
const plotWidth, plotHeight = 460, 300

func (e *env) plotCommand() *cobra.Command {
	var x, y, by, out, where string
	var logX, logY bool
	c := &cobra.Command{Use: "plot RUN --x AXIS --y COLUMN [--by AXES] -o FIGURE", Short: "Draw one figure of a run as SVG or PNG", Args: args(cobra.ExactArgs(1)),
		Long: `Draw a column of trials along an axis, a line for each combination of --by; bars where the axis has no numbers. The mean
of the trials has its 95 % interval as a band, percentiles are those of all trials of a cell together.`,
		RunE: func(c *cobra.Command, a []string) error {
			dir, m, err := openRun(a[0])
			if err != nil {
				return err
			}
			v, err := newView(dir, m, where)
			if err != nil {
				return err
			}
			f, err := v.plot(x, y, by, logX, logY)
			if err != nil {
				return err
			}
			var b []byte
			switch strings.ToLower(filepath.Ext(out)) {
			case ".svg":
				b, err = f.SVG(plotWidth, plotHeight)
			case ".png":
				b, err = f.PNG(plotWidth, plotHeight)
			default:
				return &usageError{fmt.Errorf("-o %q: a figure's name ends in .svg or .png", out)}
			}
			if err != nil {
				return err
			}
			if err := writeFile(out, func(w *os.File) error { _, err := w.Write(b); return err }); err != nil {
				return err
			}
			fmt.Fprintf(e.stdout, "figure: %s\n", shorter(out))
			return nil
		}}
	c.Flags().StringVar(&x, "x", "", "the `AXIS` to draw along; the first one of numbers without")
	c.Flags().StringVar(&y, "y", "throughput_ops_s", "the `COLUMN` of trials")
	c.Flags().StringVar(&by, "by", "", "the `AXES` that make the lines, with commas between; all others without")
	c.Flags().StringVar(&where, "where", "", "only the cells whose axes have these `VALUES`, such as scale=1000,consistency=off")
	c.Flags().BoolVar(&logX, "log-x", false, "a logarithmic axis for --x")
	c.Flags().BoolVar(&logY, "log-y", false, "a logarithmic axis for --y")
	c.Flags().StringVarP(&out, "output", "o", "", "`FIGURE` to write, .svg or .png")
	return c
}

// where takes the cells that have some values: "scale=1000,consistency=off".
func (v *view) where(text string) ([]engine.CellSummary, error) {
	out := v.cells
	for _, part := range strings.Split(text, ",") {
		name, want, ok := strings.Cut(part, "=")
		if !ok {
			return nil, &usageError{fmt.Errorf("--where %q is not of the form axis=value", part)}
		}
		i, err := v.axis(strings.TrimSpace(name))
		if err != nil {
			return nil, err
		}
		var values []string
		for _, x := range v.m.Axes[i].Values {
			values = append(values, spec.Display(x))
		}
		if want = strings.TrimSpace(want); !slices.Contains(values, want) {
			return nil, &usageError{fmt.Errorf("the axis %s has no value %q; %s", name, want, hint(want, "it has", values))}
		}
		out = slices.DeleteFunc(slices.Clone(out), func(c engine.CellSummary) bool { return spec.Display(c.Cell.Values[i]) != want })
	}
	return out, nil
}

// free are the axes among some that take several values in the cells at hand.
func (v *view) free(axes []int) []int {
	return slices.DeleteFunc(slices.Clone(axes), func(i int) bool {
		return !slices.ContainsFunc(v.cells, func(c engine.CellSummary) bool {
			return spec.Display(c.Cell.Values[i]) != spec.Display(v.cells[0].Cell.Values[i])
		})
	})
}

// checkMetric refuses a column that the summary doesn't have.
func checkMetric(name string) error {
	if all := engine.Metrics(); !slices.Contains(all, name) {
		return &usageError{fmt.Errorf("%q is none of the columns that are summed up; %s", name, hint(name, "there are", all))}
	}
	return nil
}

// plot is the one figure of the command.
func (v *view) plot(xName, y, by string, logX, logY bool) (*report.Figure, error) {
	if err := checkMetric(y); err != nil {
		return nil, err
	}
	if len(v.cells) == 0 {
		return nil, &usageError{fmt.Errorf("no trial of these cells is done")}
	}
	x := v.numeric()
	if xName != "" {
		var err error
		if x, err = v.axis(xName); err != nil {
			return nil, err
		}
	}
	if x < 0 {
		return nil, &usageError{fmt.Errorf("no axis has numbers to draw along: name one by --x")}
	}
	lines := v.free(v.others(x))
	if by != "" {
		var chosen []int
		for _, name := range strings.Split(by, ",") {
			i, err := v.axis(strings.TrimSpace(name))
			if err != nil {
				return nil, err
			}
			chosen = append(chosen, i)
		}
		for _, i := range lines {
			if !slices.Contains(chosen, i) {
				return nil, &usageError{fmt.Errorf("the axis %s takes several values as well: add it to --by, or choose one by --where %s=%s", v.m.Axes[i].Name, v.m.Axes[i].Name, spec.Display(v.m.Axes[i].Values[0]))}
			}
		}
		lines = chosen
	}
	groups := v.groups(v.all(), lines)
	if len(groups) > report.MaxSeries {
		return nil, &usageError{fmt.Errorf("%d lines can't be told apart, at most %d: choose some by --where", len(groups), report.MaxSeries)}
	}
	a := v.m.Axes[x]
	f := &report.Figure{Title: v.m.Experiment, XLabel: a.Name, YLabel: unitOf(y), Of: v.names(lines), LogX: logX, LogY: logY}
	if a.Type != "int" && a.Type != "float" || slices.Contains(a.Values, nil) {
		f.Kind = report.Bars
		for _, val := range a.Values {
			f.Labels = append(f.Labels, spec.Display(val))
		}
	}
	for _, g := range groups {
		f.Series = append(f.Series, v.along(g, x, y, f))
	}
	return f, nil
}
