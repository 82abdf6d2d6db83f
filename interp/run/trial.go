package run

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/result"
	"sextant/interp/spec"
)

// trial takes one step through its life and commits its row. An error means that the run can't go on (interrupted, disk
// full); a trial that failed is a row, not an error.
func (r *Runner) trial(ctx context.Context, pos int, s Step) (status string, err error) {
	m := r.plan.Measure(s)
	t, err := r.plan.Trial(s)
	if err != nil {
		return "", err
	}
	r.opt.Observer.Trial(pos, s, m)
	row := result.TrialRow{RunID: r.id, Experiment: r.plan.Experiment.Name, TrialID: t.ID, CellID: t.CellID,
		Repeat: s.Repeat, Round: s.Repeat, Block: s.Block, Position: int64(pos), Seed: int64(t.Seed),
		System: m.System.Name, Workload: m.Workload.Type, LevelAsked: m.Level.String(), Clients: int32(m.Load.Clients),
		Status: "ok"}
	r.current = t.ID
	defer func() { r.current = "" }()
	res, err := r.measure(ctx, s, t, m, &row)
	if ctx.Err() != nil {
		r.forget(t.ID)
		return "", context.Cause(ctx)
	}
	var refused *driver.LevelRefused
	var flat *saturated
	switch {
	case errors.As(err, &refused), errors.As(err, &flat), r.missing(err):
		row.Status, row.Reason = "skipped", ptr(r.secrets.Hide(err.Error()))
	case err != nil:
		row.Status, row.Reason = "failed", ptr(r.secrets.Hide(err.Error()))
		if r.host != nil {
			r.host.sick = true
		}
	}
	if err := r.commit(t.ID, s, &row, res); err != nil {
		return "", err
	}
	if row.Status == "ok" {
		r.noteRate(t.ID, *row.Throughput)
	}
	r.opt.Observer.Done(pos, s, &row)
	return row.Status, nil
}

// commit writes everything about the trial as one, then its journal line.
func (r *Runner) commit(id string, s Step, row *result.TrialRow, res *load.Result) error {
	cell := &r.plan.Experiment.Cells[s.Cell]
	if err := r.sink.AppendCell("trials", *row, cell.Values); err != nil {
		return err
	}
	if res != nil {
		if err := appendDetails(r.sink, id, res, r.secrets.Hide); err != nil {
			return err
		}
	}
	if err := r.stageLog(); err != nil {
		return err
	}
	if err := r.sink.Commit(id); err != nil {
		return err
	}
	return r.journal.Add(Entry{At: time.Now().UTC(), Event: "trial", Trial: id, Status: row.Status})
}

// measure does the trial's stages and fills its row. The result is nil when nothing was measured.
func (r *Runner) measure(ctx context.Context, s Step, t spec.Trial, m *spec.Measure, row *result.TrialRow) (*load.Result, error) {
	if err := r.saturated(s); err != nil {
		return nil, err
	}
	r.look(ctx)
	if err := r.open(ctx, m.System); err != nil {
		return nil, err
	}
	if lc, ok := r.host.sys.(driver.LevelChecker); ok {
		err := stage(ctx, "checking the level", or(r.plan.Experiment.Deadlines.Connect, defaultConnect), func(ctx context.Context) error {
			return lc.CheckLevel(ctx, m.Level)
		})
		if err != nil {
			return nil, err
		}
	}
	w, err := r.workload(m)
	if err != nil {
		return nil, err
	}
	before, err := r.ensureDataset(ctx, r.plan.Blocks[s.Block].Dataset, m, w)
	if err != nil {
		return nil, err
	}
	row.RowsBefore = &before
	info := &trialInfo{t, s, r.plan.Experiment, row}
	if err := r.callHook(ctx, "before_trial", info); err != nil {
		return nil, err
	}
	if m.Workload.Resizes {
		r.host.fresh = false
	}
	counters, err := r.counters(ctx, nil)
	if err != nil {
		return nil, err
	}
	self := &watch{embedded: embedded(r.host.sys)}
	res, err := r.offer(ctx, t, m, w, row, self)
	if err != nil {
		return nil, err
	}
	if _, err := r.counters(ctx, counters); err != nil && ctx.Err() == nil {
		r.event("", "warning", "no server counters of this trial: "+err.Error()) // what was measured stays
	}
	if m.Verify > 0 {
		r.verify(ctx, res.Ledger, w, row)
	}
	after, err := r.countRows(ctx, r.host.sys.(driver.Loader), w.Shape()) // a Loader: ensureDataset has used it
	if err == nil {
		row.RowsAfter = &after
	} else if ctx.Err() == nil {
		err = fmt.Errorf("after the window: %w", err)
	}
	fillCounts(row, res)
	if m.Auto && !res.Steady {
		r.event("", "warning", fmt.Sprintf("the rate was not steady within the %v of the warm-up", m.Warmup))
	}
	for _, why := range self.judge(row, m, res) {
		r.event("", "warning", why)
	}
	if err = errors.Join(err, r.callHook(ctx, "after_trial", info)); err != nil {
		return res, err
	}
	return res, verdict(res)
}

// verdict says whether a measured trial is a valid one.
func verdict(res *load.Result) error {
	switch {
	case res.Lost > 0:
		return fmt.Errorf("%d clients had lost their session for good: %w", res.Lost, res.LostReason)
	case res.Attempts() == 0:
		return errors.New("no operation was due in the window")
	case res.Total(load.OK) == 0:
		reason := "every key was missing"
		if len(res.Errors) > 0 {
			reason = res.Errors[0].Sample
		}
		return fmt.Errorf("no operation succeeded in the window: %s", reason)
	}
	return nil
}

// offer opens the sessions and offers the load.
func (r *Runner) offer(ctx context.Context, t spec.Trial, m *spec.Measure, w load.Workload, row *result.TrialRow, self *watch) (*load.Result, error) {
	d := r.plan.Experiment.Deadlines
	var use usage
	level := levelKeeper{sys: r.host.sys, asked: m.Level}
	sampling := startSampler(ctx, r.host.sys, t.ID)
	res, err := load.Run(ctx, load.Config{
		Rate: rateOf(m.Load), Backlog: m.Load.MaxBacklog, Retry: load.Retry(m.Retry),
		Clients: m.Load.Clients, Pipeline: m.Load.Pipeline, Think: m.Load.Think, Warmup: m.Warmup, Auto: m.Auto, Window: m.Window, Operations: m.Operations, Until: load.Until(m.Until), Interval: m.Interval,
		Drain: or(d.Drain, defaultDrain), Timeout: m.Timeout, Connect: or(d.Connect, defaultConnect),
		Teardown: or(d.Teardown, defaultTeardown), Seed: t.Seed, Verify: m.Verify, Workload: w, Open: level.open,
		OnWindow: func(begin bool) { use.mark(ctx, r.host.sys, begin); self.mark(begin) },
	})
	for _, s := range sampling.finish(use.at[0]) {
		r.hold("resources", t.ID, s)
	}
	if o := level.seen(); o != "" {
		row.LevelObserved = &o
	}
	if err != nil {
		return nil, err
	}
	use.fill(row)
	return res, nil
}

// rateOf is the rate of an open loop, nil for a closed one.
func rateOf(l spec.Load) *load.Rate {
	if l.Shape != "open" {
		return nil
	}
	r := &load.Rate{Repeat: l.Repeat, Poisson: l.Arrivals == "poisson"}
	for _, s := range l.Rate {
		r.Segments = append(r.Segments, load.Segment(s))
	}
	return r
}

// counters reads the server's counters: before a trial without, after it with those from before, which become rows.
func (r *Runner) counters(ctx context.Context, before []driver.Counter) (now []driver.Counter, err error) {
	c, ok := r.host.sys.(driver.Counters)
	if !ok {
		return nil, nil
	}
	err = stage(ctx, "reading the server's counters", or(r.plan.Experiment.Deadlines.Teardown, defaultTeardown), func(ctx context.Context) (err error) {
		now, err = c.Counters(ctx)
		return err
	})
	if err != nil {
		return nil, err
	}
	was := map[string]float64{}
	for _, x := range before {
		was[x.Name] = x.Value
	}
	for _, x := range now {
		if v, ok := was[x.Name]; ok {
			r.hold("server_counters", r.current, result.CounterRow{TrialID: r.current, Counter: x.Name, Before: v, After: x.Value})
		}
	}
	return now, nil
}

// levelKeeper opens sessions and holds them to the asked level.
type levelKeeper struct {
	sys      driver.System
	asked    spec.Level
	mu       sync.Mutex
	observed string
}

func (k *levelKeeper) open(ctx context.Context, _ int) (driver.Session, error) {
	s, err := k.sys.Session(ctx, k.asked)
	if err != nil {
		return nil, err
	}
	got, err := s.Level(ctx, k.asked)
	if err == nil {
		err = k.check(got)
	}
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	return s, nil
}

// check compares what the server answered with what was asked, and with what it answered on the other sessions.
func (k *levelKeeper) check(got string) error {
	k.mu.Lock()
	defer k.mu.Unlock()
	if len(k.asked.Settings) > 0 && got != k.asked.String() {
		return fmt.Errorf("the level asked is %s, the server answers %s", k.asked, got)
	}
	if k.observed != "" && k.observed != got {
		return fmt.Errorf("the server answers %s on one session and %s on another", k.observed, got)
	}
	k.observed = got
	return nil
}

func (k *levelKeeper) seen() string {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.observed
}
