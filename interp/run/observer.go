package run

import (
	"sextant/interp/result"
	"sextant/interp/spec"
)

// An Observer is told what happens, from the runner's goroutine; it must not block. Everything it shows comes from the
// rows that are committed, so console and files can't disagree.
type Observer interface {
	// Begin is called once: the run's folder and how many of the plan's trials are done already.
	Begin(dir string, p *Plan, done int)
	// Trial is called when a trial begins.
	Trial(position int, s Step, m *spec.Measure)
	// Done is called when a trial's row is committed.
	Done(position int, s Step, row *result.TrialRow)
	// Note is something worth a line: a dataset loaded, a server waited for, a warning. Texts hold no secret.
	Note(kind, text string)
}

// nobody observes nothing.
type nobody struct{}

func (nobody) Begin(string, *Plan, int)         {}
func (nobody) Trial(int, Step, *spec.Measure)   {}
func (nobody) Done(int, Step, *result.TrialRow) {}
func (nobody) Note(string, string)              {}
