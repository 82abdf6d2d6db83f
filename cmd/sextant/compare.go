package main

import (
	"fmt"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/cobra"

	"sextant/analysis/report"
	engine "sextant/interp/run"
	"sextant/interp/spec"
)

// comparison is what the flags of compare say.
type comparison struct {
	by, baseline string
	metrics      []string
	margin       float64
	flagged      bool
	failIf       string
}

func (e *env) compareCommand() *cobra.Command {
	var o comparison
	c := &cobra.Command{Use: "compare RUN [RUN]", Short: "Say what is faster, slower, the same, or can't be told", Args: args(cobra.RangeArgs(1, 2)),
		Long: `Compare within a run, by the values of an axis against a baseline, or two runs cell by cell (the first is the baseline).
The change of the mean comes with its 95 % interval; p is Welch's, adjusted (Holm) over all comparisons that are made.
Trials that failed or are marked client_bound, overloaded, throttled or clock_jump are left out and counted.`,
		RunE: func(c *cobra.Command, a []string) error {
			limit, err := parseLimit(o.failIf)
			if err != nil {
				return &usageError{err}
			}
			labels, pairs, err := e.pairs(a, &o)
			if err != nil {
				return err
			}
			list := report.Compare(pairs, o.margin)
			if _, err := report.Comparisons(labels, list).Write(e.stdout, 0, e.terminal); err != nil {
				return err
			}
			for _, x := range list {
				if limit != nil && limit.broken(x) {
					fmt.Fprintf(e.stderr, "sextant: %s: the change of %s %s crosses %s\n", strings.Join(x.Label, " "), x.Metric, fmt.Sprintf("%+.1f %%", *x.ChangePct), o.failIf)
					err = exitError(exitFailed)
				}
			}
			return err
		}}
	c.Flags().StringVar(&o.by, "by", "", "the `AXIS` whose values are compared")
	c.Flags().StringVar(&o.baseline, "baseline", "", "the `VALUE` of that axis that the others are compared with")
	c.Flags().StringSliceVar(&o.metrics, "metric", []string{"throughput_ops_s", "p99_ms"}, "`COLUMNS` of trials")
	c.Flags().Float64Var(&o.margin, "margin", 5, "the change in `PERCENT` that would matter")
	c.Flags().BoolVar(&o.flagged, "include-flagged", false, "take doubtful trials as well")
	c.Flags().StringVar(&o.failIf, "fail-if", "", "exit with 1 when a change that can be told crosses this `LIMIT`, such as 'p99_ms > +10%'")
	return c
}

// limit is the condition of --fail-if.
type limit struct {
	metric  string
	above   bool
	percent float64
}

var limitForm = regexp.MustCompile(`^\s*(\w+)\s*([<>])\s*([+-]?[0-9.]+)\s*%\s*$`)

func parseLimit(text string) (*limit, error) {
	if text == "" {
		return nil, nil
	}
	m := limitForm.FindStringSubmatch(text)
	if m == nil {
		return nil, fmt.Errorf("--fail-if %q is not of the form 'p99_ms > +10%%' or 'throughput_ops_s < -5%%'", text)
	}
	v, err := strconv.ParseFloat(m[3], 64)
	if err != nil {
		return nil, fmt.Errorf("--fail-if %q: %w", text, err)
	}
	return &limit{m[1], m[2] == ">", v}, nil
}

// broken: the change crosses the limit and can be told from noise.
func (l *limit) broken(c report.Comparison) bool {
	if c.Metric != l.metric || c.ChangePct == nil || c.AdjustedP == nil || *c.AdjustedP >= 0.05 {
		return false
	}
	if l.above {
		return *c.ChangePct > l.percent
	}
	return *c.ChangePct < l.percent
}

// opened is a run with its samples.
type opened struct {
	dir     string
	m       *engine.Manifest
	samples []engine.Sample
}

func (o *comparison) open(path string) (*opened, error) {
	dir, m, err := openRun(path)
	if err != nil {
		return nil, err
	}
	s, err := engine.Samples(dir, m, o.metrics, o.flagged)
	if err != nil {
		return nil, &usageError{err}
	}
	return &opened{dir, m, s}, nil
}

// leftOut says which trials don't count.
func (e *env) leftOut(r *opened) {
	failed, flagged := 0, 0
	for _, s := range r.samples {
		failed += s.Failed
		flagged += s.Flagged
	}
	if failed+flagged > 0 {
		fmt.Fprintf(e.stdout, "left out of %s: %s, %s\n", shorter(r.dir), count(failed, "failed trial"), count(flagged, "flagged trial"))
	}
}

// pairs makes the comparisons that the arguments ask for.
func (e *env) pairs(runs []string, o *comparison) (labels []string, pairs []report.Pair, err error) {
	a, err := o.open(runs[0])
	if err != nil {
		return nil, nil, err
	}
	e.leftOut(a)
	if len(runs) == 1 {
		return within(a, o)
	}
	if o.by != "" || o.baseline != "" {
		return nil, nil, &usageError{fmt.Errorf("--by and --baseline compare within one run; two runs are compared cell by cell")}
	}
	b, err := o.open(runs[1])
	if err != nil {
		return nil, nil, err
	}
	e.leftOut(b)
	changes, err := engine.EnvironmentChanges(a.dir, b.dir, a.m, b.m)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range changes {
		fmt.Fprintln(e.stdout, "environment:", strings.TrimSpace(c))
	}
	return across(a, b, o)
}

// across pairs the cells of two runs that have the same values of the same axes.
func across(a, b *opened, o *comparison) (labels []string, pairs []report.Pair, err error) {
	for _, x := range a.m.Axes {
		labels = append(labels, x.Name)
	}
	var theirs []string
	for _, x := range b.m.Axes {
		theirs = append(theirs, x.Name)
	}
	if !slices.Equal(labels, theirs) {
		return nil, nil, &usageError{fmt.Errorf("the runs have different axes, %v and %v: no cell matches", labels, theirs)}
	}
	for _, x := range a.samples {
		for _, y := range b.samples {
			if !slices.Equal(shown(x.Cell), shown(y.Cell)) {
				continue
			}
			for _, metric := range o.metrics {
				pairs = append(pairs, report.Pair{Label: shown(x.Cell), Metric: metric, Base: x.Values[metric], To: y.Values[metric]})
			}
		}
	}
	if pairs == nil {
		return nil, nil, &usageError{fmt.Errorf("no cell of %s is in %s as well", shorter(a.dir), shorter(b.dir))}
	}
	return labels, pairs, nil
}

func shown(c engine.ManifestCell) []string {
	out := make([]string, len(c.Values))
	for i, v := range c.Values {
		out[i] = spec.Display(v)
	}
	return out
}

// within pairs each cell with the one that differs from it by the baseline's value only.
func within(r *opened, o *comparison) (labels []string, pairs []report.Pair, err error) {
	at := slices.IndexFunc(r.m.Axes, func(a spec.Axis) bool { return a.Name == o.by })
	for _, a := range r.m.Axes {
		labels = append(labels, a.Name)
	}
	if at < 0 {
		return nil, nil, &usageError{fmt.Errorf("--by %q names no axis; %s", o.by, hint(o.by, "the axes are", labels))}
	}
	var values []string
	for _, v := range r.m.Axes[at].Values {
		values = append(values, spec.Display(v))
	}
	if !slices.Contains(values, o.baseline) {
		return nil, nil, &usageError{fmt.Errorf("--baseline %q is no value of %s; it has %s", o.baseline, o.by, strings.Join(values, ", "))}
	}
	base := map[string]engine.Sample{}
	for _, s := range r.samples {
		if c := shown(s.Cell); c[at] == o.baseline {
			base[strings.Join(slices.Delete(slices.Clone(c), at, at+1), "\x00")] = s
		}
	}
	for _, s := range r.samples {
		c := shown(s.Cell)
		b, ok := base[strings.Join(slices.Delete(slices.Clone(c), at, at+1), "\x00")]
		if c[at] == o.baseline || !ok {
			continue
		}
		for _, metric := range o.metrics {
			pairs = append(pairs, report.Pair{Label: c, Metric: metric, Base: b.Values[metric], To: s.Values[metric]})
		}
	}
	if pairs == nil {
		return nil, nil, &usageError{fmt.Errorf("no cell has a counterpart at %s = %s", o.by, o.baseline)}
	}
	return labels, pairs, nil
}
