package run

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math/rand/v2"
	"time"

	"sextant/interp/spec"
)

// A Plan is the trials of one experiment in the order in which they run.
type Plan struct {
	Experiment *spec.Experiment
	Cells      []int32 // selected cells, ascending
	Blocks     []Block
	Steps      []Step // one per trial
	ids        *spec.Identifier
	ramp       map[int32][]int32 // by cell, those of its ramp; nil where no rule ends ramps
}

// A Block is the trials that share one loaded dataset.
type Block struct {
	Dataset string // fingerprint
	System  *spec.System
	Measure *spec.Measure // of its first cell: workload and dataset
	Trials  int
	cells   []int32
}

// A Step is one trial of the plan.
type Step struct {
	Cell   int32
	Repeat int32 // equal to the round
	Block  int32
}

// NewPlan orders the trials of the cells that keep takes (nil: all). Blocks come in order of their first cell, those of
// one system together; within a block every repeat is a round over its cells, shuffled by the experiment's seed. Cells of a
// ramp that may end early stay together and in order.
func NewPlan(e *spec.Experiment, keep func(cell int) (bool, error)) (*Plan, error) {
	p := &Plan{Experiment: e, ids: spec.NewIdentifier(e)}
	if err := p.fillBlocks(keep); err != nil {
		return nil, err
	}
	p.Steps = make([]Step, 0, len(p.Cells)*e.Repeats)
	for b := range p.Blocks {
		blk := &p.Blocks[b]
		blk.Trials = len(blk.cells) * e.Repeats
		heads := p.heads(blk.cells)
		order := make([]int32, len(heads))
		for r := range e.Repeats {
			copy(order, heads)
			rng := rand.New(rand.NewPCG(e.Seed, uint64(b)<<32|uint64(r)))
			rng.Shuffle(len(order), func(i, j int) { order[i], order[j] = order[j], order[i] })
			for _, c := range order {
				if p.ramp == nil {
					p.Steps = append(p.Steps, Step{c, int32(r), int32(b)})
				}
				for _, c := range p.ramp[c] {
					p.Steps = append(p.Steps, Step{c, int32(r), int32(b)})
				}
			}
		}
	}
	return p, nil
}

// pair is what a dataset's fingerprint depends on within one experiment; cells share these pointers.
type pair struct {
	s *spec.System
	w *spec.Workload
}

func (p *Plan) fillBlocks(keep func(int) (bool, error)) error {
	e := p.Experiment
	fingerprint := map[pair]string{}
	byID := map[string]*Block{}
	var systems []string // canonical, in order of appearance
	bySystem := map[string][]*Block{}
	for i := range e.Cells {
		if keep != nil {
			ok, err := keep(i)
			if err != nil {
				return err
			}
			if !ok {
				continue
			}
		}
		p.Cells = append(p.Cells, int32(i))
		m := e.Cells[i].Measure
		id, ok := fingerprint[pair{m.System, m.Workload}]
		if !ok {
			var err error
			if id, err = e.DatasetID(m); err != nil {
				return err
			}
			fingerprint[pair{m.System, m.Workload}] = id
		}
		blk := byID[id]
		if blk == nil {
			blk = &Block{Dataset: id, System: m.System, Measure: m}
			byID[id] = blk
			sys := spec.CanonicalString(m.System.Canonical())
			if bySystem[sys] == nil {
				systems = append(systems, sys)
			}
			bySystem[sys] = append(bySystem[sys], blk)
		}
		blk.cells = append(blk.cells, int32(i))
	}
	for _, s := range systems {
		for _, b := range bySystem[s] {
			p.Blocks = append(p.Blocks, *b)
		}
	}
	return nil
}

// Trial is the trial of a step.
func (p *Plan) Trial(s Step) (spec.Trial, error) { return p.ids.Trial(int(s.Cell), int(s.Repeat)) }

// Measure is what a step measures.
func (p *Plan) Measure(s Step) *spec.Measure { return p.Experiment.Cells[s.Cell].Measure }

// Hash is the digest over every selected cell's canonical form and the repeats: equal plans run equal trials.
func (p *Plan) Hash() (string, error) {
	h := sha256.New()
	for _, c := range p.Cells {
		b, err := p.ids.Cell(int(c))
		if err != nil {
			return "", err
		}
		h.Write(b)
		h.Write([]byte{'\n'})
	}
	text := fmt.Sprintf("repeats %d", p.Experiment.Repeats)
	if stop := p.Experiment.Stop; stop.Axis != "" { // absent otherwise: hashes of plans without stay what they were
		text += fmt.Sprintf(" stop %q %g", stop.Axis, stop.Gain)
	}
	h.Write([]byte(text))
	return hex.EncodeToString(h.Sum(nil)[:8]), nil
}

// CellIDs are the ids of the selected cells, parallel to Cells.
func (p *Plan) CellIDs() ([]string, error) {
	out := make([]string, len(p.Cells))
	for i, c := range p.Cells {
		b, err := p.ids.Cell(int(c))
		if err != nil {
			return nil, err
		}
		out[i] = spec.Hash(b)
	}
	return out, nil
}

// Assumptions of an estimate where nothing was measured: a load of 40 MB/s and 200,000 rows/s at most, and half a
// second around each trial.
const (
	loadBytesPerSecond = 40 << 20
	loadRowsPerSecond  = 200_000
	trialOverhead      = 500 * time.Millisecond
)

// An Estimate is how long a plan takes.
type Estimate struct {
	Windows  time.Duration // warm-up and window of every trial
	Loads    time.Duration // making datasets
	LoadRuns int           // how often a dataset is made
	Resets   int           // how many of those only take back what a trial has changed
	ResetFor time.Duration // the part of Loads that they take
	Trims    int           // how often volatile tables are emptied instead
	Measured int           // how many of those were measured by an earlier run
	Overhead time.Duration // connecting, counting, committing
}

// Total is the sum.
func (e Estimate) Total() time.Duration { return e.Windows + e.Loads + e.Overhead }

// Estimate adds up the plan's time. Measured gives the seconds that a dataset's load took in an earlier run.
func (p *Plan) Estimate(measured map[string]time.Duration) Estimate {
	var est Estimate
	loads := make([]time.Duration, len(p.Blocks))
	for i, b := range p.Blocks {
		d := b.Measure.Workload.Dataset
		known, ok := measured[b.Dataset]
		if !ok {
			known = time.Duration(max(float64(d.Rows)/loadRowsPerSecond, float64(d.Rows*d.RowBytes)/loadBytesPerSecond) * float64(time.Second))
		}
		loads[i] = known
	}
	fresh := make([]bool, len(p.Blocks)) // the dataset is as it was loaded
	begun := make([]bool, len(p.Blocks))
	for _, s := range p.Steps {
		m := p.Measure(s)
		est.Windows += m.Warmup + m.Window
		est.Overhead += trialOverhead
		if m.Workload.Dataset.Rows > 0 && needsLoad(m, fresh[s.Block], !begun[s.Block]) {
			est.Loads += loads[s.Block]
			est.LoadRuns++
			if begun[s.Block] {
				est.Resets++
				est.ResetFor += loads[s.Block]
			}
			if _, ok := measured[p.Blocks[s.Block].Dataset]; ok {
				est.Measured++
			}
		}
		if m.Workload.Trims && begun[s.Block] {
			est.Trims++
		}
		begun[s.Block], fresh[s.Block] = true, !m.Workload.Resizes
	}
	return est
}

// needsLoad is the rule of `reset`: a block begins with a load; "always" loads before every trial, "never" only then;
// "auto" loads when the trial before has changed the number of rows, unless trimming takes that back.
func needsLoad(m *spec.Measure, fresh, first bool) bool {
	switch {
	case first || m.Reset == "always":
		return true
	case m.Reset == "never", m.Workload.Trims:
		return false
	}
	return !fresh
}
