package cassandra

import (
	"context"
	"fmt"
	"strings"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// session is the operations of one client, on the shared connections.
type session struct {
	s                   *system
	read, write         gocql.Consistency
	readWord, writeWord string
	c                   *gocql.Session
	ops                 []opStatements
	args                []any
	dest                []any    // pointers to vals
	vals                [][]byte // of a row that is read
	kept                [][]byte
	statements          []*statement
	raw                 []raw
	rawDest             []any // pointers to raw
}

// opStatements are the statements of one operation type; those that its action doesn't need are empty.
type opStatements struct {
	action  driver.Action
	columns int
	one     *gocql.Query
	fixed   *gocql.Query
	updates []*gocql.Query
}

func (s *system) Session(ctx context.Context, level spec.Level) (driver.Session, error) {
	out := &session{s: s, c: s.session()}
	out.readWord, out.writeWord = wordsOf(level)
	var err error
	if out.read, err = consistencyOf(out.readWord); err != nil {
		return nil, err
	}
	if out.write, err = consistencyOf(out.writeWord); err != nil {
		return nil, err
	}
	var version string // the cluster must be there
	if err := out.c.Query("SELECT release_version FROM system.local").Consistency(gocql.One).ScanContext(ctx, &version); err != nil {
		return nil, s.connectError(err)
	}
	return out, nil
}

func (s *session) query(c gocql.Consistency, format string, a ...any) *gocql.Query {
	return s.c.Query(fmt.Sprintf(format, a...)).Consistency(c)
}

// Prepare makes the statements; gocql has each prepared by the nodes when it is first sent there.
func (s *session) Prepare(ctx context.Context, w *driver.Workload) error {
	for _, st := range w.Statements {
		if _, err := s.Add(ctx, st); err != nil {
			return err
		}
	}
	for _, op := range w.All() {
		if op.Action == driver.Transaction { // what it does are the statements and the calls
			s.ops = append(s.ops, opStatements{action: op.Action})
			continue
		}
		t := &w.Tables[op.Table]
		o := opStatements{action: op.Action, columns: len(t.Fields)}
		var names []string
		for _, f := range t.Fields {
			names = append(names, quote(f.Name))
		}
		table, key, list := s.s.keyspace+"."+quote(t.Name), quote(t.Key), strings.Join(names, ", ")
		switch op.Action {
		case driver.Insert:
			o.one = s.query(s.write, "INSERT INTO %s (%s, %s) VALUES (?%s)", table, key, list, strings.Repeat(", ?", len(names)))
		case driver.Delete:
			o.one = s.query(s.write, "DELETE FROM %s WHERE %s = ?", table, key)
		case driver.Scan:
			o.columns++
			o.one = s.query(s.read, "SELECT %s, %s FROM %s WHERE token(%s) >= token(?) LIMIT ?", key, list, table, key)
		case driver.Read, driver.ReadModifyWrite, driver.Update:
			if op.Action != driver.Update {
				o.one = s.query(s.read, "SELECT %s FROM %s WHERE %s = ?", list, table, key)
			}
			if op.Fields != nil {
				var changed []string
				for _, f := range op.Fields {
					changed = append(changed, names[f])
				}
				o.fixed = s.query(s.write, "UPDATE %s SET %s WHERE %s = ?", table, strings.Join(sets(changed, "%s = ?"), ", "), key)
				break
			}
			for _, n := range names {
				o.updates = append(o.updates, s.query(s.write, "UPDATE %s SET %s = ? WHERE %s = ?", table, n, key))
			}
		default:
			return &driver.Error{Class: driver.Other, Err: fmt.Errorf("Cassandra can't do the action %q", op.Action)}
		}
		if o.columns > len(s.vals) {
			s.vals = make([][]byte, o.columns)
			s.dest = nil
			for i := range s.vals {
				s.dest = append(s.dest, &s.vals[i])
			}
		}
		s.ops = append(s.ops, o)
	}
	return nil
}

// Do performs one operation. Its context is what ends it: the protocol has no way to end a request on the server.
func (s *session) Do(ctx context.Context, op *driver.Op, reply *driver.Reply) error {
	o := &s.ops[op.Type]
	s.args = s.args[:0]
	switch o.action {
	case driver.Update:
		return s.update(ctx, o, op, reply)
	case driver.ReadModifyWrite:
		s.args = append(s.args, op.Key)
		if err := s.rows(ctx, o, reply); err != nil || reply.Rows == 0 {
			return err
		}
		s.args, reply.Rows = s.args[:0], 0
		return s.update(ctx, o, op, reply)
	case driver.Read:
		s.args = append(s.args, op.Key)
		return s.rows(ctx, o, reply)
	case driver.Scan:
		s.args = append(s.args, op.Key, op.Limit)
		return s.rows(ctx, o, reply)
	case driver.Insert:
		s.args = append(s.args, op.Key)
		for _, v := range op.Values {
			s.args = append(s.args, v)
		}
	case driver.Delete:
		s.args = append(s.args, op.Key)
	}
	return s.change(ctx, o.one, reply)
}

func (s *session) update(ctx context.Context, o *opStatements, op *driver.Op, reply *driver.Reply) error {
	q := o.fixed
	if q == nil {
		if len(op.Fields) != 1 {
			return &driver.Error{Class: driver.Other, Err: fmt.Errorf("an update of %d fields was not prepared", len(op.Fields))}
		}
		q = o.updates[op.Fields[0]]
	}
	for _, v := range op.Values {
		s.args = append(s.args, v)
	}
	s.args = append(s.args, op.Key)
	return s.change(ctx, q, reply)
}

// change runs a write. Cassandra doesn't say whether there was a row.
func (s *session) change(ctx context.Context, q *gocql.Query, reply *driver.Reply) error {
	if err := q.Bind(s.args...).ExecContext(ctx); err != nil {
		return wrap(err)
	}
	reply.Rows++
	return nil
}

// rows runs a read and takes all its rows.
func (s *session) rows(ctx context.Context, o *opStatements, reply *driver.Reply) error {
	it := o.one.Bind(s.args...).IterContext(ctx)
	if reply.Keep {
		s.kept = s.kept[:0]
	}
	for it.Scan(s.dest[:o.columns]...) {
		reply.Rows++
		for i := range s.vals[:o.columns] {
			reply.Bytes += int64(len(s.vals[i]))
			if reply.Keep {
				s.kept = append(s.kept, s.vals[i])
				s.vals[i] = nil // the next row gets memory of its own
			}
		}
	}
	if reply.Keep {
		reply.Values = s.kept
	}
	return wrap(it.Close())
}

// Close leaves the shared connections open.
func (s *session) Close() error { return nil }
