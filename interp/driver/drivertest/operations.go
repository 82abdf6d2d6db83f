package drivertest

import (
	"context"
	"testing"
	"time"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// session is a prepared session at the default level.
func (c *Config) session(t *testing.T, sys driver.System) driver.Session {
	t.Helper()
	return c.prepared(t, sys, workload())
}

func (c *Config) prepared(t *testing.T, sys driver.System, w *driver.Workload) driver.Session {
	t.Helper()
	s, err := sys.Session(t.Context(), spec.Level{})
	if err != nil {
		t.Fatal(err)
	}
	if err := s.Prepare(t.Context(), w); err != nil {
		t.Fatal(err)
	}
	return s
}

// The operation types, as workload() numbers them.
const (
	read = iota
	update
	insert
	del
	scan
	readModifyWrite
)

func do(t *testing.T, s driver.Session, op driver.Op) (driver.Reply, error) {
	t.Helper()
	var r driver.Reply
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	err := s.Do(ctx, &op, &r)
	return r, err
}

const rowBytes = 100 + 100 + 3000

// actions does each action and looks at what the server holds afterwards.
func (c *Config) actions(t *testing.T, sys driver.System) {
	s := c.session(t, sys)
	defer s.Close() //nolint:errcheck // its operations have been looked at
	fresh := [][]byte{value(0, 9000, 100), value(1, 9000, 100), value(2, 9000, 3000)}
	for _, x := range []struct {
		what  string
		op    driver.Op
		rows  int64
		bytes int64 // -1: not looked at
	}{
		{"read", driver.Op{Type: read, Key: []byte(key(5))}, 1, rowBytes},
		{"read with values of the operation before", driver.Op{Type: read, Key: []byte(key(5)), Fields: []int{1}, Values: fresh[:1]}, 1, rowBytes},
		{"scan with values of the operation before", driver.Op{Type: scan, Key: []byte(key(10)), Limit: 3, Values: fresh[:1]}, 3, -1},
		{"read of a missing row", driver.Op{Type: read, Key: []byte("nobody")}, 0, 0},
		{"update", driver.Op{Type: update, Key: []byte(key(5)), Fields: []int{1}, Values: [][]byte{[]byte("new \\ ' \" é")}}, 1, -1},
		{"update that changes nothing", driver.Op{Type: update, Key: []byte(key(5)), Fields: []int{1}, Values: [][]byte{[]byte("new \\ ' \" é")}}, 1, -1},
		{"update of a missing row", driver.Op{Type: update, Key: []byte("nobody"), Fields: []int{1}, Values: [][]byte{[]byte("x")}}, 0, -1},
		{"insert", driver.Op{Type: insert, Key: []byte(key(9000)), Values: fresh}, 1, -1},
		{"read of the inserted row", driver.Op{Type: read, Key: []byte(key(9000))}, 1, rowBytes},
		{"scan", driver.Op{Type: scan, Key: []byte(key(10)), Limit: 7}, 7, 7 * (rowBytes + 10)},
		{"scan at the end", driver.Op{Type: scan, Key: []byte(key(rows - 2)), Limit: 7}, 3, -1},
		{"delete", driver.Op{Type: del, Key: []byte(key(9000)), Values: fresh[:2]}, 1, -1},
		{"delete of a missing row", driver.Op{Type: del, Key: []byte(key(9000))}, 0, -1},
		{"read-modify-write", driver.Op{Type: readModifyWrite, Key: []byte(key(6)), Fields: []int{1}, Values: [][]byte{[]byte("six")}}, 1, rowBytes},
		{"read-modify-write of a missing row", driver.Op{Type: readModifyWrite, Key: []byte("nobody"), Fields: []int{1}, Values: [][]byte{[]byte("x")}}, 0, 0},
	} {
		if c.Upserts && x.what == "update of a missing row" || c.Blind && x.what == "delete of a missing row" || c.TokenOrder && x.what == "scan at the end" {
			continue
		}
		r, err := do(t, s, x.op)
		if err != nil || r.Rows != x.rows || x.bytes >= 0 && r.Bytes != x.bytes {
			t.Errorf("%s: %+v, %v; want %d rows, %d bytes", x.what, r, err, x.rows, x.bytes)
		}
	}
	for k, want := range map[string]string{key(5): "new \\ ' \" é", key(6): "six", key(7): string(value(1, 7, 100))} {
		if got := c.scalar(t, sys, c.Value, k); got != want {
			t.Errorf("field1 of %s is %q, want %q", k, got, want)
		}
	}
	_, err := do(t, s, driver.Op{Type: insert, Key: []byte(key(5)), Values: fresh})
	if c.Upserts {
		err = &driver.Error{Class: driver.Constraint, Code: "not told"}
	}
	if class, code := driver.Classify(err); class != driver.Constraint || code == "" {
		t.Errorf("a duplicate key: %v (class %s, code %q)", err, class, code)
	}
	if r, err := do(t, s, driver.Op{Type: read, Key: []byte(key(5))}); err != nil || r.Rows != 1 {
		t.Errorf("reading after an error: %+v, %v", r, err)
	}
	if got := c.scalar(t, sys, c.Count); got != int64(rows) {
		t.Errorf("at the end there are %v rows", got)
	}
}

// interrupt sees that an operation that waits for a lock ends when it is told to.
func (c *Config) interrupt(t *testing.T, sys driver.System) {
	if c.Lock == nil {
		t.Skip("this system has no locks")
	}
	s := c.session(t, sys)
	defer s.Close() //nolint:errcheck // it may be unusable by now
	c.exec(t, sys, c.Lock...)
	defer c.exec(t, sys, c.Unlock...)
	in, can := s.(driver.Interrupter)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	done := make(chan error, 1)
	go func() {
		var r driver.Reply
		done <- s.Do(ctx, &driver.Op{Type: update, Key: []byte(key(5)), Fields: []int{1}, Values: [][]byte{[]byte("never")}}, &r)
	}()
	select {
	case err := <-done:
		t.Fatalf("the lock did not hold: %v", err)
	case <-time.After(200 * time.Millisecond): // it waits
	}
	begin := time.Now()
	if can {
		in.Interrupt()
	} else {
		cancel()
	}
	select {
	case err := <-done:
		if err == nil {
			t.Error("an interrupted operation has no error")
		}
		if took := time.Since(begin); took > 2*time.Second {
			t.Errorf("it took %v to end", took)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("the operation did not end")
	}
}
