// Command sextant plans, runs and reads declarative database experiments.
//
// Map of the package:
//
//	main.go      main; run: arguments -> exit code, with everything it touches in an env
//	root.go      the commands, exit codes, how errors are shown
//	script.go    evaluating a script, choosing experiments and cells
//	plan.go      plan, check; planview.go: how a plan is shown
//	format.go    fmt
//	start.go     run, resume: signals, observers
//	progress.go  what a person sees while it runs
//	show.go      show: tables of a run
//	compare.go   compare: what is faster, slower, the same
//	noise.go     noise: how much a measurement varies when nothing is changed
//	doc.go       doc: what scripts can name
//
// Exit codes: 0 fine, 1 some trial or check failed, 2 bad script or usage, 130 interrupted.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/term"
)

// env is everything that a command touches of the world.
type env struct {
	args           []string
	stdin          io.Reader
	stdout, stderr io.Writer
	lookup         func(string) (string, bool)
	terminal       bool // stdout is one
	width          int  // its columns; 0: any
	signals        <-chan os.Signal
	exit           func(int) // ends the process at once, on the second signal
}

func main() {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	e := &env{args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, lookup: os.LookupEnv, signals: signals, exit: os.Exit}
	if fd := int(os.Stdout.Fd()); term.IsTerminal(fd) {
		e.terminal, e.width = true, 80
		if w, _, err := term.GetSize(fd); err == nil && w > 0 {
			e.width = w
		}
	}
	os.Exit(run(context.Background(), e))
}
