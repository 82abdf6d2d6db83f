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

	"sextant/interp/driver"
	"sextant/interp/driver/drivertest"
	"sextant/interp/driver/sandbox"
	"sextant/interp/spec"
)

func level(text string) (spec.Level, error) {
	d := Driver()
	return d.ParseLevel(text)
}

func need(t testing.TB) {
	t.Helper()
	_, err := binary()
	drivertest.Need(t, err)
}

func local(t testing.TB, settings map[string]any) *system {
	t.Helper()
	need(t)
	return drivertest.Local(t, Driver(), map[string]any{"settings": settings}).(*system)
}

func suite(maker string, options map[string]any, secrets ...string) drivertest.Config {
	return drivertest.Config{
		Driver: Driver(), System: &spec.System{Type: "redis", Maker: maker, Name: "redis", Options: options}, Options: options, Secrets: secrets, Upserts: true,
		Levels: []string{"appendfsync=no", "everysec", "always"}, Refused: []string{"wait=1", "always+wait=2"},
		Foreign: []string{"SET usertable mine"},
		Count:   `EVAL "local n = 0 for _, k in ipairs(redis.call('KEYS', 'user*')) do n = n + 1 end return n" 0`,
		Value:   `EVAL "return redis.call('HGET', KEYS[1], 'field1')" 1`,
		Lock:    []string{"CLIENT PAUSE 60000 WRITE"}, Unlock: []string{"CLIENT UNPAUSE"},
	}
}

func TestLocal(t *testing.T) {
	need(t)
	t.Setenv("SEXTANT_TMPDIR", t.TempDir())
	drivertest.Run(t, suite("local", map[string]any{"settings": map[string]any{"maxmemory": "100mb"}}))
}

// The same over RESP3, whose replies have other forms.
func TestLocalRESP3(t *testing.T) {
	drivertest.Run(t, suite("local", map[string]any{"protocol": int64(3)}))
	s := local(t, map[string]any{})
	s.opt.Protocol = 3
	x, err := s.connect(t.Context(), s.opt.Addr)
	if err != nil {
		t.Fatal(err)
	}
	defer x.conn.Close() //nolint:errcheck // its replies were read
	x.begin(1)
	x.text("HELLO")
	if err := x.flush(); err != nil {
		t.Fatal(err)
	}
	if err := x.more(); err != nil || x.in[x.r] != '%' {
		t.Errorf("a reply begins with %q, %v", x.in[x.r], err)
	}
	facts, err := s.Facts(t.Context())
	if err != nil || !slices.Contains(facts, driver.Fact{Key: "protocol", Value: "RESP3"}) {
		t.Errorf("%v, %v", facts, err)
	}
}

// Replies of RESP3 count and read as those of RESP2; what comes beside them is left out.
func TestRESP3(t *testing.T) {
	in := "%2\r\n$1\r\na\r\n:1\r\n+b\r\n_\r\n" + "~2\r\n,1.5\r\n#t\r\n" + "|1\r\n+ttl\r\n:3\r\n=8\r\ntxt:hell\r\n" + ">2\r\n+message\r\n+x\r\n(123\r\n" + "!11\r\nERR not now\r\n" + "%0\r\n"
	for _, size := range []int{1, 7, 1 << 20} {
		x := newWire(&drivertest.Pieces{In: []byte(in + in), Size: size})
		for i, want := range []sum{{leaves: 2, bytes: 2, integer: 1, nilReply: true}, {leaves: 2, bytes: 4}, {leaves: 1, bytes: 8}, {leaves: 1, bytes: 3}, {}, {empty: true}} {
			var c sum
			err := x.count(&c)
			if c != want || (err != nil) != (i == 4) || x.torn {
				t.Errorf("pieces of %d, reply %d: %+v, %v", size, i, c, err)
			}
		}
		for i, want := range []string{"[a 1 b <nil>]", "[1.5 t]", "hell", "123", "<nil>", "[]"} {
			v, err := x.value()
			if fmt.Sprint(v) != want || (err != nil) != (i == 4) {
				t.Errorf("pieces of %d, reply %d: %v, %v", size, i, v, err)
			}
		}
	}
}

func TestServer(t *testing.T) {
	s := local(t, nil)
	url := "redis://:" + s.opt.Password + "@" + s.opt.Addr + "/3"
	drivertest.Run(t, suite("server", map[string]any{"url": url}, url, s.opt.Password))
}

func TestUnreachable(t *testing.T) {
	s := local(t, nil)
	for url, want := range map[string]driver.Class{
		"redis://:wrongpass@" + s.opt.Addr + "/0":               driver.Auth,
		"redis://" + s.opt.Addr + "/0":                          driver.Auth,
		"redis://:hush@127.0.0.1:1/0":                           driver.Connection,
		"redis://:" + s.opt.Password + "@" + s.opt.Addr + "/99": driver.Other,
	} {
		o := map[string]any{"url": url}
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		_, err := Driver().Open(ctx, driver.Target{System: &spec.System{Maker: "server", Name: "r", Options: o}, Options: o, Log: func(string, string) {}})
		cancel()
		if class, _ := driver.Classify(err); err == nil || class != want {
			t.Errorf("class %s, %v", class, err)
		}
		for _, secret := range []string{"wrongpass", "hush", s.opt.Password} {
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("the password shows: %v", err)
			}
		}
	}
	if err := checkURL("redis://:pw@host/0"); err == nil {
		t.Error("a password in a script was taken")
	}
}

// Without an append-only file there is nothing to sync: the level is refused.
func TestNoAppendOnlyFile(t *testing.T) {
	s := local(t, map[string]any{"appendonly": false})
	l, err := level("always")
	if err != nil {
		t.Fatal(err)
	}
	var lr *driver.LevelRefused
	if err := s.CheckLevel(t.Context(), l); !errors.As(err, &lr) || !strings.Contains(lr.Reason, "append-only") {
		t.Errorf("got %v", err)
	}
}

// The server's own level comes back for a trial that doesn't name one.
func TestLevelComesBack(t *testing.T) {
	s := local(t, nil)
	for _, x := range [][2]string{{"always", "appendfsync=always wait=0 read=primary"}, {"default", "appendfsync=everysec wait=0 read=primary"}} {
		l, err := level(x[0])
		if err != nil {
			t.Fatal(err)
		}
		ses, err := s.Session(t.Context(), l)
		if err != nil {
			t.Fatal(err)
		}
		if got, err := ses.Level(t.Context(), spec.Level{}); err != nil || got != x[1] {
			t.Errorf("at %s the level is %q, %v", x[0], got, err)
		}
		if err := ses.Close(); err != nil {
			t.Error(err)
		}
	}
}

func TestKilledServer(t *testing.T) {
	s := local(t, map[string]any{"appendfsync": "always"})
	if _, err := s.Exec(t.Context(), "HSET a f v", nil); err != nil {
		t.Fatal(err)
	}
	if err := s.local.nodes[0].proc.Stop(syscall.SIGKILL, time.Second); err != nil {
		t.Fatal(err)
	}
	if _, err := s.Exec(t.Context(), "PING", nil); !driver.IsConnection(err) {
		t.Errorf("after a kill: %v", err)
	}
	if again, err := s.Restart(t.Context()); !again || err != nil {
		t.Fatalf("restarting: %v %v", again, err)
	}
	if _, rows, err := s.Query(t.Context(), "HGET a f", nil); err != nil || rows[0][0] != "v" {
		t.Errorf("after the restart: %v %v", rows, err)
	}
}

func TestWireReadsAnyPieces(t *testing.T) {
	long := strings.Repeat("x", 100_000)
	in := "*4\r\n$1\r\na\r\n$-1\r\n:7\r\n$100000\r\n" + long + "\r\n-WRONGTYPE no\r\n+OK\r\n*-1\r\n"
	for _, size := range []int{1, 3, 4096, 1 << 20} {
		x := newWire(&drivertest.Pieces{In: []byte(in + in), Size: size})
		var c sum
		if err := x.count(&c); err != nil || c.leaves != 2 || c.bytes != 100_001 || c.integer != 7 || !c.nilReply {
			t.Errorf("pieces of %d: %+v, %v", size, c, err)
		}
		if err := x.count(&c); err == nil || x.torn {
			t.Errorf("pieces of %d: an error reply: %v, torn %v", size, err, x.torn)
		}
		if err := errors.Join(x.count(&c), x.count(&c)); err != nil {
			t.Errorf("pieces of %d: %v", size, err)
		}
		v, err := x.value()
		if l, ok := v.([]any); err != nil || !ok || len(l) != 4 || l[0] != "a" || l[1] != nil || l[2] != int64(7) || l[3] != long {
			t.Errorf("pieces of %d: %v", size, err)
		}
		if _, err := x.value(); err == nil {
			t.Error("an error reply is no error")
		}
		_, _ = x.value()
		_, _ = x.value()
		if err := x.count(&c); !driver.IsConnection(err) {
			t.Errorf("pieces of %d: at the end %v", size, err)
		}
	}
}

func FuzzWire(f *testing.F) {
	f.Add([]byte("*1\r\n$1\r\na\r\n"))
	f.Add([]byte("$9999999999\r\n"))
	f.Fuzz(func(t *testing.T, in []byte) {
		var c sum
		_ = newWire(&drivertest.Pieces{In: in, Size: 5}).count(&c)
		_, _ = newWire(&drivertest.Pieces{In: in, Size: 5}).value()
	})
}

// A setting that a killed run has left changed is put back by the next one.
func TestKilledRunsSettingIsPutBack(t *testing.T) {
	t.Setenv("SEXTANT_TMPDIR", sandbox.Base())
	s := local(t, nil)
	var logged []string
	open := func() driver.System {
		t.Helper()
		o := map[string]any{"url": fmt.Sprintf("redis://:%s@%s/0", s.opt.Password, s.opt.Addr)}
		sys, err := Driver().Open(t.Context(), driver.Target{System: &spec.System{Maker: "server", Name: "r", Options: o}, Options: o, Log: func(kind, text string) { logged = append(logged, kind+": "+text) }})
		if err != nil {
			t.Fatal(err)
		}
		return sys
	}
	now := func() string {
		t.Helper()
		_, rows, err := s.Query(t.Context(), "CONFIG GET appendfsync", nil)
		if err != nil {
			t.Fatal(err)
		}
		return fmt.Sprint(rows)
	}
	before := now()
	l, err := level("always")
	if err != nil {
		t.Fatal(err)
	}
	ses, err := open().Session(t.Context(), l) // never closed: killed
	if err != nil {
		t.Fatal(err)
	}
	if err := ses.Close(); err != nil || now() == before {
		t.Fatal(now(), err)
	}
	next := open()
	if now() != before || len(logged) != 1 || !strings.Contains(logged[0], "appendfsync everysec: done now") {
		t.Errorf("the next start leaves %s and says %v", now(), logged)
	}
	if err := next.Close(t.Context()); err != nil {
		t.Error(err)
	}
	if open(); len(logged) != 1 {
		t.Error(logged)
	}
}
