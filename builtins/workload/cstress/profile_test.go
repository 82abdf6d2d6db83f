package cstress

import (
	"encoding/hex"
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"sextant/interp/load"
)

var update = flag.Bool("update", false, "write the vectors anew, where the tool's own rows have been compared on a server")

func parsed(t *testing.T, text string) *Profile {
	t.Helper()
	p, err := ParseProfile(text)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func rowsOf(p *Profile, w *Walker, seed int64, v Visit) (out [][]string) {
	var r load.Rand
	r.Seek(1, 0, uint64(seed))
	w.Open(seed)
	w.Rows(v, &r, func(row [][]byte) bool {
		var line []string
		for _, b := range row {
			line = append(line, hex.EncodeToString(b))
		}
		out = append(out, line)
		return true
	})
	return out
}

// The rows are those that the tool has written: testdata/profiles.json holds partitions of profiles whose tables have been compared with the tool's on a
// server (builtins/cassandra, TestProfileAgainstTheTool).
func TestProfileVectors(t *testing.T) {
	type partition struct {
		Seed int64
		Rows [][]string
	}
	type vector struct {
		Profile    string
		Partitions []partition
	}
	const file = "testdata/profiles.json"
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var vectors []vector
	if err := json.Unmarshal(text, &vectors); err != nil {
		t.Fatal(err)
	}
	if len(vectors) < 3 {
		t.Fatalf("%d vectors", len(vectors))
	}
	for i, v := range vectors {
		p := parsed(t, v.Profile)
		w := p.Table.Walker()
		for j, x := range v.Partitions {
			got := rowsOf(p, w, x.Seed, Visit{Chance: 1, Populated: 1, Insert: true})
			if *update {
				vectors[i].Partitions[j].Rows = got
				continue
			}
			if len(x.Rows) == 0 || !slices.EqualFunc(got, x.Rows, slices.Equal) {
				t.Errorf("%s, seed %d: %v", p.Table.Name, x.Seed, got)
			}
		}
	}
	if *update {
		out, err := json.MarshalIndent(vectors, "", " ")
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, append(out, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

const twoLevels = `
keyspace: k
table: t
table_definition: CREATE TABLE t (k bigint, a int, b int, v text, w text, PRIMARY KEY (k, a, b))
columnspec:
  - {name: a, cluster: fixed(10)}
  - {name: b, cluster: uniform(1..4)}
  - {name: v, size: fixed(6)}
insert: {select: uniform(1..5)/10, row-population: fixed(1)/2}
queries:
  same: {cql: "select v from t where k = ? and a = ? and b = ?", fields: samerow}
  many: {cql: "SELECT v FROM t WHERE k = ? AND a >= ? AND a IN (?, ?)"}
  put: {cql: "INSERT INTO t (k, a, b, w) VALUES (?, ?, 5, ?)"}
`

// A share of the first clustering column's values is visited with all that is below it; one at the least. What a partition has doesn't depend on who asks.
func TestVisits(t *testing.T) {
	p := parsed(t, twoLevels)
	w, other := p.Table.Walker(), p.Table.Walker()
	visited, all := 0, 0
	for seed := int64(1); seed <= 2000; seed++ {
		whole := rowsOf(p, w, seed, Visit{Chance: 1, Populated: 1})
		some := rowsOf(p, other, seed, Visit{Chance: 0.3, Populated: 0.5})
		first := map[string]int{}
		for _, r := range whole {
			first[r[1]]++
		}
		if len(first) < 9 || len(some) == 0 { // drawn values may meet
			t.Fatalf("seed %d: %d values of a, %d rows visited", seed, len(first), len(some))
		}
		seen := map[string]int{}
		for _, r := range some {
			if !slices.ContainsFunc(whole, func(x []string) bool { return slices.Equal(x[:4], r[:4]) }) || r[3] == "" || r[4] != "" {
				t.Fatalf("seed %d: %v is none of its rows", seed, r)
			}
			seen[r[1]]++
		}
		for a, n := range seen {
			if n != first[a] {
				t.Fatalf("seed %d: %d of %d rows below a value", seed, n, first[a])
			}
		}
		visited, all = visited+len(seen), all+len(first)
	}
	// one at the least: 0.7^10 of the partitions have none by chance
	want := 0.3 + math.Pow(0.7, 10)/10
	if share := float64(visited) / float64(all); math.Abs(share-want) > 0.01 {
		t.Errorf("%.3f of the values are visited, want %.3f", share, want)
	}
	if !strings.Contains(fmt.Sprint(w.Chance(1)), "0.0") || w.Chance(1000) != 1 {
		t.Errorf("chances %v and %v", w.Chance(1), w.Chance(1000))
	}
	var r load.Rand
	var sum float64
	for i := range uint64(20000) {
		r.Seek(2, 0, i)
		v := p.Select.Draw(&r)
		if v < 0.1 || v > 0.5 {
			t.Fatalf("a ratio of %v", v)
		}
		sum += v
	}
	if mean := sum / 20000; math.Abs(mean-0.34) > 0.01 || p.Populate.Draw(&r) != 0.5 || p.Populate.One() { // fractions from 1 to 6, those above 5 cut to it
		t.Errorf("mean %v", mean)
	}
}

// Statements are cut at their parameters, each of which belongs to a column.
func TestProfileStatements(t *testing.T) {
	p := parsed(t, twoLevels)
	want := map[string][]int{"same": {0, 1, 2}, "many": {0, 1, 1, 1}, "put": {0, 1, 4}}
	for _, q := range p.Queries {
		if !slices.Equal(q.Args, want[q.Name]) || len(q.Parts) != len(q.Args)+1 || q.SameRow != (q.Name == "same") || q.Reads != (q.Name != "put") {
			t.Errorf("%+v", q)
		}
	}
	if got := strings.Join(p.Insert.Parts, "?"); got != "UPDATE t SET v = ?,w = ? WHERE k = ? AND a = ? AND b = ?" {
		t.Errorf("%s", got)
	}
	for def, want := range map[string]string{
		"CREATE TABLE ks.t (a int, b int, PRIMARY KEY ((a, b)))":                                    "INSERT INTO t (a, b) values(?, ?)",
		"create table if not exists t (a int primary key, n counter, \"X y\" text) with a = 'b;' ;": `UPDATE t SET n = n + ?,"X y" = ? WHERE a = ?`,
		"CREATE TABLE t (a int, s set<text> static, l frozen<list<int>>, PRIMARY KEY (a)); -- end":  "UPDATE t SET s = s + ?,l = ? WHERE a = ?",
	} {
		p := parsed(t, fmt.Sprintf("table: t\ntable_definition: %q\n", def))
		if got := strings.Join(p.Insert.Parts, "?"); got != want || strings.Contains(p.Table.Body, "ks") || strings.HasSuffix(p.Table.Body, ";") {
			t.Errorf("%s: %s; %s", def, got, p.Table.Body)
		}
	}
}

func TestBadProfiles(t *testing.T) {
	table := "table: t\ntable_definition: CREATE TABLE t (k int, a int, v text, PRIMARY KEY (k, a))\n"
	for text, want := range map[string]string{
		"":                       "EOF",
		"table: [":               "line",
		"table: t\n":             "no table_definition",
		"tabel: t\n":             "line 1: a profile has no tabel",
		"table: u\n" + table[9:]: "table_definition makes t",
		"table: t\ntable_definition: DROP TABLE t\n":                                          "no CREATE TABLE",
		"table: t\ntable_definition: CREATE TABLE t (k int\n":                                 "not closed",
		"table: t\ntable_definition: CREATE TABLE t (k int)\n":                                "no PRIMARY KEY",
		"table: t\ntable_definition: CREATE TABLE t (k int, PRIMARY KEY (j))\n":               "has j",
		"table: t\ntable_definition: CREATE TABLE t (k map<int,int> PRIMARY KEY)\n":           "map<int,int>",
		"table: t\ntable_definition: CREATE TABLE t (k adress PRIMARY KEY)\n":                 "of type adress",
		table + "columnspec: [{name: vv}]\n":                                                  "did you mean v?",
		table + "columnspec: [{name: v, sice: fixed(1)}]\n":                                   `"sice"`,
		table + "columnspec: [{name: v, size: fixd(1)}]\n":                                    "did you mean fixed?",
		table + "columnspec: [{name: v, size: exp(1..5)}]\n":                                  "not fixed, uniform or gaussian",
		table + "columnspec: [{name: v, cluster: fixed(2)}]\n":                                "orders no rows",
		table + "columnspec: [{name: a, cluster: fixed(100000)}]\n":                           "65535 at most",
		table + "insert: {select: fixed(1)}\n":                                                "no ratio",
		table + "insert: {select: fixed(1)/0}\n":                                              "above 0",
		table + "insert: {batchtype: FAST}\n":                                                 "UNLOGGED",
		table + "insert: {partition: fixed(1)}\n":                                             "none of partitions",
		table + "insert: {consistencyLevel: ONE}\n":                                           "by the experiment",
		table + "extra_definitions: [\"DROP TABLE t\"]\n":                                     "only CREATE INDEX",
		table + "keyspace: ks\nqueries: {q: {cql: 'select v from ks.t where k = ?'}}\n":       "leave it out",
		table + "queries: {q: {cql: 'select v from t where kk = ?'}}\n":                       "did you mean k?",
		table + "queries: {q: {cql: 'select v from t where k = ? limit ?'}}\n":                "number 2, of which can't be told",
		table + "queries: {q: {cql: 'select v from t where k = ?; select 1'}}\n":              "several statements",
		table + "queries: {q: {cql: 'select v from t where k = ?', fields: samrow}}\n":        "samrow",
		table + "queries: {q: {cql: 'select v from t where k = ?', consistencyLevel: ONE}}\n": "the experiment's",
		table + "queries: {insert: {cql: 'select v from t where k = ?'}}\n":                   "profile's insert",
		table + "queries: {q: {cqll: x}}\n":                                                   "has no cqll",
	} {
		if _, err := ParseProfile(text); err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "cstress") {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}
