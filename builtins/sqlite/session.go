package sqlite

import (
	"context"
	"fmt"
	"strings"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// session is one client's connection.
type session struct {
	d       *db
	ops     []opStatements
	all     []*stmt
	scratch []byte
	stmts   []prepared    // of transactions
	arena   []byte        // of the values that the last statement gave
	kept    driver.Result // of a read that asked for its values
}

// opStatements are the statements of one operation type; those that its action doesn't need are nil.
type opStatements struct {
	action  driver.Action
	read    *stmt
	insert  *stmt
	del     *stmt
	scan    *stmt
	fixed   *stmt   // update of the type's own set of fields
	updates []*stmt // update of one field, by field
	fields  int
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

func (s *session) prepareOp(w *driver.Workload, op driver.OpType) (opStatements, error) {
	if op.Action == driver.Transaction {
		return opStatements{action: op.Action}, nil // its statements are prepared apart
	}
	t := &w.Tables[op.Table]
	o := opStatements{action: op.Action, fields: len(t.Fields)}
	var names, marks []string
	size := 64 // keys
	for _, f := range t.Fields {
		names, marks = append(names, quote(f.Name)), append(marks, "?")
		size += f.Bytes
	}
	table, key, list := quote(t.Name), quote(t.Key), strings.Join(names, ", ")
	var err error
	prepare := func(format string, args ...any) *stmt {
		if err != nil {
			return nil
		}
		var st *stmt
		if st, err = s.d.prepare(fmt.Sprintf(format, args...), size); err == nil {
			s.all = append(s.all, st)
		}
		return st
	}
	switch op.Action {
	case driver.Insert:
		o.insert = prepare("INSERT INTO %s (%s, %s) VALUES (?, %s)", table, key, list, strings.Join(marks, ", "))
	case driver.Delete:
		o.del = prepare("DELETE FROM %s WHERE %s = ?", table, key)
	case driver.Scan:
		o.scan = prepare("SELECT %s, %s FROM %s WHERE %s >= ? ORDER BY %s LIMIT ?", key, list, table, key, key)
	case driver.Read, driver.ReadModifyWrite, driver.Update:
		if op.Action != driver.Update {
			o.read = prepare("SELECT %s FROM %s WHERE %s = ?", list, table, key)
		}
		if op.Action == driver.Read {
			break
		}
		if op.Fields != nil {
			var sets []string
			for _, f := range op.Fields {
				sets = append(sets, names[f]+" = ?")
			}
			o.fixed = prepare("UPDATE %s SET %s WHERE %s = ?", table, strings.Join(sets, ", "), key)
			break
		}
		for _, n := range names {
			o.updates = append(o.updates, prepare("UPDATE %s SET %s = ? WHERE %s = ?", table, n, key))
		}
	default:
		return o, &driver.Error{Class: driver.Other, Err: fmt.Errorf("SQLite can't do the action %q", op.Action)}
	}
	return o, err
}

func (s *session) Do(_ context.Context, op *driver.Op, reply *driver.Reply) error {
	s.d.cut.Store(false)
	o := &s.ops[op.Type]
	switch o.action {
	case driver.Read:
		return s.read(o.read, op, o.fields, reply)
	case driver.Update:
		return s.update(o, op, reply)
	case driver.Insert:
		if err := insert(o.insert, op.Key, op.Values); err != nil {
			return err
		}
		reply.Rows = 1
		return nil
	case driver.Delete:
		defer o.del.reset()
		if err := o.del.text(1, op.Key); err != nil {
			return err
		}
		if _, err := o.del.step(); err != nil {
			return err
		}
		reply.Rows = s.d.changes()
		return nil
	case driver.Scan:
		if err := o.scan.integer(2, int64(op.Limit)); err != nil {
			return err
		}
		return s.read(o.scan, op, o.fields+1, reply)
	default: // read-modify-write: Prepare has refused anything else
		if err := s.read(o.read, op, o.fields, reply); err != nil || reply.Rows == 0 {
			return err
		}
		return s.update(o, op, reply)
	}
}

// read runs a query by key and copies every value, as a client that used them would.
func (s *session) read(st *stmt, op *driver.Op, columns int, reply *driver.Reply) error {
	defer st.reset()
	if err := st.text(1, op.Key); err != nil {
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

func (s *session) update(o *opStatements, op *driver.Op, reply *driver.Reply) error {
	st := o.fixed
	if st == nil {
		if len(op.Fields) != 1 {
			return &driver.Error{Class: driver.Other, Err: fmt.Errorf("an update of %d fields was not prepared", len(op.Fields))}
		}
		st = o.updates[op.Fields[0]]
	}
	defer st.reset()
	for i, v := range op.Values {
		if err := st.text(i+1, v); err != nil {
			return err
		}
	}
	if err := st.text(len(op.Values)+1, op.Key); err != nil {
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
