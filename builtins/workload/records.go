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
	m := mix{updates: int(p["update_fields"].(int64)), scanMax: min(100, p["records"].(int64)), dist: p["keys"].(map[string]any),
		table: driver.Table{Name: p["table"].(string), Key: "id", Rows: p["records"].(int64)}}
	if n, given := p["scan_max"].(int64); given {
		m.scanMax = n
	}
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
	if err := m.extras(p); err != nil {
		return m, err
	}
	weights, err := m.weightsOf(p["mix"].(map[string]any))
	if err != nil {
		return m, err
	}
	m.addOps(weights)
	switch {
	case m.has(driver.ReadByIndex) && m.table.Indexes == nil:
		return m, &spec.ParamError{Param: "mix", Msg: `has read-by-index, but no field has an index: write indexes = ["` + m.table.Fields[0].Name + `"]`}
	case m.has(driver.Scan) && m.scanMax > m.table.Rows:
		return m, &spec.ParamError{Param: "scan_max", Msg: fmt.Sprintf("is %d, but there are %d records", m.scanMax, m.table.Rows)}
	case m.has(driver.BatchRead) && int64(m.batch) > m.table.Rows:
		return m, &spec.ParamError{Param: "batch", Msg: fmt.Sprintf("is %d, but there are %d records", m.batch, m.table.Rows)}
	}
	return m, nil
}

// maxIndexed is how long a field with an index may be: every system's index holds so many bytes.
const maxIndexed = 700

// extras reads what only some of the operations need: indexes, batches, transactions.
func (m *mix) extras(p map[string]any) error {
	m.batch, m.lookups = int(p["batch"].(int64)), p["index_limit"].(int64)
	given, _ := p["indexes"].([]any)
	if err := addIndexes(&m.table, given); err != nil {
		return err
	}
	for _, f := range m.table.Fields {
		if slices.Contains(m.table.Indexes, f.Name) && f.Bytes > maxIndexed {
			return &spec.ParamError{Param: "indexes", Msg: fmt.Sprintf("name %s, which has %d bytes: an index takes %d", f.Name, f.Bytes, maxIndexed)}
		}
	}
	m.steps = map[string][]driver.Action{}
	known := slices.DeleteFunc(driver.RecordActions(), func(a string) bool { return a == string(driver.UpdateIf) }) // that is two requests itself
	transactions, _ := p["transactions"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(transactions)) {
		bad := func(format string, a ...any) *spec.ParamError {
			return &spec.ParamError{Param: "transactions", Msg: name + " " + fmt.Sprintf(format, a...)}
		}
		if err := identifier(name); err != nil {
			return &spec.ParamError{Param: "transactions", Msg: err.Error()}
		}
		if slices.Contains(driver.RecordActions(), name) {
			return bad("is the name of an operation already")
		}
		v, _ := transactions[name].(map[string]any)
		list, ok := v["statements"].([]any)
		if !ok || v["$"] != "transaction" {
			return bad("must be a transaction([...]) of operations, not %s", spec.Display(transactions[name]))
		}
		for _, x := range list {
			step := strings.ReplaceAll(x.(string), "_", "-") // the constructor has looked
			if !slices.Contains(known, step) {
				err := bad("has the step %q; there are %s", x, strings.Join(known, ", "))
				err.Suggestion = spec.Nearest(step, known)
				return err
			}
			m.steps[name] = append(m.steps[name], driver.Action(step))
		}
	}
	return nil
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

// weightsOf checks the weights of a mix. Names may be written with _ for -.
func (m *mix) weightsOf(given map[string]any) (map[string]float64, error) {
	out := map[string]float64{}
	var sum float64
	names := append(driver.RecordActions(), slices.Sorted(maps.Keys(m.steps))...)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		action := name
		if m.steps[name] == nil {
			action = strings.ReplaceAll(name, "_", "-")
		}
		if !slices.Contains(names, action) {
			return nil, &spec.ParamError{Param: "mix", Msg: fmt.Sprintf("has the unknown operation %q; there are %s", name, strings.Join(names, ", ")),
				Suggestion: spec.Nearest(action, names)}
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
	for _, name := range slices.Sorted(maps.Keys(m.steps)) {
		if out[name] == 0 {
			return nil, &spec.ParamError{Param: "transactions", Msg: name + " has no weight in mix"}
		}
	}
	if sum <= 0 {
		return nil, &spec.ParamError{Param: "mix", Msg: "has no operation with a weight above 0"}
	}
	return out, nil
}
