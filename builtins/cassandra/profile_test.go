package cassandra

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sextant/builtins/sidebyside"
	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// everyType is a profile whose table has every type that the tool makes values of but collections, whose sizes it draws at random.
const everyType = `
keyspace: %s
table: typestest
table_definition: |
  CREATE TABLE typestest ( -- every type
        name text, choice boolean, date timestamp, address inet, dbl double, lval bigint, ival int, uid timeuuid,
        value blob, fval float, dec decimal, big varint, small smallint, tiny tinyint, u uuid, day date, word ascii, "Odd" int,
        PRIMARY KEY((name, choice), date, address, dbl, lval, ival, uid)
  ) WITH CLUSTERING ORDER BY (date DESC) AND compaction = { 'class':'LeveledCompactionStrategy' }
columnspec:
  - name: name
    size: uniform(1..10)
    population: uniform(1..10000000)
  - name: date
    cluster: uniform(2..7)
  - name: lval
    population: gaussian(1..1000)
    cluster: uniform(1..4)
  - name: ival
    population: ~uniform(-500..1000)
  - name: dec
    population: uniform(-5..100000000000)
  - name: big
    population: uniform(-70000..70000)
  - name: value
    size: gaussian(1..300)
  - name: day
    population: uniform(1..100000)
  - name: word
    size: fixed(3)
insert:
  partitions: fixed(1)
  batchtype: UNLOGGED
  select: fixed(1)/1
queries:
   simple1:
      cql: select * from typestest where name = ? and choice = ? LIMIT 100
      fields: samerow
   range1:
      cql: select * from typestest where name = ? and choice = ? and date >= ? LIMIT 100
      fields: multirow
`

func profileWorkload(t *testing.T, text string, params map[string]any) load.Workload {
	t.Helper()
	p := map[string]any{"file": map[string]any{"value": "p.yaml", "text": text}}
	for k, v := range params {
		p[k] = v
	}
	return sidebyside.Workload(t, "cassandra_profile", p)
}

func allRows(t *testing.T, s *system, table string) []string {
	t.Helper()
	var out []string
	for _, r := range sidebyside.Rows(t, s, "SELECT JSON * FROM "+table) {
		out = append(out, r[0])
	}
	slices.Sort(out)
	return out
}

// wide has two clustering columns, of which the tool's inserts get to every row.
const wide = `
keyspace: %s
table: wide
table_definition: CREATE TABLE wide (k int, a timestamp, b text, v double, PRIMARY KEY (k, a, b))
columnspec:
  - {name: a, cluster: uniform(1..6)}
  - {name: b, cluster: gaussian(1..5), population: uniform(1..1000000)}
insert: {partitions: uniform(1..3), batchtype: UNLOGGED, select: uniform(1..10)/10}
queries:
  q: {cql: "select * from wide where k = ?", fields: samerow}
  range: {cql: "select * from wide where k = ? and a >= ? order by a limit 7"}
`

// single has a row a partition.
const single = `
keyspace: %s
table: single
table_definition: CREATE TABLE IF NOT EXISTS single (k blob PRIMARY KEY, v text)
queries: {q: {cql: "select * from single where k = ?"}}
`

// sameRows loads a profile's table, then has the tool insert its rows, and compares the two.
func sameRows(t *testing.T, s *system, table, text string, least int) (file string, theirs []string) {
	t.Helper()
	q := map[string]any{"q": int64(1)}
	if table == "typestest" {
		q = map[string]any{"simple1": int64(1)}
	}
	read := profileWorkload(t, text, map[string]any{"ops": q, "records": int64(100)})
	loadDataset(t, s, read, "fp1")
	ours := allRows(t, s, table)
	file = filepath.Join(t.TempDir(), "p.yaml")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := s.ddl(t.Context(), "DROP TABLE %s.%s", s.keyspace, table); err != nil {
		t.Fatal(err)
	}
	stressTool(t, s, "user", "profile="+file, "ops(insert=1)", "n=100", "no-warmup", "-pop", "seq=1..100", "-insert", "partitions=fixed(1)", "select-ratio=fixed(1)/1")
	theirs = allRows(t, s, table)
	if len(theirs) < least || !slices.Equal(ours, theirs) {
		t.Errorf("the tool's %d rows are not our %d of %s", len(theirs), len(ours), table)
		for i := range min(3, len(ours), len(theirs)) {
			t.Errorf("ours  %s\ntheirs %s", ours[i], theirs[i])
		}
	}
	return file, theirs
}

// What is loaded is what the tool inserts, row for row; its statements are the same, letter for letter but for the order of the columns that are set,
// which the tool doesn't fix.
func TestProfileAgainstTheTool(t *testing.T) {
	s := local(t, map[string]any{})
	sameRows(t, s, "wide", fmt.Sprintf(wide, s.keyspace), 200)
	sameRows(t, s, "single", fmt.Sprintf(single, s.keyspace), 100)
	text := fmt.Sprintf(everyType, s.keyspace)
	file, theirs := sameRows(t, s, "typestest", text, 100)
	insert := func() (out []string) {
		for _, r := range sidebyside.Rows(t, s, "SELECT query_string FROM system.prepared_statements") {
			if q := r[0]; strings.HasPrefix(q, "UPDATE typestest SET ") {
				set, where, _ := strings.Cut(strings.TrimPrefix(q, "UPDATE typestest SET "), " WHERE ")
				names, keys := strings.Split(set, ","), strings.Split(where, " AND ")
				slices.Sort(names)
				slices.Sort(keys)
				out = append(out, strings.Join(names, ",")+" WHERE "+strings.Join(keys, " AND "))
			}
		}
		slices.Sort(out)
		return slices.Compact(out)
	}
	before := insert()
	stressTrial(t, s, profileWorkload(t, text, map[string]any{"ops": map[string]any{"insert": int64(1)}, "records": int64(100)}), 100)
	if after := insert(); len(before) != 1 || !slices.Equal(before, after) {
		t.Errorf("the tool's insert is\n%s\nwith ours they are\n%s", strings.Join(before, "\n"), strings.Join(after, "\n"))
	}
	if again := allRows(t, s, "typestest"); !slices.Equal(again, theirs) {
		t.Errorf("our inserts of the same partitions leave %d rows", len(again))
	}
	stressTool(t, s, "user", "profile="+file, "ops(simple1=1,range1=1)", "n=200", "no-warmup", "-pop", "dist=uniform(1..100)")
}

// A profile is loaded, counted by its partitions, read and written, in batches of each kind; what reads take is there.
func TestProfile(t *testing.T) {
	s := local(t, map[string]any{})
	text := fmt.Sprintf(wide, s.keyspace)
	w := profileWorkload(t, text, map[string]any{"ops": map[string]any{"q": int64(1), "range": int64(1), "insert": int64(1)}, "records": int64(40)})
	loadDataset(t, s, w, "fp1")
	st, err := s.Inspect(t.Context(), w.Shape())
	if err != nil || st.Fingerprint != "fp1" || st.Rows[0] != 40 {
		t.Fatalf("%+v, %v", st, err)
	}
	rows := allRows(t, s, "wide")
	if len(rows) < 3*40 {
		t.Errorf("%d rows", len(rows))
	}
	res := stressTrial(t, s, w, 600)
	if res.Total(load.OK) != 600 {
		t.Errorf("%d of 600 operations: %+v", res.Total(load.OK), res.Errors)
	}
	for _, o := range res.Ops {
		if o.Count[load.OK] < 50 {
			t.Errorf("%d times %s", o.Count[load.OK], o.Name)
		}
	}
	if again := allRows(t, s, "wide"); !slices.Equal(rows, again) {
		t.Errorf("inserts of partitions that are there leave %d rows of %d", len(again), len(rows))
	}
	// every read finds rows of its own partition: all that it asks for is there
	x, err := s.Session(t.Context(), spec.Level{})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Prepare(t.Context(), w.Shape()); err != nil {
		t.Fatal(err)
	}
	g := w.Client(1)
	var op driver.Op
	for i := range uint64(100) {
		var r load.Rand
		r.Seek(3, 0, i)
		g.Next(&r, &op)
		var reply driver.Reply
		if err := op.Program.Run(t.Context(), x, &reply); err != nil || reply.Rows == 0 {
			t.Fatalf("%s: %+v, %v", w.Shape().Ops[op.Type].Name, reply, err)
		}
	}
	for _, kind := range []string{"LOGGED", "COUNTER"} {
		counters := fmt.Sprintf(`
keyspace: %s
table: counttest
table_definition: "CREATE TABLE counttest (k int, c int, n counter, PRIMARY KEY (k, c))"
extra_definitions: []
columnspec:
  - {name: c, cluster: fixed(3), population: uniform(1..1000000)}
  - {name: n, population: fixed(2)}
insert: {batchtype: %s}
queries: {all: {cql: "select n from counttest where k = ?"}}
`, s.keyspace, kind)
		c := profileWorkload(t, counters, map[string]any{"ops": map[string]any{"insert": int64(1)}, "records": int64(30)})
		if err := s.Load(t.Context(), c.Shape(), "fp"+kind, c); err != nil {
			t.Fatal(err)
		}
		res := stressTrial(t, s, c, 30)
		if kind == "LOGGED" { // Cassandra has no logged batches of counters
			if res.Total(load.OK) != 0 || len(res.Errors) != 1 {
				t.Errorf("%s: %d of counters succeed: %+v", kind, res.Total(load.OK), res.Errors)
			}
			continue
		}
		if got := sidebyside.Rows(t, s, "SELECT count(*), sum(n) FROM counttest")[0]; res.Total(load.OK) != 30 || got[0] != "90" || got[1] != "180" {
			t.Errorf("%s: %d succeed, %v", kind, res.Total(load.OK), got)
		}
	}
}

// Sets and lists are made, an index is.
func TestProfileCollections(t *testing.T) {
	s := local(t, map[string]any{})
	text := `
keyspace: x
table: bags
table_definition: |
  CREATE TABLE bags (k bigint PRIMARY KEY, tags set<text>, marks list<int>, fixed frozen<set<int>>, owner text);
extra_definitions:
  - CREATE INDEX owners ON bags (owner);
columnspec:
  - {name: tags, size: uniform(1..4)}
  - {name: owner, population: uniform(1..3), size: fixed(5)}
queries:
  byowner: {cql: "select k from bags where owner = ?", fields: samerow}
`
	w := profileWorkload(t, text, map[string]any{"ops": map[string]any{"byowner": int64(1), "insert": int64(1)}, "records": int64(30)})
	loadDataset(t, s, w, "fp1")
	for _, r := range sidebyside.Rows(t, s, "SELECT JSON tags, marks, fixed, owner FROM bags") {
		if strings.Contains(r[0], "null") || strings.Contains(r[0], "[]") {
			t.Errorf("%s", r[0])
		}
	}
	if n := len(sidebyside.Rows(t, s, "SELECT k FROM bags")); n != 30 {
		t.Errorf("%d rows", n)
	}
	res := stressTrial(t, s, w, 100)
	if res.Total(load.OK) != 100 {
		t.Errorf("%d of 100: %+v", res.Total(load.OK), res.Errors)
	}
}
