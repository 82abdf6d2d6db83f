package workload

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"sextant/builtins/workload/pgscript"
	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// sqlOp is one operation of workload.sql: statements of the workload from first on, each with its arguments as indexes
// into the workload's parameters.
type sqlOp struct {
	name  string
	first int
	args  [][]int
	uses  []int // parameters, ascending: drawn once an operation, in this order
}

// sqlMix is the load.Workload of statements and transactions of one's own.
type sqlMix struct {
	tables     []*typedTable
	statements []driver.Statement
	ops        []sqlOp
	weights    []float64
	bounds     []uint64
	names      []string // of the parameters
	params     []*gen
	seed       uint64 // of the rows
}

func transactionType() *spec.ValueType {
	return &spec.ValueType{Name: "transaction", Doc: "SQL statements, or operations on records, that are one operation between BEGIN and COMMIT.", Positional: 1, Params: []spec.Param{
		{Name: "statements", Kind: spec.KindList, Required: true, Doc: "texts, in order"}},
		Check: func(p map[string]any) error {
			list := p["statements"].([]any)
			for _, s := range list {
				if _, ok := s.(string); !ok {
					return &spec.ParamError{Param: "statements", Msg: "hold " + spec.Display(s) + "; they are texts"}
				}
			}
			if len(list) == 0 {
				return &spec.ParamError{Param: "statements", Msg: "are none"}
			}
			return nil
		}}
}

func sqlParams() []spec.Param {
	return []spec.Param{
		{Name: "statements", Kind: spec.KindAny, Required: true, Doc: `a statement, a transaction([...]), or a dict of them by the name of the operation; :name is a parameter`},
		{Name: "params", Kind: spec.KindAny, Doc: `generators of the parameters by name: {"id": random_int(1, 1000)}; for a single statement with ? a list`},
		{Name: "weights", Kind: spec.KindMap, Doc: "how frequent each operation is, by its name; equally without"},
		{Name: "tables", Kind: spec.KindMap, Doc: `tables to load: {"accounts": table(rows = 1000, fields = {...})}; without, they are there by a setup hook or otherwise`},
	}
}

func newSQL(p map[string]any, seed uint64) (*sqlMix, error) {
	w := &sqlMix{seed: seed}
	var err error
	if w.tables, err = typedTables(p["tables"]); err != nil {
		return nil, err
	}
	byName, err := operationsOf(p["statements"])
	if err != nil {
		return nil, err
	}
	list, _ := p["params"].([]any)
	if list != nil {
		return w, errors.Join(w.positional(byName, list), w.weigh(p["weights"]))
	}
	given, ok := p["params"].(map[string]any)
	if p["params"] != nil && !ok {
		return nil, &spec.ParamError{Param: "params", Msg: "must be a dict of generators, or a list of them for a statement with ?, not " + spec.Display(p["params"])}
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if err := w.addParam(name, given[name]); err != nil {
			return nil, err
		}
	}
	used := map[string]bool{}
	for _, name := range slices.Sorted(maps.Keys(byName)) {
		op := sqlOp{name: name, first: len(w.statements)}
		for _, text := range byName[name] {
			st, names, err := pgscript.Named(text, w.names)
			if err != nil {
				return nil, &spec.ParamError{Param: "statements", Msg: fmt.Sprintf("%q: %v", text, err)}
			}
			var args []int
			for _, n := range names {
				i := slices.Index(w.names, n)
				if i < 0 {
					return nil, &spec.ParamError{Param: "statements", Msg: fmt.Sprintf("%q uses :%s, which params doesn't have", text, n), Suggestion: spec.Nearest(n, w.names)}
				}
				used[n] = true
				args = append(args, i)
			}
			op.add(w, st, args)
		}
		w.ops = append(w.ops, op)
	}
	for _, n := range w.names {
		if !used[n] {
			return nil, &spec.ParamError{Param: "params", Msg: fmt.Sprintf("has %s, which no statement uses", n)}
		}
	}
	return w, w.weigh(p["weights"])
}

// operationsOf reads the statements of each operation by its name; a transaction gets its BEGIN and COMMIT.
func operationsOf(v any) (map[string][]string, error) {
	one := func(v any) ([]string, bool) {
		switch v := v.(type) {
		case string:
			return []string{v}, true
		case map[string]any:
			if list, ok := v["statements"].([]any); ok && v["$"] == "transaction" {
				out := []string{"BEGIN"}
				for _, s := range list {
					out = append(out, s.(string)) // the constructor has looked
				}
				return append(out, "COMMIT"), true
			}
		}
		return nil, false
	}
	if list, ok := one(v); ok {
		name := "transaction"
		if len(list) == 1 {
			word, _, _ := strings.Cut(strings.TrimSpace(list[0]), " ")
			if name = strings.ToLower(word); identifier(name) != nil {
				name = "statement"
			}
		}
		return map[string][]string{name: list}, nil
	}
	bad := func(msg string) error { return &spec.ParamError{Param: "statements", Msg: msg} }
	given, ok := v.(map[string]any)
	if _, tagged := given["$"]; !ok || tagged || len(given) == 0 {
		return nil, bad("must be a text, a transaction([...]), or a dict of them, not " + spec.Display(v))
	}
	out := map[string][]string{}
	for name, v := range given {
		list, ok := one(v)
		if !ok {
			return nil, bad(fmt.Sprintf("%s must be a text or a transaction([...]), not %s", name, spec.Display(v)))
		}
		out[name] = list
	}
	return out, nil
}

func (w *sqlMix) addParam(name string, v any) error {
	if p, ok := v.(map[string]any); ok && p["$"] == "sequence" {
		return &spec.ParamError{Param: "params", Msg: name + " can't be a sequence: operations have no order among the clients; random_int over a wide range, or a key that the database counts, gives new values"}
	}
	g, err := genOf(v)
	if err != nil {
		return &spec.ParamError{Param: "params", Msg: name + " " + err.Error()}
	}
	w.names, w.params = append(w.names, name), append(w.params, g)
	return nil
}

// positional takes the one statement of byName, whose parameters are question marks.
func (w *sqlMix) positional(byName map[string][]string, list []any) error {
	for name, texts := range byName {
		if len(byName) > 1 || len(texts) > 1 {
			return &spec.ParamError{Param: "params", Msg: "as a list are for a single statement with ?; several ones take a dict and :names"}
		}
		st, err := pgscript.Positional(texts[0])
		if err != nil {
			return &spec.ParamError{Param: "statements", Msg: fmt.Sprintf("%q: %v", texts[0], err)}
		}
		if st.Params() != len(list) {
			return &spec.ParamError{Param: "params", Msg: fmt.Sprintf("are %d, but the statement has %d ?", len(list), st.Params())}
		}
		var args []int
		for i, v := range list {
			if err := w.addParam(fmt.Sprint(i+1), v); err != nil {
				return err
			}
			args = append(args, i)
		}
		op := sqlOp{name: name}
		op.add(w, st, args)
		w.ops = append(w.ops, op)
	}
	return nil
}

func (o *sqlOp) add(w *sqlMix, st driver.Statement, args []int) {
	w.statements, o.args = append(w.statements, st), append(o.args, args)
	o.uses = append(o.uses, args...)
	slices.Sort(o.uses)
	o.uses = slices.Compact(o.uses)
}

// weigh reads the weights of the operations; those without or with 0 are left out.
func (w *sqlMix) weigh(v any) error {
	given, _ := v.(map[string]any)
	var names []string
	for _, o := range w.ops {
		names = append(names, o.name)
	}
	for _, name := range slices.Sorted(maps.Keys(given)) {
		if !slices.Contains(names, name) {
			return &spec.ParamError{Param: "weights", Msg: fmt.Sprintf("has %q, which is no operation; there are %s", name, strings.Join(names, ", ")), Suggestion: spec.Nearest(name, names)}
		}
	}
	var kept []sqlOp
	for _, o := range w.ops {
		weight := 1.0
		if len(given) > 0 {
			var ok bool
			if weight, ok = weightOf(given[o.name]); !ok && given[o.name] != nil {
				return &spec.ParamError{Param: "weights", Msg: fmt.Sprintf("gives %s the weight %s; a weight is a number from 0", o.name, spec.Display(given[o.name]))}
			}
		}
		if weight > 0 {
			kept, w.weights = append(kept, o), append(w.weights, weight)
		}
	}
	if len(kept) == 0 {
		return &spec.ParamError{Param: "weights", Msg: "give no operation a weight above 0"}
	}
	w.ops, w.bounds = kept, cumulative(w.weights)
	return nil
}

func resolveSQL(p map[string]any) (*spec.Workload, error) {
	w, err := newSQL(p, 0)
	if err != nil {
		return nil, err
	}
	out := &spec.Workload{Params: p, Dataset: datasetOf(w.tables, p["tables"])}
	for _, o := range w.ops {
		out.Ops, out.Actions = append(out.Ops, o.name), append(out.Actions, string(driver.Transaction))
		for i := range o.args {
			w.effect(out, w.statements[o.first+i])
		}
	}
	if slices.ContainsFunc(w.tables, func(t *typedTable) bool { return t.Volatile }) {
		out.Trims = !out.Resizes
		out.Resizes = out.Resizes || out.Modifies
	}
	return out, nil
}

// effect notes what a statement does to the dataset: whether it writes, and whether it inserts into or deletes from a
// table that has rows.
func (w *sqlMix) effect(out *spec.Workload, st driver.Statement) {
	words := strings.Fields(strings.ToUpper(strings.NewReplacer("(", " ( ", `"`, "", "`", "").Replace(st.Text(func(int) string { return "?" }))))
	if st.Control() != driver.NoControl || words[0] == "SELECT" || words[0] == "SHOW" || words[0] == "VALUES" {
		return
	}
	out.Modifies = true
	if words[0] == "UPDATE" {
		return
	}
	for _, t := range w.tables {
		if t.Volatile && slices.Contains(words[:min(len(words), 4)], strings.ToUpper(t.Name)) {
			return // emptied before each trial
		}
	}
	out.Resizes = len(w.tables) > 0 // INSERT, DELETE, REPLACE, MERGE, WITH: by its words it can't be told what more it does
}

func (w *sqlMix) Shape() *driver.Workload {
	out := &driver.Workload{Statements: w.statements}
	for _, t := range w.tables {
		out.Tables = append(out.Tables, t.Table)
	}
	for _, o := range w.ops {
		out.Ops = append(out.Ops, driver.OpType{Name: o.name, Action: driver.Transaction})
	}
	return out
}

func (w *sqlMix) Rows(table int) int64 { return w.tables[table].Rows }

func (w *sqlMix) Row(table int, i int64, row *driver.Row) { w.tables[table].fill(w.seed, i, row) }

func (w *sqlMix) Start(uint64) {}

func (w *sqlMix) Client(int) load.Generator {
	return &sqlClient{w: w, values: make([]driver.Arg, len(w.params))}
}

// sqlClient is one client's generator, and the program of its operation.
type sqlClient struct {
	w      *sqlMix
	op     *sqlOp
	values []driver.Arg // of the parameters, for the operation at hand
	args   []driver.Arg
	res    driver.Result
}

func (c *sqlClient) Next(r *load.Rand, op *driver.Op) {
	op.Type = pick(c.w.bounds, r)
	c.op = &c.w.ops[op.Type]
	for _, i := range c.op.uses {
		c.w.params[i].arg(&c.values[i], r, 0)
	}
	op.Program = c
}

// Run does the operation's statements in order.
func (c *sqlClient) Run(ctx context.Context, s driver.Session, reply *driver.Reply) error {
	t, ok := s.(driver.Transactor)
	if !ok {
		return errNoSQL()
	}
	for n, args := range c.op.args {
		if err := ctx.Err(); err != nil {
			return err
		}
		c.args = c.args[:0]
		for _, i := range args {
			c.args = append(c.args, c.values[i])
		}
		if err := t.Run(ctx, c.op.first+n, c.args, &c.res); err != nil {
			return err
		}
		reply.Rows += c.res.Rows
		reply.Bytes += c.res.Bytes
	}
	return nil
}

func errNoSQL() error {
	return &driver.Error{Class: driver.Other, Code: "no SQL", Err: errors.New("this system runs no SQL")}
}
