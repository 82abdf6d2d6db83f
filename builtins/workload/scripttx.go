package workload

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"

	"sextant/builtins/workload/pgscript"
	"sextant/interp/driver"
	"sextant/interp/lang"
)

func positional(text string) (driver.Statement, error) {
	st, err := pgscript.Positional(text)
	if err != nil {
		return st, fmt.Errorf("%q: %w", text, err)
	}
	return st, nil
}

// txNames are what tx has, for scripts to be checked before they run.
func txNames() []string {
	out := []string{"args", "client"}
	for _, m := range (&scriptClient{}).methods() {
		out = append(out, m.Name)
	}
	return out
}

// methods are what the function's tx can do.
func (c *scriptClient) methods() []lang.Method {
	control := func(text string) func([]any) (any, error) {
		return func([]any) (any, error) { return nil, c.run(text, nil, false) }
	}
	return []lang.Method{
		{Name: "query", Params: "statement, arguments...", Min: 1, Max: -1, Call: c.query},
		{Name: "exec", Params: "statement, arguments...", Min: 1, Max: -1, Call: c.exec},
		{Name: "begin", Call: control("BEGIN")},
		{Name: "commit", Call: control("COMMIT")},
		{Name: "rollback", Call: control("ROLLBACK")},
		{Name: "get", Params: "record", Min: 1, Max: 1, Call: c.get},
		{Name: "put", Params: "record, fields", Min: 2, Max: 2, Call: c.put},
		{Name: "insert", Params: "fields, or nothing for random ones", Max: 1, Call: c.insert},
		{Name: "delete", Params: "record", Min: 1, Max: 1, Call: c.remove},
		{Name: "scan", Params: "record, limit", Min: 2, Max: 2, Call: c.scan},
		{Name: "record", Call: c.record},
		{Name: "draw", Params: "name", Min: 1, Max: 1, Call: c.draw},
		{Name: "random", Params: "low, high", Min: 2, Max: 2, Call: c.random},
		{Name: "text", Params: "bytes", Min: 1, Max: 1, Call: c.text},
	}
}

// run runs a statement and leaves its result in c.res.
func (c *scriptClient) run(text string, args []any, keep bool) error {
	p, err := c.statement(text)
	if err != nil {
		return err
	}
	if p.params != len(args) {
		return fmt.Errorf("%q has %d ?, %d arguments were given", text, p.params, len(args))
	}
	c.args = c.args[:0]
	for i, a := range args {
		arg := driver.Arg{}
		switch a := a.(type) {
		case nil:
		case int64:
			arg.Kind, arg.Int = driver.IntArg, a
		case float64:
			arg.Kind, arg.Float = driver.FloatArg, a
		case bool:
			arg.Kind = driver.BoolArg
			if a {
				arg.Int = 1
			}
		case string:
			arg.Kind, arg.Text = driver.TextArg, []byte(a)
		default:
			return fmt.Errorf("argument %d of %q must be a number, a text, True, False or None", i+1, text)
		}
		c.args = append(c.args, arg)
	}
	c.res.Keep = keep
	if err := c.sql.Run(c.ctx, p.number, c.args, &c.res); err != nil {
		return err
	}
	c.reply.Rows += c.res.Rows
	c.reply.Bytes += c.res.Bytes
	return nil
}

func (c *scriptClient) statementOf(args []any) (string, []any, error) {
	text, ok := args[0].(string)
	if !ok {
		return "", nil, errors.New("the statement must be a text")
	}
	return text, args[1:], nil
}

// exec gives how many rows a statement changed.
func (c *scriptClient) exec(args []any) (any, error) {
	text, vals, err := c.statementOf(args)
	if err != nil {
		return nil, err
	}
	err = c.run(text, vals, false)
	return c.res.Rows, err
}

// query gives the rows of a statement, each a dict by the names of the columns.
func (c *scriptClient) query(args []any) (any, error) {
	text, vals, err := c.statementOf(args)
	if err != nil {
		return nil, err
	}
	if err := c.run(text, vals, true); err != nil {
		return nil, err
	}
	names := make([]string, len(c.res.Columns))
	for i, col := range c.res.Columns {
		names[i] = col.Name
	}
	out := []any{}
	for at := 0; len(names) > 0 && at+len(names) <= len(c.res.Values); at += len(names) {
		r := &lang.Record{Names: names, Values: make([]any, len(names))}
		for i := range names {
			r.Values[i] = plain(c.res.Values[at+i], c.res.Columns[i].Kind)
		}
		out = append(out, r)
	}
	return out, nil
}

// plain is a value in text form as a script sees it.
func plain(v []byte, kind driver.ArgKind) any {
	if v == nil {
		return nil
	}
	switch kind {
	case driver.IntArg:
		if n, err := strconv.ParseInt(string(v), 10, 64); err == nil {
			return n
		}
	case driver.FloatArg:
		if f, err := strconv.ParseFloat(string(v), 64); err == nil && f-f == 0 {
			return f
		}
	case driver.BoolArg:
		return len(v) > 0 && (v[0] == 't' || v[0] == '1')
	}
	return string(v)
}

// call does one action on records.
func (c *scriptClient) call(number int, key any, r *driver.Reply) error {
	if c.records == nil {
		return errors.New("the workload has no records: write workload.script(..., records = 1000)")
	}
	id, ok := key.(int64)
	if !ok || id < 0 {
		return fmt.Errorf("a record is a number from 0, as tx.record() gives it, not %v", key)
	}
	c.op.Type, c.op.ID = number, id
	c.records.key = appendKey(c.records.key[:0], id)
	c.op.Key = c.records.key
	if err := c.session.Do(c.ctx, &c.op, r); err != nil {
		return err
	}
	c.reply.Rows += r.Rows
	c.reply.Bytes += r.Bytes
	return nil
}

func (c *scriptClient) fieldNames() []string {
	var out []string
	for _, f := range c.w.records.table.Fields {
		out = append(out, f.Name)
	}
	return out
}

// get gives a record's fields, or None.
func (c *scriptClient) get(args []any) (any, error) {
	r := driver.Reply{Keep: true}
	if err := c.call(callRead, args[0], &r); err != nil || r.Rows == 0 {
		return nil, err
	}
	return recordOf(c.fieldNames(), r.Values), nil
}

func recordOf(names []string, values [][]byte) *lang.Record {
	r := &lang.Record{Names: names}
	for _, v := range values {
		r.Values = append(r.Values, plain(v, driver.TextArg))
	}
	return r
}

// scan gives up to limit records in the order of the keys, from that of a record on, each with its key.
func (c *scriptClient) scan(args []any) (any, error) {
	limit, ok := args[1].(int64)
	if !ok || limit < 1 || limit > 1<<20 {
		return nil, fmt.Errorf("limit must be from 1 to %d", 1<<20)
	}
	c.op.Limit = int(limit)
	r := driver.Reply{Keep: true}
	if err := c.call(callScan, args[0], &r); err != nil {
		return nil, err
	}
	names := append([]string{"id"}, c.fieldNames()...)
	out := []any{}
	for at := 0; at+len(names) <= len(r.Values); at += len(names) {
		out = append(out, recordOf(names, r.Values[at:at+len(names)]))
	}
	return out, nil
}

// put changes one field of a record, or all of them, and says whether there was one. The protocols' record operations are
// prepared for these two.
func (c *scriptClient) put(args []any) (any, error) {
	if c.records == nil {
		return nil, c.call(callUpdate, args[0], nil)
	}
	n, err := c.fill(args[1])
	if err != nil {
		return nil, err
	}
	number := callUpdate
	switch n {
	case 1:
		if len(c.records.all) == 1 {
			number = callReplace
		}
	case len(c.records.all):
		number = callReplace
	default:
		return nil, fmt.Errorf("put changes one field or all %d, not %d", len(c.records.all), n)
	}
	var r driver.Reply
	err = c.call(number, args[0], &r)
	return r.Rows > 0, err
}

// fill puts fields into c.op and says how many they are.
func (c *scriptClient) fill(v any) (int, error) {
	given, ok := v.(map[string]any)
	if !ok {
		return 0, fmt.Errorf(`fields are a dict such as {"field0": "text"}, not %v`, v)
	}
	c.op.Fields, c.op.Values = c.op.Fields[:0], c.op.Values[:0]
	names := c.fieldNames()
	for i, name := range names {
		v, ok := given[name]
		if !ok {
			continue
		}
		text, ok := v.(string)
		if !ok {
			return 0, fmt.Errorf("the field %s must be a text, not %v", name, v)
		}
		c.op.Fields, c.op.Values = append(c.op.Fields, i), append(c.op.Values, []byte(text))
	}
	if len(c.op.Fields) != len(given) {
		for _, n := range slices.Sorted(maps.Keys(given)) {
			if !slices.Contains(names, n) {
				return 0, fmt.Errorf("records have no field %q", n)
			}
		}
	}
	return len(given), nil
}

// insert adds a record and gives its number. Other clients draw it once the server has acknowledged it.
func (c *scriptClient) insert(args []any) (any, error) {
	if c.records == nil {
		return nil, c.call(callInsert, int64(0), nil)
	}
	t := c.w.records
	if len(args) == 1 {
		n, err := c.fill(args[0])
		if err == nil && n != len(c.records.all) {
			err = fmt.Errorf("insert takes all %d fields, or nothing for random ones", len(c.records.all))
		}
		if err != nil {
			return nil, err
		}
	}
	id := t.keys.take()
	if len(args) == 0 {
		t.fillRow(id, c.records.all, &c.records.own)
		c.op.Values = append(c.op.Values[:0], c.records.all...)
	}
	fields := c.op.Fields
	c.op.Fields = nil // all of them
	defer func() { c.op.Fields = fields }()
	var r driver.Reply
	err := c.call(callInsert, id, &r)
	t.keys.ack(id)
	return id, err
}

func (c *scriptClient) remove(args []any) (any, error) {
	var r driver.Reply
	err := c.call(callDelete, args[0], &r)
	return r.Rows > 0, err
}

// record draws the number of a record that exists, by keys=.
func (c *scriptClient) record([]any) (any, error) {
	if c.records == nil {
		return nil, c.call(callRead, int64(0), nil)
	}
	return c.records.draw(&c.rng), nil
}

// draw draws from a generator of params=.
func (c *scriptClient) draw(args []any) (any, error) {
	name, _ := args[0].(string)
	g := c.w.params[name]
	if g == nil {
		return nil, fmt.Errorf("params has no %v; there are %v", args[0], slices.Sorted(maps.Keys(c.w.params)))
	}
	if g.number != nil {
		return g.number(&c.rng, 0), nil
	}
	return string(g.text(nil, &c.rng, 0)), nil
}

// random is a whole number from low to high.
func (c *scriptClient) random(args []any) (any, error) {
	low, ok := args[0].(int64)
	high, ok2 := args[1].(int64)
	if !ok || !ok2 || high < low || high-low+1 <= 0 {
		return nil, fmt.Errorf("low and high must be whole numbers, high not below low: %v, %v", args[0], args[1])
	}
	return low + int64(c.rng.Uint64N(uint64(high-low+1))), nil
}

// text is a random text of so many bytes.
func (c *scriptClient) text(args []any) (any, error) {
	n, ok := args[0].(int64)
	if !ok || n < 0 || n > maxField {
		return nil, fmt.Errorf("bytes must be from 0 to %d", maxField)
	}
	b := make([]byte, n)
	textPairs().fill(b, &c.rng)
	return string(b), nil
}
