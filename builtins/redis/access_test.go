package redis

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sextant/builtins/sidebyside"
	"sextant/interp/driver"
	"sextant/interp/driver/drivertest"
	"sextant/interp/driver/sandbox"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// serverAt opens a server that exists.
func serverAt(t *testing.T, options map[string]any) (driver.System, error) {
	t.Helper()
	return Driver().Open(t.Context(), driver.Target{System: &spec.System{Type: "redis", Maker: "server", Name: "redis"}, Options: options, Log: func(string, string) {}})
}

// secured is a server with a certificate, and its URL without TLS.
func secured(t *testing.T, cert, key string) (url, password string) {
	t.Helper()
	port, err := sandbox.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	s := local(t, map[string]any{"tls-port": int64(port), "tls-cert-file": cert, "tls-key-file": key, "tls-auth-clients": "no"})
	return fmt.Sprintf("redis://:%s@127.0.0.1:%d/0", s.opt.Password, port), s.opt.Password
}

// TLS: asked for, verified, a wrong name, a certificate of the past and a connection without refused.
func TestTLS(t *testing.T) {
	need(t)
	drivertest.TLS(t, Driver(), "{tls yes}", secured)
	cert, key := drivertest.Certificate(t, t.TempDir(), "127.0.0.1", time.Now().Add(time.Hour))
	url, password := secured(t, cert, key)
	if _, err := serverAt(t, map[string]any{"url": url, "tls": "off"}); err == nil || !strings.Contains(err.Error(), "connection") || strings.Contains(err.Error(), password) {
		t.Errorf("without TLS: %v", err)
	}
	opened, err := serverAt(t, map[string]any{"url": url, "tls": "require"})
	if err != nil {
		t.Fatal(err)
	}
	sys := opened.(*system)
	w := sidebyside.Workload(t, "redis", map[string]any{"tests": map[string]any{"set": int64(1), "get": int64(1)}, "keyspace": int64(200), "value_bytes": int64(20_000)})
	loaded(t, sys, w)
	for _, depth := range []int{1, 8} { // four clients share threads, also below TLS
		if res := trialOf(t, sys, "default", w, 4, depth, 2000); res.Total(load.OK) < 2000 || len(res.Errors) != 0 {
			t.Errorf("over TLS in batches of %d: %d of 2000, %+v", depth, res.Total(load.OK), res.Errors)
		}
	}
}

// A user of the access list: a wrong password is an auth error, and what the user may not do makes the level that needs it refused, not pretended.
func TestUsers(t *testing.T) {
	s := local(t, nil)
	for _, command := range []string{"ACL SETUSER app on >secret ~* &* +@all -config", "ACL SETUSER reader on >secret ~* +@read +info +select +client"} {
		if _, err := s.Exec(t.Context(), command, nil); err != nil {
			t.Fatal(err)
		}
	}
	url := func(user, password string) string {
		return fmt.Sprintf("redis://%s:%s@%s/0", user, password, s.opt.Addr)
	}
	if _, err := serverAt(t, map[string]any{"url": url("app", "wrong")}); err == nil || strings.Contains(err.Error(), "wrong@") {
		t.Errorf("a wrong password: %v", err)
	} else if class, code := driver.Classify(err); class != driver.Auth || code != "WRONGPASS" {
		t.Errorf("a wrong password: %v (%s %s)", err, class, code)
	}
	sys, err := serverAt(t, map[string]any{"url": url("app", "secret")})
	if err != nil {
		t.Fatal(err)
	}
	defer sys.Close(t.Context()) //nolint:errcheck // it was only read from
	if err := sys.(driver.LevelChecker).CheckLevel(t.Context(), drivertest.Level(t, Driver(), "always")); !errors.As(err, new(*driver.LevelRefused)) {
		t.Errorf("appendfsync without the right to set it: %v", err)
	}
	w := records(t, map[string]any{"update": int64(1)})
	loaded(t, sys.(*system), w)
	if res := trialOf(t, sys.(*system), "", w, 1, 1, 50); res.Attempts() != 50 || len(res.Errors) != 0 {
		t.Errorf("the user's operations: %+v", res.Errors)
	}
	reader, err := serverAt(t, map[string]any{"url": url("reader", "secret")})
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close(t.Context()) //nolint:errcheck // it was only read from
	res := trialOf(t, reader.(*system), "", w, 1, 1, 20)
	if len(res.Errors) != 1 || res.Errors[0].Class != driver.Auth || res.Errors[0].Code != "NOPERM" || res.Errors[0].Count != 20 {
		t.Errorf("writes of a user who may only read: %+v", res.Errors)
	}
}
