package spec

import (
	"fmt"
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

// CellCanonical is the canonical form behind a cell's id: the axes' values by name and the resolved measure. Script
// text is no part of it.
func (e *Experiment) CellCanonical(cell int) ([]byte, error) {
	c := &e.Cells[cell]
	axes := make(map[string]any, len(e.Axes))
	for i, a := range e.Axes {
		axes[a.Name] = c.Values[i]
	}
	b, err := Canonical(nil, map[string]any{"axes": axes, "measure": c.Measure.Canonical(), "seed": strconv.FormatUint(e.Seed, 10)})
	if err != nil {
		return nil, fmt.Errorf("cell %d of experiment %q: %w", cell, e.Name, err)
	}
	return b, nil
}

// Trial makes the trial of a cell and a repeat.
func (e *Experiment) Trial(cell, repeat int) (Trial, error) {
	b, err := e.CellCanonical(cell)
	if err != nil {
		return Trial{}, err
	}
	return e.TrialOf(b, cell, repeat), nil
}

// TrialOf is Trial for a canonical form already at hand (the repeats of a cell share it).
func (e *Experiment) TrialOf(canonical []byte, cell, repeat int) Trial {
	cellID := Hash(canonical)
	id := Hash(canonical, strconv.AppendInt(nil, int64(repeat), 10))
	seed, _ := strconv.ParseUint(id, 16, 64) // 16 hexadecimal digits by construction
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
