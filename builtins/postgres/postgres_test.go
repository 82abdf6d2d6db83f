package postgres

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sextant/interp/driver"
	"sextant/interp/driver/drivertest"
	"sextant/interp/spec"
)

// need skips a test on a machine without PostgreSQL, or fails it where one is required.
func need(t testing.TB) {
	t.Helper()
	_, err := choose(t.Context(), nil)
	drivertest.Need(t, err)
}

func local(t testing.TB, options map[string]any) *system {
	t.Helper()
	need(t)
	return drivertest.Local(t, Driver(), options).(*system)
}

func config(maker string, options map[string]any, secrets ...string) drivertest.Config {
	return drivertest.Config{
		Driver: Driver(), System: &spec.System{Type: "postgres", Maker: maker, Name: "postgres", Options: options}, Options: options, Secrets: secrets,
		Levels:  []string{"off", "local", "on", "read committed", "repeatable read", "serializable", "off+serializable", "repeatable read+on"},
		Refused: []string{"remote_write", "remote_apply", "remote_apply+serializable"},
		Foreign: []string{"CREATE TABLE usertable (x text); INSERT INTO usertable VALUES ('mine')"},
		Count:   "SELECT count(*) FROM usertable", Value: "SELECT field1 FROM usertable WHERE ycsb_key = $1",
		Lock: []string{"BEGIN; LOCK TABLE usertable"}, Unlock: []string{"ROLLBACK"},
	}
}

func TestLocal(t *testing.T) {
	need(t)
	drivertest.Run(t, config("local", map[string]any{"settings": map[string]any{"shared_buffers": "16MB", "fsync": false, "work_mem": int64(8192)}}))
}

func TestServer(t *testing.T) {
	s := local(t, nil)
	url := fmt.Sprintf("postgres://sextant:%s@127.0.0.1:%d/postgres?sslmode=disable", s.cfg.Password, s.cfg.Port)
	drivertest.Run(t, config("server", map[string]any{"url": url}, url, s.cfg.Password))
}

func TestSettingsReachTheServer(t *testing.T) {
	s := local(t, map[string]any{"settings": map[string]any{"shared_buffers": "16MB", "fsync": false, "search_path": `"it's", public`}})
	_, rows, err := s.Query(t.Context(), "SELECT current_setting('shared_buffers'), current_setting('fsync'), current_setting('search_path')", nil)
	if err != nil || fmt.Sprint(rows) != `[[16MB off "it's", public]]` {
		t.Errorf("%v %v", rows, err)
	}
	_, err = Driver().Open(t.Context(), driver.Target{System: &spec.System{Maker: "local"}, Log: func(string, string) {},
		Options: map[string]any{"settings": map[string]any{"shared_bufers": "16MB"}}})
	if err == nil || !strings.Contains(err.Error(), `unrecognized configuration parameter "shared_bufers"`) {
		t.Errorf("a misspelt setting: %v", err)
	}
	_, err = Driver().Open(t.Context(), driver.Target{System: &spec.System{Maker: "local"}, Log: func(string, string) {}, Options: map[string]any{"version": int64(99)}})
	if class, _ := driver.Classify(err); class != driver.NotFound || !strings.Contains(err.Error(), "apt-get install postgresql-99") {
		t.Errorf("a version that isn't there: %v", err)
	}
}

// What can't be reached is told with what to do, and without the password.
func TestUnreachable(t *testing.T) {
	s := local(t, nil)
	open := func(url string) error {
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		o := map[string]any{"url": url}
		sys, err := Driver().Open(ctx, driver.Target{System: &spec.System{Maker: "server", Name: "pg", Options: o}, Options: o, Log: func(string, string) {}})
		if err == nil {
			t.Errorf("%v was opened", sys)
		}
		return err
	}
	at := fmt.Sprintf("127.0.0.1:%d", s.cfg.Port)
	for url, want := range map[string]string{
		"postgres://sextant:wrongpass@" + at + "/postgres":                              "auth check user",
		"postgres://sextant:" + s.cfg.Password + "@" + at + "/nosuchdb":                 "not_found createdb nosuchdb",
		"postgres://sextant:hush@127.0.0.1:1/postgres":                                  "connection is the server running",
		"postgres://sextant:hush@127.0.0.1:1/postgres?sslmode=nonsense":                 "other postgres://user",
		"postgres://sextant:" + s.cfg.Password + "@" + at + "/postgres?sslmode=require": "connection TLS",
	} {
		class, hint, _ := strings.Cut(want, " ")
		err := open(url)
		if got, _ := driver.Classify(err); string(got) != class && hint != "TLS" || err != nil && hint != "TLS" && !strings.Contains(err.Error(), hint) {
			t.Errorf("%s: class %s, %v", url, got, err)
		}
		for _, secret := range []string{"wrongpass", "hush", s.cfg.Password} {
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the password shows: %v", err)
			}
		}
	}
}

func TestURLWithPasswordIsRefusedInAScript(t *testing.T) {
	for url, ok := range map[string]bool{"postgres://me:pw@host/db": false, "host=h password=pw": false, "postgres://host/db?user=me&password=pw": false,
		"postgres://me@host/db": true, "host=h user=me": true, "://": false} {
		if err := checkURL(url); (err == nil) != ok {
			t.Errorf("%s: %v", url, err)
		}
	}
	if err := checkURL(spec.Secret{Name: "X"}); err != nil {
		t.Error(err)
	}
}

// hot is a session over one small table.
func hot(t testing.TB, s *system, level string) driver.Session {
	t.Helper()
	d := Driver()
	l, err := d.ParseLevel(level)
	if err != nil {
		t.Fatal(err)
	}
	ses, err := s.Session(t.Context(), l)
	if err != nil {
		t.Fatal(err)
	}
	w := hotWorkload()
	if err := ses.Prepare(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	return ses
}

func hotWorkload() *driver.Workload {
	return &driver.Workload{Tables: []driver.Table{{Name: "hot", Key: "k", Fields: []driver.Column{{Name: "f", Bytes: 1000}}, Rows: 1}},
		Ops: []driver.OpType{{Name: "read", Action: driver.Read}, {Name: "update", Action: driver.Update}}}
}

type oneRow struct{}

func (oneRow) Rows(int) int64 { return 1 }
func (oneRow) Row(_ int, _ int64, row *driver.Row) {
	row.Key, row.Values = []byte("k"), [][]byte{[]byte(strings.Repeat("x", 1000))}
}

// Two writers on one row: at serializable some updates are conflicts with their SQLSTATE, at read committed none is.
func TestConflictsAreClassed(t *testing.T) {
	s := local(t, map[string]any{"settings": map[string]any{"fsync": false}})
	if err := s.Load(t.Context(), hotWorkload(), "f", oneRow{}); err != nil {
		t.Fatal(err)
	}
	for level, conflicts := range map[string]bool{"serializable": true, "read committed": false} {
		seen := 0
		var mu sync.Mutex
		var wg sync.WaitGroup
		stop := time.Now().Add(20 * time.Second)
		for range 4 {
			ses := hot(t, s, level)
			wg.Go(func() {
				defer ses.Close() //nolint:errcheck // the test has looked at its operations
				var r driver.Reply
				op := driver.Op{Type: 1, Key: []byte("k"), Fields: []int{0}, Values: [][]byte{[]byte("y")}}
				for range 2000 {
					r = driver.Reply{}
					err := ses.Do(t.Context(), &op, &r)
					mu.Lock()
					if class, code := driver.Classify(err); err != nil && (class != driver.Conflict || code != "40001") {
						t.Errorf("%s: %v", level, err)
					} else if err != nil {
						seen++
					} else if r.Rows != 1 {
						t.Errorf("an update changed %d rows", r.Rows)
					}
					enough := seen > 0 && conflicts || time.Now().After(stop)
					mu.Unlock()
					if enough {
						return
					}
				}
			})
		}
		wg.Wait()
		if conflicts != (seen > 0) {
			t.Errorf("%s: %d conflicts", level, seen)
		}
	}
}

// A killed server is a lost connection for the operation; Restart brings it back with its data.
func TestKilledServer(t *testing.T) {
	s := local(t, nil)
	if err := s.Load(t.Context(), hotWorkload(), "f", oneRow{}); err != nil {
		t.Fatal(err)
	}
	ses := hot(t, s, "default")
	defer ses.Close() //nolint:errcheck // its connection is gone
	if again, err := s.Restart(t.Context()); again || err != nil {
		t.Errorf("a living server was restarted: %v %v", again, err)
	}
	pids, _ := s.Processes(t.Context())
	if len(pids) < 2 {
		t.Errorf("processes: %v", pids)
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
	<-s.local.server.Done()
	var r driver.Reply
	err := ses.Do(t.Context(), &driver.Op{Type: 0, Key: []byte("k")}, &r)
	if !driver.IsConnection(err) {
		t.Errorf("after a kill: %v", err)
	}
	if err = ses.Do(t.Context(), &driver.Op{Type: 0, Key: []byte("k")}, &r); !driver.IsConnection(err) {
		t.Errorf("on the lost session: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if again, err := s.Restart(ctx); !again || err != nil {
		t.Fatalf("restarting: %v %v", again, err)
	}
	st, err := s.Inspect(t.Context(), hotWorkload())
	if err != nil || st.Rows[0] != 1 || st.Fingerprint != "f" {
		t.Errorf("after the restart: %+v, %v", st, err)
	}
}

// A terminated session is a lost connection with the server's code.
func TestTerminatedSession(t *testing.T) {
	s := local(t, nil)
	if err := s.Load(t.Context(), hotWorkload(), "f", oneRow{}); err != nil {
		t.Fatal(err)
	}
	ses := hot(t, s, "default").(*session)
	defer ses.Close() //nolint:errcheck // its connection is gone
	if _, err := s.Exec(t.Context(), fmt.Sprintf("SELECT pg_terminate_backend(%d, 5000)", ses.c.PID()), nil); err != nil {
		t.Fatal(err)
	}
	var r driver.Reply
	err := ses.Do(t.Context(), &driver.Op{Type: 0, Key: []byte("k")}, &r)
	if class, _ := driver.Classify(err); class != driver.Connection {
		t.Errorf("%v", err)
	}
}

func BenchmarkRead(b *testing.B) {
	s := local(b, nil)
	if err := s.Load(b.Context(), hotWorkload(), "f", oneRow{}); err != nil {
		b.Fatal(err)
	}
	ses := hot(b, s, "default")
	defer ses.Close() //nolint:errcheck // the benchmark is over
	op := driver.Op{Key: []byte("k")}
	var r driver.Reply
	b.ReportAllocs()
	for b.Loop() {
		if err := ses.Do(b.Context(), &op, &r); err != nil {
			b.Fatal(err)
		}
	}
}
