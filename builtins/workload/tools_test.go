package workload

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"
	"testing"

	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// The mixes of the comparison in containers: 1 KB of people, three changed fields, UUIDs that the number of the record gives.
func TestDockerMixes(t *testing.T) {
	for name, want := range map[string]map[string]float64{"w1": {"insert": 1}, "w2": {"read": 1}, "w3": {"read": 0.9, "update": 0.1}, "w4": {"read": 0.5, "update": 0.5},
		"w5": {"read": 0.1, "update": 0.9}, "w6": {"update": 1}} {
		w, err := resolve(t, "mix", map[string]any{"mix": name})
		if err != nil || w.Dataset.Rows != 500_000 || w.Resizes != (name == "w1") {
			t.Fatalf("%s: %+v, %v", name, w, err)
		}
		l := build(t, "mix", map[string]any{"mix": name, "records": int64(1000)})
		var row driver.Row
		size, keys := 0, map[string]bool{}
		for i := range int64(1000) {
			l.Row(0, i, &row)
			keys[string(row.Key)] = true
			for _, v := range row.Values {
				size += len(v)
			}
		}
		if size /= 1000; size < 1000 || size > 1200 || len(keys) != 1000 || len(row.Key) != 36 || len(row.Values) != 11 {
			t.Errorf("%s: records of %d bytes, %d keys such as %s", name, size, len(keys), row.Key)
		}
		g := l.Client(0)
		var r load.Rand
		var op driver.Op
		count := map[string]float64{}
		for i := range uint64(10_000) {
			r.Seek(5, 0, i)
			g.Next(&r, &op)
			o := l.ops[op.Type]
			count[o.Name]++
			if o.Action == driver.Insert {
				g.(load.Acker).Ack(&op, true)
			} else if !keys[string(op.Key)] {
				t.Fatalf("%s takes the key %s", name, op.Key)
			}
			if o.Action == driver.Update && (len(op.Values) != 3 || l.table.Fields[op.Fields[0]].Name != "attr0" || !slices.Equal(op.Fields, o.Fields) || len(op.Values[2]) != 200) {
				t.Fatalf("%s changes %v of %v", name, op.Fields, o.Fields)
			}
		}
		for o, share := range want {
			if math.Abs(count[o]/10_000-share) > 0.015 {
				t.Errorf("%s: %v", name, count)
			}
		}
	}
}

// A property file gives what the core workload of that definition gives.
func TestYCSBFile(t *testing.T) {
	file := func(text string) map[string]any {
		return map[string]any{"file": map[string]any{"text": text, "value": "mine"}}
	}
	core := "# Workload A\nrecordcount=500\noperationcount=1000\nworkload=site.ycsb.workloads.CoreWorkload\n\nreadallfields=true\nreadproportion=0.5\nupdateproportion=0.5\nscanproportion=0\ninsertproportion=0\nrequestdistribution=zipfian\n"
	a, b := build(t, "ycsb_file", file(core)), build(t, "ycsb", map[string]any{"workload": "a", "records": int64(500)})
	ga, gb := a.Client(3), b.Client(3)
	var ra, rb load.Rand
	var oa, ob driver.Op
	for i := range uint64(2000) {
		ra.Seek(1, 3, i)
		rb.Seek(1, 3, i)
		ga.Next(&ra, &oa)
		gb.Next(&rb, &ob)
		if oa.Type != ob.Type || string(oa.Key) != string(ob.Key) || fmt.Sprintf("%s", oa.Values) != fmt.Sprintf("%s", ob.Values) {
			t.Fatalf("operation %d: %v %s, workload a does %v %s", i, oa.Type, oa.Key, ob.Type, ob.Key)
		}
	}
	few := file(core)
	few["records"] = int64(7)
	if w, err := resolve(t, "ycsb_file", few); err != nil || w.Dataset.Rows != 7 {
		t.Errorf("%+v, %v", w, err)
	}
	for text, want := range map[string]string{
		core + "requestdistributon=zipfian\n":           "mine, line 12: unknown property \"requestdistributon\"; did you mean requestdistribution?",
		core + "readallfields=false\n":                  "mine, line 12: readallfields=false is not supported",
		core + "requestdistribution=pareto\n":           "line 12: requestdistribution \"pareto\" is not known",
		core + "recordcount=many\n":                     "line 12: recordcount must be a whole number",
		core + "recordcount\n":                          "line 12: \"recordcount\" is no property",
		core + "fieldlength=0\n":                        "line 12: fieldlength must be",
		core + "readproportion=0\nupdateproportion=0\n": "no proportion is above 0",
		core + "table=My Table\n":                       "no plain lower-case name",
		"readproportion=1\n":                            "recordcount must be a whole number from 1",
		core + "updateproportion=-1\n":                  "updateproportion must be a number from 0",
	} {
		if _, err := resolve(t, "ycsb_file", file(text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v", want, err)
		}
	}
}

// Records with generators for fields: the values are theirs, also those of inserts and updates.
func TestRecordsWithGenerators(t *testing.T) {
	p := map[string]any{"records": int64(100), "mix": map[string]any{"update": int64(1), "insert": int64(1)},
		"fields": map[string]any{"age": randomInt(18, 20), "kind": tagged("choice", map[string]any{"values": []any{"a", "b"}})}}
	l := build(t, "records", p)
	ok := func(f int, v []byte) bool {
		if l.table.Fields[f].Name == "age" {
			return len(v) == 2 && string(v) >= "18" && string(v) <= "20"
		}
		return string(v) == "a" || string(v) == "b"
	}
	var row driver.Row
	l.Row(0, 5, &row)
	if len(row.Values) != 2 || !ok(0, row.Values[0]) || !ok(1, row.Values[1]) {
		t.Errorf("%q", row.Values)
	}
	g := l.Client(0)
	var r load.Rand
	var op driver.Op
	for i := range uint64(200) {
		r.Seek(1, 0, i)
		g.Next(&r, &op)
		for k, v := range op.Values {
			f := k
			if op.Fields != nil {
				f = op.Fields[k]
			}
			if !ok(f, v) {
				t.Fatalf("%s %v: %q", l.ops[op.Type].Name, op.Fields, op.Values)
			}
		}
	}
	other := maps.Clone(p)
	other["fields"] = map[string]any{"age": randomInt(18, 21), "kind": p["fields"].(map[string]any)["kind"]}
	a, err := resolve(t, "records", p)
	b, err2 := resolve(t, "records", other)
	if err != nil || err2 != nil || spec.CanonicalString(a.Dataset.Schema) == spec.CanonicalString(b.Dataset.Schema) {
		t.Errorf("other values make the same dataset: %v, %v", err, err2)
	}
	for _, bad := range []map[string]any{{"fields": int64(0)}, {"fields": "x"}, {"field_bytes": map[string]any{"a": int64(1)}}, {"fields": map[string]any{"id": randomInt(1, 2)}}} {
		q := maps.Clone(p)
		maps.Copy(q, bad)
		if _, err := resolve(t, "records", q); err == nil {
			t.Errorf("%v was taken", bad)
		}
	}
}

// An event of sysbench allocates nothing, and in a table of one row there is only id 1.
func TestSysbenchEvents(t *testing.T) {
	for _, d := range sysDistributions() {
		w, err := resolve(t, "sysbench", map[string]any{"test": "read_write", "distribution": d, "table_size": int64(1), "tables": int64(2)})
		if err != nil {
			t.Fatal(err)
		}
		l, err := New(w, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		n := newNoted(l)
		g := l.Client(0)
		var r load.Rand
		var op driver.Op
		var reply driver.Reply
		one := func(s driver.Session) func() {
			return func() {
				g.Next(&r, &op)
				if err := op.Program.Run(context.Background(), s, &reply); err != nil {
					t.Fatal(err)
				}
				r.Uint64()
			}
		}
		one(n)()
		if len(n.lines) != 20 || !strings.HasSuffix(n.lines[1], " WHERE id=1") || !strings.HasSuffix(n.lines[11], " BETWEEN 1 AND 100") || !strings.Contains(n.lines[18], "VALUES (1, 1, ") {
			t.Errorf("%s: %q", d, n.lines)
		}
		// an event that an error has ended leaves nothing behind for the next one
		g.Next(&r, &op)
		if err := op.Program.Run(t.Context(), &failing{at: 13}, &reply); err == nil {
			t.Fatal("no error")
		}
		n.lines = nil
		one(n)()
		if len(n.lines) != 20 {
			t.Errorf("%s, after an error: %q", d, n.lines)
		}
		if a := testing.AllocsPerRun(100, one(&quiet{})); a > 0 {
			t.Errorf("%s: %v allocations", d, a)
		}
	}
}

// failing is a session whose statement number at fails.
type failing struct {
	quiet
	at int
}

func (f *failing) Run(ctx context.Context, n int, args []driver.Arg, res *driver.Result) error {
	if f.at--; f.at < 0 {
		return context.DeadlineExceeded
	}
	return f.quiet.Run(ctx, n, args, res)
}

// redis-benchmark's tests: what is wrong is named; weights hold; what a test takes is there and differs; nothing is allocated.
func TestRedisWorkload(t *testing.T) {
	for _, x := range []struct {
		tests any
		want  string
	}{{"sett", `name "sett"`}, {[]any{"set", int64(1)}, `name ""`}, {map[string]any{"set": int64(-1)}, "the weight -1"}, {map[string]any{"set": int64(0)}, "none a weight above 0"}, {int64(3), "must be a test's name"}} {
		if _, err := resolve(t, "redis", map[string]any{"tests": x.tests}); err == nil || !strings.Contains(err.Error(), x.want) {
			t.Errorf("%v: %v", x.tests, err)
		}
	}
	w, err := resolve(t, "redis", map[string]any{"tests": map[string]any{"set": int64(1), "get": int64(3), "spop": int64(1)}, "keyspace": int64(50), "elements": int64(200)})
	if err != nil || !w.Pipelines || !w.Resizes || !w.Modifies || w.Dataset.Rows != 250 {
		t.Fatalf("%+v, %v", w, err)
	}
	if only, err := resolve(t, "redis", map[string]any{"tests": "get"}); err != nil || only.Resizes || only.Modifies || only.Dataset.Rows != 1 {
		t.Errorf("%+v, %v", only, err)
	}
	l, err := New(w, 1, nil)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	var row driver.Row
	for table, x := range l.Shape().Tables {
		for i := range x.Rows {
			l.Row(table, i, &row)
			id := x.Store + " " + string(row.Key)
			if x.Store == "set" {
				id = x.Store + " " + string(row.Values[0])
			}
			seen[id] = true
		}
	}
	if len(seen) != 250 || !seen["string 000000000049"] || !seen["set element:000000000199"] {
		t.Errorf("%d different rows", len(seen))
	}
	g := l.Client(0)
	var r load.Rand
	var op driver.Op
	count := map[string]float64{}
	next := func() {
		g.Next(&r, &op)
		r.Uint64()
	}
	for range 10_000 {
		next()
		count[l.Shape().Ops[op.Type].Name]++
		if name := string(op.Values[0]); name == "GET" && !seen["string "+strings.TrimPrefix(string(op.Values[1]), "key:")] {
			t.Fatalf("GET takes %s", op.Values[1])
		}
	}
	if math.Abs(count["get"]-6000) > 250 || math.Abs(count["set"]-2000) > 200 {
		t.Errorf("%v", count)
	}
	if a := testing.AllocsPerRun(100, next); a > 0 {
		t.Errorf("%v allocations", a)
	}
}

// A command's frame is its words in Redis' protocol, whatever numbers were drawn into them.
func TestRedisFrames(t *testing.T) {
	for _, keyspace := range []int64{0, 1000} {
		w := made[*redis](t, "redis", map[string]any{"tests": []any{"set", "mset", "zadd", "hset", "lrange_100", "ping"}, "keyspace": keyspace})
		g := w.Client(3)
		var r load.Rand
		var op driver.Op
		seen := map[string]bool{}
		for i := range uint64(500) {
			r.Seek(1, 0, i)
			g.Next(&r, &op)
			want := fmt.Sprintf("*%d\r\n", len(op.Values))
			for _, word := range op.Values {
				want += fmt.Sprintf("$%d\r\n%s\r\n", len(word), word)
			}
			if string(op.Frame) != want {
				t.Fatalf("%q, want %q", op.Frame, want)
			}
			if len(op.Values) > 1 && !bytes.Equal(op.Key, op.Values[1]) {
				t.Fatalf("key %s of %q", op.Key, op.Frame)
			}
			seen[want] = true
		}
		if keyspace > 0 && len(seen) < 100 || keyspace == 0 && len(seen) != 6 {
			t.Errorf("%d different commands in a keyspace of %d", len(seen), keyspace)
		}
	}
	g := made[*redis](t, "redis", map[string]any{"tests": "ping_inline"}).Client(0)
	var op driver.Op
	if g.Next(new(load.Rand), &op); string(op.Frame) != "PING\r\n" {
		t.Errorf("%q", op.Frame)
	}
}

// A script that sleeps says so: its clients can't share a thread.
func TestPgbenchSaysThatItSleeps(t *testing.T) {
	file := func(text string) map[string]any { return map[string]any{"text": text, "value": int64(1)} }
	w := made[*pgbench](t, "pgbench", map[string]any{"scripts": map[string]any{"a.sql": file("\\sleep 1 ms\nSELECT 1;"), "b.sql": file("SELECT 1;")}})
	for _, o := range w.Shape().Ops {
		if o.Sleeps != (o.Name == "a.sql") {
			t.Errorf("%s sleeps: %v", o.Name, o.Sleeps)
		}
	}
}
