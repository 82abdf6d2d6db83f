// Package run executes an experiment: it orders the trials, takes each through its life, and leaves a run folder from
// which a killed run goes on without losing or doubling a trial.
//
// Map of the package:
//
//	plan.go      Plan: trials in order (blocks that share a dataset, rounds of seeded shuffles), estimate
//	saturation.go ramps of cells that end once the rate does not rise
//	manifest.go  Manifest: plan.json, what a resumed run and every reader of the folder need
//	folder.go    the run folder: exclusive creation, copy of the script, `latest`, the lock that dies with the process
//	journal.go   Journal: append-only JSON lines, fsynced; repaired from the committed rows
//	runner.go    Runner: Start, Resume, the loop over trials
//	preflight.go every system opened once before there is a run
//	analyze.go   Analyze: the analyze hook on a finished run
//	host.go      systems and their datasets while they are open
//	flags.go     what the generator has seen of itself: client_bound, overloaded, throttled, unsteady
//	resources.go a sample a second of host, sextant and server
//	trial.go     one trial: dataset, hooks, load, counts
//	verify.go    what was acknowledged against what is there
//	rows.go      load.Result -> rows
//	samples.go   the trials of a cell as samples, for comparisons
//	summary.go   rows of `summary` from the committed trials
//	environ.go   facts about host, product and script; machine.go: what makes this machine noisy
//	redact.go    secrets out of every text
//	observer.go  Observer: what a console shows
//
// A trial is done when its rows are committed (interp/result); the journal repeats that for people and for quick looks,
// and is mended from the rows when it disagrees.
package run
