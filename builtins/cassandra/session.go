package cassandra

import (
	"context"

	gocql "github.com/apache/cassandra-gocql-driver/v2"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// session is the operations of one client, on the shared connections.
type session struct {
	s           *system
	read, write gocql.Consistency
	c           *gocql.Session
	ops         []opStatements
	serial      gocql.Consistency // of the conditions of writes
	args        []any
	text        func([]byte) // adds to args
	found       map[string]any
	batch       *gocql.Batch // of statements, that is begun
	dest        []any        // pointers to vals
	vals        [][]byte     // of a row that is read
	kept        [][]byte
	statements  []*statement
	raw         []raw
	rawDest     []any // pointers to raw
}

// opStatements are the statements of one operation type.
type opStatements struct {
	driver.Prepared[gocql.Query]
	insert string // of each row of a batch
}

func (s *system) Session(ctx context.Context, level spec.Level) (driver.Session, error) {
	out := &session{s: s, c: s.session(), found: map[string]any{}}
	out.text = func(v []byte) { out.args = append(out.args, v) }
	read, write := wordsOf(level)
	var err error
	if out.read, err = consistencyOf(read); err != nil {
		return nil, err
	}
	if out.write, err = consistencyOf(write); err != nil {
		return nil, err
	}
	if out.serial, err = serialOf(level); err != nil {
		return nil, err
	}
	var version string // the cluster must be there
	if err := out.c.Query("SELECT release_version FROM system.local").Consistency(gocql.One).ScanContext(ctx, &version); err != nil {
		return nil, s.connectError(err)
	}
	return out, nil
}

// dialect is how the actions on records are written in CQL.
func (s *system) dialect() *driver.Dialect {
	return &driver.Dialect{System: "Cassandra", Quote: quote, Table: func(name string) string { return s.keyspace + "." + quote(name) },
		Mark: func(int) string { return "?" }, IfAbsent: [2]string{"INSERT", " IF NOT EXISTS"}, If: " IF ", ByToken: true}
}

// Prepare makes the statements; gocql has each prepared by the nodes when it is first sent there.
func (s *session) Prepare(ctx context.Context, w *driver.Workload) error {
	for _, st := range w.Statements {
		if _, err := s.Add(ctx, st); err != nil {
			return err
		}
	}
	dialect := s.s.dialect()
	for _, op := range w.All() {
		var o opStatements
		action := op.Action
		if action == driver.BatchInsert { // of statements that are one row each
			op.Action = driver.Insert
		}
		var err error
		o.Prepared, err = driver.PrepareRecord(dialect, w, op, func(st driver.RecordStatement, reads bool) (*gocql.Query, error) {
			level := s.write
			if reads {
				level = s.read
			}
			if action == driver.BatchInsert {
				o.insert = st.Text
			}
			return s.c.Query(st.Text).Consistency(level).SerialConsistency(s.serial), nil
		})
		if err != nil {
			return err
		}
		o.Action = action
		if o.Columns > len(s.vals) {
			s.vals = make([][]byte, o.Columns)
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
	if o.Read != nil {
		if driver.ReadArgs(o.Action, op, s.text); driver.HasLimit(o.Action) {
			s.args = append(s.args, op.Limit)
		}
		if err := s.rows(ctx, o, reply); err != nil || reply.Rows == 0 || o.Action != driver.ReadModifyWrite {
			return err
		}
		s.args, reply.Rows = s.args[:0], 0
	}
	driver.TextArgs(o.Action, op, s.text)
	if o.insert != "" {
		return s.inserts(ctx, o, op, reply)
	}
	q, err := o.WriteOf(op)
	if err != nil {
		return err
	}
	if o.Action == driver.InsertIfAbsent || o.Action == driver.UpdateIf {
		return s.conditional(ctx, q, reply)
	}
	// Cassandra doesn't say whether there was a row.
	if err := q.Bind(s.args...).ExecContext(ctx); err != nil {
		return wrap(err)
	}
	reply.Rows++
	return nil
}

// conditional runs a lightweight transaction, whose reply says whether it was applied.
func (s *session) conditional(ctx context.Context, q *gocql.Query, reply *driver.Reply) error {
	clear(s.found)
	applied, err := q.Bind(s.args...).MapScanCASContext(ctx, s.found)
	if applied {
		reply.Rows++
	}
	return wrap(err)
}

// inserts runs an unlogged batch of what is in args, as one request.
func (s *session) inserts(ctx context.Context, o *opStatements, op *driver.Op, reply *driver.Reply) error {
	b := s.c.Batch(gocql.UnloggedBatch).Consistency(s.write)
	n := len(op.Values) / len(op.Keys)
	for i := range op.Keys {
		b = b.Query(o.insert, s.args[i*(n+1):(i+1)*(n+1)]...)
	}
	if err := b.ExecContext(ctx); err != nil {
		return wrap(err)
	}
	reply.Rows += int64(len(op.Keys))
	return nil
}

// rows runs a read and takes all its rows.
func (s *session) rows(ctx context.Context, o *opStatements, reply *driver.Reply) error {
	it := o.Read.Bind(s.args...).IterContext(ctx)
	if reply.Keep {
		s.kept = s.kept[:0]
	}
	for it.Scan(s.dest[:o.Columns]...) {
		reply.Rows++
		for i := range s.vals[:o.Columns] {
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
