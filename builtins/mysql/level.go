package mysql

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"sextant/interp/driver"
	"sextant/interp/driver/sandbox"
	"sextant/interp/spec"
)

// globals are the settings of levels that are the whole server's, and how it had them before sextant.
type globals struct {
	mu   sync.Mutex
	base map[string]string // what was changed -> its value before
}

func globalNames() []string { return []string{"innodb_flush_log_at_trx_commit", "sync_binlog"} }

// waits maps the names of wsrep_sync_wait to its bits.
func waits() map[string]string { return map[string]string{"off": "0", "reads": "1", "all": "7"} }

// readBack are the settings that a connection has, in the words of levels. What a server doesn't have is left out.
func (s *system) readBack(ctx context.Context, c *conn) (map[string]string, error) {
	vars, err := variables(ctx, c, "SHOW SESSION VARIABLES WHERE Variable_name IN ('transaction_isolation', 'tx_isolation', 'innodb_flush_log_at_trx_commit', 'sync_binlog', 'wsrep_sync_wait', 'wsrep_on')",
		func(string) bool { return true })
	if err != nil {
		return nil, err
	}
	out := map[string]string{}
	for _, v := range vars {
		switch name, value := v[0], v[1]; name {
		case "tx_isolation", "transaction_isolation":
			out["isolation"] = strings.ReplaceAll(strings.ToLower(value), "-", " ")
		case "wsrep_sync_wait":
			out[name] = value
			for word, bits := range waits() {
				if bits == value {
					out[name] = word
				}
			}
		default:
			out[name] = value
		}
	}
	return out, nil
}

// CheckLevel refuses wsrep_sync_wait without Galera and sync_binlog without a binary log.
func (s *system) CheckLevel(ctx context.Context, l spec.Level) error {
	refuse := func(reason string) error { return &driver.LevelRefused{Level: l, Reason: reason} }
	return s.with(ctx, func(c *conn) error {
		vars, err := variables(ctx, c, "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('log_bin', 'wsrep_on', 'innodb_log_file_buffering')", func(string) bool { return true })
		if err != nil {
			return err
		}
		is := map[string]string{}
		for _, v := range vars {
			is[v[0]] = v[1]
		}
		switch {
		case l.Get("wsrep_sync_wait") != "" && is["wsrep_on"] != "ON":
			return refuse("the server is no node of a Galera cluster")
		case l.Get("sync_binlog") == "1" && is["log_bin"] != "ON":
			return refuse("the server writes no binary log (log_bin is off), so sync_binlog changes nothing")
		case l.Get("innodb_flush_log_at_trx_commit") == "2" && is["innodb_log_file_buffering"] == "OFF":
			return refuse("innodb_log_file_buffering is off: the log is written past the operating system's cache, so 2 would measure the same as 1")
		}
		return nil
	})
}

// setLevel sets a level on a connection, and on the server what is the server's.
func (s *system) setLevel(ctx context.Context, c *conn, l spec.Level) error {
	if err := s.setGlobals(ctx, c, l); err != nil {
		return err
	}
	if v := l.Get("isolation"); v != "" {
		if _, err := c.exec(ctx, "SET SESSION TRANSACTION ISOLATION LEVEL "+strings.ToUpper(v)); err != nil {
			return err
		}
	}
	if v := l.Get("wsrep_sync_wait"); v != "" {
		if _, err := c.exec(ctx, "SET SESSION wsrep_sync_wait = "+waits()[v]); err != nil {
			return err
		}
	}
	return nil
}

// setGlobals sets what the level asks for, and puts back what a level before has changed.
func (s *system) setGlobals(ctx context.Context, c *conn, l spec.Level) error {
	g := &s.globals
	g.mu.Lock()
	defer g.mu.Unlock()
	want := map[string]string{}
	for _, name := range globalNames() {
		if v := l.Get(name); v != "" {
			want[name] = v
		} else if v, changed := g.base[name]; changed {
			want[name] = v
		}
	}
	if len(want) == 0 {
		return nil
	}
	now, err := s.readBack(ctx, c)
	if err != nil {
		return err
	}
	for _, name := range globalNames() {
		v, wanted := want[name]
		if !wanted || now[name] == v {
			continue
		}
		if _, known := g.base[name]; !known {
			if g.base == nil {
				g.base = map[string]string{}
			}
			g.base[name] = now[name]
			if s.local == nil { // before the server is changed: a sextant that is killed can't put it back itself
				if err := sandbox.Remember(s.place(), g.base); err != nil {
					return err
				}
			}
		}
		if _, err := c.exec(ctx, fmt.Sprintf("SET GLOBAL %s = %s", name, v)); err != nil {
			if class, _ := driver.Classify(err); class == driver.Auth {
				return &driver.Error{Class: driver.Auth, Err: fmt.Errorf("the user may not set %s: %w", name, err), Hint: "it needs SUPER, or SYSTEM_VARIABLES_ADMIN on MySQL 8"}
			}
			return err
		}
	}
	return nil
}

// place names the server in what is remembered about it.
func (s *system) place() string { return "mysql " + s.nodes[0].Addr }

// recall puts back what a sextant that was killed has left changed.
func (s *system) recall(ctx context.Context, c *conn) error {
	if s.local != nil {
		return nil
	}
	left, err := sandbox.Recall(s.place())
	if err != nil || len(left) == 0 {
		return err
	}
	if err := restore(ctx, c, left); err != nil {
		return fmt.Errorf("putting back what an earlier run has left changed: %w", err)
	}
	s.log("warning", fmt.Sprintf("an earlier run was killed before it could put back %s: done now", text(left)))
	return sandbox.Forget(s.place())
}

func text(settings map[string]string) string {
	var out []string
	for _, name := range globalNames() {
		if v, ok := settings[name]; ok {
			out = append(out, name+" = "+v)
		}
	}
	return strings.Join(out, ", ")
}

func restore(ctx context.Context, c *conn, settings map[string]string) error {
	var err error
	for name, v := range settings {
		if slices.Contains(globalNames(), name) && strings.Trim(v, "0123456789") == "" {
			_, e := c.exec(ctx, fmt.Sprintf("SET GLOBAL %s = %s", name, v))
			err = errors.Join(err, e)
		}
	}
	return err
}

// putBack puts the server's own settings back at the end.
func (s *system) putBack(ctx context.Context) error {
	g := &s.globals
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.base) == 0 || s.local != nil {
		return nil
	}
	if err := s.with(ctx, func(c *conn) error { return restore(ctx, c, g.base) }); err != nil {
		return fmt.Errorf("putting back %s: %w", text(g.base), err)
	}
	g.base = nil
	return sandbox.Forget(s.place())
}
