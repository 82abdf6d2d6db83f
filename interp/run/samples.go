package run

import (
	"fmt"
	"slices"

	"sextant/interp/result"
)

// A Sample is the usable trials of one cell: their values of each metric.
type Sample struct {
	Cell    ManifestCell
	Values  map[string][]float64 // by column of trials
	Failed  int                  // failed and skipped trials, left out
	Flagged int                  // trials left out because their measurement is doubtful
}

// doubtful are the flags that say that something else than the server was measured.
func doubtful() []string { return []string{"client_bound", "overloaded", "throttled", "clock_jump"} }

// Samples reads the trials of a run by cell, in the order of the plan. Trials with a doubtful flag are left out, unless
// asked for.
func Samples(dir string, m *Manifest, metrics []string, flagged bool) ([]Sample, error) {
	schema, err := m.Schema()
	if err != nil {
		return nil, err
	}
	cols := schema.Table("trials").Columns()
	at := map[string]int{}
	for _, metric := range metrics {
		i := slices.Index(cols, metric)
		if i < 0 {
			return nil, fmt.Errorf("trials has no column %q", metric)
		}
		at[metric] = i
	}
	out := make([]Sample, len(m.Cells))
	index := map[string]int{}
	for i, c := range m.Cells {
		out[i] = Sample{Cell: c, Values: map[string][]float64{}}
		index[c.ID] = i
	}
	doubt := indexes(cols, doubtful())
	cell, status := slices.Index(cols, "cell_id"), slices.Index(cols, "status")
	err = result.OpenRun(dir, schema).Each("trials", func(row []any) error {
		i, ok := index[row[cell].(string)]
		if !ok {
			return fmt.Errorf("trial of the cell %v, which the plan hasn't", row[cell])
		}
		s := &out[i]
		if row[status] != "ok" {
			s.Failed++
			return nil
		}
		if !flagged && slices.ContainsFunc(doubt, func(c int) bool { return row[c] == true }) {
			s.Flagged++
			return nil
		}
		for metric, c := range at {
			switch v := row[c].(type) {
			case float64:
				s.Values[metric] = append(s.Values[metric], v)
			case int64:
				s.Values[metric] = append(s.Values[metric], float64(v))
			}
		}
		return nil
	})
	return out, err
}

// EnvironmentChanges are the facts that differ between two runs, as "what: before -> after".
func EnvironmentChanges(a, b string, ma, mb *Manifest) ([]string, error) {
	facts := [2]map[factKey]string{}
	for i, x := range []struct {
		dir string
		m   *Manifest
	}{{a, ma}, {b, mb}} {
		schema, err := x.m.Schema()
		if err != nil {
			return nil, err
		}
		if facts[i], err = lastFacts(x.dir, schema); err != nil {
			return nil, err
		}
	}
	var out []string
	for k, was := range facts[0] {
		if now, ok := facts[1][k]; ok && now != was && !volatile(k.key) && k.key != "address" {
			out = append(out, fmt.Sprintf("%s %s: %s -> %s", k.system, k.key, was, now))
		}
	}
	slices.Sort(out)
	return out, nil
}
