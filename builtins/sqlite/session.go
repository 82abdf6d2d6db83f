package sqlite

import (
	"context"
	"fmt"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// session is one client's connection.
type session struct {
	d       *db
	ops     []driver.Prepared[stmt]
	all     []*stmt
	scratch []byte
	stmts   []prepared    // of transactions
	arena   []byte        // of the values that the last statement gave
	kept    driver.Result // of a read that asked for its values

	// what text binds to, as it is passed to driver.TextArgs
	text     func([]byte)
	boundTo  *stmt
	bound    int
	boundErr error
}

func (s *session) Level(_ context.Context, asked spec.Level) (string, error) {
	want := func(name string) bool { return len(asked.Settings) == 0 || asked.Get(name) != "" }
	var got spec.Level
	if want("synchronous") {
		v, err := s.d.one("PRAGMA synchronous")
		if err != nil {
			return "", fmt.Errorf("reading the level back: %w", err)
		}
		names := []string{"off", "normal", "full", "extra"}
		n, ok := v.(int64)
		if !ok || n < 0 || int(n) >= len(names) {
			return "", fmt.Errorf("reading the level back: synchronous is %v", v)
		}
		got.Settings = append(got.Settings, spec.Setting{Name: "synchronous", Value: names[n]})
	}
	if want("journal_mode") {
		v, err := s.d.one("PRAGMA journal_mode")
		if err != nil {
			return "", fmt.Errorf("reading the level back: %w", err)
		}
		got.Settings = append(got.Settings, spec.Setting{Name: "journal_mode", Value: fmt.Sprint(v)})
	}
	return got.String(), nil
}

func (s *session) Prepare(ctx context.Context, w *driver.Workload) error {
	for _, op := range w.All() {
		st, err := s.prepareOp(w, op)
		if err != nil {
			return fmt.Errorf("preparing %s: %w", op.Name, err)
		}
		s.ops = append(s.ops, st)
	}
	for _, st := range w.Statements {
		if _, err := s.Add(ctx, st); err != nil {
			return fmt.Errorf("preparing %q: %w", st.Text(func(int) string { return "?" }), err)
		}
	}
	return nil
}

func newSession(d *db) *session {
	s := &session{d: d}
	s.text = func(v []byte) {
		if s.boundErr == nil {
			s.bound++
			s.boundErr = s.boundTo.text(s.bound, v)
		}
	}
	return s
}

// dialect is SQLite's way to write the actions on records.
var dialect = driver.Dialect{System: "SQLite", Quote: quote, Mark: func(int) string { return "?" }, IfAbsent: [2]string{"INSERT", " ON CONFLICT DO NOTHING"}, If: " AND "}

func (s *session) prepareOp(w *driver.Workload, op driver.OpType) (driver.Prepared[stmt], error) {
	size := 64 // keys
	if op.Action != driver.Transaction {
		for _, f := range w.Tables[op.Table].Fields {
			size += f.Bytes
		}
	}
	return driver.PrepareRecord(&dialect, w, op, func(text driver.RecordStatement, _ bool) (*stmt, error) {
		st, err := s.d.prepare(text.Text, size*max(op.Batch, 1))
		if err == nil {
			s.all = append(s.all, st)
		}
		return st, err
	})
}

func (s *session) Do(_ context.Context, op *driver.Op, reply *driver.Reply) error {
	s.d.cut.Store(false)
	o := &s.ops[op.Type]
	if o.Read != nil {
		if err := s.read(o, op, reply); err != nil || reply.Rows == 0 || o.Action != driver.ReadModifyWrite {
			return err
		}
	}
	return s.write(o, op, reply)
}

// bind binds the texts that args gives and says how many they are.
func (s *session) bind(st *stmt, a driver.Action, op *driver.Op, args func(driver.Action, *driver.Op, func([]byte))) (n int, err error) {
	s.bound, s.boundTo, s.boundErr = 0, st, nil
	args(a, op, s.text)
	return s.bound, s.boundErr
}

// read runs a query and copies every value, as a client that used them would.
func (s *session) read(o *driver.Prepared[stmt], op *driver.Op, reply *driver.Reply) error {
	st, columns := o.Read, o.Columns
	defer st.reset()
	n, err := s.bind(st, o.Action, op, driver.ReadArgs)
	if err == nil && driver.HasLimit(o.Action) {
		err = st.integer(n+1, int64(op.Limit))
	}
	if err != nil {
		return err
	}
	if reply.Keep {
		return s.keep(st, columns, reply)
	}
	for {
		more, err := st.step()
		if err != nil || !more {
			return err
		}
		reply.Rows++
		for i := range columns {
			s.scratch = st.appendColumn(s.scratch[:0], i)
			reply.Bytes += int64(len(s.scratch))
		}
	}
}

// keep is the rest of read that gives the values.
func (s *session) keep(st *stmt, columns int, reply *driver.Reply) error {
	s.arena = s.arena[:0]
	s.kept.Reset()
	s.kept.Keep = true
	for {
		more, err := st.step()
		if err != nil || !more {
			reply.Bytes, reply.Values = s.kept.Bytes, s.kept.Values
			return err
		}
		reply.Rows++
		var c driver.ResultColumn
		for i := range columns {
			s.value(st, i, &c, &s.kept)
		}
	}
}

func (s *session) write(o *driver.Prepared[stmt], op *driver.Op, reply *driver.Reply) error {
	st, err := o.WriteOf(op)
	if err != nil {
		return err
	}
	defer st.reset()
	if _, err := s.bind(st, o.Action, op, driver.TextArgs); err != nil {
		return err
	}
	if _, err := st.step(); err != nil {
		return err
	}
	reply.Rows = s.d.changes()
	return nil
}

// Interrupt ends the operation in progress; the session stays usable.
func (s *session) Interrupt() { s.d.interrupt() }

func (s *session) Close() error {
	for _, st := range s.all {
		st.finalize()
	}
	s.all = nil
	return s.d.close()
}
