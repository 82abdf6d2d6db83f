package run

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"sextant/interp/driver"
	"sextant/interp/lang"
	"sextant/interp/load"
	"sextant/interp/result"
	"sextant/interp/spec"
)

// Options are what the command line and the catalog give to a run.
type Options struct {
	Drivers map[string]driver.Driver
	// Workload builds the runtime form of a workload; the seed is that of its rows, the program has the functions it runs.
	Workload func(w *spec.Workload, seed uint64, p *lang.Program) (load.Workload, error)
	Secret   func(name string) (string, bool) // looks up secret(name)
	Out      string                           // folder of the results
	Product  string                           // version of sextant
	FailFast bool                             // stop at the first failed trial
	// SkipMissing: trials of throwaway servers whose programs aren't installed are skipped with the reason.
	SkipMissing bool
	Noise       bool     // the plan is an A/A experiment made from the script's
	Observer    Observer // nil: nobody
}

// A Report is how a run ended.
type Report struct {
	Dir                 string
	OK, Failed, Skipped int  // trials over all starts of the run
	Left                int  // trials of the plan not done
	Sealed              bool // the tables are final
}

// ErrFailFast is the end of a run that was to stop at the first failed trial.
var ErrFailFast = errors.New("stopped at the first failed trial")

// A Runner is one start or resume of a run. It belongs to one goroutine.
type Runner struct {
	opt     Options
	plan    *Plan
	program *lang.Program
	secrets *Secrets

	dir, id string
	starts  int32 // 0 for the first start, then 1 for the first resume, ...
	schema  *result.Schema
	sink    *result.Sink
	journal *Journal
	lock    *Lock
	host    *host
	opened  map[string]*host   // opened by the preflight, not used yet
	before  map[factKey]string // facts of the last start, when this is a resume
	current string             // trial in hand
	rates   map[string]float64 // throughput of the trials that are ok, where a rule ends ramps

	logMu  sync.Mutex
	log    []logged
	report Report
}

// logged is a row of events, measurements or environment that waits for the next commit.
type logged struct {
	table, trial string
	row          any
}

// Start begins a new run of a plan. Systems are opened first: when one can't be reached there is no run folder.
func Start(ctx context.Context, opt Options, program *lang.Program, plan *Plan, where string) (*Report, error) {
	r, err := newRunner(opt, program, plan)
	if err != nil {
		return nil, err
	}
	if err := r.preflight(ctx); err != nil {
		return nil, err
	}
	defer r.release(ctx)
	m, err := NewManifest(plan)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	if r.dir, r.id, err = makeFolder(opt.Out, plan.Experiment.Name, now); err != nil {
		return nil, err
	}
	m.RunID, m.Created, m.Product = r.id, now.UTC(), opt.Product
	m.Script, m.Where, m.Env, m.Noise, m.SkipMissing = program.Main, where, program.Env, opt.Noise, opt.SkipMissing
	if r.lock, err = LockFolder(r.dir); err != nil {
		return nil, err
	}
	if err := errors.Join(copyScript(r.dir, program), m.write(r.dir)); err != nil {
		return nil, err
	}
	if r.schema, err = m.Schema(); err != nil {
		return nil, err
	}
	if r.sink, err = result.Create(r.dir, r.schema, result.Meta{RunID: r.id, PlanHash: m.PlanHash}); err != nil {
		return nil, err
	}
	if r.journal, _, err = OpenJournal(filepath.Join(r.dir, "journal.jsonl")); err != nil {
		return nil, err
	}
	if err := pointLatest(r.dir); err != nil {
		return nil, err
	}
	r.event("", "start", fmt.Sprintf("started by sextant %s: %d trials", opt.Product, len(plan.Steps)))
	if err := r.journal.Add(Entry{At: now.UTC(), Event: "start", Text: opt.Product}); err != nil {
		return nil, err
	}
	return r.run(ctx, map[string]string{})
}

// Resume goes on with the run in dir. The program is the evaluated copy of the script in its folder.
func Resume(ctx context.Context, opt Options, program *lang.Program, plan *Plan, dir string, m *Manifest) (*Report, error) {
	opt.SkipMissing = m.SkipMissing
	r, err := newRunner(opt, program, plan)
	if err != nil {
		return nil, err
	}
	r.dir, r.id = dir, m.RunID
	if r.lock, err = LockFolder(dir); err != nil {
		return nil, err
	}
	defer r.release(ctx)
	now, err := NewManifest(plan)
	if err != nil {
		return nil, err
	}
	if diff := m.Difference(now); diff != nil {
		return nil, &PlanChanged{dir, diff}
	}
	if r.schema, err = m.Schema(); err != nil {
		return nil, err
	}
	if result.Sealed(dir) {
		return r.ended()
	}
	if err := r.preflight(ctx); err != nil {
		return nil, err
	}
	var trials []string
	if r.sink, trials, err = result.Recover(dir, r.schema, result.Meta{RunID: r.id, PlanHash: m.PlanHash}); err != nil {
		return nil, err
	}
	done, err := r.mendJournal(trials)
	if err != nil {
		return nil, err
	}
	r.event("", "resume", fmt.Sprintf("resumed by sextant %s: %d of %d trials were done", opt.Product, len(done), len(plan.Steps)))
	if opt.Product != m.Product {
		r.event("", "changed", fmt.Sprintf("the run was started by sextant %s and goes on with %s", m.Product, opt.Product))
	}
	return r.run(ctx, done)
}

// PlanChanged is the refusal to mix trials of two plans in one run.
type PlanChanged struct {
	Dir  string
	Diff []string
}

func (e *PlanChanged) Error() string {
	s := "the script in " + e.Dir + " now gives another plan than the run was started with, so its trials can't be mixed:"
	for _, d := range e.Diff {
		s += "\n  " + d
	}
	return s
}

func newRunner(opt Options, program *lang.Program, plan *Plan) (*Runner, error) {
	if opt.Observer == nil {
		opt.Observer = nobody{}
	}
	secrets, err := ResolveSecrets(plan.Experiment, opt.Secret)
	if err != nil {
		return nil, err
	}
	return &Runner{opt: opt, plan: plan, program: program, secrets: secrets, opened: map[string]*host{}, rates: map[string]float64{}}, nil
}

// run takes every trial that isn't done, in order.
func (r *Runner) run(ctx context.Context, done map[string]string) (*Report, error) {
	r.report.Dir = r.dir
	for _, status := range done {
		r.tally(status)
	}
	r.opt.Observer.Begin(r.dir, r.plan, len(done))
	if err := r.hostFacts(ctx); err != nil {
		return nil, err
	}
	if err := r.flushLog(); err != nil {
		return nil, err
	}
	err := r.trials(ctx, done)
	r.closeHost(ctx)
	r.report.Left = len(r.plan.Steps) - r.report.OK - r.report.Failed - r.report.Skipped
	if err != nil {
		return r.interrupted(ctx, err)
	}
	return r.seal()
}

func (r *Runner) trials(ctx context.Context, done map[string]string) error {
	for pos, s := range r.plan.Steps {
		if len(done) > 0 {
			t, err := r.plan.Trial(s)
			if err != nil {
				return err
			}
			if _, ok := done[t.ID]; ok {
				continue
			}
		}
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		status, err := r.trial(ctx, pos, s)
		if err != nil {
			return err
		}
		r.tally(status)
		if status == "failed" && r.opt.FailFast {
			return ErrFailFast
		}
		if r.sink.Due() {
			if err := r.sink.Flush(); err != nil {
				return err
			}
		}
	}
	return nil
}

func (r *Runner) tally(status string) {
	switch status {
	case "ok":
		r.report.OK++
	case "skipped":
		r.report.Skipped++
	default:
		r.report.Failed++
	}
}

// interrupted leaves a run that stops before its end so that readers see all that is committed.
func (r *Runner) interrupted(ctx context.Context, cause error) (*Report, error) {
	r.event("", "interrupted", r.secrets.Hide(cause.Error()))
	err := r.flushLog()
	if err == nil {
		err = r.journal.Add(Entry{At: time.Now().UTC(), Event: "interrupted", Text: r.secrets.Hide(cause.Error())})
	}
	if err == nil {
		err = r.sink.Flush()
	}
	if err != nil && ctx.Err() == nil {
		cause = errors.Join(cause, err)
	}
	return &r.report, cause
}

// seal writes the final tables.
func (r *Runner) seal() (*Report, error) {
	if err := r.appendSummary(); err != nil {
		return nil, err
	}
	if err := r.sink.Seal(); err != nil {
		return &r.report, err
	}
	r.report.Sealed = true
	return &r.report, r.journal.Add(Entry{At: time.Now().UTC(), Event: "sealed"})
}

// ended reports a run that had been finished before.
func (r *Runner) ended() (*Report, error) {
	r.report.Dir, r.report.Sealed = r.dir, true
	col := slices.Index(r.schema.Table("trials").Columns(), "status")
	err := result.OpenRun(r.dir, r.schema).Each("trials", func(row []any) error {
		r.tally(row[col].(string))
		return nil
	})
	return &r.report, err
}

// release lets go of everything, however the run ended.
func (r *Runner) release(ctx context.Context) {
	r.closeHost(ctx)
	for key, h := range r.opened {
		_ = r.closeSystem(ctx, h) // it was never used: nothing is lost
		delete(r.opened, key)
	}
	if r.sink != nil {
		_ = r.sink.Close() // every commit was synced
	}
	if r.journal != nil {
		_ = r.journal.Close() // every line was synced
	}
	if r.lock != nil {
		_ = r.lock.Unlock() // the process's end would do it too
	}
}

// mendJournal makes the journal say what the committed rows say, and gives each done trial's status.
func (r *Runner) mendJournal(trials []string) (map[string]string, error) {
	j, entries, err := OpenJournal(filepath.Join(r.dir, "journal.jsonl"))
	if err != nil {
		return nil, err
	}
	r.journal = j
	said := map[string]bool{}
	for _, e := range entries {
		switch e.Event {
		case "trial", "recovered":
			said[e.Trial] = true
		case "start", "resume":
			r.starts++
		}
	}
	done := make(map[string]string, len(trials))
	cols := r.schema.Table("trials").Columns()
	id, status, rate := slices.Index(cols, "trial_id"), slices.Index(cols, "status"), slices.Index(cols, "throughput_ops_s")
	err = result.OpenRun(r.dir, r.schema).Each("trials", func(row []any) error {
		t := row[id].(string)
		done[t] = row[status].(string)
		if v, measured := row[rate].(float64); measured && done[t] == "ok" {
			r.noteRate(t, v)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, t := range trials {
		if !said[t] {
			if err := j.Add(Entry{At: time.Now().UTC(), Event: "recovered", Trial: t, Status: done[t]}); err != nil {
				return nil, err
			}
		}
	}
	if r.before, err = lastFacts(r.dir, r.schema); err != nil {
		return nil, err
	}
	return done, j.Add(Entry{At: time.Now().UTC(), Event: "resume", Text: r.opt.Product})
}
