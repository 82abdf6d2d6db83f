package run

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// A host is an opened system with the dataset it holds.
type host struct {
	sys   driver.System
	spec  *spec.System
	key   string // canonical form
	sick  bool   // its last trial failed: see whether it is there before the next one
	given bool   // a whole wait for it was in vain: from now on one look is enough until it is back

	dataset string // fingerprint of what is loaded and trusted; "" when unknown
	fresh   bool   // no trial has changed its number of rows since
	work    map[*spec.Workload]load.Workload
}

// deadlines of the stages where the script gave none.
const (
	defaultConnect  = 30 * time.Second
	defaultStart    = 3 * time.Minute // of a throwaway server or cluster
	defaultLoad     = time.Hour
	defaultDrain    = 10 * time.Second
	defaultHook     = time.Minute
	defaultTeardown = 30 * time.Second
	defaultRecover  = 2 * time.Minute
)

func or(d, fallback time.Duration) time.Duration {
	if d > 0 {
		return d
	}
	return fallback
}

// stage runs one stage of a trial under its deadline and says which stage it was when it fails.
func stage(ctx context.Context, name string, d time.Duration, fn func(context.Context) error) error {
	sctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- fn(sctx) }()
	var err error
	select {
	case err = <-done:
	case <-sctx.Done():
		// A driver that doesn't heed its context gets a moment, then is left behind: a hung server can't outlive this.
		t := time.NewTimer(2 * time.Second)
		defer t.Stop()
		select {
		case err = <-done:
		case <-t.C:
			err = sctx.Err()
		}
	}
	if err == nil {
		return nil
	}
	if ctx.Err() == nil && errors.Is(sctx.Err(), context.DeadlineExceeded) {
		return &driver.Error{Class: driver.Timeout, Err: fmt.Errorf("%s: not done within %v: %w", name, d, err)}
	}
	return fmt.Errorf("%s: %w", name, err)
}

// open makes the system of a measure ready: the one at hand, or another one opened after that is closed.
func (r *Runner) open(ctx context.Context, s *spec.System) error {
	key := spec.CanonicalString(s.Canonical())
	if r.host != nil && r.host.key == key {
		return nil
	}
	r.closeHost(ctx)
	h := r.opened[key]
	delete(r.opened, key)
	if h == nil {
		var err error
		if h, err = r.openSystem(ctx, s, key); err != nil {
			return err
		}
	}
	r.host = h
	err := r.recordFacts(ctx)
	if err == nil {
		err = r.callHook(ctx, "setup", nil)
	}
	if err != nil { // without its setup it must not be measured; the next trial tries anew
		r.host = nil
		return errors.Join(err, r.closeSystem(ctx, h))
	}
	return nil
}

func (r *Runner) openSystem(ctx context.Context, s *spec.System, key string) (*host, error) {
	d, ok := r.opt.Drivers[s.Type]
	if !ok {
		return nil, fmt.Errorf("there is no driver for %s", s.Type)
	}
	patience := defaultConnect
	if s.Maker == "local" {
		patience = defaultStart
	}
	var sys driver.System
	err := stage(ctx, "opening "+s.Name, or(r.plan.Experiment.Deadlines.Connect, patience), func(ctx context.Context) (err error) {
		sys, err = d.Open(ctx, driver.Target{System: s, Options: r.secrets.Resolve(s.Options), Log: r.driverLog})
		return err
	})
	if err != nil {
		return nil, err
	}
	return &host{sys: sys, spec: s, key: key, work: map[*spec.Workload]load.Workload{}}, nil
}

func (r *Runner) closeSystem(ctx context.Context, h *host) error {
	ctx = context.WithoutCancel(ctx) // an interrupted run still lets go of its servers
	return stage(ctx, "closing "+h.spec.Name, or(r.plan.Experiment.Deadlines.Teardown, defaultTeardown), h.sys.Close)
}

// closeHost ends the system at hand, with its teardown hook. Failures are events: what was measured stays.
func (r *Runner) closeHost(ctx context.Context) {
	if r.host == nil {
		return
	}
	if err := r.callHook(context.WithoutCancel(ctx), "teardown", nil); err != nil {
		r.event("", "warning", err.Error())
	}
	if err := r.closeSystem(ctx, r.host); err != nil {
		r.event("", "warning", err.Error())
	}
	r.host = nil
}

// recordFacts stages the environment rows of the system at hand.
func (r *Runner) recordFacts(ctx context.Context) error {
	var facts []driver.Fact
	err := stage(ctx, "reading the facts of "+r.host.spec.Name, or(r.plan.Experiment.Deadlines.Connect, defaultConnect), func(ctx context.Context) (err error) {
		facts, err = r.host.sys.Facts(ctx)
		return err
	})
	if err != nil {
		return err
	}
	for _, f := range facts {
		r.fact(r.host.spec.Name, f.Key, f.Value)
	}
	return nil
}

// workload gives the runtime form of a measure's workload; equal specs share it.
func (r *Runner) workload(m *spec.Measure) (load.Workload, error) {
	if w := r.host.work[m.Workload]; w != nil {
		return w, nil
	}
	w, err := r.opt.Workload(m.Workload, r.plan.Experiment.Seed, r.program)
	if err != nil {
		return nil, fmt.Errorf("building workload %s: %w", m.Workload.Type, err)
	}
	r.host.work[m.Workload] = w
	return w, nil
}

// ensureDataset makes the dataset be what the trial needs: loaded, or as loaded, by the rule of `reset`. It returns the
// number of rows counted.
func (r *Runner) ensureDataset(ctx context.Context, id string, m *spec.Measure, w load.Workload) (int64, error) {
	h := r.host
	loader, ok := h.sys.(driver.Loader)
	if !ok {
		return 0, fmt.Errorf("%s can't load datasets", h.spec.Name)
	}
	shape := w.Shape()
	if len(shape.Tables) == 0 {
		return 0, nil
	}
	if h.dataset == id && !needsLoad(m, h.fresh, false) {
		if err := r.trim(ctx, shape); err != nil {
			return 0, err
		}
		n, err := r.countRows(ctx, loader, shape)
		if err != nil {
			return 0, err
		}
		if m.Workload.Resizes && !m.Workload.Trims || m.Reset == "never" || asExpected(shape, n) {
			return n, nil
		}
		r.event("", "reset", fmt.Sprintf("dataset %s holds %d rows instead of %d: loaded again", id, n, expectedRows(shape)))
	}
	h.dataset = ""
	begin := time.Now()
	err := stage(ctx, "loading the dataset", or(r.plan.Experiment.Deadlines.Load, defaultLoad), func(ctx context.Context) error {
		return loader.Load(ctx, shape, id, w)
	})
	if err != nil {
		return 0, err
	}
	took := time.Since(begin)
	n, err := r.countRows(ctx, loader, shape)
	if err != nil {
		return 0, err
	}
	if !asExpected(shape, n) {
		return 0, fmt.Errorf("loading the dataset: %d rows were to be loaded, the server counts %d", expectedRows(shape), n)
	}
	h.dataset, h.fresh = id, true
	text := fmt.Sprintf("loaded %d rows into %s in %.1f s", n, h.spec.Name, took.Seconds())
	r.event("", "dataset", text)
	return n, r.journal.Add(Entry{At: time.Now().UTC(), Event: "dataset", Dataset: id, Rows: n, Seconds: took.Seconds()})
}

// trim empties the tables that the last trial has filled and tidies up those that it has changed all the time.
func (r *Runner) trim(ctx context.Context, w *driver.Workload) error {
	t, ok := r.host.sys.(driver.Trimmer)
	if !ok || !slices.ContainsFunc(w.Tables, func(t driver.Table) bool { return t.Volatile || t.Hot }) {
		return nil
	}
	return stage(ctx, "emptying the volatile tables", or(r.plan.Experiment.Deadlines.Load, defaultLoad), func(ctx context.Context) error {
		return t.Trim(ctx, w)
	})
}

// asExpected says whether the server may have counted n rows after a load.
func asExpected(w *driver.Workload, n int64) bool {
	want := expectedRows(w)
	low := want
	for _, t := range w.Tables {
		low -= t.Duplicates
	}
	return low <= n && n <= want
}

func expectedRows(w *driver.Workload) int64 {
	var n int64
	for _, t := range w.Tables {
		n += t.Rows
	}
	return n
}

func (r *Runner) countRows(ctx context.Context, l driver.Loader, w *driver.Workload) (int64, error) {
	var st driver.DatasetState
	err := stage(ctx, "counting rows", or(r.plan.Experiment.Deadlines.Teardown, defaultTeardown), func(ctx context.Context) (err error) {
		st, err = l.Inspect(ctx, w)
		return err
	})
	if err != nil {
		return 0, err
	}
	var n int64
	for _, k := range st.Rows {
		n += k
	}
	return n, nil
}

// restart starts a throwaway server again when it has died. What it held is loaded anew before the next trial.
func (r *Runner) restart(ctx context.Context, within time.Duration) error {
	h := r.host
	again, ok := h.sys.(driver.Restarter)
	if !ok {
		return nil
	}
	return stage(ctx, "restarting "+h.spec.Name, within, func(ctx context.Context) error {
		restarted, err := again.Restart(ctx)
		if err == nil && restarted {
			r.event("", "restart", "started "+h.spec.Name+" again: it had died")
			h.dataset = ""
		}
		return err
	})
}

// look waits for a server whose last trial failed: restarted when it is a throwaway one, else until it answers, at most
// for the deadline. It never fails a trial: the trial itself will tell.
func (r *Runner) look(ctx context.Context) {
	h := r.host
	if h == nil || !h.sick {
		return
	}
	deadline := or(r.plan.Experiment.Deadlines.Recover, defaultRecover)
	begin := time.Now()
	for pause := 100 * time.Millisecond; ; pause = min(2*pause, 5*time.Second) {
		_ = r.restart(ctx, or(r.plan.Experiment.Deadlines.Connect, defaultConnect)) // what follows tells
		err := stage(ctx, "looking for "+h.spec.Name, 5*time.Second, func(ctx context.Context) error {
			_, err := h.sys.Facts(ctx)
			return err
		})
		if err == nil {
			if waited := time.Since(begin); waited > time.Second {
				r.event("", "wait", fmt.Sprintf("%s is back after %.0f s", h.spec.Name, waited.Seconds()))
			}
			h.sick, h.given = false, false
			return
		}
		if h.given || time.Since(begin) > deadline || ctx.Err() != nil {
			h.given = true
			r.event("", "wait", fmt.Sprintf("%s did not answer within %v: %v", h.spec.Name, deadline, err))
			return
		}
		if pause == 100*time.Millisecond {
			r.opt.Observer.Note("wait", fmt.Sprintf("%s does not answer; waiting for it for up to %v", h.spec.Name, deadline))
		}
		wait := time.NewTimer(pause)
		select {
		case <-wait.C:
		case <-ctx.Done():
			wait.Stop()
			return
		}
	}
}

// missing says that a system couldn't be opened because its server's program isn't there, and that this is no reason to stop.
func (r *Runner) missing(err error) bool {
	class, code := driver.Classify(err)
	return r.opt.SkipMissing && class == driver.NotFound && code == driver.NotInstalled
}
