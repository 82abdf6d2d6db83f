package postgres

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"sextant/builtins/sidebyside"
	"sextant/interp/driver"
	"sextant/interp/driver/drivertest"
	"sextant/interp/driver/sandbox"
	"sextant/interp/load"
	"sextant/interp/spec"
)

func eventually(t *testing.T, s *system, query string, want any) {
	t.Helper()
	var rows [][]any
	var err error
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		if _, rows, err = s.Query(t.Context(), query, nil); err == nil && rows[0][0] == want {
			return
		}
	}
	t.Fatalf("%s gives %v, %v", query, rows, err)
}

// With a synchronous standby every level is given and read back; once it is gone, those that would wait for it for ever
// are refused, and a commit that is cancelled while it waits is no success.
func TestSynchronousStandby(t *testing.T) {
	s := local(t, map[string]any{"settings": map[string]any{"fsync": false}, "standbys": int64(1), "synchronous": "first 1"})
	if err := s.Load(t.Context(), hotWorkload(), "f", oneRow{}); err != nil {
		t.Fatal(err)
	}
	srv := s.local.standbys[0].proc
	d := Driver()
	for _, text := range []string{"off", "local", "remote_write", "on", "remote_apply", "remote_apply+serializable"} {
		l, err := d.ParseLevel(text)
		if err != nil {
			t.Fatal(err)
		}
		if err := s.CheckLevel(t.Context(), l); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		ses := hot(t, s, text)
		if got, err := ses.Level(t.Context(), l); err != nil || got != l.String() {
			t.Errorf("%s reads back as %q, %v", text, got, err)
		}
		var r driver.Reply
		if err := ses.Do(t.Context(), &driver.Op{Type: 1, Key: []byte("k"), Fields: []int{0}, Values: [][]byte{[]byte("v")}}, &r); err != nil || r.Rows != 1 {
			t.Errorf("%s: update: %+v, %v", text, r, err)
		}
		if err := ses.Close(); err != nil {
			t.Error(err)
		}
	}
	waiting := hot(t, s, "on")
	defer waiting.Close() //nolint:errcheck // it was interrupted
	if err := srv.Stop(syscall.SIGQUIT, 5*time.Second); err != nil {
		t.Fatal(err)
	}
	eventually(t, s, "SELECT count(*) FROM pg_stat_replication", int64(0))
	for text, refused := range map[string]bool{"off": false, "local": false, "on": true, "remote_write": true, "remote_apply": true} {
		l, err := d.ParseLevel(text)
		if err != nil {
			t.Fatal(err)
		}
		err = s.CheckLevel(t.Context(), l)
		var lr *driver.LevelRefused
		if errors.As(err, &lr) != refused || refused && !strings.Contains(err.Error(), "wait for ever") {
			t.Errorf("%s without its standby: %v", text, err)
		}
	}
	done := make(chan error, 1)
	go func() {
		var r driver.Reply
		done <- waiting.Do(context.Background(), &driver.Op{Type: 1, Key: []byte("k"), Fields: []int{0}, Values: [][]byte{[]byte("lost?")}}, &r)
	}()
	eventually(t, s, "SELECT count(*) FROM pg_stat_activity WHERE wait_event = 'SyncRep'", int64(1))
	waiting.(driver.Interrupter).Interrupt()
	select {
	case err := <-done:
		if class, code := driver.Classify(err); class != driver.Timeout || code != "01000" {
			t.Errorf("a commit that was not replicated: %v (class %s, code %s)", err, class, code)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the commit still waits")
	}
}

// trialOf runs a workload at a level for a count of operations, each with a time-out of its own.
func trialOf(t *testing.T, s *system, text string, w load.Workload, ops int64, timeout time.Duration) *load.Result {
	t.Helper()
	l := drivertest.Level(t, Driver(), text)
	res, err := load.Run(t.Context(), load.Config{Clients: 2, Operations: ops, Window: time.Minute, Interval: time.Second, Drain: time.Second, Timeout: timeout, Workload: w,
		Open: func(ctx context.Context, _ int) (driver.Session, error) {
			x, err := s.Session(ctx, l)
			if err == nil {
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

// A standby that is there but stands still: commits at on run into their time-out, and are recorded as that; at local they go on.
func TestStoppedStandby(t *testing.T) {
	s := local(t, map[string]any{"standbys": int64(2), "synchronous": "any 2"})
	w := sidebyside.Workload(t, "records", map[string]any{"records": int64(100), "mix": map[string]any{"update": int64(1)}})
	if err := s.Load(t.Context(), w.Shape(), "f", w); err != nil {
		t.Fatal(err)
	}
	if res := trialOf(t, s, "remote_apply", w, 50, 10*time.Second); res.Total(load.OK) != 50 {
		t.Fatalf("with both standbys: %d of 50, %+v", res.Total(load.OK), res.Errors)
	}
	for _, pid := range s.local.standbys[1].proc.Processes() {
		drivertest.Stop(t, pid)
	}
	res := trialOf(t, s, "on", w, 4, 300*time.Millisecond)
	if res.Total(load.OK) != 0 || res.Total(load.TimedOut) != 4 || len(res.Errors) != 1 || res.Errors[0].Class != driver.Timeout {
		t.Errorf("on: %d of 4 are successes, %+v", res.Total(load.OK), res.Errors)
	}
	if res := trialOf(t, s, "local", w, 50, 10*time.Second); res.Total(load.OK) != 50 {
		t.Errorf("local: %d of 50, %+v", res.Total(load.OK), res.Errors)
	}
}

// Reads at read=standby are done by the standbys, writes by the server; a session begins when the standby has what is there.
func TestReadsFromStandbys(t *testing.T) {
	s := local(t, map[string]any{"standbys": int64(2)})
	w := sidebyside.Workload(t, "records", map[string]any{"records": int64(2000), "mix": map[string]any{"read": int64(1), "update": int64(1)}})
	if err := s.Load(t.Context(), w.Shape(), "f", w); err != nil {
		t.Fatal(err)
	}
	if res := trialOf(t, s, "repeatable read+read=standby", w, 600, 10*time.Second); res.Total(load.OK) != 600 {
		t.Fatalf("%d of 600, %+v", res.Total(load.OK), res.Errors)
	}
	scans := func(cfg int) int64 {
		at := newSystem(s.local.standbys[cfg].cfg.Copy(), s.log)
		defer at.Close(t.Context()) //nolint:errcheck // it was only read from
		var n int64
		// A backend hands in its numbers a little after it has ended.
		for deadline := time.Now().Add(20 * time.Second); n == 0 && time.Now().Before(deadline); {
			_, rows, err := at.Query(t.Context(), "SELECT coalesce(sum(idx_scan), 0)::bigint FROM pg_stat_user_tables WHERE relname = 'records'", nil)
			if err != nil {
				t.Fatal(err)
			}
			n, _ = rows[0][0].(int64)
		}
		return n
	}
	if a, b := scans(0), scans(1); a == 0 || b == 0 || a+b < 200 || a+b > 400 {
		t.Errorf("the standbys did %d and %d reads", a, b)
	}
	counters, err := s.Counters(t.Context())
	if err != nil || !slices.ContainsFunc(counters, func(c driver.Counter) bool { return c.Name == "pg_stat_replication.standby2.replay_behind_bytes" }) {
		t.Errorf("no counter of how far a standby is behind: %v", err)
	}
	for text, want := range map[string]string{"serializable+read=standby": "no serializable"} {
		if err := s.CheckLevel(t.Context(), drivertest.Level(t, Driver(), text)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", text, err)
		}
	}
	x, err := s.Session(t.Context(), drivertest.Level(t, Driver(), "read=standby"))
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close() //nolint:errcheck // nothing was done
	p := sidebyside.Workload(t, "pgbench", map[string]any{"script": "select-only"})
	if err := x.Prepare(t.Context(), p.Shape()); err == nil || !strings.Contains(err.Error(), "statements of its own") {
		t.Errorf("a transaction at read=standby: %v", err)
	}
	alone := newSystem(s.cfg.Copy(), s.log)
	defer alone.Close(t.Context()) //nolint:errcheck // it was only read from
	if err := alone.CheckLevel(t.Context(), drivertest.Level(t, Driver(), "read=standby")); !errors.As(err, new(*driver.LevelRefused)) {
		t.Errorf("read=standby without one: %v", err)
	}
}

// A pooler between sextant and the server is noticed and said.
func TestPgbouncerIsNoticed(t *testing.T) {
	s := local(t, map[string]any{})
	bin, err := exec.LookPath("pgbouncer")
	if err != nil {
		err = &driver.Error{Class: driver.NotFound, Code: driver.NotInstalled, Err: errors.New("pgbouncer is not installed")}
	}
	drivertest.Need(t, err)
	port, err := sandbox.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	c := s.local
	dir := c.box.Path("pooler")
	users := fmt.Sprintf("%q %q\n", "sextant", s.cfg.Password)
	conf := fmt.Sprintf("[databases]\npostgres = host=127.0.0.1 port=%d\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = %d\nunix_socket_dir =\nauth_type = plain\nauth_file = %s/users\npool_mode = session\nignore_startup_parameters = extra_float_digits\n", s.cfg.Port, port, dir)
	if err := errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(filepath.Join(dir, "users"), []byte(users), 0o600), os.WriteFile(filepath.Join(dir, "conf"), []byte(conf), 0o600)); err != nil {
		t.Fatal(err)
	}
	for _, f := range []string{"", "users", "conf"} {
		if err := c.account.Give(filepath.Join(dir, f)); err != nil {
			t.Fatal(err)
		}
	}
	p, err := c.box.Start(c.box.Command(context.Background(), c.account, bin, filepath.Join(dir, "conf")), "pooler.log")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := p.Stop(syscall.SIGINT, 5*time.Second); err != nil {
			t.Error(err)
		}
	})
	for deadline := time.Now().Add(20 * time.Second); ; {
		x, err := net.Dial("tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = x.Close()
			break
		}
		if time.Now().After(deadline) {
			t.Fatal(err)
		}
	}
	for url, want := range map[string]string{"yes": fmt.Sprint(port), "no": fmt.Sprint(s.cfg.Port)} {
		var said []string
		sys, err := Driver().Open(t.Context(), driver.Target{System: &spec.System{Type: "postgres", Maker: "server", Name: "p"},
			Options: map[string]any{"url": fmt.Sprintf("postgres://sextant:%s@127.0.0.1:%s/postgres?sslmode=disable", s.cfg.Password, want)}, Log: func(_, text string) { said = append(said, text) }})
		if err != nil {
			t.Fatal(err)
		}
		facts, err := sys.Facts(t.Context())
		if err != nil || !slices.Contains(facts, driver.Fact{Key: "pooler", Value: url}) || (len(said) == 1 && strings.Contains(said[0], "pgbouncer")) != (url == "yes") {
			t.Errorf("pooler %s: said %q, %v", url, said, err)
		}
		if err := sys.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
}

// killedWhileWriting kills the server in the middle of a trial at a level, starts it again and compares what it acknowledged with what is there.
func killedWhileWriting(t *testing.T, text string) load.Verified {
	t.Helper()
	s := local(t, map[string]any{"settings": map[string]any{"wal_writer_delay": "10s"}})
	w := sidebyside.Workload(t, "records", map[string]any{"records": int64(1000), "mix": map[string]any{"update": int64(1), "insert": int64(1)}})
	if err := s.Load(t.Context(), w.Shape(), "f", w); err != nil {
		t.Fatal(err)
	}
	l := drivertest.Level(t, Driver(), text)
	written := make(chan struct{})
	go func() {
		<-written
		_ = s.local.server.Stop(syscall.SIGKILL, time.Second)
	}()
	var once sync.Once
	res, err := load.Run(t.Context(), load.Config{Clients: 4, Window: 2 * time.Second, Interval: time.Second, Drain: time.Second, Connect: 2 * time.Second, Verify: 100_000, Workload: w,
		Open:     func(ctx context.Context, _ int) (driver.Session, error) { return s.Session(ctx, l) },
		OnWindow: func(begin bool) { time.AfterFunc(300*time.Millisecond, func() { once.Do(func() { close(written) }) }) }})
	if err != nil {
		t.Fatal(err)
	}
	if again, err := s.Restart(t.Context()); !again || err != nil {
		t.Fatal(again, err)
	}
	x, err := s.Session(t.Context(), spec.Level{})
	if err != nil {
		t.Fatal(err)
	}
	defer x.Close() //nolint:errcheck // it was only read from
	got, err := res.Ledger.Check(t.Context(), x, w)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// A killed server has what it acknowledged at on. At off it has lost some of it, and that is found.
func TestLostWritesOfAKilledServer(t *testing.T) {
	if got := killedWhileWriting(t, "on"); got.Lost != 0 || got.Checked < 100 {
		t.Errorf("on: %+v", got)
	}
	if got := killedWhileWriting(t, "off"); got.Lost == 0 {
		t.Errorf("off: %+v", got)
	}
}
