package workload

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// recordsMix reads the parameters of workload.records.
func recordsMix(p map[string]any) (mix, error) {
	m := mix{updates: int(p["update_fields"].(int64)), scanMax: p["scan_max"].(int64), dist: p["keys"].(map[string]any),
		table: driver.Table{Name: p["table"].(string), Key: "id", Rows: p["records"].(int64)}}
	gens, typed := p["fields"].(map[string]any)
	switch b := p["field_bytes"].(type) {
	case int64:
		if err := spec.Between(1, maxField)(b); err != nil {
			return m, &spec.ParamError{Param: "field_bytes", Msg: err.Error()}
		}
		if typed {
			var err error
			if m.table.Fields, m.gens, err = fieldsOf(gens, m.table.Key); err != nil {
				return m, err
			}
			m.made = gens
			break
		}
		if err := spec.Between(1, 1000)(p["fields"]); err != nil {
			return m, &spec.ParamError{Param: "fields", Msg: err.Error()}
		}
		m.table.Fields = columns(p["fields"].(int64), b)
	case map[string]any:
		if typed {
			return m, &spec.ParamError{Param: "field_bytes", Msg: "and fields both name the fields"}
		}
		for _, name := range slices.Sorted(maps.Keys(b)) {
			if err := fieldError(name, b[name]); err != nil {
				return m, err
			}
			m.table.Fields = append(m.table.Fields, driver.Column{Name: name, Bytes: int(b[name].(int64))})
		}
	default:
		return m, &spec.ParamError{Param: "field_bytes", Msg: "must be a number of bytes or a dict of field names and bytes, not " + spec.Display(b)}
	}
	if len(m.table.Fields) == 0 {
		return m, &spec.ParamError{Param: "field_bytes", Msg: "names no field"}
	}
	if m.updates > len(m.table.Fields) {
		return m, &spec.ParamError{Param: "update_fields", Msg: fmt.Sprintf("is %d, but a record has %d fields", m.updates, len(m.table.Fields))}
	}
	weights, err := mixWeights(p["mix"].(map[string]any))
	if err != nil {
		return m, err
	}
	m.addOps(weights)
	return m, nil
}

func fieldError(name string, bytes any) error {
	if err := identifier(name); err != nil {
		return &spec.ParamError{Param: "field_bytes", Msg: err.Error()}
	}
	if name == "id" {
		return &spec.ParamError{Param: "field_bytes", Msg: `"id" is the key's name`}
	}
	if err := spec.Between(1, maxField)(bytes); err != nil {
		return &spec.ParamError{Param: "field_bytes", Msg: name + " " + err.Error()}
	}
	return nil
}

// mixWeights checks the weights of a mix. Names may be written with _ for -.
func mixWeights(given map[string]any) (map[string]float64, error) {
	out := map[string]float64{}
	var sum float64
	for _, name := range slices.Sorted(maps.Keys(given)) {
		action := strings.ReplaceAll(name, "_", "-")
		if !slices.Contains(actions(), action) {
			return nil, &spec.ParamError{Param: "mix", Msg: fmt.Sprintf("has the unknown operation %q; there are %s", name, strings.Join(actions(), ", ")),
				Suggestion: spec.Nearest(action, actions())}
		}
		w, number := numberOf(given[name])
		if !number {
			return nil, &spec.ParamError{Param: "mix", Msg: fmt.Sprintf("gives %s the weight %s, which is no number", name, spec.Display(given[name]))}
		}
		if w < 0 {
			return nil, &spec.ParamError{Param: "mix", Msg: fmt.Sprintf("gives %s the negative weight %v", name, w)}
		}
		out[action] += w
		sum += w
	}
	if sum <= 0 {
		return nil, &spec.ParamError{Param: "mix", Msg: "has no operation with a weight above 0"}
	}
	return out, nil
}
