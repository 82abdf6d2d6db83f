package spec

import "time"

// A System is a database under test and how to reach it, as the script named it.
type System struct {
	Type    string         `json:"type"`    // SystemType.Name
	Maker   string         `json:"maker"`   // Maker.Name
	Name    string         `json:"name"`    // what the column `system` shows: the script's name=, else Type
	Options map[string]any `json:"options"` // complete, defaults filled in; secrets as references
	Pos     Pos            `json:"-"`
}

// Canonical is the system's identity: type, maker and options, never its place in the script nor its shown name.
func (s *System) Canonical() map[string]any {
	return map[string]any{"type": s.Type, "maker": s.Maker, "options": s.Options}
}

// Scripted is the action of operations that are functions of the script: every system runs them.
const Scripted = "script"

// A Workload is what the clients do, resolved: pure data from which builtins/workload builds the generators.
type Workload struct {
	Type   string         `json:"type"`   // WorkloadType.Name
	Params map[string]any `json:"params"` // complete, defaults filled in
	// What a plan must know about it:
	Ops     []string `json:"ops"`     // operation types, in order: "read", "update"
	Actions []string `json:"actions"` // what a system must be able to do, parallel to Ops
	Dataset Dataset  `json:"dataset"` // what must be loaded before
	Resizes bool     `json:"resizes"` // it inserts or deletes: the dataset is restored before the next trial
	// Trims: what workloads of its dataset insert is taken away by emptying tables that hold nothing else, without a load.
	Trims    bool `json:"trims,omitempty"`
	Modifies bool `json:"modifies"` // it writes at all
	// Verifies: its operations are on records, whose writes can be read back.
	Verifies bool `json:"verifies,omitempty"`
	// Pipelines: its operations may be sent several at a time.
	Pipelines bool `json:"pipelines,omitempty"`
	// Size is what a system may have limits for; zero where it isn't known.
	Size Size `json:"-"`
}

// A Size is that of the records of a workload.
type Size struct {
	Fields     int
	FieldBytes int64 // of the longest
	RowBytes   int64
	Batch      int // records in one request; 0: one
}

// A Dataset is the rows that a workload needs before it is measured. Two workloads with equal Canonical share it.
type Dataset struct {
	Schema   map[string]any `json:"schema"`    // tables, columns, sizes: whatever changes the bytes loaded
	Rows     int64          `json:"rows"`      // over all tables
	RowBytes int64          `json:"row_bytes"` // approximate payload of one row, for the estimate of the load time
}

// Load is how operations are offered.
type Load struct {
	Shape   string        `json:"shape"` // "closed" or "open"
	Clients int           `json:"clients"`
	Think   time.Duration `json:"think,omitempty"` // closed loop: pause between done and next sent
	// Pipeline is how many operations a client sends before it reads the first reply; 0 and 1: one.
	Pipeline int `json:"pipeline,omitempty"`
	// Open loop:
	Rate       []RateSegment `json:"rate,omitempty"`
	Repeat     bool          `json:"repeat,omitempty"`      // the segments begin anew after the last
	Arrivals   string        `json:"arrivals,omitempty"`    // "constant" or "poisson"
	MaxBacklog int           `json:"max_backlog,omitempty"` // operations that may wait for a client
}

// A RateSegment is a piece of a rate's course: from From to To operations a second, linearly, over Length; 0: for ever.
type RateSegment struct {
	From   float64       `json:"from"`
	To     float64       `json:"to"`
	Length time.Duration `json:"length,omitempty"`
}

// A Retry says how operations that ended in a conflict are tried again.
type Retry struct {
	Max   int           `json:"max"`   // further attempts
	First time.Duration `json:"first"` // pause before the first; it doubles
	Limit time.Duration `json:"limit"` // longest pause
}

// Canonical is the load as a Value.
func (l Load) Canonical() map[string]any {
	m := map[string]any{"shape": l.Shape, "clients": int64(l.Clients), "think": l.Think}
	if l.Pipeline > 1 { // absent otherwise: ids of loads without stay what they were
		m["pipeline"] = int64(l.Pipeline)
	}
	if l.Shape == "open" {
		var rate []any
		for _, s := range l.Rate {
			rate = append(rate, []any{s.From, s.To, s.Length})
		}
		m["rate"], m["repeat"], m["arrivals"], m["max_backlog"] = rate, l.Repeat, l.Arrivals, int64(l.MaxBacklog)
	}
	return m
}

// A Measure is what measure(...) or the keywords of experiment(...) say about one cell, fully resolved. Cells share
// Measures, Systems and Workloads that are equal.
type Measure struct {
	System   *System       `json:"system"`
	Workload *Workload     `json:"workload"`
	Load     Load          `json:"load"`
	Level    Level         `json:"level"`
	Warmup   time.Duration `json:"warmup"`
	Auto     bool          `json:"auto_warmup,omitempty"` // it ends as soon as the rate is steady; Warmup is the limit
	Window   time.Duration `json:"measure"`
	// Operations ends the window after this many; Window is the limit then. 0: by time.
	Operations int64         `json:"operations,omitempty"`
	Until      Until         `json:"until,omitzero"` // ends the window once its rate is known well enough; Window is the limit then
	Interval   time.Duration `json:"interval"`
	Timeout    time.Duration `json:"timeout"` // of one operation; 0: none of its own
	Reset      string        `json:"reset"`   // "auto", "always", "never"
	Retry      Retry         `json:"retry,omitzero"`
	Verify     int64         `json:"verify,omitempty"` // of about how many rows the writes are compared with what is there after the trial
}

// Until ends a window once the relative standard error of the mean of its intervals' rates is below Error.
type Until struct {
	Error   float64       `json:"error"`
	AtLeast time.Duration `json:"at_least"`
}

// Canonical is everything that makes two measures different trials.
func (m *Measure) Canonical() map[string]any {
	c := map[string]any{
		"system":   m.System.Canonical(),
		"workload": map[string]any{"type": m.Workload.Type, "params": m.Workload.Params},
		"load":     m.Load.Canonical(),
		"level":    m.Level.String(),
		"warmup":   m.Warmup, "measure": m.Window, "interval": m.Interval, "timeout": m.Timeout, "reset": m.Reset,
	}
	if m.Operations > 0 {
		c["operations"] = m.Operations
	}
	if m.Until.Error > 0 {
		c["until"] = map[string]any{"error": m.Until.Error, "at_least": m.Until.AtLeast}
	}
	if m.Verify > 0 {
		c["verify"] = m.Verify
	}
	if m.Auto {
		c["warmup"] = "auto"
	}
	if m.Retry.Max > 0 { // absent otherwise: ids of measures without retries stay what they were
		c["retry"] = map[string]any{"max": int64(m.Retry.Max), "first": m.Retry.First, "limit": m.Retry.Limit}
	}
	return c
}

// An Axis is a named list of values. Type is what its column holds.
type Axis struct {
	Name   string  `json:"name"`
	Type   string  `json:"type"`   // "bool", "int", "float", "string"
	Values []Value `json:"values"` // distinct, in order of first appearance; each is a bool, int64, float64, string per Type, or nil
	Pos    Pos     `json:"-"`
	// AppliedAs says what an axis that nothing reads does: "load" (concurrency), "level" (consistency), or "".
	AppliedAs string `json:"applied_as,omitempty"`
}

// A Cell is one combination of axis values: Values[i] belongs to Axes[i].
type Cell struct {
	Values  []Value
	Measure *Measure
}

// An Exclusion is a rule of .exclude (or .where) and how many combinations it took away.
type Exclusion struct {
	Why   string `json:"why"`
	Count int    `json:"count"`
	Pos   Pos    `json:"pos"`
}

// A Saturation ends a ramp, the cells that differ in one axis alone, when the rate does not rise any more. In the order of the
// axis' values, the cells after one are skipped when the mean gain of the rate over its last 3 steps is negative, or over its
// last 5 below Gain: the rule of cassandra-stress' automatic thread count. The first repeat decides for all.
type Saturation struct {
	Axis string  `json:"axis"` // the cells of a ramp have one system and one workload
	Gain float64 `json:"gain"` // relative, of a step
}

// Ramp names the ramp of a cell: its values on the axes but that of Stop.
func (e *Experiment) Ramp(cell int) string {
	var rest []any
	for i, a := range e.Axes {
		if a.Name != e.Stop.Axis {
			rest = append(rest, e.Cells[cell].Values[i])
		}
	}
	return CanonicalString(rest)
}

// Deadlines bound the stages of a trial that a hung server could stretch. Zero means the default of that stage.
type Deadlines struct {
	Connect  time.Duration `json:"connect"`  // opening all sessions, levels set and read back
	Load     time.Duration `json:"load"`     // making one dataset
	Drain    time.Duration `json:"drain"`    // operations in flight when the window ends
	Hook     time.Duration `json:"hook"`     // one call of a hook
	Teardown time.Duration `json:"teardown"` // closing sessions and the system, counting rows
	Recover  time.Duration `json:"recover"`  // waiting for a server that went away
}

// An Experiment is one declared study, frozen.
type Experiment struct {
	Name       string
	Doc        string // the script's docstring
	Pos        Pos
	Axes       []Axis
	Cells      []Cell
	Exclusions []Exclusion
	Repeats    int
	Seed       uint64
	Deadlines  Deadlines
	Stop       Saturation // the zero Saturation: every cell is measured
	Hooks      []string   // names of the hooks the script gave: "setup", "teardown", "before_trial", "after_trial"
}
