package cassandra

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"sextant/builtins/sidebyside"
	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// load writes a workload's dataset.
func loadDataset(t testing.TB, s *system, w load.Workload, fingerprint string) {
	t.Helper()
	if err := s.Load(t.Context(), w.Shape(), fingerprint, w); err != nil {
		t.Fatal(err)
	}
}

// stressTrial runs a workload for a count of operations and gives their outcomes.
func stressTrial(t testing.TB, s *system, w load.Workload, ops int64) *load.Result {
	t.Helper()
	res, err := load.Run(t.Context(), load.Config{Clients: 4, Operations: ops, Window: time.Minute, Interval: time.Second, Drain: time.Second, Workload: w,
		Open: func(ctx context.Context, _ int) (driver.Session, error) { return s.Session(ctx, spec.Level{}) }})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

// What is loaded is what reads expect, what a write writes too; other bytes are an error, a row that isn't there has no rows.
func TestStressReadsWhatWasWritten(t *testing.T) {
	s := local(t, map[string]any{})
	read := func() load.Workload {
		return sidebyside.Workload(t, "cassandra_stress", map[string]any{"command": "read", "records": int64(500), "population": "seq(1..500)", "column_bytes": "uniform(1..300)"})
	}
	write := sidebyside.Workload(t, "cassandra_stress", map[string]any{"command": "write", "records": int64(500), "column_bytes": "uniform(1..300)"})
	loadDataset(t, s, read(), "fp1")
	if res := stressTrial(t, s, read(), 500); res.Total(load.OK) != 500 || res.Total(load.NotFound) != 0 {
		t.Errorf("after loading %d of 500 reads are right", res.Total(load.OK))
	}
	if n := sidebyside.Rows(t, s, "SELECT count(*) FROM standard1")[0][0]; n != "500" {
		t.Errorf("%s rows", n)
	}
	shape := write.Shape()
	if err := s.Trim(t.Context(), shape); err != nil {
		t.Fatal(err)
	}
	if res := stressTrial(t, s, read(), 500); res.Total(load.OK) != 0 || res.Total(load.NotFound) != 500 {
		t.Errorf("in the emptied table %d reads are right, %d find nothing", res.Total(load.OK), res.Total(load.NotFound))
	}
	if res := stressTrial(t, s, write, 400); res.Total(load.OK) != 400 {
		t.Errorf("%d of 400 writes", res.Total(load.OK))
	}
	if _, err := s.Exec(t.Context(), `UPDATE standard1 SET "C3" = 0x00 WHERE key = 0x`+fmt.Sprintf("%x", keyOf(read(), 7)), nil); err != nil {
		t.Fatal(err)
	}
	res := stressTrial(t, s, read(), 500)
	if res.Total(load.OK) != 399 || res.Total(load.NotFound) != 100 || res.Total(load.OtherError) != 1 {
		t.Errorf("%d reads are right, %d find nothing, %d are wrong", res.Total(load.OK), res.Total(load.NotFound), res.Total(load.OtherError))
	}
}

func keyOf(w load.Workload, i int64) []byte {
	var row driver.Row
	w.Row(0, i, &row)
	return row.Key
}

// Counters are loaded with 1, and grow by what is added.
func TestStressCounters(t *testing.T) {
	s := local(t, map[string]any{})
	w := sidebyside.Workload(t, "cassandra_stress", map[string]any{"command": "mixed", "records": int64(50), "population": "seq(1..50)", "columns": int64(2), "add": "fixed(3)",
		"ratio": map[string]any{"counter_write": int64(1), "counter_read": int64(1)}})
	loadDataset(t, s, w, "fp1")
	res := stressTrial(t, s, w, 200)
	writes := res.Ops[0].Count[load.OK]
	if res.Total(load.OK) != 200 || writes == 0 || writes == 200 {
		t.Fatalf("%d operations, %d of them writes", res.Total(load.OK), writes)
	}
	rows := sidebyside.Rows(t, s, `SELECT "C0", "C1" FROM counter1`)
	var sum int64
	for _, r := range rows {
		n, _ := strconv.ParseInt(r[0], 10, 64)
		if sum += n; r[1] != r[0] {
			t.Errorf("counters %v", r)
		}
	}
	if len(rows) != 50 || sum != 50+3*writes {
		t.Errorf("%d counters add up to %d after %d additions of 3", len(rows), sum, writes)
	}
}

// stressTool runs cassandra-stress on the cluster, in the keyspace of s. It is no package of any registry: build it from Cassandra's source.
func stressTool(t testing.TB, s *system, args ...string) string {
	t.Helper()
	if _, err := exec.LookPath("cassandra-stress"); err != nil {
		t.Skip("SKIP: cassandra-stress is not installed")
	}
	if args[0] != "user" { // a profile names its own
		args = append(args, "-schema", "keyspace="+s.keyspace)
	}
	args = append(args, "-node", "127.0.0.1", "-port", "native="+strconv.Itoa(s.cfg.Port))
	if !slices.Contains(args, "-rate") {
		args = append(args, "-rate", "threads=4")
	}
	out, err := exec.CommandContext(t.Context(), "cassandra-stress", args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return string(out)
}

// prepared are the statements on the tool's tables that the node has prepared since their tables were made.
func prepared(t *testing.T, s *system) []string {
	t.Helper()
	var out []string
	for _, r := range sidebyside.Rows(t, s, "SELECT query_string FROM system.prepared_statements") {
		if regexp.MustCompile(`^(SELECT|UPDATE).* (standard1|counter1|"standard1"|"counter1") `).MatchString(r[0]) {
			out = append(out, r[0])
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// The tool's reads find in our table what they expect, ours in the tool's; and the statements are the same, letter for letter.
func TestStressAgainstTheTool(t *testing.T) {
	s := local(t, map[string]any{})
	for i, c := range []struct {
		params map[string]any
		tool   []string
	}{
		{map[string]any{}, nil},
		{map[string]any{"key_bytes": int64(24), "columns": int64(3), "column_bytes": "uniform(1..700)"}, []string{"keysize=24", "-col", "n=FIXED(3)", "size=UNIFORM(1..700)"}},
		{map[string]any{"key_bytes": int64(16), "columns": int64(2), "column_bytes": "gaussian(1..90)"}, []string{"keysize=16", "-col", "n=FIXED(2)", "size=gaussian(1..90)"}},
	} {
		w := func(command string, population any) load.Workload {
			p := map[string]any{"command": command, "records": int64(400), "population": population}
			for k, v := range c.params {
				p[k] = v
			}
			return sidebyside.Workload(t, "cassandra_stress", p)
		}
		loadDataset(t, s, w("read", nil), fmt.Sprint("fp", i))
		out := stressTool(t, s, append([]string{"read", "n=1000", "no-warmup"}, append(c.tool, "-pop", "seq=1..400")...)...)
		if !regexp.MustCompile(`Total errors +: +0 `).MatchString(out) || !regexp.MustCompile(`Total partitions +: +1,000 `).MatchString(out) {
			t.Errorf("the tool's reads of our table: %s", out)
		}
		if err := s.ddl(t.Context(), "TRUNCATE %s.standard1", s.keyspace); err != nil {
			t.Fatal(err)
		}
		stressTool(t, s, append([]string{"write", "n=400", "no-warmup"}, c.tool...)...)
		theirs := prepared(t, s)
		if res := stressTrial(t, s, w("read", "seq(1..400)"), 400); res.Total(load.OK) != 400 {
			t.Errorf("of our reads of the tool's table %d of 400 are right", res.Total(load.OK))
		}
		stressTrial(t, s, w("write", nil), 10)
		if both := prepared(t, s); len(theirs) != 2 || !slices.Equal(both, theirs) {
			t.Errorf("the tool's statements are\n%s, with ours they are\n%s", strings.Join(theirs, "\n"), strings.Join(both, "\n"))
		}
	}
	for _, command := range []string{"counter_write", "counter_read"} {
		loadDataset(t, s, sidebyside.Workload(t, "cassandra_stress", map[string]any{"command": "counter_read", "records": int64(10)}), command)
		stressTool(t, s, command, "n=10", "no-warmup")
		theirs := prepared(t, s)
		sidebyside.Operations(t, s, sidebyside.Workload(t, "cassandra_stress", map[string]any{"command": command, "records": int64(10)}), 10)
		if both := prepared(t, s); len(theirs) == 0 || !slices.Equal(both, theirs) {
			t.Errorf("the tool's statement is %v, with ours they are %v", theirs, both)
		}
	}
}

// Statements of one's own: values of every kind go there and come back as texts, null apart from empty; transactions are refused.
func TestStatements(t *testing.T) {
	s := local(t, map[string]any{})
	if _, err := s.Exec(t.Context(), "CREATE TABLE kinds (k text PRIMARY KEY, i int, b bigint, s smallint, y tinyint, d double, f float, o boolean, t text, bin blob, at timestamp)", nil); err != nil {
		t.Fatal(err)
	}
	x, err := s.Session(t.Context(), spec.Level{})
	if err != nil {
		t.Fatal(err)
	}
	st := func(texts ...string) driver.Statement { return driver.Statement{Parts: texts} }
	w := &driver.Workload{Statements: []driver.Statement{
		st("INSERT INTO kinds (k, i, b, s, y, d, f, o, t, bin, at) VALUES (", ", ", ", ", ", ", ", ", ", ", ", ", ", ", ", ", ", ", ", ", ")"),
		st("SELECT i, b, s, y, d, f, o, t, bin, at, k FROM kinds WHERE k = ", "")}}
	if err := x.Prepare(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	tx := x.(driver.Transactor)
	text := func(s string) driver.Arg { return driver.Arg{Kind: driver.TextArg, Text: []byte(s)} }
	num := func(n int64) driver.Arg { return driver.Arg{Kind: driver.IntArg, Int: n} }
	var res driver.Result
	args := []driver.Arg{text("a"), num(-5), num(1 << 40), num(-300), num(-7), {Kind: driver.FloatArg, Float: 0.25}, {Kind: driver.FloatArg, Float: -1.5}, {Kind: driver.BoolArg, Int: 1}, text(""), text("\x00x"), num(1_700_000_000_123)}
	if err := tx.Run(t.Context(), 0, args, &res); err != nil || res.Rows != 1 {
		t.Fatal(res, err)
	}
	nulls := make([]driver.Arg, len(args))
	nulls[0] = text("b")
	if err := tx.Run(t.Context(), 0, nulls, &res); err != nil {
		t.Fatal(err)
	}
	res.Keep = true
	if err := tx.Run(t.Context(), 1, []driver.Arg{text("a")}, &res); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, v := range res.Values {
		got = append(got, string(v))
	}
	if want := []string{"-5", "1099511627776", "-300", "-7", "0.25", "-1.5", "true", "", "\x00x", "1700000000123", "a"}; res.Rows != 1 || !slices.Equal(got, want) || res.Values[7] == nil {
		t.Errorf("%d rows, %q", res.Rows, got)
	}
	for i, want := range []driver.ArgKind{driver.IntArg, driver.IntArg, driver.IntArg, driver.IntArg, driver.FloatArg, driver.FloatArg, driver.BoolArg, driver.TextArg} {
		if res.Columns[i].Kind != want {
			t.Errorf("column %s is of kind %d", res.Columns[i].Name, res.Columns[i].Kind)
		}
	}
	if err := tx.Run(t.Context(), 1, []driver.Arg{text("b")}, &res); err != nil || res.Rows != 1 || slices.ContainsFunc(res.Values[:10], func(v []byte) bool { return v != nil }) {
		t.Errorf("nulls: %q, %v", res.Values, err)
	}
	if err := tx.Run(t.Context(), 1, []driver.Arg{text("none")}, &res); err != nil || res.Rows != 0 || len(res.Values) != 0 {
		t.Errorf("no row: %d, %v", res.Rows, err)
	}
	if _, err := tx.Add(t.Context(), st("BEGIN")); err == nil || tx.InTransaction() {
		t.Error("BEGIN is taken")
	}
	n, err := tx.Add(t.Context(), st("SELEC"))
	if err == nil {
		err = tx.Run(t.Context(), n, nil, &res)
	}
	if class, _ := driver.Classify(err); err == nil || class == driver.Connection {
		t.Errorf("a wrong statement: %v", err)
	}
}
