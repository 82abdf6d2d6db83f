package workload

import (
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strconv"

	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// typedTable is a table of typed columns with a key of whole numbers from 1.
type typedTable struct {
	driver.Table
	gens   []*gen // parallel to Fields
	stream uint64 // of its first field: streams are apart for each field of each table
}

// tableType is the constructor of a table.
func tableType() *spec.ValueType {
	return &spec.ValueType{Name: "table", Doc: "A table to load: its key counts from 1. With 0 rows it is emptied before each trial.", Positional: 2, Params: []spec.Param{
		{Name: "rows", Kind: spec.KindInt, Required: true, Doc: "rows loaded before the first trial", Check: spec.AtLeast(0)},
		{Name: "fields", Kind: spec.KindMap, Required: true, Doc: `generators by name: {"name": person_name(), "balance": random_int(0, 1000)}; columns come in the order of their names`},
		{Name: "key", Kind: spec.KindString, Doc: "name of the primary key; id without, none when there are 0 rows", Check: identifier},
		{Name: "indexes", Kind: spec.KindList, Doc: "fields with an index of their own"}},
		Check: func(p map[string]any) error { _, err := newTypedTable("x", p); return err }}
}

// fieldsOf reads a dict of generators into columns, in the order of their names.
func fieldsOf(given map[string]any, key string) (columns []driver.Column, gens []*gen, err error) {
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if err := identifier(name); err != nil {
			return nil, nil, &spec.ParamError{Param: "fields", Msg: err.Error()}
		}
		if name == key {
			return nil, nil, &spec.ParamError{Param: "fields", Msg: fmt.Sprintf("%q is the key's name", name)}
		}
		g, err := genOf(given[name])
		if err != nil {
			return nil, nil, &spec.ParamError{Param: "fields", Msg: name + " " + err.Error()}
		}
		c := g.column
		c.Name = name
		columns, gens = append(columns, c), append(gens, g)
	}
	if len(columns) == 0 {
		return nil, nil, &spec.ParamError{Param: "fields", Msg: "names no field"}
	}
	return columns, gens, nil
}

func newTypedTable(name string, p map[string]any) (*typedTable, error) {
	t := &typedTable{Table: driver.Table{Name: name, KeyType: driver.BigInt, Rows: p["rows"].(int64)}}
	if key, ok := p["key"].(string); ok {
		t.Key = key
	} else if t.Rows > 0 {
		t.Key = "id"
	}
	var err error
	if t.Fields, t.gens, err = fieldsOf(p["fields"].(map[string]any), t.Key); err != nil {
		return nil, err
	}
	given, _ := p["indexes"].([]any)
	if err := addIndexes(&t.Table, given); err != nil {
		return nil, err
	}
	t.Volatile = t.Rows == 0
	h := fnv.New64a()
	h.Write([]byte(name))
	t.stream = h.Sum64()
	return t, nil
}

// addIndexes reads a list of fields.
func addIndexes(t *driver.Table, given []any) error {
	for _, x := range given {
		f, _ := x.(string)
		if !slices.ContainsFunc(t.Fields, func(c driver.Column) bool { return c.Name == f }) {
			return &spec.ParamError{Param: "indexes", Msg: fmt.Sprintf("name %s, which is no field", spec.Display(x))}
		}
		if slices.Contains(t.Indexes, f) {
			return &spec.ParamError{Param: "indexes", Msg: fmt.Sprintf("name %s twice", f)}
		}
		t.Indexes = append(t.Indexes, f)
	}
	return nil
}

// typedTables reads a dict of tables.
func typedTables(v any) ([]*typedTable, error) {
	given, _ := v.(map[string]any)
	var out []*typedTable
	for _, name := range slices.Sorted(maps.Keys(given)) {
		bad := func(msg string) error { return &spec.ParamError{Param: "tables", Msg: msg} }
		if err := identifier(name); err != nil {
			return nil, bad(err.Error())
		}
		p, _ := given[name].(map[string]any)
		if p["$"] != "table" {
			return nil, bad(fmt.Sprintf("%s must be a table(rows = ..., fields = {...}), not %s", name, spec.Display(given[name])))
		}
		t, err := newTypedTable(name, p)
		if err != nil {
			return nil, err
		}
		out = append(out, t)
	}
	return out, nil
}

// fill makes row i: pure in the seed and i.
func (t *typedTable) fill(seed uint64, i int64, row *driver.Row) {
	row.ID = i
	row.Key = strconv.AppendInt(row.Key[:0], i+1, 10)
	if len(row.Values) != len(t.gens) {
		row.Values = make([][]byte, len(t.gens))
		for f := range row.Values {
			row.Values[f] = make([]byte, 0, 64) // never nil, which would mean NULL
		}
	}
	var r load.Rand
	for f, g := range t.gens {
		r.Seek(seed, t.stream+uint64(f), uint64(i))
		row.Values[f] = g.append(row.Values[f][:0], &r, i)
	}
}

// datasetOf describes tables to the plan.
func datasetOf(tables []*typedTable, params any) spec.Dataset {
	if len(tables) == 0 {
		return spec.Dataset{Schema: map[string]any{"tables": "none"}}
	}
	d := spec.Dataset{Schema: map[string]any{"tables": params, "version": int64(dataVersion)}}
	var bytes int64
	for _, t := range tables {
		size := int64(16)
		for _, f := range t.Fields {
			size += int64(f.Bytes)
		}
		d.Rows += t.Rows
		bytes += t.Rows * size
	}
	if d.Rows > 0 {
		d.RowBytes = bytes / d.Rows
	}
	return d
}
