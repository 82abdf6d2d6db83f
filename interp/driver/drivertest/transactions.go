package drivertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// stmt cuts a text at its question marks.
func stmt(text string) driver.Statement {
	return driver.Statement{Parts: strings.Split(text, "?")}
}

// The statements of the suite, as statements() numbers them.
const (
	sBegin = iota
	sCommit
	sRollback
	sUpdate
	sSelect
	sCount
	sInsert
)

func statements() []driver.Statement {
	return []driver.Statement{
		stmt("BEGIN;"), stmt("end"), stmt("Abort"), stmt("UPDATE usertable SET field1 = ? WHERE ycsb_key = ?"),
		stmt("SELECT field1, NULL, field0 FROM usertable WHERE ycsb_key = ?"), stmt("SELECT COUNT(*) AS n FROM usertable WHERE ? = 1"),
		stmt("INSERT INTO usertable VALUES (?, ?, ?, ?)"),
	}
}

func text(s string) driver.Arg { return driver.Arg{Kind: driver.TextArg, Text: []byte(s)} }

// tx runs statements of a session and fails the test at the first error.
type tx struct {
	t *testing.T
	driver.Transactor
}

func (x tx) run(n int, args ...driver.Arg) driver.Result {
	x.t.Helper()
	res := driver.Result{Keep: true}
	if err := x.Run(x.t.Context(), n, args, &res); err != nil {
		x.t.Fatalf("statement %d: %v", n, err)
	}
	return res
}

// transactions runs prepared statements one by one, and in batches where the session can.
func (c *Config) transactions(t *testing.T, sys driver.System) {
	w := workload()
	w.Statements = statements()
	s, err := sys.Session(t.Context(), spec.Level{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // its statements have been looked at
	d, ok := s.(driver.Transactor)
	if !ok || !slices.Contains(c.Driver.Ops, string(driver.Transaction)) {
		t.Skip("this system runs no transactions")
	}
	if err := s.Prepare(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	x := tx{t, d}
	one := driver.Arg{Kind: driver.IntArg, Int: 1}
	field := func(k string) any { return c.scalar(t, sys, c.Value, k) }
	open := func(want bool) {
		t.Helper()
		if x.InTransaction() != want {
			t.Errorf("InTransaction is %v", !want)
		}
	}

	open(false)
	x.run(sBegin)
	open(true)
	if r := x.run(sUpdate, text("tx \\ ' \" ? $1 é"), text(key(20))); r.Rows != 1 {
		t.Errorf("an update of one row: %+v", r)
	}
	if r := x.run(sUpdate, text("x"), text("nobody")); r.Rows != 0 {
		t.Errorf("an update of no row: %+v", r)
	}
	x.run(sCommit)
	open(false)
	if got := field(key(20)); got != "tx \\ ' \" ? $1 é" {
		t.Errorf("after COMMIT: %q", got)
	}

	x.run(sBegin)
	x.run(sUpdate, text("undone"), text(key(20)))
	x.run(sRollback)
	open(false)
	if got := field(key(20)); got != "tx \\ ' \" ? $1 é" {
		t.Errorf("after ROLLBACK: %q", got)
	}
	x.run(sUpdate, driver.Arg{}, text(key(21)))
	if got := field(key(21)); got != nil {
		t.Errorf("a NULL argument left %q", got)
	}

	r := x.run(sSelect, text(key(22)))
	want := [][]byte{value(1, 22, 100), nil, value(0, 22, 100)}
	if r.Rows != 1 || r.Bytes != 200 || len(r.Columns) != 3 || !slices.EqualFunc(r.Values, want, func(a, b []byte) bool { return string(a) == string(b) && (a == nil) == (b == nil) }) {
		t.Errorf("a SELECT: %+v", r)
	}
	if r := x.run(sCount, one); len(r.Columns) != 1 || strings.ToLower(r.Columns[0].Name) != "n" || r.Columns[0].Kind != driver.IntArg || string(r.Values[0]) != fmt.Sprint(rows) {
		t.Errorf("a count: %+v", r)
	}
	c.refused(t, sys, x)
	if p, ok := s.(driver.Pipeliner); ok {
		c.pipeline(t, sys, x, p)
	}
}

// refused: errors are classed, leave the session usable, and nothing of an open transaction stays after Rollback.
func (c *Config) refused(t *testing.T, sys driver.System, x tx) {
	var res driver.Result
	if err := x.Run(t.Context(), sUpdate, nil, &res); err == nil {
		t.Error("two parameters without arguments are taken")
	}
	if _, err := x.Add(t.Context(), stmt("SELEKT 1")); err == nil {
		t.Error("a wrong statement is prepared")
	}
	x.run(sBegin)
	x.run(sUpdate, text("lost"), text(key(23)))
	err := x.Run(t.Context(), sInsert, []driver.Arg{text(key(23)), text(""), text(""), text("")}, &res)
	if class, code := driver.Classify(err); class != driver.Constraint || code == "" {
		t.Errorf("a duplicate key in a transaction: %v (class %s, code %q)", err, class, code)
	}
	if !x.InTransaction() {
		t.Error("the failed transaction is not open")
	}
	for range 2 { // the second finds nothing to do
		if err := x.Rollback(t.Context()); err != nil || x.InTransaction() {
			t.Errorf("Rollback: %v, open: %v", err, x.InTransaction())
		}
	}
	if got := c.scalar(t, sys, c.Value, key(23)); got != string(value(1, 23, 100)) {
		t.Errorf("after Rollback: %q", got)
	}
	n, err := x.Add(t.Context(), stmt("SELECT field1 FROM usertable WHERE ycsb_key = ?"))
	if err != nil {
		t.Fatal(err)
	}
	if r := x.run(n, text(key(23))); string(r.Values[0]) != string(value(1, 23, 100)) {
		t.Errorf("a statement that was added later: %+v", r)
	}
}

func (c *Config) pipeline(t *testing.T, sys driver.System, x tx, p driver.Pipeliner) {
	queue := func(n int, args ...driver.Arg) {
		t.Helper()
		if err := p.Queue(n, args); err != nil {
			t.Fatal(err)
		}
	}
	var res driver.Result
	queue(sUpdate, text("a"), text(key(24)))
	queue(sSelect, text(key(25)))
	queue(sUpdate, text("b"), text(key(26)))
	if err := p.Flush(t.Context(), &res); err != nil || res.Rows != 3 || res.Bytes != 200 {
		t.Errorf("a pipeline: %+v, %v", res, err)
	}
	queue(sUpdate, text("c"), text(key(24)))
	queue(sInsert, text(key(24)), text(""), text(""), text(""))
	queue(sUpdate, text("d"), text(key(26)))
	err := p.Flush(t.Context(), &res)
	if class, _ := driver.Classify(err); class != driver.Constraint {
		t.Errorf("a duplicate key in a pipeline: %v", err)
	}
	if err := x.Rollback(t.Context()); err != nil {
		t.Error(err)
	}
	if got := c.scalar(t, sys, c.Value, key(26)); got != "b" {
		t.Errorf("the statement behind the error left %q", got)
	}
	if err := p.Flush(t.Context(), &res); err != nil || res.Rows != 0 {
		t.Errorf("an empty pipeline: %+v, %v", res, err)
	}
	x.run(sUpdate, text("e"), text(key(26)))
}

// typed is a workload with every type of column, a key of integers, an index, and a table that operations fill.
func typed() *driver.Workload {
	return &driver.Workload{Tables: []driver.Table{
		{Name: "typed", Key: "id", KeyType: driver.BigInt, Serial: true, Rows: 300, Hot: true, Indexes: []string{"k"}, Fields: []driver.Column{
			{Name: "k", Type: driver.Int}, {Name: "big", Type: driver.BigInt}, {Name: "c", Type: driver.Char, Bytes: 12},
			{Name: "at", Type: driver.Timestamp}, {Name: "words", Bytes: 20}}},
		{Name: "filled", Volatile: true, Fields: []driver.Column{{Name: "n", Type: driver.Int}, {Name: "at", Type: driver.Timestamp}}},
	}, Statements: []driver.Statement{
		stmt("INSERT INTO filled (n, at) VALUES (?, CURRENT_TIMESTAMP)"), stmt("SELECT COUNT(*) FROM filled"),
		stmt("SELECT k, big, c, at, words FROM typed WHERE id = ?"), stmt("UPDATE typed SET k = k + ? WHERE id = ?"),
		stmt("INSERT INTO typed (k, big) VALUES (1, 2)"), stmt("SELECT MAX(id) FROM typed"),
	}}
}

type typedRows struct{}

func (typedRows) Rows(table int) int64 { return typed().Tables[table].Rows }

func (typedRows) Row(_ int, i int64, row *driver.Row) {
	row.ID, row.Key = i, fmt.Append(nil, i+1)
	row.Values = [][]byte{fmt.Append(nil, -i), fmt.Append(nil, i<<40), []byte("ab"), nil, []byte("x\ty")}
	if i == 298 {
		row.Values[3] = []byte("2026-01-31 23:59:58")
	}
}

// types loads typed tables and has the volatile one emptied.
func (c *Config) types(t *testing.T, sys driver.System) {
	trimmer, ok := sys.(driver.Trimmer)
	if !ok || !slices.Contains(c.Driver.Ops, string(driver.Transaction)) {
		t.Skip("this system has no tables of types")
	}
	l, w := c.loader(t, sys), typed()
	if err := l.Load(t.Context(), w, "00000000000000cc", typedRows{}); err != nil {
		t.Fatal(err)
	}
	count := func(want ...int64) {
		t.Helper()
		if st, err := l.Inspect(t.Context(), w); err != nil || !st.Ours || st.Fingerprint != "00000000000000cc" || !slices.Equal(st.Rows, want) {
			t.Errorf("%+v, %v; want %v rows", st, err, want)
		}
	}
	count(300, 0)
	s, err := sys.Session(t.Context(), spec.Level{})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close() //nolint:errcheck // its statements have been looked at
	if err := s.Prepare(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	x := tx{t, s.(driver.Transactor)}
	number := func(n int64) driver.Arg { return driver.Arg{Kind: driver.IntArg, Int: n} }
	x.run(0, number(5))
	x.run(0, driver.Arg{})
	if r := x.run(3, number(-7), number(300)); r.Rows != 1 {
		t.Errorf("%+v", r)
	}
	r := x.run(2, number(300))
	got := make([]string, 5)
	for i, v := range r.Values {
		got[i] = strings.TrimRight(string(v), " ")
	}
	if !slices.Equal(got, []string{"-306", fmt.Sprint(int64(299) << 40), "ab", "", "x\ty"}) || r.Values[3] != nil {
		t.Errorf("a typed row: %q", got)
	}
	if r := x.run(2, number(299)); len(r.Values) != 5 || !strings.HasPrefix(string(r.Values[3]), "2026-01-31 23:59:58") {
		t.Errorf("a timestamp that was loaded: %q", r.Values)
	}
	count(300, 2)
	if err := trimmer.Trim(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	count(300, 0)
	if r := x.run(1); string(r.Values[0]) != "0" {
		t.Errorf("a session that was there before counts %s rows", r.Values[0])
	}
	x.run(4)
	if r := x.run(5); len(r.Values) != 1 || string(r.Values[0]) != "301" {
		t.Errorf("a row without a key got the key %q", r.Values)
	}
	if err := l.Drop(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	if st, err := l.Inspect(t.Context(), w); err != nil || st.Exists {
		t.Errorf("after Drop: %+v, %v", st, err)
	}
}

// values: reads and scans give the values where they are asked for.
func (c *Config) values(t *testing.T, sys driver.System) {
	s := c.session(t, sys)
	defer s.Close() //nolint:errcheck // its operations have been looked at
	for _, x := range []struct {
		op   driver.Op
		want [][]byte
	}{
		{driver.Op{Type: read, Key: []byte(key(31))}, [][]byte{value(0, 31, 100), value(1, 31, 100), value(2, 31, 3000)}},
		{driver.Op{Type: read, Key: []byte("nobody")}, nil},
		{driver.Op{Type: scan, Key: []byte(key(31)), Limit: 2}, [][]byte{[]byte(key(31)), value(0, 31, 100), value(1, 31, 100), value(2, 31, 3000),
			[]byte(key(32)), value(0, 32, 100), value(1, 32, 100), value(2, 32, 3000)}},
	} {
		if c.TokenOrder && x.op.Type == scan {
			continue
		}
		r := driver.Reply{Keep: true}
		err := s.Do(context.Background(), &x.op, &r)
		if err != nil || len(r.Values) != len(x.want) {
			t.Errorf("%+v: %d values, %v", x.op, len(r.Values), err)
			continue
		}
		for i, v := range r.Values {
			if string(v) != string(x.want[i]) {
				t.Errorf("%+v: value %d is %.40q, not %.40q", x.op, i, v, x.want[i])
			}
		}
	}
}
