package postgres

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgconn"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// session is one client's connection.
type session struct {
	c      *pgconn.PgConn
	x      *wire
	ops    []driver.Prepared[statement]
	number int           // of prepared statements
	limit  []byte        // text of a scan's limit
	arg    func([]byte)  // adds an argument to the request
	stmts  []*statement  // of transactions
	queued int           // of them, in the batch
	kept   driver.Result // values of a read that asked for them

	running driver.Running
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
		st, err := driver.PrepareRecord(&dialect, w, op, func(st driver.RecordStatement, _ bool) (*statement, error) {
			s.number++
			name := "s" + strconv.Itoa(s.number)
			_, err := s.c.Prepare(ctx, name, st.Text, nil)
			return newStatement(name, st.Params), wrap(err)
		})
		if err != nil {
			return fmt.Errorf("preparing %s: %w", op.Name, err)
		}
		s.ops = append(s.ops, st)
	}
	if err := s.c.SyncConn(ctx); err != nil { // pgconn reads nothing ahead from here on
		return wrap(err)
	}
	s.x = newWire(s.c.Conn())
	s.arg = s.x.arg
	for _, st := range w.Statements {
		if _, err := s.Add(ctx, st); err != nil {
			return fmt.Errorf("preparing %q: %w", st.Text(func(int) string { return "?" }), err)
		}
	}
	return nil
}

// dialect is PostgreSQL's way to write the actions on records.
var dialect = driver.Dialect{System: "PostgreSQL", Quote: quote, Mark: func(i int) string { return "$" + strconv.Itoa(i) },
	IfAbsent: [2]string{"INSERT", " ON CONFLICT DO NOTHING"}, If: " AND "}

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
	if o.Read == nil {
		return s.write(o, op, reply)
	}
	s.x.begin(o.Read)
	driver.ReadArgs(o.Action, op, s.arg)
	if driver.HasLimit(o.Action) {
		s.limit = strconv.AppendInt(s.limit[:0], int64(op.Limit), 10)
		s.x.arg(s.limit)
	}
	if err := s.x.do(reply); err != nil || reply.Rows == 0 || o.Action != driver.ReadModifyWrite {
		return err
	}
	read := reply.Rows
	err := s.write(o, op, reply)
	reply.Rows -= read // what the update changed
	return err
}

func (s *session) write(o *driver.Prepared[statement], op *driver.Op, reply *driver.Reply) error {
	st, err := o.WriteOf(op)
	if err != nil {
		return err
	}
	s.x.begin(st)
	driver.TextArgs(o.Action, op, s.arg)
	return s.x.do(reply)
}

// Interrupt asks the server to end the operation in progress, and cuts the connection when it doesn't.
func (s *session) Interrupt() {
	s.running.Interrupt(s.c.CancelRequest, driver.StreamOf(s.c.Conn()).Cut)
}

// CanPoll is true: it is one connection.
func (s *session) CanPoll() bool { return true }

// Poll takes the connection from pgx, which is not asked for anything any more.
func (s *session) Poll(wait func()) (int, error) {
	return driver.StreamOf(s.c.Conn()).Detach(wait)
}

func (s *session) Close() error {
	s.running.Wait()
	conn := s.c.Conn()
	st := driver.StreamOf(conn)
	torn := s.x != nil && s.x.torn
	if !torn && !st.Detached() {
		ctx, cancel := context.WithTimeout(context.Background(), 2*time.Second)
		defer cancel()
		return wrap(s.c.Close(ctx))
	}
	if st.End(); !torn {
		_, _ = conn.Write([]byte("X\x00\x00\x00\x04")) // Terminate; the server notices the end of the connection as well
	}
	return wrap(conn.Close())
}
