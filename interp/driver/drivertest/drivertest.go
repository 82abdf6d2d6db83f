// Package drivertest is the conformance suite that every driver passes on its real system. It is for tests only.
//
// Map of the package:
//
//	drivertest.go  Config; Run: descriptor, opening, levels
//	dataset.go     loading, counting, what isn't sextant's stays
//	proxy.go       Proxy: a network that delays, stalls, cuts, half-closes and drips, between a driver and its real server
//	server.go      servers of a driver's own tests: needed, opened, stopped
//	pieces.go      Pieces: a stream cut anywhere, for tests of a wire protocol
//	operations.go  the actions on single records, missing rows, duplicates, interruption
//	conditions.go  conditional writes, also by several at once, reads by an index, batches, names that are words of the language
//	transactions.go  statements one by one and in batches, typed tables, values kept
package drivertest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// A Config says how the suite gets at a system, and the few statements that it needs in the system's own language.
type Config struct {
	Driver  driver.Driver
	System  *spec.System   // what Open gets
	Options map[string]any // with secrets resolved
	Secrets []string       // texts that must be in no error and no fact
	Levels  []string       // levels that this system can give
	Refused []string       // levels that it can't

	// Upserts says that the system's updates and inserts write whether or not the key is there, and can't tell.
	Upserts bool
	// Blind says that a delete can't tell either.
	Blind bool
	// TokenOrder says that scans go by a hash of the key.
	TokenOrder bool

	Foreign []string // makes a table named `usertable` with one row, not by sextant
	Count   string   // counts the rows of usertable as one number
	Value   string   // gives field1 of the row whose key is the one argument
	Lock    []string // takes a lock that lets a read or an update of usertable wait, and holds it
	Unlock  []string
}

// Run runs the suite.
func Run(t *testing.T, c Config) {
	t.Run("descriptor", c.descriptor)
	sys := c.open(t)
	t.Run("facts", func(t *testing.T) { c.facts(t, sys) })
	t.Run("load", func(t *testing.T) { c.load(t, sys) })
	t.Run("levels", func(t *testing.T) { c.levels(t, sys) })
	t.Run("actions", func(t *testing.T) { c.actions(t, sys) })
	t.Run("conditional writes", func(t *testing.T) { c.conditions(t, sys) })
	t.Run("indexes and batches", func(t *testing.T) { c.several(t, sys) })
	t.Run("values", func(t *testing.T) { c.values(t, sys) })
	t.Run("transactions", func(t *testing.T) { c.transactions(t, sys) })
	t.Run("types", func(t *testing.T) { c.types(t, sys) })
	t.Run("interrupt", func(t *testing.T) { c.interrupt(t, sys) })
	t.Run("cancelled load", func(t *testing.T) { c.cancelledLoad(t, sys) })
	t.Run("names", func(t *testing.T) { c.names(t, sys) })
	t.Run("foreign table", func(t *testing.T) { c.foreign(t, sys) })
	if err := sys.Close(t.Context()); err != nil {
		t.Errorf("closing: %v", err)
	}
}

func (c *Config) open(t *testing.T) driver.System {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	sys, err := c.Driver.Open(ctx, driver.Target{System: c.System, Options: c.Options, Log: func(kind, text string) { t.Logf("%s: %s", kind, text) }})
	if err != nil {
		t.Fatal(err)
	}
	return sys
}

// clean fails when a text holds a secret.
func (c *Config) clean(t *testing.T, text string) {
	t.Helper()
	for _, s := range c.Secrets {
		if s != "" && strings.Contains(text, s) {
			t.Errorf("a secret shows in %q", text)
		}
	}
}

func (c *Config) descriptor(t *testing.T) {
	d := c.Driver
	if d.Name == "" || d.Doc == "" || d.Open == nil || len(d.Makers) == 0 {
		t.Errorf("incomplete: %+v", d.SystemType)
	}
	for _, m := range d.Makers {
		if m.Doc == "" || m.Positional > len(m.Params) {
			t.Errorf("maker %s: incomplete", m.Name)
		}
		for _, p := range m.Params {
			if p.Doc == "" || p.Name == "name" {
				t.Errorf("maker %s, parameter %q: no documentation, or the name that every maker has", m.Name, p.Name)
			}
		}
	}
	for _, s := range d.Levels {
		if s.Doc == "" || len(s.Values) == 0 {
			t.Errorf("level setting %s: incomplete", s.Name)
		}
		for _, v := range s.Values {
			l, err := d.ParseLevel(s.Name + "=" + v.Name)
			if err != nil || l.Get(s.Name) != v.Name || v.Doc == "" {
				t.Errorf("level %s=%s: %v %v", s.Name, v.Name, l, err)
			}
		}
	}
}

func (c *Config) facts(t *testing.T, sys driver.System) {
	facts, err := sys.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(facts, func(f driver.Fact) bool { return f.Key == "server_version" && f.Value != "" }) {
		t.Errorf("no server_version among %v", facts)
	}
	seen := map[string]bool{}
	for _, f := range facts {
		if seen[f.Key] {
			t.Errorf("the fact %s is told twice", f.Key)
		}
		seen[f.Key] = true
		c.clean(t, f.Value)
	}
}

func (c *Config) level(t *testing.T, text string) spec.Level {
	t.Helper()
	l, err := c.Driver.ParseLevel(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// check asks the system whether its topology gives a level.
func check(ctx context.Context, sys driver.System, l spec.Level) error {
	if lc, ok := sys.(driver.LevelChecker); ok {
		return lc.CheckLevel(ctx, l)
	}
	return nil
}

// levels sets every level on a session and reads it back from the server.
func (c *Config) levels(t *testing.T, sys driver.System) {
	ctx := t.Context()
	if len(c.Levels) == 0 {
		t.Fatal("no level to try")
	}
	for _, text := range append([]string{"default"}, c.Levels...) {
		l := c.level(t, text)
		if err := check(ctx, sys, l); err != nil {
			t.Errorf("%s: %v", text, err)
			continue
		}
		for range 2 { // the second session finds the level set already
			s, err := sys.Session(ctx, l)
			if err != nil {
				t.Fatalf("%s: %v", text, err)
			}
			got, err := s.Level(ctx, l)
			if err != nil {
				t.Errorf("%s: %v", text, err)
			}
			if text == "default" && strings.Count(got, "=") != len(c.Driver.Levels) {
				t.Errorf("the default level reads back as %q: not every setting", got)
			} else if text != "default" && got != l.String() {
				t.Errorf("asked %q, the server answers %q", l, got)
			}
			if err := s.Close(); err != nil {
				t.Errorf("%s: closing: %v", text, err)
			}
		}
	}
	for _, text := range c.Refused {
		l := c.level(t, text)
		err := check(ctx, sys, l)
		if lr, ok := err.(*driver.LevelRefused); !ok || lr.Reason == "" {
			t.Errorf("%s: got %v, want a refusal with its reason", text, err)
		}
	}
}

// workload is what the suite loads and does: all actions on one table.
func workload() *driver.Workload {
	w := &driver.Workload{Tables: []driver.Table{{Name: "usertable", Key: "ycsb_key", Rows: rows, Ordered: true, Indexes: []string{"field0"},
		Fields: []driver.Column{{Name: "field0", Bytes: 100}, {Name: "field1", Bytes: 100}, {Name: "field2", Bytes: 3000}}}}}
	for _, a := range []driver.Action{driver.Read, driver.Update, driver.Insert, driver.Delete, driver.Scan, driver.ReadModifyWrite} {
		w.Ops = append(w.Ops, driver.OpType{Name: string(a), Action: a})
	}
	return w
}

const rows = 500

// source gives the rows: field f of row i is a text that says so, padded to its size.
type source struct {
	n    int64
	slow func(i int64) // called before row i is given
}

func (s source) Rows(int) int64 { return s.n }

func (s source) Row(_ int, i int64, row *driver.Row) {
	if s.slow != nil {
		s.slow(i)
	}
	row.ID = i
	row.Key = []byte(key(i))
	row.Values = [][]byte{value(0, i, 100), value(1, i, 100), value(2, i, 3000)}
}

func key(i int64) string { return fmt.Sprintf("user%06d", i) }

// value has letters that need care in SQL, COPY and JSON.
func value(f int, i int64, size int) []byte {
	b := fmt.Appendf(nil, "f%d of %d \\ ' \" \t \n é ", f, i)
	for len(b) < size {
		b = append(b, byte('a'+len(b)%26))
	}
	return b
}
