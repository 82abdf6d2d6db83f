package mysql

import (
	"bytes"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"time"

	"sextant/interp/driver"
	"sextant/interp/driver/drivertest"
	"sextant/interp/spec"
)

// need skips a test on a machine without MariaDB, or fails it where one is required.
func need(t testing.TB, cluster bool) {
	t.Helper()
	_, err := installed(t.Context())
	if err == nil && cluster {
		_, err = galeraLibrary()
	}
	drivertest.Need(t, err)
}

// quick are settings that make a throwaway server start fast.
func quick() map[string]any {
	return map[string]any{"innodb_buffer_pool_size": "64M", "innodb_log_file_size": "48M", "innodb_log_file_buffering": true}
}

func local(t testing.TB, nodes int64, settings map[string]any) *system {
	t.Helper()
	need(t, nodes > 1)
	return drivertest.Local(t, Driver(), map[string]any{"nodes": nodes, "settings": settings}).(*system)
}

func config(maker string, options map[string]any, secrets ...string) drivertest.Config {
	return drivertest.Config{
		Driver: Driver(), System: &spec.System{Type: "mysql", Maker: maker, Name: "mysql", Options: options}, Options: options, Secrets: secrets,
		Levels: []string{"read uncommitted", "read committed", "repeatable read", "serializable", "innodb_flush_log_at_trx_commit=0", "innodb_flush_log_at_trx_commit=1",
			"innodb_flush_log_at_trx_commit=2", "sync_binlog=0", "sync_binlog=1", "read committed+innodb_flush_log_at_trx_commit=1+sync_binlog=1"},
		Refused: []string{"wsrep_sync_wait=reads", "wsrep_sync_wait=all"},
		Foreign: []string{"CREATE TABLE usertable (x text)", "INSERT INTO usertable VALUES ('mine')"},
		Count:   "SELECT count(*) FROM usertable", Value: "SELECT field1 FROM usertable WHERE ycsb_key = ?",
		Lock: []string{"BEGIN", "SELECT * FROM usertable FOR UPDATE"}, Unlock: []string{"ROLLBACK"},
	}
}

func TestLocal(t *testing.T) {
	need(t, false)
	drivertest.Run(t, config("local", map[string]any{"nodes": int64(1), "settings": quick()}))
}

func TestServer(t *testing.T) {
	s := local(t, 1, quick())
	cfg := s.nodes[0]
	url := "mysql://" + cfg.User + ":" + cfg.Passwd + "@" + cfg.Addr + "/" + cfg.DBName
	drivertest.Run(t, config("server", map[string]any{"url": url}, url, cfg.Passwd))
}

func level(t *testing.T, text string) spec.Level {
	t.Helper()
	return drivertest.Level(t, Driver(), text)
}

// sessions are prepared sessions on one node after the other.
func sessions(t *testing.T, s *system, l spec.Level, w *driver.Workload, n int) []*session {
	t.Helper()
	var out []*session
	for range n {
		x, err := s.Session(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = x.Close() }) // some have lost their server
		if err := x.Prepare(t.Context(), w); err != nil {
			t.Fatal(err)
		}
		out = append(out, x.(*session))
	}
	return out
}

func run(t *testing.T, s *session, n int, args ...int64) ([][]byte, error) {
	t.Helper()
	var list []driver.Arg
	for _, a := range args {
		list = append(list, driver.Arg{Kind: driver.IntArg, Int: a})
	}
	res := driver.Result{Keep: true}
	err := s.Run(t.Context(), n, list, &res)
	return res.Values, err
}

func statements(texts ...string) *driver.Workload {
	w := &driver.Workload{}
	for _, x := range texts {
		w.Statements = append(w.Statements, driver.Statement{Parts: strings.Split(x, "?")})
	}
	return w
}

// A cluster of three: sessions take the nodes in turns; wsrep_sync_wait reads what another node has committed; the loser of
// two writes is told at its COMMIT; with one node gone it goes on, and with two the last one is unavailable; all come back.
func TestGalera(t *testing.T) {
	s := local(t, 3, quick())
	if _, err := s.Exec(t.Context(), "CREATE TABLE t (k INT PRIMARY KEY, v INT)", nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Exec(t.Context(), "INSERT INTO t VALUES (1, 0), (2, 0)", nil); err != nil {
		t.Fatal(err)
	}
	for _, text := range []string{"wsrep_sync_wait=off", "wsrep_sync_wait=reads", "wsrep_sync_wait=all+read committed"} {
		l := level(t, text)
		if err := s.CheckLevel(t.Context(), l); err != nil {
			t.Fatal(err)
		}
		x, err := s.Session(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := x.Level(t.Context(), l); err != nil || got != l.String() {
			t.Errorf("asked %q, read back %q, %v", l, got, err)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
	w := statements("UPDATE t SET v = ? WHERE k = ?", "SELECT v FROM t WHERE k = ?", "BEGIN", "COMMIT")
	all := sessions(t, s, level(t, "wsrep_sync_wait=reads"), w, 3)
	if all[0].node == all[1].node || all[1].node == all[2].node {
		t.Fatalf("nodes %d, %d, %d", all[0].node, all[1].node, all[2].node)
	}
	for i := range int64(300) {
		if _, err := run(t, all[0], 0, i, 1); err != nil {
			t.Fatal(err)
		}
		if v, err := run(t, all[1], 1, 1); err != nil || string(v[0]) != fmt.Sprint(i) {
			t.Fatalf("after writing %d the other node reads %s, %v", i, v, err)
		}
	}
	for i, a := range all[:2] { // both change the same row
		for _, st := range []func() error{func() error { _, err := run(t, a, 2); return err }, func() error { _, err := run(t, a, 0, int64(i)+5, 2); return err }} {
			if err := st(); err != nil {
				t.Fatal(err)
			}
		}
	}
	_, first := run(t, all[0], 3)
	_, second := run(t, all[1], 3)
	if class, code := driver.Classify(second); first != nil || class != driver.Conflict || code != "1213" {
		t.Errorf("the first to commit: %v; the second: %v", first, second)
	}
	if err := all[1].Rollback(t.Context()); err != nil {
		t.Error(err)
	}

	kill := func(i int) {
		if err := s.local.nodes[i].proc.Stop(syscall.SIGKILL, time.Second); err != nil {
			t.Fatal(err)
		}
	}
	kill(2)
	if _, err := run(t, all[0], 0, 7, 1); err != nil {
		t.Errorf("with two of three nodes: %v", err)
	}
	if _, err := run(t, all[2], 1, 1); !driver.IsConnection(err) {
		t.Errorf("the session of the killed node: %v", err)
	}
	kill(1)
	_, err := run(t, all[0], 0, 8, 1)
	if class, _ := driver.Classify(err); class != driver.Unavailable {
		t.Errorf("a write in the minority: %v", err)
	}
	kill(0)
	if again, err := s.Restart(t.Context()); !again || err != nil {
		t.Fatalf("Restart: %v, %v", again, err)
	}
	for i, x := range sessions(t, s, level(t, "wsrep_sync_wait=reads"), w, 3) {
		if v, err := run(t, x, 1, 1); err != nil || len(v) != 1 || string(v[0]) != "7" {
			t.Errorf("after the restart session %d reads %s, %v", i, v, err)
		}
	}
	if again, err := s.Restart(t.Context()); again || err != nil {
		t.Errorf("a second Restart: %v, %v", again, err)
	}
}

// nasty is a RowSource of two rows that need every escape.
type nasty struct{ size int }

func (nasty) Rows(int) int64 { return 2 }
func (n nasty) Row(_ int, i int64, r *driver.Row) {
	r.Key = []byte(fmt.Sprint(i + 1))
	r.Values = [][]byte{[]byte("a'b\"c\\d\te\nf\x00g\\N\r\x1aé"), nil, bytes.Repeat([]byte("x"), n.size)}
}

// Every byte arrives, by LOAD DATA and where the server doesn't take that by inserts; what doesn't fit is an error, not cut.
func TestLoadingKeepsEveryByte(t *testing.T) {
	for _, infile := range []int64{1, 0} {
		s := local(t, 1, map[string]any{"local_infile": infile})
		w := &driver.Workload{Tables: []driver.Table{{Name: "t", Key: "k", KeyType: driver.Int, Rows: 2, Indexes: []string{"c"},
			Fields: []driver.Column{{Name: "a", Bytes: 100}, {Name: "b", Type: driver.Int}, {Name: "c", Type: driver.Char, Bytes: 3}}}}}
		if err := s.Load(t.Context(), w, "f", nasty{3}); err != nil {
			t.Fatal(err)
		}
		_, rows, err := s.Query(t.Context(), "SELECT a, b, c FROM t ORDER BY k", nil)
		if err != nil || len(rows) != 2 || rows[1][0] != "a'b\"c\\d\te\nf\x00g\\N\r\x1aé" || rows[1][1] != nil || rows[1][2] != "xxx" {
			t.Errorf("local_infile %d: %q, %v", infile, rows, err)
		}
		_, rows, err = s.Query(t.Context(), "SELECT count(*) FROM information_schema.STATISTICS WHERE TABLE_NAME = 't' AND COLUMN_NAME = 'c'", nil)
		if err != nil || fmt.Sprint(rows[0][0]) != "1" {
			t.Errorf("local_infile %d: %v indexes, %v", infile, rows, err)
		}
		if err := s.Load(t.Context(), w, "f", nasty{4}); err == nil || !strings.Contains(err.Error(), "too long") && !strings.Contains(err.Error(), "truncated") {
			t.Errorf("local_infile %d: a value that doesn't fit: %v", infile, err)
		}
	}
}
