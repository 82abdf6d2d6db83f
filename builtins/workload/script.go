package workload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sextant/interp/driver"
	"sextant/interp/lang"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// script is the load.Workload of a function of the script: one operation type, whose program is the function.
type script struct {
	name    string
	fn      *lang.Function
	records *table // nil: without records
	tables  []*typedTable
	params  map[string]*gen
	args    map[string]any
	seed    uint64
}

// Numbers of the calls behind the one operation: Workload.Calls in order.
const (
	callRead = 1 + iota
	callUpdate
	callReplace // an update of all fields
	callInsert
	callDelete
	callScan
)

func scriptParams() []spec.Param {
	return []spec.Param{
		{Name: "function", Kind: spec.KindFunction, Required: true, OneOf: txNames(), Doc: "def mine(tx): ..., one call of which is one operation"},
		{Name: "args", Kind: spec.KindMap, Doc: "values that the function reads as tx.args.NAME, part of the trial's identity"},
		{Name: "params", Kind: spec.KindMap, Doc: `generators by name, drawn by tx.draw("name")`},
		{Name: "records", Kind: spec.KindInt, Default: int64(0), Doc: "records for get, put, insert, delete and scan, loaded into the table records before the first trial", Check: spec.AtLeast(0)},
		{Name: "fields", Kind: spec.KindInt, Default: int64(10), Doc: "fields of a record: field0, field1, ...", Check: spec.Between(1, 1000)},
		{Name: "field_bytes", Kind: spec.KindInt, Default: int64(100), Doc: "bytes of a field", Check: spec.Between(1, maxField)},
		{Name: "keys", Kind: spec.KindValue, Value: distributions(), Default: map[string]any{"$": "uniform"}, Doc: "which records tx.record() draws"},
		{Name: "tables", Kind: spec.KindMap, Doc: `tables to load, for query and exec: {"accounts": table(rows = 1000, fields = {...})}`},
	}
}

func newScript(p map[string]any, seed uint64) (*script, error) {
	w := &script{name: p["function"].(string), seed: seed, params: map[string]*gen{}}
	w.args, _ = p["args"].(map[string]any)
	given, _ := p["params"].(map[string]any)
	for _, name := range slices.Sorted(maps.Keys(given)) {
		g, err := genOf(given[name])
		if err == nil && g.column.Type == driver.BigInt && given[name].(map[string]any)["$"] == "sequence" {
			err = errors.New("can't be a sequence: operations have no order among the clients")
		}
		if err != nil {
			return nil, &spec.ParamError{Param: "params", Msg: name + " " + err.Error()}
		}
		w.params[name] = g
	}
	var err error
	if w.tables, err = typedTables(p["tables"]); err != nil {
		return nil, err
	}
	if n := p["records"].(int64); n > 0 {
		m := mix{updates: 1, scanMax: 1, dist: p["keys"].(map[string]any),
			table: driver.Table{Name: "records", Key: "id", Rows: n, Ordered: true, Fields: columns(p["fields"].(int64), p["field_bytes"].(int64))}}
		for _, t := range w.tables {
			if t.Name == m.table.Name {
				return nil, &spec.ParamError{Param: "tables", Msg: "has a table called records, which is that of records = ..."}
			}
		}
		m.addOps(map[string]float64{"read": 1})
		m.table.Ordered = true
		if w.records, err = newTable(m, seed); err != nil {
			return nil, err
		}
	}
	return w, nil
}

func resolveScript(p map[string]any) (*spec.Workload, error) {
	w, err := newScript(p, 0)
	if err != nil {
		return nil, err
	}
	out := &spec.Workload{Params: p, Ops: []string{w.name}, Actions: []string{spec.Scripted}, Modifies: true, Dataset: spec.Dataset{Schema: map[string]any{"tables": "none"}}}
	if len(w.tables) > 0 {
		out.Actions[0] = string(driver.Transaction) // they are there for SQL
		out.Dataset = datasetOf(w.tables, p["tables"])
	}
	if w.records != nil {
		d := &out.Dataset
		size := p["fields"].(int64)*p["field_bytes"].(int64) + 24
		d.RowBytes = (d.Rows*d.RowBytes + w.records.table.Rows*size) / (d.Rows + w.records.table.Rows)
		d.Rows += w.records.table.Rows
		d.Schema = maps.Clone(d.Schema)
		d.Schema["records"] = map[string]any{"rows": p["records"], "fields": p["fields"], "field_bytes": p["field_bytes"], "version": int64(dataVersion)}
	}
	// What the function inserts or deletes is seen by counting the rows: a dataset of another size is loaded again.
	out.Trims = slices.ContainsFunc(w.tables, func(t *typedTable) bool { return t.Volatile })
	return out, nil
}

func (w *script) Shape() *driver.Workload {
	out := &driver.Workload{Ops: []driver.OpType{{Name: w.name, Action: driver.Transaction}}}
	if w.records != nil {
		out.Tables = append(out.Tables, w.records.table)
		var all []int
		for i := range w.records.table.Fields {
			all = append(all, i)
		}
		out.Calls = []driver.OpType{{Name: "get", Action: driver.Read}, {Name: "put", Action: driver.Update}, {Name: "replace", Action: driver.Update, Fields: all},
			{Name: "insert", Action: driver.Insert}, {Name: "delete", Action: driver.Delete}, {Name: "scan", Action: driver.Scan}}
	}
	for _, t := range w.tables {
		out.Tables = append(out.Tables, t.Table)
	}
	return out
}

// typed is the table of a number in Shape, or nil for that of the records.
func (w *script) typed(table int) *typedTable {
	if w.records != nil {
		table--
	}
	if table < 0 {
		return nil
	}
	return w.tables[table]
}

func (w *script) Rows(table int) int64 {
	if t := w.typed(table); t != nil {
		return t.Rows
	}
	return w.records.Rows(0)
}

func (w *script) Row(table int, i int64, row *driver.Row) {
	if t := w.typed(table); t != nil {
		t.fill(w.seed, i, row)
		return
	}
	w.records.Row(0, i, row)
}

func (w *script) Start(seed uint64) {
	if w.records != nil {
		w.records.Start(seed)
	}
}

func (w *script) Client(client int) load.Generator {
	c := &scriptClient{w: w, stmts: map[string]prepared{}}
	if w.records != nil {
		c.records, _ = w.records.Client(client).(*generator)
	}
	args := map[string]any{}
	maps.Copy(args, w.args)
	c.caller = w.fn.Client(c.methods(), map[string]any{"args": args, "client": int64(client)})
	return c
}

// prepared is a statement of the session by its number.
type prepared struct {
	number, params int
}

// scriptClient is one client's generator, and the program of its operation.
type scriptClient struct {
	w       *script
	caller  *lang.Caller
	records *generator // draws records and makes their fields; nil without records
	start   load.Rand  // of the operation at hand
	rng     load.Rand

	// of the running attempt
	ctx     context.Context
	session driver.Session
	sql     driver.Transactor // nil: no SQL
	reply   *driver.Reply
	stmts   map[string]prepared // of session, by text
	args    []driver.Arg
	res     driver.Result
	op      driver.Op
}

func (c *scriptClient) Next(r *load.Rand, op *driver.Op) {
	c.start = *r
	op.Type, op.Program = 0, c
}

// Run calls the function once. A further attempt draws the same random values.
func (c *scriptClient) Run(ctx context.Context, s driver.Session, reply *driver.Reply) error {
	if s != c.session {
		c.session = s
		c.sql, _ = s.(driver.Transactor)
		clear(c.stmts)
	}
	c.ctx, c.reply, c.rng = ctx, reply, c.start
	own, err := c.caller.Call(ctx)
	reply.Own += int64(own)
	if se := (*lang.ScriptError)(nil); errors.As(err, &se) {
		return &driver.Error{Class: driver.Other, Code: "script", Err: err}
	}
	return err
}

// statement is a text's number in the session; each is prepared once.
func (c *scriptClient) statement(text string) (prepared, error) {
	if p, ok := c.stmts[text]; ok {
		return p, nil
	}
	if c.sql == nil {
		return prepared{}, errNoSQL()
	}
	st, err := positional(text)
	if err != nil {
		return prepared{}, err
	}
	n, err := c.sql.Add(c.ctx, st)
	if err != nil {
		return prepared{}, fmt.Errorf("preparing %q: %w", text, err)
	}
	p := prepared{n, st.Params()}
	if len(c.stmts) == maxStatements {
		return prepared{}, fmt.Errorf("more than %d statements; give what differs as arguments for ?", maxStatements)
	}
	c.stmts[strings.Clone(text)] = p
	return p, nil
}

// maxStatements bounds what one session prepares: a text with values in it would fill the server.
const maxStatements = 1000
