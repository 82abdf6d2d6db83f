package redis

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
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
	// slotMap is where a cluster has its keys; nil: no cluster. replicas are those of a server that is none.
	slotMap  atomic.Pointer[slotMap]
	replicas []replica
	next     atomic.Uint64 // which replica the next session reads from

	mu    sync.Mutex
	admin *wire // of datasets, facts and hooks; nil until needed
}

func newSystem(opt *goredis.Options, log func(kind, text string)) *system {
	return &system{opt: opt, log: log}
}

// connect opens one connection and logs in.
func (s *system) connect(ctx context.Context, addr string) (*wire, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "tcp", addr)
	conn, err = driver.Streamed(conn, err)
	if err == nil && s.opt.TLSConfig != nil {
		cfg := s.opt.TLSConfig
		if addr != s.opt.Addr { // another node: it has a name of its own
			cfg = cfg.Clone()
			cfg.ServerName, _, _ = net.SplitHostPort(addr)
		}
		t := tls.Client(conn, cfg)
		err = t.HandshakeContext(ctx)
		conn = t
	}
	if err != nil {
		e := lostError(err)
		e.Hint = "is the server running, and does it listen there?"
		e.Err = fmt.Errorf("no connection to Redis at %s: %w", addr, err)
		return nil, e
	}
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // the calls below end with the context
	x := newWire(conn)
	err = s.login(x)
	if !stop() && err == nil {
		err = ctx.Err()
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("connecting to Redis at %s: %w", addr, err), conn.Close())
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
	if s.opt.Protocol == 3 {
		if _, err := x.call("HELLO", "3"); err != nil {
			return &driver.Error{Class: driver.Other, Code: "NOPROTO", Err: fmt.Errorf("the server does not offer RESP3: %w", err), Hint: "leave protocol out"}
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
		x, err := s.connect(ctx, s.opt.Addr)
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

// greet looks whether the server is one that can be measured, where its keys are, and notes its own appendfsync.
func (s *system) greet(ctx context.Context) error {
	err := s.with(ctx, func(x *wire) error {
		version, err := info(x, "server", "redis_version")
		if err != nil {
			return err
		}
		major, _, _ := strings.Cut(version, ".")
		if n, err := strconv.Atoi(major); err != nil || n < 6 {
			return &driver.Error{Class: driver.Unavailable, Err: fmt.Errorf("the server is Redis %s", version), Hint: "sextant measures version 6 and later"}
		}
		return s.topology(x)
	})
	if err != nil {
		return err
	}
	first := true
	err = s.every(ctx, func(x *wire) error {
		base, err := config(x, "appendfsync")
		if err != nil {
			if class, _ := driver.Classify(err); class != driver.Auth && class != driver.Other {
				return err
			}
			base = "" // not privileged: the level can be neither set nor read
		}
		if !first && base != s.base {
			return &driver.Error{Class: driver.Other, Err: fmt.Errorf("the nodes of the cluster differ in appendfsync: %q and %q", s.base, base), Hint: "set it alike on all of them"}
		}
		s.base, first = base, false
		return nil
	})
	if err != nil {
		return err
	}
	return s.recall(ctx)
}

// every runs fn on a connection to each node that has keys: the server, or the primaries of a cluster one after another.
func (s *system) every(ctx context.Context, fn func(*wire) error) error {
	m := s.slotMap.Load()
	if m == nil {
		return s.with(ctx, fn)
	}
	for _, addr := range m.nodes {
		x, err := s.connect(ctx, addr)
		if err != nil {
			return err
		}
		stop := context.AfterFunc(ctx, func() { _ = x.conn.SetDeadline(time.Unix(1, 0)) })
		err = fn(x)
		stop()
		if err = errors.Join(err, x.conn.Close()); err != nil {
			return errors.Join(ctx.Err(), fmt.Errorf("at %s: %w", addr, err))
		}
	}
	return nil
}

// CheckLevel refuses an appendfsync without an append-only file or without the right to set it, and a WAIT for more
// replicas than there are.
func (s *system) CheckLevel(ctx context.Context, l spec.Level) error {
	refuse := func(format string, a ...any) error {
		return &driver.LevelRefused{Level: l, Reason: fmt.Sprintf(format, a...)}
	}
	if l.Get("read") == "replica" {
		if s.slotMap.Load() != nil {
			return refuse("the server is a cluster: reads go to its primaries")
		}
		if len(s.replicas) == 0 {
			return refuse("the server has no replicas")
		}
	}
	return s.every(ctx, func(x *wire) error {
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
	l, err := s.open(ctx)
	if err != nil {
		return nil, err
	}
	fail := func(err error) (driver.Session, error) { return nil, errors.Join(err, l.close()) }
	want := level.Get("appendfsync")
	if want == "" {
		want = s.base // a level before may have changed it
	}
	if want != "" && want != s.base && s.local == nil { // before it is changed: a sextant that is killed can't put it back itself
		if err := sandbox.Remember(s.place(), map[string]string{"appendfsync": s.base}); err != nil {
			return fail(err)
		}
	}
	for _, x := range l.wires {
		if want == "" || x == nil {
			continue
		}
		if _, err := x.call("CONFIG", "SET", "appendfsync", want); err != nil {
			return fail(fmt.Errorf("setting the level %s: %w", level, err))
		}
	}
	out := &session{links: l, wait: level.Get("wait")}
	out.x = l.all[0]
	if level.Get("read") == "replica" {
		if len(s.replicas) == 0 {
			return fail(&driver.LevelRefused{Level: level, Reason: "the server has no replicas"})
		}
		at := s.replicas[s.next.Add(1)%uint64(len(s.replicas))]
		if out.reader, err = l.connect(ctx, at.addr); err != nil {
			return fail(err)
		}
		if err := caughtUp(ctx, out.x, out.reader); err != nil {
			return fail(fmt.Errorf("waiting until the replica %s has what is there: %w", at.addr, err))
		}
	}
	return out, nil
}

// place names the server in what is remembered about it.
func (s *system) place() string { return "redis " + s.opt.Addr }

// recall puts back what a sextant that was killed has left changed.
func (s *system) recall(ctx context.Context) error {
	if s.local != nil || s.base == "" {
		return nil
	}
	left, err := sandbox.Recall(s.place())
	if err != nil || left["appendfsync"] == "" {
		return err
	}
	if err := s.putBack(ctx, left["appendfsync"]); err != nil {
		return fmt.Errorf("putting back what an earlier run has left changed: %w", err)
	}
	s.base = left["appendfsync"]
	s.log("warning", fmt.Sprintf("an earlier run was killed before it could put back appendfsync %s: done now", s.base))
	return sandbox.Forget(s.place())
}

// putBack sets appendfsync on every node.
func (s *system) putBack(ctx context.Context, value string) error {
	return s.every(ctx, func(x *wire) error {
		_, err := x.call("CONFIG", "SET", "appendfsync", value)
		return err
	})
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

// Restart starts those of a throwaway server's nodes again that have died.
func (s *system) Restart(ctx context.Context) (bool, error) {
	if s.local == nil {
		return false, nil
	}
	dead := false
	for _, n := range s.local.nodes {
		if n.proc.Alive() {
			continue
		}
		dead = true
		if err := s.local.start(n); err != nil {
			return true, err
		}
	}
	if !dead {
		return false, nil
	}
	return true, s.local.await(ctx, s)
}

func (s *system) Close(ctx context.Context) error {
	if s.base != "" && s.local == nil { // the server gets its own setting back
		short, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		defer cancel()
		if s.putBack(short, s.base) == nil { // a server that is gone can't be told
			_ = sandbox.Forget(s.place()) // then the next start does it again, which does no harm
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.admin != nil {
		_ = s.admin.conn.Close() // nothing is under way on it
		s.admin = nil
	}
	if s.local != nil {
		return s.local.remove()
	}
	return ctx.Err()
}
