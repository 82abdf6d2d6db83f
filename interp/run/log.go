package run

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"sextant/interp/driver"
	"sextant/interp/result"
	"sextant/interp/spec"
)

// event notes something for the events table and the console.
func (r *Runner) event(trial, kind, text string) {
	text = r.secrets.Hide(text)
	row := result.EventRow{RunID: r.id, At: micros(time.Now()), Kind: kind, Text: text}
	if trial == "" {
		trial = r.current
	}
	if trial != "" {
		row.TrialID = &trial
	}
	r.hold("events", trial, row)
	r.opt.Observer.Note(kind, text)
}

// driverLog is what drivers call; from any goroutine.
func (r *Runner) driverLog(kind, text string) {
	r.hold("events", "", result.EventRow{RunID: r.id, At: micros(time.Now()), Kind: kind, Text: r.secrets.Hide(text)})
}

// fact notes a fact of the environment, and says when it is another than at the last start.
func (r *Runner) fact(system, key, value string) {
	value = r.secrets.Hide(value)
	r.hold("environment", "", result.EnvironmentRow{RunID: r.id, Start: r.starts, System: system, Key: key, Value: value})
	if was, ok := r.before[factKey{system, key}]; ok && was != value && !volatile(key) {
		what := key
		if system != "" {
			what = system + " " + key
		}
		r.event("", "changed", fmt.Sprintf("%s was %q when the run was last started and is %q now", what, was, value))
	}
}

func (r *Runner) hold(table, trial string, row any) {
	r.logMu.Lock()
	defer r.logMu.Unlock()
	r.log = append(r.log, logged{table, trial, row})
}

// stageLog stages what waits, to be committed with whatever comes next.
func (r *Runner) stageLog() error {
	r.logMu.Lock()
	defer r.logMu.Unlock()
	for _, l := range r.log {
		if ev, ok := l.row.(result.EventRow); ok {
			ev.RunID = r.id // a driver may have spoken before there was a run
			l.row = ev
		}
		if err := r.sink.Append(l.table, l.row); err != nil {
			return err
		}
	}
	r.log = nil
	return nil
}

// flushLog commits what waits on its own.
func (r *Runner) flushLog() error {
	if err := r.stageLog(); err != nil {
		return err
	}
	return r.sink.Commit("")
}

// forget drops everything of a trial that is not going to be committed; it will run again.
func (r *Runner) forget(trial string) {
	r.sink.Discard()
	r.logMu.Lock()
	defer r.logMu.Unlock()
	r.log = slices.DeleteFunc(r.log, func(l logged) bool { return l.trial == trial && l.table != "events" && l.table != "environment" })
}

// trialInfo is the trial that a hook sees.
type trialInfo struct {
	trial spec.Trial
	step  Step
	exp   *spec.Experiment
	row   *result.TrialRow
}

// hookContext is what the script's ctx talks to.
type hookContext struct {
	r    *Runner
	hook string
	info *trialInfo
}

// callHook runs a hook of the script, if it gave one.
func (r *Runner) callHook(ctx context.Context, name string, info *trialInfo) error {
	h := r.program.Hook(r.plan.Experiment.Name, name)
	if h == nil {
		return nil
	}
	return stage(ctx, "hook "+name, or(r.plan.Experiment.Deadlines.Hook, defaultHook), func(ctx context.Context) error {
		return h.Call(ctx, &hookContext{r, name, info})
	})
}

func (c *hookContext) scripter() (driver.Scripter, error) {
	s, ok := c.r.host.sys.(driver.Scripter)
	if !ok {
		return nil, fmt.Errorf("%s can't run statements from hooks", c.r.host.spec.Name)
	}
	return s, nil
}

func (c *hookContext) Exec(ctx context.Context, text string, args []any) (int64, error) {
	s, err := c.scripter()
	if err != nil {
		return 0, err
	}
	return s.Exec(ctx, text, args)
}

func (c *hookContext) Query(ctx context.Context, text string, args []any) ([]string, [][]any, error) {
	s, err := c.scripter()
	if err != nil {
		return nil, nil, err
	}
	return s.Query(ctx, text, args)
}

func (c *hookContext) Log(text string) { c.r.event("", "hook", c.hook+": "+text) }

// Record keeps a named number or text; it becomes a row of measurements.
func (c *hookContext) Record(name string, value any) error {
	row := result.MeasurementRow{RunID: c.r.id, Hook: c.hook, Name: name}
	trial := ""
	if c.info != nil {
		trial = c.info.trial.ID
		row.TrialID = &trial
	}
	switch v := value.(type) {
	case float64:
		if v-v != 0 {
			return fmt.Errorf("record(%q): %v is not a finite number", name, v)
		}
		row.Value = &v
	case int64:
		row.Value = ptr(float64(v))
	case string:
		row.Text = ptr(c.r.secrets.Hide(v))
	default:
		return fmt.Errorf("record(%q): a value of type %T is neither a number nor text", name, value)
	}
	c.r.hold("measurements", trial, row)
	return nil
}

func (c *hookContext) Info() map[string]any {
	if c.info == nil {
		return map[string]any{}
	}
	e := c.info.exp
	p := map[string]any{}
	for i, a := range e.Axes {
		p[a.Name] = e.Cells[c.info.step.Cell].Values[i]
	}
	return map[string]any{"p": p, "id": c.info.trial.ID, "repeat": int64(c.info.step.Repeat), "system": c.info.row.System,
		"level": c.info.row.LevelAsked, "clients": int64(c.info.row.Clients)}
}

func sortedKeys(ms ...map[string]any) []string {
	all := map[string]bool{}
	for _, m := range ms {
		for k := range m {
			all[k] = true
		}
	}
	return slices.Sorted(maps.Keys(all))
}
