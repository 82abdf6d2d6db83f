package run

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"sextant/interp/result"
	"sextant/interp/spec"
)

// A Manifest is plan.json: what a resumed run and every reader of the folder need to know without evaluating the script.
type Manifest struct {
	Format     int       `json:"format"`
	RunID      string    `json:"run_id"`
	Experiment string    `json:"experiment"`
	Doc        string    `json:"doc,omitempty"`
	Created    time.Time `json:"created"`
	Product    string    `json:"product"` // version of sextant
	Script     string    `json:"script"`  // main file within script/
	Where      string    `json:"where,omitempty"`
	Noise      bool      `json:"noise,omitempty"` // an A/A experiment: one cell of the script, again and again
	// SkipMissing: systems that aren't installed are skipped.
	SkipMissing bool              `json:"skip_missing,omitempty"`
	Env         map[string]string `json:"env,omitempty"` // values that env() gave, so that a resumed run sees the same
	PlanHash    string            `json:"plan_hash"`
	Seed        uint64            `json:"seed"`
	Repeats     int               `json:"repeats"`
	Trials      int               `json:"trials"`
	Axes        []spec.Axis       `json:"axes"`
	Exclusions  []spec.Exclusion  `json:"exclusions,omitempty"`
	Stop        spec.Saturation   `json:"stop,omitzero"`
	Measures    []*spec.Measure   `json:"measures"`
	Cells       []ManifestCell    `json:"cells"`
}

// A ManifestCell is one selected cell: its id, the values of its axes, and the index of its measure.
type ManifestCell struct {
	ID      string       `json:"id"`
	Values  []spec.Value `json:"values"`
	Measure int          `json:"measure"`
}

const manifestFormat = 1

// NewManifest describes a plan.
func NewManifest(p *Plan) (*Manifest, error) {
	e := p.Experiment
	hash, err := p.Hash()
	if err != nil {
		return nil, err
	}
	ids, err := p.CellIDs()
	if err != nil {
		return nil, err
	}
	m := &Manifest{Format: manifestFormat, Experiment: e.Name, Doc: e.Doc, PlanHash: hash, Seed: e.Seed, Repeats: e.Repeats,
		Trials: len(p.Steps), Axes: e.Axes, Exclusions: e.Exclusions, Stop: e.Stop, Cells: make([]ManifestCell, len(p.Cells))}
	index := map[*spec.Measure]int{}
	for i, c := range p.Cells {
		cell := &e.Cells[c]
		k, ok := index[cell.Measure]
		if !ok {
			k = len(m.Measures)
			index[cell.Measure] = k
			m.Measures = append(m.Measures, cell.Measure)
		}
		m.Cells[i] = ManifestCell{ID: ids[i], Values: cell.Values, Measure: k}
	}
	return m, nil
}

func (m *Manifest) write(dir string) error {
	b, err := json.MarshalIndent(m, "", " ")
	if err != nil {
		return fmt.Errorf("writing plan.json: %w", err)
	}
	if err := writeFileSynced(filepath.Join(dir, "plan.json"), append(b, '\n')); err != nil {
		return fmt.Errorf("writing plan.json: %w", err)
	}
	return nil
}

// ReadManifest reads the plan.json of a run folder.
func ReadManifest(dir string) (*Manifest, error) {
	b, err := os.ReadFile(filepath.Join(dir, "plan.json"))
	if errors.Is(err, os.ErrNotExist) {
		return nil, fmt.Errorf("%s is no run folder: it has no plan.json", dir)
	}
	if err != nil {
		return nil, fmt.Errorf("reading the plan of the run: %w", err)
	}
	var m Manifest
	d := json.NewDecoder(bytes.NewReader(b))
	d.UseNumber() // a whole number must not become a float
	err = d.Decode(&m)
	if err == nil {
		err = m.typeValues()
	}
	if err != nil {
		return nil, fmt.Errorf("reading %s: %w", filepath.Join(dir, "plan.json"), err)
	}
	if m.Format != manifestFormat {
		return nil, fmt.Errorf("%s was made by another version of sextant (format %d, this one reads %d)", dir, m.Format, manifestFormat)
	}
	return &m, nil
}

// typeValues gives the values of the axes, which JSON has read as numbers, the type of their axis.
func (m *Manifest) typeValues() error {
	for i := range m.Axes {
		for j, v := range m.Axes[i].Values {
			var err error
			if m.Axes[i].Values[j], err = typed(v, m.Axes[i].Type); err != nil {
				return fmt.Errorf("axis %s: %w", m.Axes[i].Name, err)
			}
		}
	}
	for i := range m.Cells {
		for j, v := range m.Cells[i].Values {
			if j >= len(m.Axes) {
				return fmt.Errorf("cell %d has more values than there are axes", i)
			}
			var err error
			if m.Cells[i].Values[j], err = typed(v, m.Axes[j].Type); err != nil {
				return fmt.Errorf("cell %d: %w", i, err)
			}
		}
	}
	return nil
}

func typed(v spec.Value, typ string) (spec.Value, error) {
	n, ok := v.(json.Number)
	if !ok {
		return v, nil
	}
	if typ == "int" {
		return n.Int64()
	}
	return n.Float64()
}

// Schema is the tables of the run.
func (m *Manifest) Schema() (*result.Schema, error) {
	axes := make([]result.Axis, len(m.Axes))
	for i, a := range m.Axes {
		axes[i] = result.Axis{Name: a.Name, Type: a.Type}
	}
	return result.NewSchema(axes)
}

// Difference says in sentences how a plan differs from the one that the run was started with; nil when it doesn't.
func (m *Manifest) Difference(now *Manifest) []string {
	if m.PlanHash == now.PlanHash {
		return nil
	}
	var out []string
	if m.Repeats != now.Repeats {
		out = append(out, fmt.Sprintf("repeats were %d and are %d", m.Repeats, now.Repeats))
	}
	if m.Seed != now.Seed {
		out = append(out, fmt.Sprintf("the seed was %d and is %d", m.Seed, now.Seed))
	}
	if m.Stop != now.Stop {
		out = append(out, fmt.Sprintf("ramps ended by %+v and end by %+v", m.Stop, now.Stop))
	}
	if len(m.Cells) != len(now.Cells) {
		out = append(out, fmt.Sprintf("there were %d cells and are %d", len(m.Cells), len(now.Cells)))
	}
	for i := range min(len(m.Cells), len(now.Cells)) {
		if m.Cells[i].ID == now.Cells[i].ID {
			continue
		}
		return append(out, fmt.Sprintf("cell %d differs: %s", i, fieldDifference("", m.cellForm(i), now.cellForm(i))))
	}
	return out
}

// cellForm is a cell as plain JSON, for a comparison that doesn't depend on Go types.
func (m *Manifest) cellForm(i int) any {
	b, err := json.Marshal(map[string]any{"values": m.Cells[i].Values, "measure": m.Measures[m.Cells[i].Measure]})
	if err != nil {
		return err.Error()
	}
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return err.Error()
	}
	return v
}

// fieldDifference names the first field in which two plain values differ.
func fieldDifference(path string, a, b any) string {
	am, aok := a.(map[string]any)
	bm, bok := b.(map[string]any)
	if aok && bok {
		for _, k := range sortedKeys(am, bm) {
			if d := fieldDifference(path+"."+k, am[k], bm[k]); d != "" {
				return d
			}
		}
		return ""
	}
	aj, aerr := json.Marshal(a)
	bj, berr := json.Marshal(b)
	if aerr == nil && berr == nil && string(aj) == string(bj) {
		return ""
	}
	return fmt.Sprintf("%s was %s and is %s", path[1:], aj, bj)
}
