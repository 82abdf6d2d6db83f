package workload

import (
	"context"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

func tagged(name string, params map[string]any) map[string]any {
	for _, v := range Values() {
		if v.Name != name {
			continue
		}
		m := map[string]any{"$": name}
		for _, p := range v.Params {
			if p.Default != nil {
				m[p.Name] = p.Default
			}
		}
		for k, x := range params {
			m[k] = x
		}
		return m
	}
	panic("no value " + name)
}

func randomInt(low, high int64) map[string]any {
	return tagged("random_int", map[string]any{"low": low, "high": high})
}

// Each generator gives what it says: range, length, form, weights; and its column has the type of its values.
func TestGenerators(t *testing.T) {
	check := map[string]struct {
		value map[string]any
		typ   driver.Type
		ok    func(s string) bool
	}{
		"random_int": {randomInt(-3, 4), driver.Int, func(s string) bool { var n int; _, err := fmt.Sscan(s, &n); return err == nil && n >= -3 && n <= 4 }},
		"wide":       {randomInt(0, 1<<40), driver.BigInt, func(s string) bool { var n int; _, err := fmt.Sscan(s, &n); return err == nil && n >= 0 && n <= 1<<40 }},
		"text":       {tagged("random_text", map[string]any{"bytes": int64(7)}), driver.Text, func(s string) bool { return len(s) == 7 }},
		"choice":     {tagged("choice", map[string]any{"values": []any{"a", "bc"}}), driver.Text, func(s string) bool { return s == "a" || s == "bc" }},
		"numbers":    {tagged("choice", map[string]any{"values": []any{int64(5), int64(7)}}), driver.Int, func(s string) bool { return s == "5" || s == "7" }},
		"timestamp":  {tagged("timestamp", map[string]any{"first": "2026-01-31", "last": "2026-01-31 00:00:59"}), driver.Timestamp, func(s string) bool { return strings.HasPrefix(s, "2026-01-31 00:00:") }},
		"uuid": {tagged("uuid", nil), driver.Text, func(s string) bool {
			return len(s) == 36 && s[14] == '4' && strings.Count(s, "-") == 4 && strings.ContainsAny(s[19:20], "89ab")
		}},
		"person":  {tagged("person_name", nil), driver.Text, func(s string) bool { return strings.Count(s, " ") == 1 }},
		"email":   {tagged("email_address", nil), driver.Text, func(s string) bool { return strings.HasSuffix(s, "@example.com") }},
		"phone":   {tagged("phone_number", nil), driver.Text, func(s string) bool { return s[0] == '+' && len(s) >= 13 }},
		"country": {tagged("country_name", nil), driver.Text, func(s string) bool { return len(s) > 3 }},
	}
	for name, c := range check {
		g, err := genOf(c.value)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		if g.column.Type != c.typ || g.column.Bytes < 1 {
			t.Errorf("%s has the column %+v", name, g.column)
		}
		seen := map[string]bool{}
		var r load.Rand
		for i := range int64(2000) {
			r.Seek(1, 2, uint64(i))
			s := string(g.append(nil, &r, i))
			seen[s] = true
			if !c.ok(s) {
				t.Fatalf("%s gives %q", name, s)
			}
			r.Seek(1, 2, uint64(i))
			var a driver.Arg
			if g.arg(&a, &r, i); string(a.AppendText(nil)) != s {
				t.Fatalf("%s: as an argument %q, as a text %q", name, a.AppendText(nil), s)
			}
		}
		if len(seen) < 2 {
			t.Errorf("%s gives %d different values", name, len(seen))
		}
	}
	g, err := genOf(tagged("sequence", map[string]any{"first": int64(10)}))
	if err != nil || string(g.append(nil, nil, 5)) != "15" {
		t.Errorf("sequence: %v", err)
	}
}

// A choice takes its weights, a range its distribution: chi-square over 100,000 draws.
func TestGeneratorShares(t *testing.T) {
	const n = 100_000
	count := func(v map[string]any) map[string]int {
		g, err := genOf(v)
		if err != nil {
			t.Fatal(err)
		}
		out := map[string]int{}
		var r load.Rand
		for i := range uint64(n) {
			r.Seek(9, 0, i)
			out[string(g.append(nil, &r, 0))]++
		}
		return out
	}
	got := count(tagged("choice", map[string]any{"values": []any{"a", "b", "c"}, "weights": []any{int64(1), 2.5, int64(0)}}))
	want := map[string]float64{"a": 1 / 3.5 * n, "b": 2.5 / 3.5 * n}
	chi := 0.0
	for k, w := range want {
		chi += math.Pow(float64(got[k])-w, 2) / w
	}
	if chi > 10.8 || got["c"] != 0 { // p = 0.001 at one degree of freedom
		t.Errorf("%v: chi-square %.1f", got, chi)
	}
	uniform := count(randomInt(0, 9))
	chi = 0
	for i := range 10 {
		chi += math.Pow(float64(uniform[fmt.Sprint(i)])-n/10, 2) / (n / 10)
	}
	if chi > 27.9 {
		t.Errorf("%v: chi-square %.1f", uniform, chi)
	}
	skewed := randomInt(1, 1000)
	skewed["distribution"] = tagged("zipfian", map[string]any{"theta": 0.99})
	top := 0
	for _, c := range count(skewed) {
		top = max(top, c)
	}
	if share := float64(top) / n; math.Abs(share-0.129) > 0.01 {
		t.Errorf("the hottest of 1000 has %.3f of a zipfian", share)
	}
}

// noted is a session that keeps the statements it is given.
type noted struct {
	tracer
	lines []string
}

func newNoted(w load.Workload) *noted {
	n := &noted{}
	shape := w.Shape()
	n.tracer = tracer{shape: shape, statements: shape.Statements, line: func(s string) { n.lines = append(n.lines, strings.TrimSpace(s)) }}
	return n
}

// attempts runs an operation's program three times, as retries would, and gives the statements that each of them sent.
func attempts(t *testing.T, op *driver.Op, s driver.Session, lines *[]string) ([]string, driver.Reply) {
	t.Helper()
	var first []string
	var firstReply driver.Reply
	for i := range 3 {
		*lines = nil
		var reply driver.Reply
		if err := op.Program.Run(t.Context(), s, &reply); err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first, firstReply = *lines, reply
		} else if !slices.Equal(first, *lines) || reply.Rows != firstReply.Rows {
			t.Fatalf("a retry sends %q after %q, with %d rows after %d", *lines, first, reply.Rows, firstReply.Rows)
		}
	}
	return first, firstReply
}

// drawing makes one operation of a client after the other.
func drawing(w load.Workload) func() {
	g := w.Client(0)
	ack, _ := g.(load.Acker)
	var r load.Rand
	var op driver.Op
	i := uint64(0)
	return func() {
		r.Seek(1, 0, i)
		i++
		g.Next(&r, &op)
		if ack != nil {
			ack.Ack(&op, true)
		}
	}
}

func sqlWorkload(t *testing.T, p map[string]any) *sqlMix {
	t.Helper()
	return made[*sqlMix](t, "sql", p)
}

// A parameter that stands in several statements of an operation has one value there; a retry sends the same; the weights
// hold; a transaction has its BEGIN and COMMIT.
func TestSQLOperations(t *testing.T) {
	w := sqlWorkload(t, map[string]any{
		"statements": map[string]any{
			"look": "select v from t where id = :id -- :no",
			"move": tagged("transaction", map[string]any{"statements": []any{"update t set v = v - :d where id = :id;", "insert into l values (:id, ':x'::text, :d)"}}),
			"off":  "select 1",
		},
		"params": map[string]any{"id": randomInt(1, 1000), "d": randomInt(5, 9)}, "weights": map[string]any{"look": int64(3), "move": int64(1)},
	})
	n := newNoted(w)
	g := w.Client(0)
	var r load.Rand
	var op driver.Op
	count := map[string]int{}
	for i := range uint64(4000) {
		r.Seek(3, 0, i)
		g.Next(&r, &op)
		name := w.Shape().Ops[op.Type].Name
		count[name]++
		attempts(t, &op, n, &n.lines)
		if name == "look" {
			continue
		}
		var id, d, id2, d2 int
		_, err1 := fmt.Sscanf(n.lines[1], "update t set v = v - %d where id = %d", &d, &id)
		_, err2 := fmt.Sscanf(n.lines[2], "insert into l values (%d, ':x'::text, %d)", &id2, &d2)
		if err := errors.Join(err1, err2); err != nil || len(n.lines) != 4 || n.lines[0] != "BEGIN" || n.lines[3] != "COMMIT" || id != id2 || d != d2 || d < 5 || d > 9 {
			t.Fatalf("%q: %v", n.lines, err)
		}
	}
	if share := float64(count["look"]) / 4000; math.Abs(share-0.75) > 0.03 || count["off"] != 0 {
		t.Errorf("%v", count)
	}
}

func TestSQLPositional(t *testing.T) {
	w := sqlWorkload(t, map[string]any{"statements": "Select a ? b from \"x?\" where c = '?' and d = ? /* ? */", "params": []any{randomInt(1, 1), tagged("choice", map[string]any{"values": []any{"q"}})}})
	n := newNoted(w)
	var r load.Rand
	var op driver.Op
	g := w.Client(0)
	g.Next(&r, &op)
	var reply driver.Reply
	if err := op.Program.Run(t.Context(), n, &reply); err != nil || len(n.lines) != 1 || n.lines[0] != `Select a 1 b from "x?" where c = '?' and d = 'q' /* ? */` || w.ops[0].name != "select" {
		t.Errorf("%q, %v", n.lines, err)
	}
	if err := op.Program.Run(context.Background(), struct{ driver.Session }{}, &reply); err == nil || !strings.Contains(err.Error(), "no SQL") {
		t.Errorf("on a system without SQL: %v", err)
	}
}

// What a statement does decides whether the dataset is loaded again, or only emptied where nothing else is needed.
func TestSQLEffects(t *testing.T) {
	field := map[string]any{"v": randomInt(1, 5)}
	tables := map[string]any{"t": tagged("table", map[string]any{"rows": int64(10), "fields": field}), "log": tagged("table", map[string]any{"rows": int64(0), "fields": field})}
	only := map[string]any{"t": tables["t"]}
	for _, x := range []struct {
		sql                      string
		tables                   map[string]any
		modifies, resizes, trims bool
	}{
		{"select * from t", only, false, false, false},
		{"update t set v = 1", only, true, false, false},
		{"insert into t (v) values (1)", only, true, true, false},
		{"delete from t", only, true, true, false},
		{"with x as (select 1) delete from t", only, true, true, false},
		{"insert into log(v) values (1)", tables, true, true, true},
		{"INSERT INTO Log (v) select v from t", tables, true, true, true},
		{"insert into t (v) values (1)", tables, true, true, false},
		{"select 1", tables, false, false, true},
		{"insert into elsewhere values (1)", nil, true, false, false},
	} {
		w, err := resolve(t, "sql", map[string]any{"statements": x.sql, "tables": x.tables})
		if err != nil || w.Modifies != x.modifies || w.Resizes != x.resizes || w.Trims != x.trims {
			t.Errorf("%s: %+v, %v", x.sql, w, err)
		}
	}
}

func TestOwnBadInput(t *testing.T) {
	one := tagged("table", map[string]any{"rows": int64(1), "fields": map[string]any{"v": randomInt(1, 2)}})
	id := map[string]any{"id": randomInt(1, 2)}
	for _, x := range []struct {
		params      map[string]any
		where, want string
	}{
		{map[string]any{"statements": ""}, "statements", "empty"},
		{map[string]any{"statements": "select 1; select 2"}, "statements", "several statements"},
		{map[string]any{"statements": "select 'x"}, "statements", "quote is not closed"},
		{map[string]any{"statements": int64(1)}, "statements", "must be a text"},
		{map[string]any{"statements": map[string]any{}}, "statements", "must be a text"},
		{map[string]any{"statements": map[string]any{"a": int64(3)}}, "statements", "a must be a text"},
		{map[string]any{"statements": "select :ids", "params": id}, "statements", ":ids, which params doesn't have"},
		{map[string]any{"statements": "select ':id'", "params": id}, "statements", "within quotes"},
		{map[string]any{"statements": "select 1", "params": id}, "params", "no statement uses"},
		{map[string]any{"statements": "select :id", "params": map[string]any{"id": int64(5)}}, "params", "id must be a generator"},
		{map[string]any{"statements": "select :id", "params": map[string]any{"id": tagged("sequence", nil)}}, "params", "can't be a sequence"},
		{map[string]any{"statements": "select ?, ?", "params": []any{randomInt(1, 2)}}, "params", "are 1, but the statement has 2"},
		{map[string]any{"statements": "select 1", "params": int64(1)}, "params", "must be a dict"},
		{map[string]any{"statements": "select 1", "weights": map[string]any{"selekt": int64(1)}}, "weights", "no operation"},
		{map[string]any{"statements": "select 1", "weights": map[string]any{"select": int64(-1)}}, "weights", "weight is a number from 0"},
		{map[string]any{"statements": "select 1", "weights": map[string]any{"select": int64(0)}}, "weights", "no operation a weight above 0"},
		{map[string]any{"statements": "select 1", "tables": map[string]any{"x": int64(1)}}, "tables", "must be a table"},
		{map[string]any{"statements": "select 1", "tables": map[string]any{"X y": one}}, "tables", "lower-case"},
	} {
		_, err := resolve(t, "sql", x.params)
		var pe *spec.ParamError
		if !errors.As(err, &pe) || pe.Param != x.where || !strings.Contains(pe.Msg, x.want) {
			t.Errorf("%v: %v", x.params, err)
		}
	}
	for _, x := range []struct {
		params      map[string]any
		where, want string
	}{
		{map[string]any{"test": "oltp_read_write", "table_size": int64(1) << 30, "tables": int64(10000)}, "table_size", "more than 2^40"},
		{map[string]any{"test": "write_only", "index_updates": int64(0), "non_index_updates": int64(0), "delete_inserts": int64(0)}, "test", "no statement left"},
	} {
		_, err := resolve(t, "sysbench", x.params)
		var pe *spec.ParamError
		if !errors.As(err, &pe) || pe.Param != x.where || !strings.Contains(pe.Msg, x.want) {
			t.Errorf("%v: %v", x.params, err)
		}
	}
	for _, x := range []struct {
		value func() map[string]any
		want  string
	}{
		{func() map[string]any { return randomInt(2, 1) }, "at least low"},
		{func() map[string]any { return tagged("choice", map[string]any{"values": []any{}}) }, "are 0 for 0"},
		{func() map[string]any { return tagged("choice", map[string]any{"values": []any{"a", int64(1)}}) }, "numbers and texts"},
		{func() map[string]any { return tagged("choice", map[string]any{"values": []any{1.5}}) }, "whole numbers or texts"},
		{func() map[string]any {
			return tagged("choice", map[string]any{"values": []any{"a"}, "weights": []any{int64(0)}})
		}, "none above 0"},
		{func() map[string]any { return tagged("timestamp", map[string]any{"last": "1999-01-01"}) }, "before first"},
		{func() map[string]any {
			return tagged("table", map[string]any{"rows": int64(1), "fields": map[string]any{}})
		}, "names no field"},
		{func() map[string]any {
			return tagged("table", map[string]any{"rows": int64(1), "fields": map[string]any{"id": randomInt(1, 2)}})
		}, "key's name"},
		{func() map[string]any {
			return tagged("table", map[string]any{"rows": int64(1), "fields": map[string]any{"v": randomInt(1, 2)}, "indexes": []any{"w"}})
		}, "no field"},
		{func() map[string]any { return tagged("transaction", map[string]any{"statements": []any{int64(1)}}) }, "they are texts"},
	} {
		v := x.value()
		for _, k := range Values() {
			if k.Name == v["$"] {
				if err := k.Check(v); err == nil || !strings.Contains(err.Error(), x.want) {
					t.Errorf("%v: %v", v, err)
				}
			}
		}
	}
}

// The rows of typed tables don't depend on who asks for them or in which order, and different fields differ.
func TestTypedRows(t *testing.T) {
	w := sqlWorkload(t, map[string]any{"statements": "select 1", "tables": map[string]any{"t": tagged("table", map[string]any{"rows": int64(50),
		"fields": map[string]any{"a": randomInt(0, 1<<30), "b": randomInt(0, 1<<30), "c": tagged("person_name", nil), "n": tagged("sequence", nil)}})}})
	var forth []string
	var row driver.Row
	for i := range int64(50) {
		w.Row(0, i, &row)
		forth = append(forth, fmt.Sprintf("%s %s", row.Key, row.Values))
		if string(row.Values[0]) == string(row.Values[1]) || string(row.Values[3]) != fmt.Sprint(i+1) || string(row.Key) != fmt.Sprint(i+1) {
			t.Errorf("row %d: %s %s", i, row.Key, row.Values)
		}
	}
	for i := int64(49); i >= 0; i-- {
		var fresh driver.Row
		w.Row(0, i, &fresh)
		if got := fmt.Sprintf("%s %s", fresh.Key, fresh.Values); got != forth[i] {
			t.Errorf("row %d is %s, was %s", i, got, forth[i])
		}
	}
}

// A statement of one's own costs its generator and program no allocation.
func TestSQLAllocates(t *testing.T) {
	w := sqlWorkload(t, map[string]any{"statements": "select :id, :name", "params": map[string]any{"id": randomInt(1, 9), "name": tagged("person_name", nil)}})
	g := w.Client(0)
	s := &quiet{}
	var r load.Rand
	var op driver.Op
	var reply driver.Reply
	one := func() {
		r.Seek(1, 0, 1)
		g.Next(&r, &op)
		if err := op.Program.Run(context.Background(), s, &reply); err != nil {
			t.Fatal(err)
		}
	}
	one()
	if n := testing.AllocsPerRun(100, one); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// quiet is a session that does nothing.
type quiet struct{ tracer }

func (*quiet) Run(_ context.Context, _ int, _ []driver.Arg, res *driver.Result) error {
	res.Reset()
	return nil
}
