package workload

import (
	"errors"
	"regexp"
	"strings"
	"testing"

	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

const testProfile = `
keyspace: ks
table: t
table_definition: CREATE TABLE t (k bigint, a int, v text, PRIMARY KEY (k, a))
columnspec:
  - {name: a, cluster: fixed(4)}
  - {name: v, size: fixed(6)}
insert: {partitions: fixed(2), batchtype: UNLOGGED}
queries:
  same: {cql: "select v from t where k = ? and a = ?", fields: samerow}
  many: {cql: "select v from t where k = ? and a >= ?"}
  clear: {cql: "delete from t where k = ? and a = ?"}
`

// where finds the row that a statement is about.
var where = regexp.MustCompile(`(?i)where k = '(.*)' and a >?= '(.*)'`)

func profileParamsOf(text string, ops map[string]any, more map[string]any) map[string]any {
	p := map[string]any{"file": map[string]any{"value": "p.yaml", "text": text}, "ops": ops, "records": int64(50)}
	for k, v := range more {
		p[k] = v
	}
	return p
}

// An insert writes its partitions' rows as one batch, the same again in another attempt; a query takes its arguments of one row, or each of some row of
// the partition.
func TestProfileOperations(t *testing.T) {
	w := made[*profile](t, "cassandra_profile", profileParamsOf(testProfile, map[string]any{"insert": int64(1), "same": int64(1), "many": int64(1)}, nil))
	rows := map[string]bool{} // "k a" of every row that is loaded
	keys := map[string]bool{}
	n := newNoted(w)
	fill := w.Fill(n)
	for i := range w.Rows(0) {
		n.lines = nil
		if err := fill(t.Context(), 0, i); err != nil {
			t.Fatal(err)
		}
		if len(n.lines) != 6 || n.lines[0] != "BEGIN UNLOGGED BATCH" || n.lines[5] != "APPLY BATCH" {
			t.Fatalf("%q", n.lines)
		}
		for _, l := range n.lines[1:5] {
			m := where.FindStringSubmatch(l)
			rows[m[1]+" "+m[2]], keys[m[1]] = true, true
		}
	}
	if len(rows) != 200 || len(keys) != 50 {
		t.Fatalf("%d rows of %d partitions", len(rows), len(keys))
	}
	g := w.Client(0)
	var r load.Rand
	var op driver.Op
	count, mixed := map[string]int{}, 0
	for i := range uint64(600) {
		r.Seek(5, 0, i)
		g.Next(&r, &op)
		first, _ := attempts(t, &op, n, &n.lines)
		name := w.Shape().Ops[op.Type].Name
		count[name]++
		if name == "insert" {
			if len(first) != 10 || first[0] != "BEGIN UNLOGGED BATCH" {
				t.Fatalf("%q", first)
			}
			continue
		}
		m := where.FindStringSubmatch(first[0])
		if len(first) != 1 || m == nil || !rows[m[1]+" "+m[2]] {
			t.Fatalf("%q is about no row", first)
		}
		if name == "many" {
			mixed++
		}
	}
	if count["insert"] < 100 || count["same"] < 100 || mixed < 100 {
		t.Errorf("%v", count)
	}
}

func TestProfileEffects(t *testing.T) {
	counters := strings.Replace(testProfile, "v text", "v counter", 1)
	gaps := strings.Replace(testProfile, "batchtype: UNLOGGED", "row-population: fixed(1)/2", 1)
	for _, x := range []struct {
		text                     string
		op                       string
		rows                     int64
		trims, resizes, modifies bool
	}{
		{testProfile, "same", 50, false, false, false}, {testProfile, "insert", 0, true, true, true}, {testProfile, "clear", 50, false, true, true},
		{testProfile, "same insert", 50, false, false, true}, {counters, "same insert", 50, false, true, true}, {gaps, "same insert", 50, false, true, true},
	} {
		ops := map[string]any{}
		for _, o := range strings.Fields(x.op) {
			ops[o] = int64(1)
		}
		w, err := resolve(t, "cassandra_profile", profileParamsOf(x.text, ops, nil))
		if err != nil || w.Dataset.Rows != x.rows || w.Trims != x.trims || w.Resizes != x.resizes || w.Modifies != x.modifies || w.Actions[0] != string(driver.CQL) {
			t.Errorf("%s: %+v, %v", x.op, w, err)
		}
	}
	for _, x := range []struct {
		ops, more  map[string]any
		where, msg string
	}{
		{map[string]any{"sme": int64(1)}, nil, "ops", "there are insert, clear, many, same"}, {map[string]any{"same": int64(0)}, nil, "ops", "above 0"},
		{map[string]any{"same": int64(1)}, map[string]any{"population": "uniform(1..51)"}, "population", "1 to 50"},
		{map[string]any{"same": int64(1)}, map[string]any{"clustering": "fixed(0)"}, "clustering", "from 1"},
		{map[string]any{"same": int64(1)}, map[string]any{"file": map[string]any{"value": "x.yaml", "text": "tabel: t"}}, "file", "x.yaml: line 1: a profile has no tabel"},
	} {
		_, err := resolve(t, "cassandra_profile", profileParamsOf(testProfile, x.ops, x.more))
		var pe *spec.ParamError
		if !errors.As(err, &pe) || pe.Param != x.where || !strings.Contains(pe.Msg, x.msg) {
			t.Errorf("%v, %v: %v", x.ops, x.more, err)
		}
	}
}
