package spec

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
)

// A Trial is one cell measured once.
type Trial struct {
	ID     string // Hash of everything resolved, and the repeat
	CellID string // Hash of everything resolved
	Cell   int    // index into Experiment.Cells
	Repeat int    // from 0
	Seed   uint64 // of its operation streams
}

// An Identifier computes the ids of an experiment's trials. It keeps the canonical form of each shared Measure, so a
// million cells take a second. Not safe for concurrent use.
type Identifier struct {
	e        *Experiment
	sorted   []int // axes by name
	measures map[*Measure][]byte
	buf      []byte
}

// NewIdentifier prepares the ids of an experiment.
func NewIdentifier(e *Experiment) *Identifier {
	x := &Identifier{e: e, measures: map[*Measure][]byte{}}
	for i := range e.Axes {
		x.sorted = append(x.sorted, i)
	}
	slices.SortFunc(x.sorted, func(a, b int) int { return cmp.Compare(e.Axes[a].Name, e.Axes[b].Name) })
	return x
}

// Cell is the canonical form behind a cell's id: the axes' values by name, the resolved measure, the seed. Script text
// is no part of it. The result is valid until the next call.
func (x *Identifier) Cell(cell int) ([]byte, error) {
	c := &x.e.Cells[cell]
	b := append(x.buf[:0], `{"axes":{`...)
	var err error
	for k, i := range x.sorted {
		if k > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, x.e.Axes[i].Name), ':')
		if b, err = Canonical(b, c.Values[i]); err != nil {
			return nil, fmt.Errorf("cell %d of experiment %q, axis %s: %w", cell, x.e.Name, x.e.Axes[i].Name, err)
		}
	}
	m := x.measures[c.Measure]
	if m == nil {
		if m, err = Canonical(nil, c.Measure.Canonical()); err != nil {
			return nil, fmt.Errorf("cell %d of experiment %q: %w", cell, x.e.Name, err)
		}
		x.measures[c.Measure] = m
	}
	b = append(append(b, `},"measure":`...), m...)
	b = append(strconv.AppendUint(append(b, `,"seed":"`...), x.e.Seed, 10), `"}`...)
	x.buf = b
	return b, nil
}

// Trial makes the trial of a cell and a repeat.
func (x *Identifier) Trial(cell, repeat int) (Trial, error) {
	b, err := x.Cell(cell)
	if err != nil {
		return Trial{}, err
	}
	return TrialOf(b, cell, repeat), nil
}

// TrialOf is Trial for a canonical form already at hand (the repeats of a cell share it).
func TrialOf(canonical []byte, cell, repeat int) Trial {
	cellID := Hash(canonical)
	id := Hash(canonical, strconv.AppendInt(nil, int64(repeat), 10))
	seed, _ := strconv.ParseUint(id, 16, 64) // 16 hexadecimal digits by construction
	seed >>= 1                               // a column of type int64 holds it
	return Trial{ID: id, CellID: cellID, Cell: cell, Repeat: repeat, Seed: seed}
}

// DatasetID is the fingerprint of the rows that a measure needs, in the system that holds them.
func (e *Experiment) DatasetID(m *Measure) (string, error) {
	b, err := Canonical(nil, map[string]any{"system": m.System.Canonical(), "schema": m.Workload.Dataset.Schema,
		"rows": m.Workload.Dataset.Rows, "seed": strconv.FormatUint(e.Seed, 10)})
	if err != nil {
		return "", fmt.Errorf("dataset of %s on %s: %w", m.Workload.Type, m.System.Name, err)
	}
	return Hash(b), nil
}
