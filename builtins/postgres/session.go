package postgres

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// session is one client's connection.
type session struct {
	c      *pgconn.PgConn
	x      *wire
	block  *blocking // below x, when there are few clients; else nil
	ops    []opStatements
	number int           // of prepared statements
	limit  []byte        // text of a scan's limit
	stmts  []*statement  // of transactions
	queued int           // of them, in the batch
	kept   driver.Result // values of a read that asked for them

	running driver.Running
}

// opStatements are the statements of one operation type; those that its action doesn't need are nil.
type opStatements struct {
	action  driver.Action
	one     *statement   // read, insert, delete, scan
	fixed   *statement   // update of the type's own set of fields
	updates []*statement // update of one field, by field
}

func newSession(c *pgconn.PgConn) *session { return &session{c: c} }

func (s *session) Level(ctx context.Context, asked spec.Level) (string, error) {
	got, err := s.level(ctx, asked)
	return got.String(), err
}

func (s *session) level(ctx context.Context, asked spec.Level) (got spec.Level, err error) {
	rows, err := texts(ctx, s.c, "SELECT current_setting('synchronous_commit'), current_setting('transaction_isolation'), CASE WHEN pg_is_in_recovery() THEN 'standby' ELSE 'primary' END")
	if err != nil {
		return got, fmt.Errorf("reading the level back: %w", wrap(err))
	}
	for i, name := range []string{"synchronous_commit", "isolation", "read"} {
		if len(asked.Settings) == 0 || asked.Get(name) != "" {
			got.Settings = append(got.Settings, spec.Setting{Name: name, Value: rows[0][i]})
		}
	}
	return got, nil
}

func (s *session) Prepare(ctx context.Context, w *driver.Workload) error {
	for _, op := range w.All() {
		st, err := s.prepareOp(ctx, w, op)
		if err != nil {
			return fmt.Errorf("preparing %s: %w", op.Name, err)
		}
		s.ops = append(s.ops, st)
	}
	if err := s.c.SyncConn(ctx); err != nil { // pgconn reads nothing ahead from here on
		return wrap(err)
	}
	s.x = newWire(s.c.Conn())
	if w.Clients > 0 && w.Clients <= 2*runtime.GOMAXPROCS(0) {
		if b, ok := newBlocking(s.c.Conn()); ok {
			s.x, s.block = newWire(b), b
		}
	}
	for _, st := range w.Statements {
		if _, err := s.Add(ctx, st); err != nil {
			return fmt.Errorf("preparing %q: %w", st.Text(func(int) string { return "?" }), err)
		}
	}
	return nil
}

func (s *session) prepareOp(ctx context.Context, w *driver.Workload, op driver.OpType) (o opStatements, err error) {
	o.action = op.Action
	if op.Action == driver.Transaction {
		return o, nil // its statements are prepared apart
	}
	t := &w.Tables[op.Table]
	var names, marks []string
	for i, f := range t.Fields {
		names, marks = append(names, quote(f.Name)), append(marks, "$"+strconv.Itoa(i+2))
	}
	table, key, list := quote(t.Name), quote(t.Key), strings.Join(names, ", ")
	prepare := func(params int, format string, args ...any) *statement {
		if err != nil {
			return nil
		}
		s.number++
		name := "s" + strconv.Itoa(s.number)
		if _, perr := s.c.Prepare(ctx, name, fmt.Sprintf(format, args...), nil); perr != nil {
			err = wrap(perr)
		}
		return newStatement(name, params)
	}
	switch op.Action {
	case driver.Insert:
		o.one = prepare(1+len(names), "INSERT INTO %s (%s, %s) VALUES ($1, %s)", table, key, list, strings.Join(marks, ", "))
	case driver.Delete:
		o.one = prepare(1, "DELETE FROM %s WHERE %s = $1", table, key)
	case driver.Scan:
		o.one = prepare(2, "SELECT %s, %s FROM %s WHERE %s >= $1 ORDER BY %s LIMIT $2", key, list, table, key, key)
	case driver.Read, driver.ReadModifyWrite, driver.Update:
		if op.Action != driver.Update {
			o.one = prepare(1, "SELECT %s FROM %s WHERE %s = $1", list, table, key)
		}
		if op.Action == driver.Read {
			break
		}
		if op.Fields != nil {
			var sets []string
			for i, f := range op.Fields {
				sets = append(sets, fmt.Sprintf("%s = $%d", names[f], i+1))
			}
			o.fixed = prepare(len(sets)+1, "UPDATE %s SET %s WHERE %s = $%d", table, strings.Join(sets, ", "), key, len(sets)+1)
			break
		}
		for _, n := range names {
			o.updates = append(o.updates, prepare(2, "UPDATE %s SET %s = $1 WHERE %s = $2", table, n, key))
		}
	default:
		return o, &driver.Error{Class: driver.Other, Err: fmt.Errorf("PostgreSQL can't do the action %q", op.Action)}
	}
	return o, err
}

func (s *session) Do(_ context.Context, op *driver.Op, reply *driver.Reply) error {
	if reply.Keep {
		s.kept.Reset()
		s.x.keep, s.x.arena = &s.kept, s.x.arena[:0]
	}
	s.running.Begin()
	err := s.do(op, reply)
	s.running.End()
	if reply.Keep {
		s.x.keep, reply.Values = nil, s.kept.Values
	}
	return err
}

func (s *session) do(op *driver.Op, reply *driver.Reply) error {
	o := &s.ops[op.Type]
	switch o.action {
	case driver.Update:
		return s.update(o, op, reply)
	case driver.ReadModifyWrite:
		s.x.begin(o.one)
		s.x.arg(op.Key)
		if err := s.x.do(reply); err != nil || reply.Rows == 0 {
			return err
		}
		read := *reply
		err := s.update(o, op, reply)
		reply.Rows -= read.Rows // what the update changed
		return err
	}
	s.x.begin(o.one)
	s.x.arg(op.Key)
	switch o.action {
	case driver.Insert:
		for _, v := range op.Values {
			s.x.arg(v)
		}
	case driver.Scan:
		s.limit = strconv.AppendInt(s.limit[:0], int64(op.Limit), 10)
		s.x.arg(s.limit)
	}
	return s.x.do(reply)
}

func (s *session) update(o *opStatements, op *driver.Op, reply *driver.Reply) error {
	st := o.fixed
	if st == nil {
		if len(op.Fields) != 1 {
			return &driver.Error{Class: driver.Other, Err: fmt.Errorf("an update of %d fields was not prepared", len(op.Fields))}
		}
		st = o.updates[op.Fields[0]]
	}
	s.x.begin(st)
	for _, v := range op.Values {
		s.x.arg(v)
	}
	s.x.arg(op.Key)
	return s.x.do(reply)
}

// Interrupt asks the server to end the operation in progress, and cuts the connection when it doesn't.
func (s *session) Interrupt() {
	s.running.Interrupt(s.c.CancelRequest, func() {
		if s.block != nil {
			s.block.cut()
		} else {
			_ = s.c.Conn().SetDeadline(time.Unix(1, 0)) // it fails only on a closed connection
		}
	})
}

func (s *session) Close() error {
	s.running.Wait()
	ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
	defer cancel()
	if s.x != nil && s.x.torn {
		return wrap(s.c.Conn().Close())
	}
	return wrap(s.c.Close(ctx))
}
