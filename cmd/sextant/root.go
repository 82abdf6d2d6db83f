package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"sextant/interp/lang"
	engine "sextant/interp/run"
	"sextant/interp/spec"
)

// The exit codes.
const (
	exitFine        = 0
	exitFailed      = 1   // some trial or check failed, or the run could not go on
	exitUsage       = 2   // bad script or usage
	exitInterrupted = 130 // by a signal
)

// errInterrupted is the cause of a context that a signal has ended.
var errInterrupted = errors.New("interrupted")

// usageError is a mistake on the command line.
type usageError struct{ err error }

func (e *usageError) Error() string { return e.err.Error() }
func (e *usageError) Unwrap() error { return e.err }

// exitError carries an exit code; what there is to say was said.
type exitError int

func (e exitError) Error() string { return fmt.Sprintf("exit code %d", int(e)) }

// version is that of the module, or "devel".
func version() string {
	if v := os.Getenv("SEXTANT_TEST_VERSION"); v != "" { // tests see what another version of the product would do
		return v
	}
	bi, ok := debug.ReadBuildInfo()
	if !ok || bi.Main.Version == "" || bi.Main.Version == "(devel)" {
		return "devel"
	}
	return bi.Main.Version
}

// run performs a command line and returns the exit code.
func run(ctx context.Context, e *env) int {
	root := e.root()
	root.SetArgs(e.args)
	root.SetIn(e.stdin)
	root.SetOut(e.stdout)
	root.SetErr(e.stderr)
	return e.report(root.ExecuteContext(ctx))
}

// report shows an error and gives its exit code.
func (e *env) report(err error) int {
	var code exitError
	var usage *usageError
	var problems *lang.Problems
	var changed *engine.PlanChanged
	switch {
	case err == nil:
		return exitFine
	case errors.As(err, &code):
		return int(code)
	case errors.As(err, &problems):
		fmt.Fprintln(e.stderr, err)
		return exitUsage
	case errors.As(err, &usage), errors.As(err, &changed), strings.HasPrefix(err.Error(), "unknown command"):
		fmt.Fprintf(e.stderr, "sextant: %v\n", err)
		return exitUsage
	case errors.Is(err, errInterrupted):
		fmt.Fprintf(e.stderr, "sextant: %v\n", err)
		return exitInterrupted
	}
	fmt.Fprintf(e.stderr, "sextant: %v\n", err)
	return exitFailed
}

func (e *env) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "sextant",
		Short: "Declarative database experiments",
		Long: `sextant runs declarative database experiments: one Starlark file says what to sweep, against which
systems and with which workload; sextant plans it, runs it without losing a trial, and leaves typed
Parquet files that a notebook opens in one line.`,
		SilenceErrors: true, SilenceUsage: true, Version: version(),
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetFlagErrorFunc(func(c *cobra.Command, err error) error {
		return &usageError{fmt.Errorf("%w\nsee: %s --help", err, c.CommandPath())}
	})
	root.AddCommand(e.planCommand(), e.checkCommand(), e.fmtCommand(), e.runCommand(), e.resumeCommand(), e.showCommand(), e.compareCommand(), e.reportCommand(), e.auditCommand(), e.plotCommand(), e.analyzeCommand(), e.noiseCommand(), e.dataCommand(), e.opsCommand(), e.doctorCommand(), e.docCommand())
	return root
}

// args wraps a check of positional arguments so that its error is one of usage.
func args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, a []string) error {
		if err := check(c, a); err != nil {
			return &usageError{fmt.Errorf("%w\nusage: %s", err, c.UseLine())}
		}
		return nil
	}
}

// hint is the nearest of the names that would have been right, or all of them after a beginning such as "there are".
func hint(name, all string, names []string) string {
	if n := spec.Nearest(name, names); n != "" {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return all + " " + strings.Join(names, ", ")
}
