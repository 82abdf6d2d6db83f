package mysql

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"syscall"
	"testing"
	"time"

	"sextant/interp/driver"
	"sextant/interp/driver/drivertest"
	"sextant/interp/driver/sandbox"
	"sextant/interp/spec"
)

// server opens a server that exists by its URL.
func server(t *testing.T, o map[string]any, log func(kind, text string)) (driver.System, error) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	return Driver().Open(ctx, driver.Target{System: &spec.System{Maker: "server", Name: "db", Options: o}, Options: o, Log: log})
}

func urlOf(s *system) string {
	c := s.nodes[0]
	return fmt.Sprintf("mysql://%s:%s@%s/%s", c.User, c.Passwd, c.Addr, c.DBName)
}

// What can't be reached is told with what to do, and without the password.
func TestUnreachable(t *testing.T) {
	s := local(t, 1, quick())
	stranger, err := net.Listen("tcp", "127.0.0.1:0") // a server of another protocol
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close() //nolint:errcheck // it has no state
	go func() {
		for {
			c, err := stranger.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("+OK hello, I am not a database\r\n")) // the client may have gone
			_ = c.Close()
		}
	}()
	good, at := s.nodes[0].Passwd, s.nodes[0].Addr
	for _, x := range []struct {
		url, tls, class, hint string
	}{
		{"mysql://sextant:wrongpass@" + at + "/sextant", "off", "auth", `check user "sextant"`},
		{"mysql://sextant:" + good + "@" + at + "/nosuchdb", "off", "not_found", "CREATE DATABASE nosuchdb"},
		{"mysql://sextant:hush@127.0.0.1:1/sextant", "off", "connection", "is the server running"},
		{"mysql://sextant:hush@" + stranger.Addr().String() + "/sextant", "off", "", ""},
		{"mysql://sextant:hush@" + at + "/sextant", "require", "unavailable", "the server has no TLS"},
		{"postgres://sextant:hush@" + at + "/sextant", "off", "other", "mysql://user"},
		{"mysql://sextant:hush@" + at, "off", "other", "names no user or no database"},
		{"mysql://sextant:hush@" + at + "/x?tls=true", "off", "other", "use the options"},
	} {
		sys, err := server(t, map[string]any{"url": x.url, "tls": x.tls}, func(string, string) {})
		if err == nil {
			t.Errorf("%v was opened by %s", sys, x.url)
			continue
		}
		if got, _ := driver.Classify(err); x.class != "" && string(got) != x.class || !strings.Contains(err.Error(), x.hint) {
			t.Errorf("%s: class %s, %v", x.url, got, err)
		}
		for _, secret := range []string{"wrongpass", "hush", good} {
			if strings.Contains(err.Error(), secret) {
				t.Errorf("the password shows: %v", err)
			}
		}
	}
}

func TestBadOptions(t *testing.T) {
	for url, ok := range map[string]bool{"mysql://me:pw@host/db": false, "mysql://me@host/db": true, "mariadb://me@host:3307/db": true, "host": false, "mysql://me@host": false, "://": false} {
		if err := checkURL(url); (err == nil) != ok {
			t.Errorf("%s: %v", url, err)
		}
	}
	for _, o := range []map[string]any{{"tls": "off", "ca": "x"}, {"tls": "require", "ca": "x"}, {"tls": "verify", "cert": "x"}, {"tls": "verify", "key": "x"}} {
		if driver.CheckTLS(o) == nil {
			t.Errorf("%v is taken", o)
		}
	}
	for _, n := range []any{int64(0), int64(2), int64(4)} {
		if checkNodes(n) == nil {
			t.Errorf("%v nodes are taken", n)
		}
	}
}

// A setting that a run has changed is put back at its end; one that a killed run has left changed, by the next one.
func TestGlobalSettingsArePutBack(t *testing.T) {
	t.Setenv("SEXTANT_TMPDIR", sandbox.Base())
	s := local(t, 1, quick())
	value := func() string {
		t.Helper()
		_, rows, err := s.Query(t.Context(), "SELECT @@innodb_flush_log_at_trx_commit", nil)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(rows[0][0])
	}
	var logged []string
	open := func() *system {
		t.Helper()
		sys, err := server(t, map[string]any{"url": urlOf(s), "tls": "off"}, func(kind, text string) { logged = append(logged, kind+": "+text) })
		if err != nil {
			t.Fatal(err)
		}
		return sys.(*system)
	}
	use := func(sys *system, text string) {
		t.Helper()
		x, err := sys.Session(t.Context(), level(t, text))
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Close(); err != nil {
			t.Error(err)
		}
	}
	sys := open()
	use(sys, "innodb_flush_log_at_trx_commit=0")
	if got := value(); got != "0" {
		t.Fatalf("the level is %s", got)
	}
	use(sys, "read committed") // a level that says nothing about it finds the server's own
	if got := value(); got != "1" {
		t.Errorf("a level without it finds %s", got)
	}
	use(sys, "innodb_flush_log_at_trx_commit=2")
	if err := sys.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := value(); got != "1" {
		t.Errorf("after the end it is %s", got)
	}

	use(open(), "innodb_flush_log_at_trx_commit=2") // never closed: killed
	if got := value(); got != "2" || len(logged) != 0 {
		t.Fatalf("it is %s, %v", got, logged)
	}
	next := open()
	if got := value(); got != "1" || len(logged) != 1 || !strings.Contains(logged[0], "innodb_flush_log_at_trx_commit = 1: done now") {
		t.Errorf("the next start leaves %s, and says %v", got, logged)
	}
	if err := next.Close(t.Context()); err != nil {
		t.Error(err)
	}
}

// Errors of the server have their classes.
func TestErrorsAreClassed(t *testing.T) {
	s := local(t, 1, quick())
	for _, text := range []string{"CREATE TABLE t (k INT PRIMARY KEY, v INT, CHECK (v < 100))", "INSERT INTO t VALUES (1, 0), (2, 0)", "SET GLOBAL innodb_lock_wait_timeout = 1"} {
		if _, err := s.Exec(t.Context(), text, nil); err != nil {
			t.Fatal(err)
		}
	}
	for text, want := range map[string]string{
		"INSERT INTO t VALUES (1, 1)": "constraint 1062", "INSERT INTO t VALUES (NULL, 1)": "constraint 1048", "UPDATE t SET v = 1000": "constraint 4025",
		"SELECT * FROM nothing": "not_found 1146", "SELEKT": "other 1064", "SET STATEMENT max_statement_time = 0.05 FOR SELECT SLEEP(3)": "timeout 1969",
		"SIGNAL SQLSTATE '40001' SET MYSQL_ERRNO = 1213": "conflict 1213",
	} {
		_, err := s.Exec(t.Context(), text, nil)
		if class, code := driver.Classify(err); string(class)+" "+code != want {
			t.Errorf("%s: %s %s, %v", text, class, code, err)
		}
	}
	// a real deadlock: two sessions lock two rows in opposite order
	w := statements("BEGIN", "UPDATE t SET v = v + ? WHERE k = ?", "COMMIT")
	all := sessions(t, s, spec.Level{}, w, 2)
	for i, x := range all {
		if _, err := run(t, x, 0); err != nil {
			t.Fatal(err)
		}
		if _, err := run(t, x, 1, 1, int64(i+1)); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error, 1)
	go func() { _, err := run(t, all[0], 1, 1, 2); done <- err }()
	_, err := run(t, all[1], 1, 1, 1)
	other := <-done
	if err == nil {
		err = other
	}
	if class, code := driver.Classify(err); class != driver.Conflict && code != "1205" {
		t.Errorf("a deadlock: %v", err)
	}
	for _, x := range all {
		if err := x.Rollback(t.Context()); err != nil || x.InTransaction() {
			t.Errorf("%v", err)
		}
	}
}

// An interrupted statement ends on the server, and its session goes on.
func TestInterrupt(t *testing.T) {
	s := local(t, 1, quick())
	x := sessions(t, s, spec.Level{}, statements("SELECT SLEEP(?), SLEEP(20)", "SELECT ?"), 1)[0]
	begin := time.Now()
	done := make(chan error, 1)
	go func() { _, err := run(t, x, 0, 0); done <- err }()
	for { // until the server runs it
		_, rows, err := s.Query(t.Context(), "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'SELECT SLEEP(%'", nil)
		if err != nil {
			t.Fatal(err)
		}
		if rows[0][0] == int64(1) {
			break
		}
	}
	x.Interrupt()
	err := <-done
	if class, code := driver.Classify(err); class != driver.Timeout || code != "1317" || time.Since(begin) > 5*time.Second {
		t.Errorf("after %v: %s %s %v", time.Since(begin), class, code, err)
	}
	x.running.Wait()
	if v, err := run(t, x, 1, 7); err != nil || string(v[0]) != "7" {
		t.Errorf("afterwards: %s %v", v, err)
	}
}

func TestKilledServer(t *testing.T) {
	s := local(t, 1, quick())
	x := sessions(t, s, spec.Level{}, statements("SELECT ?"), 1)[0]
	if _, err := s.Exec(t.Context(), "CREATE TABLE t AS SELECT 5 AS v", nil); err != nil {
		t.Fatal(err)
	}
	pids, _ := s.Processes(t.Context())
	if len(pids) == 0 {
		t.Fatal("no processes")
	}
	for _, pid := range pids {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil && !errors.Is(err, syscall.ESRCH) {
			t.Fatal(err)
		}
	}
	<-s.local.nodes[0].proc.Done()
	for range 2 {
		if _, err := run(t, x, 0, 1); !driver.IsConnection(err) {
			t.Errorf("after a kill: %v", err)
		}
	}
	if _, err := s.Session(t.Context(), spec.Level{}); !driver.IsConnection(err) {
		t.Errorf("a new session: %v", err)
	}
	if again, err := s.Restart(t.Context()); !again || err != nil {
		t.Fatalf("restarting: %v %v", again, err)
	}
	if _, rows, err := s.Query(t.Context(), "SELECT v FROM t", nil); err != nil || len(rows) != 1 || rows[0][0] != int64(5) {
		t.Errorf("after the restart: %v, %v", rows, err)
	}
}

// TLS: asked for, verified, a wrong name and a certificate of the past refused.
func TestTLS(t *testing.T) {
	drivertest.TLS(t, Driver(), "{tls TLSv1.3}", func(t *testing.T, cert, key string) (string, string) {
		set := quick()
		set["ssl_cert"], set["ssl_key"] = cert, key
		s := local(t, 1, set)
		return urlOf(s), s.nodes[0].Passwd
	})
}
