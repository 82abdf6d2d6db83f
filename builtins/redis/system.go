package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"sextant/interp/driver"
	"sextant/interp/driver/sandbox"
	"sextant/interp/spec"
)

// system is an opened server. Its URL is read by go-redis; the connections are made here.
type system struct {
	opt   *goredis.Options
	log   func(kind, text string)
	local *server // of local(); nil for a server that existed
	base  string  // appendfsync of the server when it was opened; "" when it can't be read

	mu    sync.Mutex
	admin *wire // of datasets, facts and hooks; nil until needed
}

func newSystem(opt *goredis.Options, log func(kind, text string)) *system {
	return &system{opt: opt, log: log}
}

// connect opens one connection and logs in.
func (s *system) connect(ctx context.Context) (*wire, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", s.opt.Addr)
	if err == nil && s.opt.TLSConfig != nil {
		t := tls.Client(conn, s.opt.TLSConfig)
		err = t.HandshakeContext(ctx)
		conn = t
	}
	if err != nil {
		e := lostError(err)
		e.Hint = "is the server running, and does it listen there?"
		e.Err = fmt.Errorf("no connection to Redis at %s: %w", s.opt.Addr, err)
		return nil, e
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // the calls below end with the context
	x := newWire(conn)
	err = s.login(x)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connecting to Redis at %s: %w", s.opt.Addr, err), conn.Close())
	}
	return x, nil
}

func (s *system) login(x *wire) error {
	if s.opt.Password != "" {
		auth := []string{"AUTH", s.opt.Password}
		if s.opt.Username != "" {
			auth = []string{"AUTH", s.opt.Username, s.opt.Password}
		}
		if _, err := x.call(auth...); err != nil {
			return err
		}
	}
	if _, err := x.call("SELECT", strconv.Itoa(s.opt.DB)); err != nil {
		return err
	}
	_, err := x.call("CLIENT", "SETNAME", "sextant")
	return err
}

// with runs fn on the administrative connection; ctx ends it.
func (s *system) with(ctx context.Context, fn func(*wire) error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.admin != nil && s.admin.torn {
		_ = s.admin.conn.Close() // it is of no use any more
		s.admin = nil
	}
	if s.admin == nil {
		x, err := s.connect(ctx)
		if err != nil {
			return err
		}
		s.admin = x
	}
	x := s.admin
	stop := context.AfterFunc(ctx, func() { _ = x.conn.SetDeadline(time.Unix(1, 0)) })
	err := fn(x)
	if !stop() { // the deadline stays: a new connection next time
		x.torn = true
	}
	if err != nil && ctx.Err() != nil {
		return errors.Join(ctx.Err(), err)
	}
	return err
}

// config reads settings that a pattern names.
func config(x *wire, name string) (string, error) {
	v, err := x.call("CONFIG", "GET", name)
	if err != nil {
		return "", err
	}
	if l, ok := v.([]any); ok && len(l) == 2 {
		return fmt.Sprint(l[1]), nil
	}
	return "", fmt.Errorf("the server has no setting %s", name)
}

// info reads one field of INFO.
func info(x *wire, section, field string) (string, error) {
	v, err := x.call("INFO", section)
	if err != nil {
		return "", err
	}
	for _, line := range strings.Split(fmt.Sprint(v), "\r\n") {
		if f, ok := strings.CutPrefix(line, field+":"); ok {
			return f, nil
		}
	}
	return "", nil
}

// greet looks whether the server is one that can be measured, and notes its own appendfsync.
func (s *system) greet(ctx context.Context) error {
	return s.with(ctx, func(x *wire) error {
		version, err := info(x, "server", "redis_version")
		if err != nil {
			return err
		}
		major, _, _ := strings.Cut(version, ".")
		if n, err := strconv.Atoi(major); err != nil || n < 6 {
			return &driver.Error{Class: driver.Unavailable, Err: fmt.Errorf("the server is Redis %s", version), Hint: "sextant measures version 6 and later"}
		}
		if s.base, err = config(x, "appendfsync"); err != nil {
			if class, _ := driver.Classify(err); class != driver.Auth && class != driver.Other {
				return err
			}
			s.base = "" // not privileged: the level can be neither set nor read
		}
		return s.recall(x)
	})
}

func (s *system) Facts(ctx context.Context) (facts []driver.Fact, err error) {
	err = s.with(ctx, func(x *wire) error {
		for _, f := range []struct{ key, section, field string }{{"server_version", "server", "redis_version"}, {"server_mode", "server", "redis_mode"},
			{"server_os", "server", "os"}, {"connected_slaves", "replication", "connected_slaves"}, {"maxmemory", "memory", "maxmemory"}} {
			v, err := info(x, f.section, f.field)
			if err != nil {
				return err
			}
			facts = append(facts, driver.Fact{Key: f.key, Value: v})
		}
		for _, name := range []string{"appendonly", "appendfsync", "save", "io-threads", "maxclients", "maxmemory-policy", "no-appendfsync-on-rewrite"} {
			if v, err := config(x, name); err == nil {
				facts = append(facts, driver.Fact{Key: "server_setting." + name, Value: v})
			}
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("reading the server's settings: %w", err)
	}
	tls := "no"
	if s.opt.TLSConfig != nil {
		tls = "yes"
	}
	return append(facts, driver.Fact{Key: "tls", Value: tls}, driver.Fact{Key: "address", Value: s.opt.Addr}), nil
}

// CheckLevel refuses an appendfsync without an append-only file or without the right to set it, and a WAIT for more
// replicas than there are.
func (s *system) CheckLevel(ctx context.Context, l spec.Level) error {
	refuse := func(format string, a ...any) error {
		return &driver.LevelRefused{Level: l, Reason: fmt.Sprintf(format, a...)}
	}
	return s.with(ctx, func(x *wire) error {
		if v := l.Get("appendfsync"); v != "" {
			only, err := config(x, "appendonly")
			if err != nil {
				return refuse("the user may not read or set the server's configuration: %v", err)
			}
			if only != "yes" {
				return refuse("the server has no append-only file (appendonly no), so appendfsync changes nothing")
			}
		}
		if v := l.Get("wait"); v != "" {
			have, err := info(x, "replication", "connected_slaves")
			if err != nil {
				return err
			}
			n, err := strconv.Atoi(have)
			if want, _ := strconv.Atoi(v); err != nil || n < want {
				return refuse("the server has %s replicas: WAIT %s would never be met", have, v)
			}
		}
		return nil
	})
}

func (s *system) Session(ctx context.Context, level spec.Level) (driver.Session, error) {
	x, err := s.connect(ctx)
	if err != nil {
		return nil, err
	}
	want := level.Get("appendfsync")
	if want == "" {
		want = s.base // a level before may have changed it
	}
	if want != "" && want != s.base && s.local == nil { // before it is changed: a sextant that is killed can't put it back itself
		if err := sandbox.Remember(s.place(), map[string]string{"appendfsync": s.base}); err != nil {
			return nil, errors.Join(err, x.conn.Close())
		}
	}
	if want != "" {
		if _, err := x.call("CONFIG", "SET", "appendfsync", want); err != nil {
			return nil, errors.Join(fmt.Errorf("setting the level %s: %w", level, err), x.conn.Close())
		}
	}
	return &session{x: x, wait: level.Get("wait")}, nil
}

// place names the server in what is remembered about it.
func (s *system) place() string { return "redis " + s.opt.Addr }

// recall puts back what a sextant that was killed has left changed.
func (s *system) recall(x *wire) error {
	if s.local != nil || s.base == "" {
		return nil
	}
	left, err := sandbox.Recall(s.place())
	if err != nil || left["appendfsync"] == "" {
		return err
	}
	if _, err := x.call("CONFIG", "SET", "appendfsync", left["appendfsync"]); err != nil {
		return fmt.Errorf("putting back what an earlier run has left changed: %w", err)
	}
	s.base = left["appendfsync"]
	s.log("warning", fmt.Sprintf("an earlier run was killed before it could put back appendfsync %s: done now", s.base))
	return sandbox.Forget(s.place())
}

// words splits a command of a hook; "quoted words" keep their spaces.
func words(text string) ([]string, error) {
	var out []string
	for text = strings.TrimSpace(text); text != ""; text = strings.TrimSpace(text) {
		if text[0] != '"' {
			word, rest, _ := strings.Cut(text, " ")
			out, text = append(out, word), rest
			continue
		}
		quoted, err := strconv.QuotedPrefix(text)
		if err != nil {
			return nil, fmt.Errorf("the command %q has a quotation mark without its end", text)
		}
		word, err := strconv.Unquote(quoted)
		if err != nil {
			return nil, err
		}
		out, text = append(out, word), text[len(quoted):]
	}
	if len(out) == 0 {
		return nil, errors.New("the command is empty")
	}
	return out, nil
}

func (s *system) call(ctx context.Context, text string, args []any) (v any, err error) {
	parts, err := words(text)
	if err != nil {
		return nil, err
	}
	for _, a := range args {
		parts = append(parts, spec.Display(a))
	}
	err = s.with(ctx, func(x *wire) error {
		v, err = x.call(parts...)
		return err
	})
	return v, err
}

// Exec does a command: its words, then the arguments. It returns an integer reply, else 0.
func (s *system) Exec(ctx context.Context, text string, args []any) (int64, error) {
	v, err := s.call(ctx, text, args)
	n, _ := v.(int64)
	return n, err
}

// Query does a command; each element of its reply is a row with the column "value".
func (s *system) Query(ctx context.Context, text string, args []any) (columns []string, rows [][]any, err error) {
	v, err := s.call(ctx, text, args)
	if err != nil {
		return nil, nil, err
	}
	list, ok := v.([]any)
	if !ok {
		list = []any{v}
	}
	for _, e := range list {
		if nested, ok := e.([]any); ok {
			e = fmt.Sprint(nested)
		}
		rows = append(rows, []any{e})
	}
	return []string{"value"}, rows, nil
}

func (s *system) Processes(context.Context) ([]int, string) {
	if s.local == nil {
		return nil, "the server was not started by sextant"
	}
	return s.local.proc.Processes(), ""
}

// SessionLimit is maxclients without those that are connected.
func (s *system) SessionLimit(ctx context.Context) (limit int, source string, err error) {
	err = s.with(ctx, func(x *wire) error {
		limit, source = 1<<30, "no limit can be read"
		most, err := info(x, "clients", "maxclients")
		if err != nil || most == "" {
			return err
		}
		now, err := info(x, "clients", "connected_clients")
		if err != nil {
			return err
		}
		a, errA := strconv.Atoi(most)
		b, errB := strconv.Atoi(now)
		limit, source = a-b, fmt.Sprintf("maxclients = %s, of which %s are in use", most, now)
		return errors.Join(errA, errB)
	})
	return limit, source, err
}

// Counters are the numbers of INFO's sections that count.
func (s *system) Counters(ctx context.Context) (out []driver.Counter, err error) {
	err = s.with(ctx, func(x *wire) error {
		v, err := x.call("INFO", "stats")
		if err != nil {
			return err
		}
		for _, line := range strings.Split(fmt.Sprint(v), "\r\n") {
			name, text, ok := strings.Cut(line, ":")
			if f, err := strconv.ParseFloat(text, 64); ok && err == nil && !slices.Contains([]string{"instantaneous_ops_per_sec"}, name) {
				out = append(out, driver.Counter{Name: "info_stats." + name, Value: f})
			}
		}
		return nil
	})
	return out, err
}

// Restart starts a throwaway server again that has died.
func (s *system) Restart(ctx context.Context) (bool, error) {
	if s.local == nil || s.local.proc.Alive() {
		return false, nil
	}
	return true, s.local.start(ctx, s)
}

func (s *system) Close(ctx context.Context) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.admin != nil {
		if s.base != "" && s.local == nil && !s.admin.torn { // the server gets its own setting back
			_ = s.admin.conn.SetDeadline(time.Now().Add(2 * time.Second))
			if _, err := s.admin.call("CONFIG", "SET", "appendfsync", s.base); err == nil { // a server that is gone can't be told
				_ = sandbox.Forget(s.place()) // then the next start does it again, which does no harm
			}
		}
		_ = s.admin.conn.Close() // nothing is under way on it
		s.admin = nil
	}
	if s.local != nil {
		return s.local.remove()
	}
	return ctx.Err()
}
