package postgres

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"sextant/interp/driver"
	"sextant/interp/driver/sandbox"
)

// standby makes a synchronous standby of a throwaway server, in the same sandbox.
func standby(t *testing.T, s *system) *sandbox.Server {
	t.Helper()
	ctx := t.Context()
	c := s.local
	dsn := fmt.Sprintf("host=127.0.0.1 port=%d user=sextant sslmode=disable password=%s application_name=second", s.cfg.Port, s.cfg.Password)
	data := c.box.Path("second")
	if err := errors.Join(os.Mkdir(data, 0o700), c.account.Give(data)); err != nil {
		t.Fatal(err)
	}
	backup := c.box.Command(ctx, c.account, filepath.Join(c.bin, "pg_basebackup"), "-d", dsn, "-D", data, "-X", "stream", "-c", "fast", "-R", "--no-sync")
	if out, err := backup.CombinedOutput(); err != nil {
		t.Fatalf("pg_basebackup: %v: %s", err, out)
	}
	port, err := sandbox.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	srv, err := c.box.Start(c.box.Command(context.Background(), c.account, filepath.Join(c.bin, "postgres"), "-D", data, "-c", fmt.Sprintf("port=%d", port)), "second.log")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := srv.Stop(syscall.SIGQUIT, 5*time.Second); err != nil {
			t.Error(err)
		}
	})
	eventually(t, s, "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'", int64(1))
	for _, st := range []string{"ALTER SYSTEM SET synchronous_standby_names = 'FIRST 1 (second)'", "SELECT pg_reload_conf()"} {
		if _, err := s.Exec(ctx, st, nil); err != nil {
			t.Fatal(err)
		}
	}
	eventually(t, s, "SELECT count(*) FROM pg_stat_replication WHERE sync_state = 'sync'", int64(1))
	return srv
}

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
	s := local(t, map[string]any{"settings": map[string]any{"fsync": false}})
	if err := s.Load(t.Context(), hotWorkload(), "f", oneRow{}); err != nil {
		t.Fatal(err)
	}
	srv := standby(t, s)
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
