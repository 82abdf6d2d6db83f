package drivertest

import (
	"context"
	"errors"
	"testing"

	"sextant/interp/driver"
)

func (c *Config) loader(t *testing.T, sys driver.System) driver.Loader {
	t.Helper()
	l, ok := sys.(driver.Loader)
	if !ok {
		t.Fatal("the system can't load datasets")
	}
	return l
}

func inspect(t *testing.T, l driver.Loader) driver.DatasetState {
	t.Helper()
	st, err := l.Inspect(t.Context(), workload())
	if err != nil {
		t.Fatal(err)
	}
	return st
}

func (c *Config) load(t *testing.T, sys driver.System) {
	l := c.loader(t, sys)
	if st := inspect(t, l); st.Exists || st.Fingerprint != "" {
		t.Fatalf("before: %+v", st)
	}
	for _, fp := range []string{"00000000000000aa", "00000000000000bb"} { // the second replaces the first
		n := int64(rows)
		if fp == "00000000000000aa" {
			n = 7
		}
		if err := l.Load(t.Context(), workload(), fp, source{n: n}); err != nil {
			t.Fatal(err)
		}
		if st := inspect(t, l); !st.Exists || !st.Ours || st.Fingerprint != fp || len(st.Rows) != 1 || st.Rows[0] != n {
			t.Errorf("after loading %s: %+v", fp, st)
		}
		if got := c.scalar(t, sys, c.Count); got != n {
			t.Errorf("the server counts %v rows", got)
		}
	}
	if got, want := c.scalar(t, sys, c.Value, key(3)), string(value(1, 3, 100)); got != want {
		t.Errorf("field1 of row 3 is %q, want %q", got, want)
	}
}

// scalar is the one value of a query.
func (c *Config) scalar(t *testing.T, sys driver.System, text string, args ...any) any {
	t.Helper()
	s, ok := sys.(driver.Scripter)
	if !ok {
		t.Fatal("the system can't run statements")
	}
	cols, got, err := s.Query(t.Context(), text, args)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	if len(got) != 1 || len(got[0]) != 1 || len(cols) != 1 {
		t.Fatalf("%s: columns %v, rows %v", text, cols, got)
	}
	return got[0][0]
}

func (c *Config) exec(t *testing.T, sys driver.System, texts ...string) {
	t.Helper()
	for _, text := range texts {
		if _, err := sys.(driver.Scripter).Exec(t.Context(), text, nil); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// cancelledLoad sees that a load that didn't end leaves nothing under its fingerprint.
func (c *Config) cancelledLoad(t *testing.T, sys driver.System) {
	l := c.loader(t, sys)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	src := source{n: 1 << 40, slow: func(i int64) {
		if i == 100 {
			cancel()
		}
	}}
	if err := l.Load(ctx, workload(), "00000000000000cc", src); err == nil {
		t.Error("a cancelled load has no error")
	}
	if st := inspect(t, l); st.Fingerprint == "00000000000000cc" {
		t.Errorf("after a cancelled load: %+v", st)
	}
	if err := l.Load(t.Context(), workload(), "00000000000000dd", source{n: rows}); err != nil {
		t.Errorf("loading after a cancelled load: %v", err)
	}
}

// foreign sees that a table of the same name stays as it is.
func (c *Config) foreign(t *testing.T, sys driver.System) {
	l := c.loader(t, sys)
	if err := l.Drop(t.Context(), workload()); err != nil {
		t.Fatal(err)
	}
	if st := inspect(t, l); st.Exists {
		t.Fatalf("after dropping: %+v", st)
	}
	c.exec(t, sys, c.Foreign...)
	st := inspect(t, l)
	if !st.Exists || st.Ours || st.Fingerprint != "" {
		t.Errorf("a foreign table: %+v", st)
	}
	for what, err := range map[string]error{"loading": l.Load(t.Context(), workload(), "00000000000000ee", source{n: rows}), "dropping": l.Drop(t.Context(), workload())} {
		var de *driver.Error
		if !errors.As(err, &de) || de.Class != driver.Constraint || de.Hint == "" {
			t.Errorf("%s over a foreign table: %v", what, err)
		}
	}
	if got := c.scalar(t, sys, c.Count); got != int64(1) {
		t.Errorf("the foreign table has %v rows", got)
	}
}
