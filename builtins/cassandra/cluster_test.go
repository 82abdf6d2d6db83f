package cassandra

import (
	"context"
	"fmt"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"sextant/interp/driver"
	"sextant/interp/driver/drivertest"
	"sextant/interp/spec"
)

func level(t *testing.T, text string) spec.Level {
	t.Helper()
	return drivertest.Level(t, Driver(), text)
}

// oneTable is a workload of reads and updates of a single row.
func oneTable() *driver.Workload {
	return &driver.Workload{Tables: []driver.Table{{Name: "t", Key: "k", Rows: 1, Fields: []driver.Column{{Name: "f", Bytes: 10}}}},
		Ops: []driver.OpType{{Name: "read", Action: driver.Read}, {Name: "update", Action: driver.Update}}}
}

type oneRow struct{}

func (oneRow) Rows(int) int64 { return 1 }
func (oneRow) Row(_ int, _ int64, r *driver.Row) {
	r.Key, r.Values = []byte("a"), [][]byte{[]byte("x")}
}

// try does one read and one update at a level and gives the class of each ("" for success).
func try(t *testing.T, s *system, text string) (read, write string) {
	t.Helper()
	x, err := s.Session(t.Context(), level(t, text))
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if err := x.Prepare(t.Context(), oneTable()); err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	class := func(op *driver.Op) string {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		var r driver.Reply
		err := x.Do(ctx, op, &r)
		if err == nil && r.Rows == 1 {
			return ""
		}
		c, code := driver.Classify(err)
		return fmt.Sprintf("%s %s", c, code)
	}
	return class(&driver.Op{Type: 0, Key: []byte("a")}), class(&driver.Op{Type: 1, Key: []byte("a"), Fields: []int{0}, Values: [][]byte{[]byte("y")}})
}

// until asks again until both answers are as wanted; the nodes need a while to notice that one is dead.
func until(t *testing.T, s *system, text, read, write string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for {
		r, w := try(t, s, text)
		if r == read && w == write {
			return
		}
		if ctx.Err() != nil {
			t.Fatalf("%s: read %q, write %q; want %q and %q", text, r, w, read, write)
		}
	}
}

func kill(t *testing.T, s *system, i int) {
	t.Helper()
	if err := s.local.nodes[i].Stop(syscall.SIGKILL, time.Second); err != nil {
		t.Fatal(err)
	}
}

// Three nodes with three replicas, one of them killed: QUORUM goes on, ALL fails as unavailable. Back again, ALL works.
func TestNodeKilled(t *testing.T) {
	s := local(t, map[string]any{"nodes": int64(3), "replication": int64(3)})
	if err := s.Load(t.Context(), oneTable(), "0123456789abcdef", oneRow{}); err != nil {
		t.Fatal(err)
	}
	// many clients that begin at once find the table of traced requests
	errs := make(chan error, 24)
	for range cap(errs) {
		go func() {
			x, err := s.Session(t.Context(), level(t, "quorum"))
			if err == nil {
				_, err = x.Level(t.Context(), level(t, "quorum"))
			}
			errs <- err
		}()
	}
	for range cap(errs) {
		if err := <-errs; err != nil {
			t.Error(err)
		}
	}
	for _, text := range []string{"two", "three", "all", "quorum", "read=three+write=any"} {
		l := level(t, text)
		if err := s.CheckLevel(t.Context(), l); err != nil {
			t.Error(err)
		}
		x, err := s.Session(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := x.Level(t.Context(), l); err != nil || got != l.String() {
			t.Errorf("asked %s, traced %s, %v", l, got, err)
		}
		if r, w := try(t, s, text); r+w != "" {
			t.Errorf("%s: %s, %s", text, r, w)
		}
	}
	if pids, _ := s.Processes(t.Context()); len(pids) < 3 {
		t.Errorf("processes %v", pids)
	}
	kill(t, s, 2)
	until(t, s, "all", "unavailable UNAVAILABLE", "unavailable UNAVAILABLE")
	until(t, s, "three", "unavailable UNAVAILABLE", "unavailable UNAVAILABLE")
	for _, text := range []string{"quorum", "one", "two", "local_quorum", "each_quorum"} {
		if r, w := try(t, s, text); r+w != "" {
			t.Errorf("%s with two of three nodes: %s, %s", text, r, w)
		}
	}
	if again, err := s.Restart(t.Context()); !again || err != nil {
		t.Fatalf("Restart: %v, %v", again, err)
	}
	until(t, s, "all", "", "")
	if st, err := s.Inspect(t.Context(), oneTable()); err != nil || st.Rows[0] != 1 || st.Fingerprint != "0123456789abcdef" {
		t.Errorf("%+v, %v", st, err)
	}
}

// Two data centres, of which the other one dies: the local quorum goes on, EACH_QUORUM is unavailable.
func TestDataCentreKilled(t *testing.T) {
	s := local(t, map[string]any{"nodes": int64(3), "datacenters": int64(2), "replication": map[string]any{"dc1": int64(2), "dc2": int64(1)}})
	if err := s.Load(t.Context(), oneTable(), "0123456789abcdef", oneRow{}); err != nil {
		t.Fatal(err)
	}
	if f, err := s.factors(t.Context()); err != nil || fmt.Sprint(f) != "map[dc1:2 dc2:1]" {
		t.Errorf("%v %v", f, err)
	}
	for _, text := range []string{"local_quorum", "write=each_quorum", "all"} {
		if r, w := try(t, s, text); r+w != "" {
			t.Errorf("%s: %s, %s", text, r, w)
		}
	}
	kill(t, s, 1)
	until(t, s, "read=one+write=each_quorum", "", "unavailable UNAVAILABLE")
	if r, w := try(t, s, "local_quorum"); r+w != "" {
		t.Errorf("local_quorum: %s, %s", r, w)
	}
}

func open(t *testing.T, o map[string]any) error {
	t.Helper()
	if o["replication"] == nil {
		o["replication"] = int64(1)
	}
	return drivertest.OpenError(t, Driver(), o, 8*time.Second)
}

// What can't be reached is told with what to do, and without the password. A keyspace that isn't ours is left as it is.
func TestUnreachable(t *testing.T) {
	s := local(t, map[string]any{})
	yaml := s.local.box.Path("n1/cassandra.yaml")
	b, err := os.ReadFile(yaml)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(yaml, append(b, "authenticator: PasswordAuthenticator\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	kill(t, s, 0)
	s.cfg.Authenticator = gocql.PasswordAuthenticator{Username: "cassandra", Password: "cassandra"}
	if again, err := s.Restart(t.Context()); !again || err != nil {
		t.Fatal(again, err)
	}
	stranger, err := net.Listen("tcp", "127.0.0.1:0") // takes connections and says nothing
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close() //nolint:errcheck // it has no state
	at := fmt.Sprintf("127.0.0.1:%d", s.local.port)
	for _, x := range []struct{ url, dc, class, hint string }{
		{"cassandra://cassandra:wrongpass@" + at, "", "auth", `check user "cassandra"`},
		{"cassandra://" + at, "", "auth", "check user"},
		{"cassandra://cassandra:hush@127.0.0.1:1", "", "connection", "is the cluster running"},
		{"cassandra://cassandra:hush@" + stranger.Addr().String(), "", "timeout", "does it speak Cassandra's protocol"},
		{"cassandra://cassandra:cassandra@" + at, "dc9", "not_found", "it has dc1"},
		{"http://cassandra:hush@" + at, "", "other", "cassandra://user"},
		{"cassandra://cassandra:cassandra@" + at + "/sextant", "", "", ""},
	} {
		o := map[string]any{"url": x.url}
		if x.dc != "" {
			o["datacenter"] = x.dc
		}
		err := open(t, o)
		if (err == nil) != (x.class == "") {
			t.Errorf("%s: %v", x.url, err)
			continue
		}
		if err == nil {
			continue
		}
		if got, _ := driver.Classify(err); string(got) != x.class || !strings.Contains(err.Error(), x.hint) {
			t.Errorf("%s: class %s, %v", x.url, got, err)
		}
		for _, secret := range []string{"wrongpass", "hush"} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the password shows: %v", err)
			}
		}
	}
	// a keyspace with another replication than asked
	o := map[string]any{"url": "cassandra://cassandra:cassandra@" + at + "/mine", "replication": int64(1), "connections": int64(1)}
	if _, err := s.Exec(t.Context(), "CREATE KEYSPACE mine WITH replication = {'class': 'NetworkTopologyStrategy', 'dc1': 2}", nil); err != nil {
		t.Fatal(err)
	}
	sys, err := Driver().Open(t.Context(), driver.Target{System: &spec.System{Maker: "server", Name: "db", Options: o}, Options: o, Log: func(string, string) {}})
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Close(t.Context()) //nolint:errcheck // its errors have been looked at
	err = sys.(driver.Loader).Load(t.Context(), oneTable(), "0123456789abcdef", oneRow{})
	if class, _ := driver.Classify(err); class != driver.Constraint || !strings.Contains(err.Error(), "keyspace mine has the replication map[dc1:2], asked is map[dc1:1]") {
		t.Errorf("a keyspace of another replication: %v", err)
	}
}

// A request whose context ends while the node is stopped ends with it.
func TestStoppedNode(t *testing.T) {
	s := local(t, map[string]any{})
	if err := s.Load(t.Context(), oneTable(), "0123456789abcdef", oneRow{}); err != nil {
		t.Fatal(err)
	}
	x, err := s.Session(t.Context(), spec.Level{})
	if err != nil {
		t.Fatal(err)
	}
	if err := x.Prepare(t.Context(), oneTable()); err != nil {
		t.Fatal(err)
	}
	var r driver.Reply
	op := &driver.Op{Type: 0, Key: []byte("a")}
	if err := x.Do(t.Context(), op, &r); err != nil {
		t.Fatal(err)
	}
	pid := s.local.nodes[0].PID()
	drivertest.Stop(t, pid)
	ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
	defer cancel()
	begin := time.Now()
	err = x.Do(ctx, op, &r)
	if class, _ := driver.Classify(err); class != driver.Timeout || time.Since(begin) > 3*time.Second {
		t.Errorf("after %v: %v", time.Since(begin), err)
	}
	if err := syscall.Kill(pid, syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	if err := x.Do(t.Context(), op, &r); err != nil {
		t.Errorf("afterwards: %v", err)
	}
}

func TestBadOptions(t *testing.T) {
	for url, ok := range map[string]bool{"cassandra://me:pw@host/ks": false, "cassandra://host": true, "cassandra://me@h1,h2:9043/ks": true, "cassandra://h:x": false, "host": false, "cassandra://": false,
		"cassandra://h/Bad-Name": false, "cassandra://h/ks?x=1": false} {
		if err := checkURL(url); (err == nil) != ok {
			t.Errorf("%s: %v", url, err)
		}
	}
	if got, err := parseURL("cassandra://me:p%40w@h1,h2:9043/ks"); err != nil || fmt.Sprintf("%+v", got) != "{hosts:[h1 h2] port:9043 user:me password:p@w keyspace:ks}" {
		t.Errorf("%+v %v", got, err)
	}
	for _, o := range []map[string]any{
		{"nodes": int64(1), "datacenters": int64(2), "replication": int64(1)}, {"nodes": int64(3), "datacenters": int64(1), "replication": int64(4)},
		{"nodes": int64(3), "datacenters": int64(2), "replication": int64(2)}, {"nodes": int64(3), "datacenters": int64(1), "replication": map[string]any{"dc2": int64(1)}},
	} {
		if checkLocal(o) == nil {
			t.Errorf("%v is taken", o)
		}
	}
	for _, v := range []any{int64(0), "3", map[string]any{}, map[string]any{"d'c": int64(1)}, map[string]any{"dc1": "x"}} {
		if checkReplication(v) == nil {
			t.Errorf("replication %v is taken", v)
		}
	}
}
