package redis

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sextant/builtins/sidebyside"
	"sextant/interp/driver"
	"sextant/interp/driver/drivertest"
	"sextant/interp/load"
	"sextant/interp/spec"
)

func several(t *testing.T, options map[string]any) *system {
	t.Helper()
	need(t)
	options["settings"] = map[string]any{}
	return drivertest.Local(t, Driver(), options).(*system)
}

// trialOf runs a workload at a level for a count of operations.
func trialOf(t *testing.T, s *system, text string, w load.Workload, clients, pipeline int, ops int64) *load.Result {
	t.Helper()
	l := drivertest.Level(t, Driver(), text)
	res, err := load.Run(t.Context(), load.Config{Clients: clients, Pipeline: pipeline, Operations: ops, Window: time.Minute, Interval: time.Second, Drain: time.Second, Workload: w,
		Open: func(ctx context.Context, _ int) (driver.Session, error) {
			x, err := s.Session(ctx, l)
			if err == nil && text != "" && text != "default" {
				var got string
				if got, err = x.Level(ctx, l); got != l.String() {
					err = fmt.Errorf("the level is %q, asked was %q: %w", got, l, err)
				}
			}
			return x, err
		}})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func records(t *testing.T, mix map[string]any) load.Workload {
	t.Helper()
	return sidebyside.Workload(t, "records", map[string]any{"records": int64(300), "mix": mix})
}

func loaded(t *testing.T, s *system, w load.Workload) {
	t.Helper()
	if err := s.Load(t.Context(), w.Shape(), "fp", w); err != nil {
		t.Fatal(err)
	}
	if st, err := s.Inspect(t.Context(), w.Shape()); err != nil || !st.Ours || st.Fingerprint != "fp" || st.Rows[0] != w.Rows(0) {
		t.Fatalf("after loading: %+v, %v", st, err)
	}
}

// A primary with two replicas, one of them stopped: WAIT 2 counts what is missing each time, WAIT 1 nothing.
func TestWaitWithAStoppedReplica(t *testing.T) {
	s := several(t, map[string]any{"replicas": int64(2)})
	w := records(t, map[string]any{"update": int64(1)})
	loaded(t, s, w)
	if res := trialOf(t, s, "wait=2", w, 2, 1, 50); res.Total(load.OK) != 50 {
		t.Fatalf("with both replicas: %d of 50, %+v", res.Total(load.OK), res.Errors)
	}
	if err := s.CheckLevel(t.Context(), drivertest.Level(t, Driver(), "wait=3")); !errors.As(err, new(*driver.LevelRefused)) {
		t.Errorf("WAIT 3 with two replicas: %v", err)
	}
	drivertest.Stop(t, s.local.nodes[2].proc.PID())
	if res := trialOf(t, s, "wait=1", w, 2, 1, 50); res.Total(load.OK) != 50 {
		t.Errorf("WAIT 1 with one replica: %d of 50, %+v", res.Total(load.OK), res.Errors)
	}
	res := trialOf(t, s, "wait=2", w, 2, 1, 4)
	if res.Total(load.OK) != 0 || res.Total(load.TimedOut) != 4 || len(res.Errors) != 1 || res.Errors[0].Code != "WAIT 1 of 2" || res.Errors[0].Count != 4 {
		t.Errorf("WAIT 2 with one replica: %d of 4 are successes, %+v", res.Total(load.OK), res.Errors)
	}
}

// Reads at read=replica are done by the replicas, each client's by another one, and writes by the primary.
func TestReadsFromReplicas(t *testing.T) {
	s := several(t, map[string]any{"replicas": int64(2)})
	w := records(t, map[string]any{"read": int64(1), "update": int64(1)})
	loaded(t, s, w)
	calls := func(node int, command string) (n int) {
		x, err := s.connect(t.Context(), s.local.addr(node))
		if err != nil {
			t.Fatal(err)
		}
		defer x.conn.Close() //nolint:errcheck // it was only read from
		line, err := info(x, "commandstats", "cmdstat_"+command)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = fmt.Sscanf(line, "calls=%d,", &n)
		return n
	}
	if res := trialOf(t, s, "wait=2+read=replica", w, 2, 1, 400); res.Total(load.OK) != 400 {
		t.Fatalf("%d of 400, %+v", res.Total(load.OK), res.Errors)
	}
	if p, a, b := calls(0, "hgetall"), calls(1, "hgetall"), calls(2, "hgetall"); p != 0 || a == 0 || b == 0 || a+b < 150 {
		t.Errorf("the primary did %d reads, the replicas %d and %d", p, a, b)
	}
	trialOf(t, s, "read=primary", w, 2, 1, 100)
	if calls(0, "hgetall") == 0 {
		t.Error("at read=primary the primary did no reads")
	}
	counters, err := s.Counters(t.Context())
	if err != nil || !slices.ContainsFunc(counters, func(c driver.Counter) bool { return c.Name == "replication.replica1.behind_bytes" }) {
		t.Errorf("no counter of how far a replica is behind: %v", err)
	}
	alone := local(t, nil)
	if err := alone.CheckLevel(t.Context(), drivertest.Level(t, Driver(), "read=replica")); !errors.As(err, new(*driver.LevelRefused)) {
		t.Errorf("read=replica without one: %v", err)
	}
}

// The specification's vector, and its hash tags.
func TestSlots(t *testing.T) {
	if got := slot([]byte("123456789")); got != 0x31c3%slots {
		t.Errorf("slot %d", got)
	}
	for a, b := range map[string]string{"{user1000}.following": "user1000", "foo{bar}{zap}": "bar", "foo{{bar}}zap": "{bar", "foo{}{bar}": "foo{}{bar}", "foo{bar": "foo{bar"} {
		want := 0
		var crc uint16
		for _, c := range []byte(b) {
			crc = crc<<8 ^ crcTable[byte(crc>>8)^c]
		}
		want = int(crc) % slots
		if got := slot([]byte(a)); got != want {
			t.Errorf("%s: slot %d, want that of %s, %d", a, got, b, want)
		}
	}
}

// A cluster: records and commands go to the node that has their key, alone and in batches.
func TestCluster(t *testing.T) {
	s := several(t, map[string]any{"cluster": int64(3)})
	w := records(t, map[string]any{"read": int64(2), "update": int64(1), "insert": int64(1), "delete": int64(1)})
	loaded(t, s, w)
	for i := range 3 {
		x, err := s.connect(t.Context(), s.local.addr(i))
		if err != nil {
			t.Fatal(err)
		}
		if v, err := x.call("DBSIZE"); err != nil || v.(int64) < 60 {
			t.Errorf("node %d has %v of 300 records, %v", i, v, err)
		}
		_ = x.conn.Close()
	}
	// a read may meet a record that another client deletes
	if res := trialOf(t, s, "appendfsync=always", w, 4, 1, 1000); res.Total(load.OK)+res.Total(load.NotFound) != 1000 || res.Total(load.NotFound) > 20 || len(res.Errors) != 0 {
		t.Errorf("records: %d of 1000 and %d not found, %+v", res.Total(load.OK), res.Total(load.NotFound), res.Errors)
	}
	for _, tests := range []any{map[string]any{"set": int64(1), "get": int64(1), "ping": int64(1)}, "lpush"} {
		c := sidebyside.Workload(t, "redis", map[string]any{"tests": tests, "keyspace": int64(200)})
		loaded(t, s, c)
		for _, depth := range []int{1, 16} {
			if res := trialOf(t, s, "default", c, 3, depth, 960); res.Total(load.OK) < 960 || len(res.Errors) != 0 {
				t.Errorf("%v in batches of %d: %d of 960, %+v", tests, depth, res.Total(load.OK), res.Errors)
			}
		}
	}
	if err := s.Drop(t.Context(), w.Shape()); err != nil {
		t.Fatal(err)
	}
	scans := records(t, map[string]any{"scan": int64(1)})
	if err := s.Load(t.Context(), scans.Shape(), "fp", scans); err == nil || !strings.Contains(err.Error(), "a cluster has on one node") {
		t.Errorf("scans on a cluster: %v", err)
	}
	for _, text := range []string{"wait=1", "read=replica"} {
		if err := s.CheckLevel(t.Context(), drivertest.Level(t, Driver(), text)); !errors.As(err, new(*driver.LevelRefused)) {
			t.Errorf("%s on a cluster without replicas: %v", text, err)
		}
	}
	if err := s.local.nodes[1].proc.Stop(syscall.SIGKILL, time.Second); err != nil {
		t.Fatal(err)
	}
	if again, err := s.Restart(t.Context()); !again || err != nil {
		t.Fatalf("restarting a node: %v, %v", again, err)
	}
	loaded(t, s, w)
}

// A slot on its way from one node to another (ASK), then there for good (MOVED): both are followed and counted, none is a failure.
func TestRedirections(t *testing.T) {
	s := several(t, map[string]any{"cluster": int64(3)})
	w := records(t, map[string]any{"read": int64(1), "update": int64(1)})
	loaded(t, s, w)
	var row driver.Row
	w.Row(0, 5, &row)
	at := slot(row.Key)
	m := s.slotMap.Load()
	from := int(m.owner[at])
	to := (from + 1) % 3
	node := func(i int) *wire {
		x, err := s.connect(t.Context(), m.nodes[i])
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = x.conn.Close() })
		return x
	}
	source, target := node(from), node(to)
	id := func(x *wire) string {
		v, err := x.call("CLUSTER", "MYID")
		if err != nil {
			t.Fatal(err)
		}
		return v.(string)
	}
	call := func(x *wire, words ...string) {
		if _, err := x.call(words...); err != nil {
			t.Fatalf("%v: %v", words, err)
		}
	}
	number := fmt.Sprint(at)
	call(target, "CLUSTER", "SETSLOT", number, "IMPORTING", id(source))
	call(source, "CLUSTER", "SETSLOT", number, "MIGRATING", id(target))
	host, port, _ := strings.Cut(m.nodes[to], ":")
	call(source, "MIGRATE", host, port, string(row.Key), "0", "5000", "AUTH", s.opt.Password)
	ses, err := s.Session(t.Context(), spec.Level{})
	if err != nil {
		t.Fatal(err)
	}
	defer ses.Close() //nolint:errcheck // the test is over
	if err := ses.Prepare(t.Context(), w.Shape()); err != nil {
		t.Fatal(err)
	}
	read := func(code string) {
		t.Helper()
		var r driver.Reply
		if err := ses.Do(t.Context(), &driver.Op{Type: 0, Key: row.Key}, &r); err != nil || r.Rows != 1 || r.Bytes != 1000 {
			t.Fatalf("a read of the key that has left: %+v, %v", r, err)
		}
		var codes []string
		for _, e := range r.Overcome {
			_, c := driver.Classify(e)
			codes = append(codes, c)
		}
		if strings.Join(codes, " ") != code {
			t.Errorf("the redirections were %v, want %q", codes, code)
		}
	}
	read("ASK")
	read("ASK") // it is for once: the map stays
	batch := func(code string) {
		t.Helper()
		b := ses.(driver.Batcher)
		var other driver.Row
		for i := int64(0); other.Key == nil || m.owner[slot(other.Key)] == m.owner[at]; i++ {
			w.Row(0, i, &other)
		}
		for _, key := range [][]byte{row.Key, other.Key, row.Key} {
			if err := b.Queue(&driver.Op{Key: key, Values: [][]byte{[]byte("HSTRLEN"), key, []byte("field0")}}); err != nil {
				t.Fatal(err)
			}
		}
		var got []string
		err := b.Flush(t.Context(), func(i int, r *driver.Reply, _ bool, err error) {
			for _, e := range r.Overcome {
				_, c := driver.Classify(e)
				got = append(got, c)
			}
			got = append(got, fmt.Sprint(i, r.Rows, err))
		})
		if want := strings.TrimSpace(strings.Join([]string{"1 1 <nil>", code, "0 1 <nil>", code, "2 1 <nil>"}, " ")); err != nil || strings.Join(got, " ") != want {
			t.Errorf("a batch over keys that have left: %v, %v, want %s", got, err, want)
		}
	}
	batch("ASK")
	for _, x := range []*wire{target, source} {
		call(x, "CLUSTER", "SETSLOT", number, "NODE", id(target))
	}
	read("MOVED")
	read("")                                // every client has the new map
	stale := func(of func(slot int) bool) { // what a client knows that has seen nothing of it
		old := *s.slotMap.Load()
		for i := range old.owner {
			if of(i) {
				old.owner[i] = uint8(slices.Index(old.nodes, m.nodes[from]))
			}
		}
		s.slotMap.Store(&old)
	}
	stale(func(i int) bool { return i == int(at) })
	batch("MOVED")
	res := trialOf(t, s, "default", w, 3, 1, 600)
	if res.Total(load.OK) != 600 || len(res.Errors) != 0 {
		t.Errorf("afterwards: %d of 600, %+v", res.Total(load.OK), res.Errors)
	}
	stale(func(i int) bool { return i == int(at) })
	res = trialOf(t, s, "default", w, 1, 1, 2000)
	var moved int64
	for _, e := range res.Errors {
		if e.Code == "MOVED" {
			moved += e.Retried
		}
	}
	if res.Total(load.OK) != 2000 || moved != 1 {
		t.Errorf("with the map of before: %d of 2000, redirections %+v", res.Total(load.OK), res.Errors)
	}
	c := sidebyside.Workload(t, "redis", map[string]any{"tests": map[string]any{"set": int64(1), "get": int64(1)}, "keyspace": int64(200)})
	loaded(t, s, c)
	stale(func(int) bool { return true })
	res = trialOf(t, s, "default", c, 2, 16, 960)
	moved = 0
	for _, e := range res.Errors {
		if moved += e.Retried; e.Code != "MOVED" || e.Count != 0 {
			t.Errorf("batches with a wrong map: %+v", e)
		}
	}
	if res.Total(load.OK) < 960 || moved == 0 {
		t.Errorf("batches with a wrong map: %d of 960, %d were moved", res.Total(load.OK), moved)
	}
}

// An error reply in the middle of a request's replies leaves none of them behind for the next operation.
func TestErrorsLeaveNoReplies(t *testing.T) {
	s := local(t, nil)
	w := records(t, map[string]any{"read": int64(1), "insert": int64(1), "delete": int64(1), "scan": int64(1)})
	loaded(t, s, w)
	ses, err := s.Session(t.Context(), spec.Level{})
	if err != nil {
		t.Fatal(err)
	}
	defer ses.Close() //nolint:errcheck // the test is over
	if err := ses.Prepare(t.Context(), w.Shape()); err != nil {
		t.Fatal(err)
	}
	var row driver.Row
	w.Row(0, 5, &row)
	types := map[driver.Action]int{}
	for i, o := range w.Shape().Ops {
		types[o.Action] = i
	}
	do := func(a driver.Action, op driver.Op) (driver.Reply, error) {
		op.Type = types[a]
		var r driver.Reply
		return r, ses.Do(t.Context(), &op, &r)
	}
	if _, err := s.Exec(t.Context(), "SET odd 1", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Exec(t.Context(), "ZADD _indices 0 odd", nil); err != nil { // a scan meets a key of another kind
		t.Fatal(err)
	}
	if _, err := do(driver.Scan, driver.Op{Key: []byte("a"), Limit: 400}); err == nil {
		t.Error("a scan over a key of another kind is no error")
	}
	var r driver.Reply
	if err := ses.Do(t.Context(), &driver.Op{Type: types[driver.Read], Key: row.Key}, &r); err != nil || r.Rows != 1 || r.Bytes != 1000 {
		t.Errorf("the read behind it: %+v, %v", r, err)
	}
	if _, err := s.Exec(t.Context(), "CONFIG SET min-replicas-to-write 1", nil); err != nil { // writes are refused
		t.Fatal(err)
	}
	if _, err := do(driver.Delete, driver.Op{Key: row.Key}); err == nil {
		t.Error("a refused delete is no error")
	}
	r = driver.Reply{}
	if err := ses.Do(t.Context(), &driver.Op{Type: types[driver.Read], Key: row.Key}, &r); err != nil || r.Rows != 1 || r.Bytes != 1000 {
		t.Errorf("the read behind a refused delete: %+v, %v", r, err)
	}
}
