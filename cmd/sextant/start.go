package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"sextant/builtins"
	"sextant/builtins/workload"
	engine "sextant/interp/run"
)

// askFrom is the estimated time from which a run on a terminal is confirmed.
const askFrom = 10 * time.Minute

func (e *env) runCommand() *cobra.Command {
	var sel selection
	var dry, yes, failFast, skipMissing bool
	var out string
	c := &cobra.Command{Use: "run FILE", Short: "Run the experiments of a script", Args: args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, a []string) error {
			p, err := e.eval(c.Context(), a[0], e.lookup)
			if err != nil {
				return err
			}
			plans, err := sel.plans(p)
			if err != nil {
				return err
			}
			var total time.Duration
			for _, plan := range plans {
				if err := e.showPlan(plan, out, dry); err != nil {
					return err
				}
				total += plan.Estimate(nil).Total()
			}
			if dry {
				return nil
			}
			if !yes && e.terminal && total > askFrom && !e.confirm("start? [y/N] ") {
				return exitError(exitFailed)
			}
			return e.all(c.Context(), plans, func(ctx context.Context, plan *engine.Plan, obs engine.Observer) (*engine.Report, error) {
				opt := e.options(out, failFast, obs)
				opt.SkipMissing = skipMissing
				return engine.Start(ctx, opt, p, plan, sel.where)
			}, e.analyzed(c.Context(), p, e.showRun))
		}}
	sel.flags(c)
	c.Flags().StringVar(&out, "out", "results", "`FOLDER` of the results")
	c.Flags().BoolVar(&dry, "dry-run", false, "show the plan and stop")
	c.Flags().BoolVar(&yes, "yes", false, "don't ask before a long run")
	c.Flags().BoolVar(&failFast, "fail-fast", false, "stop at the first failed trial")
	c.Flags().BoolVar(&skipMissing, "skip-missing", false, "skip throwaway servers that aren't installed, with the reason")
	return c
}

func (e *env) options(out string, failFast bool, obs engine.Observer) engine.Options {
	return engine.Options{Drivers: builtins.DriversByName(), Workload: workload.New, Secret: e.lookup, Out: out, Product: version(), FailFast: failFast, Observer: obs}
}

func (e *env) confirm(question string) bool {
	fmt.Fprint(e.stdout, question)
	answer, err := bufio.NewReader(e.stdin).ReadString('\n')
	return err == nil && strings.HasPrefix(strings.ToLower(strings.TrimSpace(answer)), "y")
}

func (e *env) resumeCommand() *cobra.Command {
	var failFast bool
	c := &cobra.Command{Use: "resume RUN", Short: "Go on with a run that was interrupted", Args: args(cobra.ExactArgs(1)),
		RunE: func(c *cobra.Command, a []string) error {
			dir, m, err := openRun(a[0])
			if err != nil {
				return err
			}
			// env() sees what it saw at the start; the script is the copy in the run folder
			p, err := e.eval(c.Context(), filepath.Join(dir, "script", filepath.FromSlash(m.Script)), func(n string) (string, bool) { v, ok := m.Env[n]; return v, ok })
			if err != nil {
				return err
			}
			x := p.Experiment(m.Experiment)
			if x == nil {
				return &usageError{fmt.Errorf("the script in %s has no experiment %q any more", dir, m.Experiment)}
			}
			where, show := m.Where, e.showRun
			if m.Noise {
				if x, err = noiseOf(x, m.Where, m.Repeats); err != nil {
					return err
				}
				where, show = "", e.showNoise
			}
			plan, err := planOf(x, where)
			if err != nil {
				return err
			}
			return e.all(c.Context(), []*engine.Plan{plan}, func(ctx context.Context, plan *engine.Plan, obs engine.Observer) (*engine.Report, error) {
				return engine.Resume(ctx, e.options("", failFast, obs), p, plan, dir, m)
			}, e.analyzed(c.Context(), p, show))
		}}
	c.Flags().BoolVar(&failFast, "fail-fast", false, "stop at the first failed trial")
	return c
}

// runFolder is the real folder of a run, which `latest` may lead to.
func runFolder(path string) (string, error) {
	dir, err := filepath.EvalSymlinks(path)
	if err != nil {
		return "", &usageError{fmt.Errorf("there is no run in %s", path)}
	}
	return dir, nil
}

// openRun is a run's real folder and its manifest.
func openRun(path string) (string, *engine.Manifest, error) {
	dir, err := runFolder(path)
	if err != nil {
		return "", nil, err
	}
	m, err := engine.ReadManifest(dir)
	if err != nil {
		return "", nil, &usageError{err}
	}
	return dir, m, nil
}

// all runs one experiment after the other and gives the exit code as an error.
func (e *env) all(ctx context.Context, plans []*engine.Plan, start func(context.Context, *engine.Plan, engine.Observer) (*engine.Report, error), show func(dir string) error) error {
	ctx, stop := e.interruptible(ctx)
	defer stop()
	failed := false
	for _, plan := range plans {
		obs := e.progress()
		rep, err := start(ctx, plan, obs)
		obs.end()
		if err != nil {
			return e.ended(plan, rep, err)
		}
		failed = failed || rep.Failed > 0
		if err := show(rep.Dir); err != nil {
			return err
		}
	}
	if failed {
		return exitError(exitFailed)
	}
	return nil
}

// ended says how a run that did not come to its end can go on.
func (e *env) ended(plan *engine.Plan, rep *engine.Report, err error) error {
	interrupted := errors.Is(err, errInterrupted)
	if rep == nil || rep.Dir == "" {
		if interrupted {
			return errInterrupted
		}
		return err
	}
	done := rep.OK + rep.Failed + rep.Skipped
	what := "stopped"
	if interrupted {
		what = "interrupted"
	} else {
		fmt.Fprintf(e.stderr, "sextant: %v\n", err)
	}
	fmt.Fprintf(e.stderr, "%s after %d of %s; what is done is kept. Go on with:\n  sextant resume %s\n", what, done, count(len(plan.Steps), "trial"), rep.Dir)
	if interrupted {
		return exitError(exitInterrupted)
	}
	return exitError(exitFailed)
}

// interruptible ends the context at the first signal, and the process at the second.
func (e *env) interruptible(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	done := make(chan struct{})
	go func() {
		for n := 0; ; n++ {
			select {
			case <-done:
				return
			case <-e.signals:
			}
			if n > 0 {
				e.exit(exitInterrupted)
				return
			}
			fmt.Fprintln(e.stderr, "\nstopping: the trial in hand is dropped; press Ctrl-C again to stop at once")
			cancel(errInterrupted)
		}
	}()
	return ctx, func() { close(done); cancel(nil) }
}
