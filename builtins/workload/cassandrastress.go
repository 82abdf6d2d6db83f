package workload

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"

	"sextant/builtins/workload/cstress"
	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// stressOps are the operations of cassandra-stress' predefined commands.
func stressOps() []string { return []string{"write", "read", "counter_write", "counter_read"} }

// stressDist is a parameter that is a distribution in the tool's words.
func stressDist(name, def, doc string) spec.Param {
	return spec.Param{Name: name, Kind: spec.KindString, Default: def, Doc: doc, Check: func(v any) error {
		_, err := cstress.Parse(v.(string))
		return err
	}}
}

func populationParam() spec.Param {
	p := stressDist("population", "", "which partitions operations take, in the tool's words: uniform(1..1M), seq(1..1M), ...; without: seq(1..records) of commands that only write, else gaussian(1..records)")
	p.Default = nil
	return p
}

func stressParams() []spec.Param {
	return []spec.Param{
		{Name: "command", Kind: spec.KindString, Required: true, OneOf: append(stressOps(), "mixed"), Doc: "write updates the five columns of a partition, read takes and checks them, counter_write adds to counters, mixed is both by ratio"},
		{Name: "records", Kind: spec.KindInt, Default: int64(1_000_000), Doc: "partitions (the tool's n): loaded for what reads, written in order by what only writes", Check: spec.Between(1, 1<<40)},
		populationParam(),
		{Name: "ratio", Kind: spec.KindMap, Doc: `of mixed, by operation: {"write": 1, "read": 3}; without, as many writes as reads`},
		stressDist("clustering", "gaussian(1..10)", "of mixed: how many operations of the same kind follow one another at a client"),
		{Name: "columns", Kind: spec.KindInt, Default: int64(5), Doc: "columns C0, C1, ...", Check: spec.Between(1, 1000)},
		stressDist("column_bytes", "fixed(34)", "bytes of a column: fixed, uniform or gaussian"),
		{Name: "key_bytes", Kind: spec.KindInt, Default: int64(10), Doc: "characters of a key", Check: spec.Between(1, 1000)},
		stressDist("add", "fixed(1)", "what is added to a counter"),
	}
}

// stress is the load.Workload of cassandra-stress' predefined commands.
type stress struct {
	ops []string
	turns
	tables     []driver.Table
	statements []driver.Statement // parallel to ops
	rows       *cstress.Rows
	columns    int
	maxBytes   int
	population partitions
	add        cstress.Distribution
}

// turns draws which operation a client does: so many of the same kind follow one another.
type turns struct {
	bounds     []uint64
	clustering cstress.Distribution
}

// turn is where a client is.
type turn struct {
	op        int
	remaining int64 // operations of the same kind that are still to come
}

func (t *turns) next(c *turn, r *load.Rand) int {
	if len(t.bounds) > 1 && c.remaining == 0 {
		c.remaining, c.op = t.clustering.Draw(r), pick(t.bounds, r)
	}
	c.remaining--
	return c.op
}

// partitions draws which partitions operations take, as numbers from 1.
type partitions struct {
	cstress.Distribution
	taken atomic.Int64 // of a sequence
}

func (d *partitions) draw(r *load.Rand) int64 {
	if d.Sequential() {
		return d.Min + (d.taken.Add(1)-1)%(d.Max-d.Min+1)
	}
	return d.Draw(r)
}

// set takes the population that is given, or the tool's own: in order where nothing is read. What is read must be there.
func (d *partitions) set(given any, records int64, reads bool) (err error) {
	bad := func(format string, a ...any) error {
		return &spec.ParamError{Param: "population", Msg: fmt.Sprintf(format, a...)}
	}
	text, ok := given.(string)
	if !ok {
		form := "seq(1..%d)"
		if reads {
			form = "gaussian(1..%d)"
		}
		d.Distribution, err = cstress.Parse(fmt.Sprintf(form, records))
		return err
	}
	if d.Distribution, err = cstress.Parse(text); err != nil {
		return bad("%v", err)
	}
	if d.Min < 1 || reads && d.Max > records {
		return bad("is over %d to %d, the partitions are 1 to %d", d.Min, d.Max, records)
	}
	return nil
}

func newStress(p map[string]any) (*stress, error) {
	w := &stress{columns: int(p["columns"].(int64))}
	command, records := p["command"].(string), p["records"].(int64)
	dists := map[string]*cstress.Distribution{"clustering": &w.clustering, "add": &w.add}
	var size cstress.Distribution
	dists["column_bytes"] = &size
	for name, d := range dists {
		var err error
		if *d, err = cstress.Parse(p[name].(string)); err != nil {
			return nil, &spec.ParamError{Param: name, Msg: err.Error()}
		}
		if d.Sequential() {
			return nil, &spec.ParamError{Param: name, Msg: "can't be a seq"}
		}
	}
	ratio, given := p["ratio"].(map[string]any)
	if given && command != "mixed" {
		return nil, &spec.ParamError{Param: "ratio", Msg: fmt.Sprintf("is of the command mixed, not of %s", command)}
	}
	if !given {
		ratio = map[string]any{"write": int64(1), "read": int64(1)}
	}
	if command != "mixed" {
		ratio = map[string]any{command: int64(1)}
	}
	var weights []float64
	var err error
	if w.ops, weights, err = ratioOf("ratio", ratio, stressOps()); err != nil {
		return nil, err
	}
	w.bounds = cumulative(weights)
	if size.Min < 1 || size.Max > maxField || !size.Seedable() {
		return nil, &spec.ParamError{Param: "column_bytes", Msg: fmt.Sprintf("must be fixed, uniform or gaussian over sizes from 1 to %d bytes", maxField)}
	}
	if w.clustering.Min < 1 {
		return nil, &spec.ParamError{Param: "clustering", Msg: "must be over numbers from 1"}
	}
	w.maxBytes = int(size.Max)
	w.rows = cstress.NewRows(int(p["key_bytes"].(int64)), w.columns, size)
	if expected, _ := w.rows.Duplicates(records); expected > float64(records)/100 {
		return nil, &spec.ParamError{Param: "key_bytes", Msg: fmt.Sprintf("of %s are too few: about %.0f of %d partitions would have the key of another one", spec.Display(p["key_bytes"]), expected, records)}
	}
	if err := w.population.set(p["population"], records, w.reads()); err != nil {
		return nil, err
	}
	for _, name := range w.ops {
		w.operation(name, records)
	}
	return w, nil
}

// ratioOf reads a dict of weights by operation: those above 0, in the order of known.
func ratioOf(param string, given map[string]any, known []string) (ops []string, weights []float64, err error) {
	for _, name := range known {
		weight, ok := weightOf(given[name])
		if given[name] != nil && !ok {
			return nil, nil, &spec.ParamError{Param: param, Msg: fmt.Sprintf("gives %s the weight %s; a weight is a number from 0", name, spec.Display(given[name]))}
		}
		if weight > 0 {
			ops, weights = append(ops, name), append(weights, weight)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(known, name) {
			return nil, nil, &spec.ParamError{Param: param, Msg: fmt.Sprintf("has %q; there are %s", name, strings.Join(known, ", ")), Suggestion: spec.Nearest(name, known)}
		}
	}
	if len(ops) == 0 {
		return nil, nil, &spec.ParamError{Param: param, Msg: "gives no operation a weight above 0"}
	}
	return ops, weights, nil
}

// reads says whether an operation needs rows that are there.
func (w *stress) reads() bool {
	return slices.ContainsFunc(w.ops, func(o string) bool { return o == "read" || o == "counter_read" })
}

// operation adds an operation's statement, and its table when that isn't there.
func (w *stress) operation(name string, records int64) {
	table, typ, bytes := "standard1", driver.Blob, w.maxBytes
	if strings.HasPrefix(name, "counter") {
		table, typ, bytes = "counter1", driver.CounterColumn, 8
	}
	var columns []driver.Column
	for i := range w.columns {
		columns = append(columns, driver.Column{Name: fmt.Sprintf("C%d", i), Type: typ, Bytes: bytes})
	}
	i := slices.IndexFunc(w.tables, func(t driver.Table) bool { return t.Name == table })
	if i < 0 {
		i = len(w.tables)
		w.tables = append(w.tables, driver.Table{Name: table, Key: "key", KeyType: driver.Blob, Fields: columns, Uncompressed: true, Volatile: true})
	}
	if strings.HasSuffix(name, "read") {
		_, most := w.rows.Duplicates(records)
		w.tables[i].Rows, w.tables[i].Volatile, w.tables[i].Duplicates = records, false, int64(most)
	}
	where := " WHERE KEY="
	quoted := func(form, between string) string {
		var out []string
		for _, c := range columns {
			out = append(out, strings.ReplaceAll(form, "@", `"`+c.Name+`"`))
		}
		return strings.Join(out, between)
	}
	var parts []string
	switch name {
	case "write":
		parts = strings.Split(`UPDATE "`+table+`" SET `+quoted("@ = ?", ",")+where+"?", "?")
	case "read":
		parts = []string{"SELECT " + quoted("@", ",") + ` FROM "` + table + `"` + where, ""}
	case "counter_write":
		parts = strings.Split("UPDATE "+table+" SET "+quoted("@=@+?", ",")+where+"?", "?")
	case "counter_read":
		parts = []string{`SELECT * FROM "` + table + `"` + where, ""}
	}
	w.statements = append(w.statements, driver.Statement{Parts: parts})
}

func resolveStress(p map[string]any) (*spec.Workload, error) {
	w, err := newStress(p)
	if err != nil {
		return nil, err
	}
	out := &spec.Workload{Params: p, Ops: w.ops}
	var tables []any
	for _, t := range w.tables {
		out.Dataset.Rows += t.Rows
		tables = append(tables, map[string]any{"name": t.Name, "rows": t.Rows})
		out.Trims = out.Trims || t.Volatile
	}
	out.Dataset.RowBytes = int64(w.columns*w.maxBytes) + p["key_bytes"].(int64) + 24
	out.Dataset.Schema = map[string]any{"tables": "cassandra_stress", "stores": tables, "columns": p["columns"], "column_bytes": p["column_bytes"], "key_bytes": p["key_bytes"], "version": int64(dataVersion)}
	for _, o := range w.ops {
		out.Actions = append(out.Actions, string(driver.CQL))
		out.Modifies = out.Modifies || strings.HasSuffix(o, "write")
		// A read of counters gives what was added: those that are loaded must be loaded anew.
		out.Resizes = out.Resizes || o == "counter_write" && !out.Trims
	}
	out.Resizes = out.Resizes || out.Trims
	return out, nil
}

func (w *stress) Shape() *driver.Workload {
	out := &driver.Workload{Tables: w.tables, Statements: w.statements}
	for _, name := range w.ops {
		out.Ops = append(out.Ops, driver.OpType{Name: name, Action: driver.Transaction, One: true})
	}
	return out
}

func (w *stress) Rows(table int) int64 { return w.tables[table].Rows }

// Row is that of seed i+1. Counters are loaded with 1.
func (w *stress) Row(table int, i int64, row *driver.Row) {
	row.ID = i
	row.Key = w.rows.AppendKey(row.Key[:0], i+1)
	if len(row.Values) != w.columns {
		row.Values = make([][]byte, w.columns)
	}
	for c := range row.Values {
		if w.tables[table].Name == "counter1" {
			row.Values[c] = append(row.Values[c][:0], '1')
		} else {
			row.Values[c] = w.rows.AppendColumn(row.Values[c][:0], row.Key, c)
		}
	}
}

func (w *stress) Start(uint64) { w.population.taken.Store(0) }

func (w *stress) Client(int) load.Generator {
	return &stressClient{w: w, values: make([][]byte, w.columns), res: driver.Result{Keep: w.reads()}}
}

// stressClient is one client's generator, and the program of its operation.
type stressClient struct {
	w *stress
	turn
	key    []byte
	values [][]byte
	args   []driver.Arg
	res    driver.Result
}

func (c *stressClient) Next(r *load.Rand, op *driver.Op) {
	w := c.w
	op.Type, op.Program = w.next(&c.turn, r), c
	seed := w.population.draw(r)
	op.ID = seed - 1
	c.key = w.rows.AppendKey(c.key[:0], seed)
	c.args = c.args[:0]
	switch w.ops[c.op] {
	case "write", "read":
		for i := range c.values {
			c.values[i] = w.rows.AppendColumn(c.values[i][:0], c.key, i)
			if w.ops[c.op] == "write" {
				c.args = append(c.args, driver.Arg{Kind: driver.TextArg, Text: c.values[i]})
			}
		}
	case "counter_write":
		for range w.columns {
			c.args = append(c.args, driver.Arg{Kind: driver.IntArg, Int: w.add.Draw(r)})
		}
	}
	c.args = append(c.args, driver.Arg{Kind: driver.TextArg, Text: c.key})
}

// Run does the operation's one statement. What a read gives must be what was written; where nothing is there, it has no rows.
func (c *stressClient) Run(ctx context.Context, s driver.Session, reply *driver.Reply) error {
	t, ok := s.(driver.Transactor)
	if !ok {
		return errNoSQL()
	}
	if err := t.Run(ctx, c.op, c.args, &c.res); err != nil {
		return err
	}
	reply.Rows, reply.Bytes = c.res.Rows, c.res.Bytes
	if c.w.ops[c.op] != "read" || c.res.Rows == 0 || len(c.res.Values) == 0 {
		return nil
	}
	for i, want := range c.values {
		if !bytes.Equal(c.res.Values[i], want) {
			return &driver.Error{Class: driver.Other, Code: "not validated", Err: errors.New("a read gave other bytes than were written")}
		}
	}
	return nil
}
