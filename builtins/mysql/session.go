package mysql

import (
	"context"
	sql "database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// session is one client's connection.
type session struct {
	s     *system
	node  int
	id    int64 // of the connection on its server
	c     *conn
	ops   []driver.Prepared[prepared]
	all   []sql.Stmt
	args  []sql.NamedValue
	text  func([]byte) // adds to args
	dest  []sql.Value
	stmts []prepared // of transactions
	open  bool       // a transaction
	kept  driver.Result
	arena []byte // of kept values

	running driver.Running
}

// prepared is a statement of the server.
type prepared struct {
	sql.Stmt
	query   bool // it returns rows
	text    string
	control driver.Control
	params  int
	columns []driver.ResultColumn
}

func (s *system) Session(ctx context.Context, level spec.Level) (driver.Session, error) {
	node := int(s.next.Add(1)-1) % len(s.nodes)
	c, err := s.connect(ctx, node)
	if err != nil {
		return nil, err
	}
	out := &session{s: s, node: node, c: c}
	out.text = func(v []byte) { out.arg(v) }
	_, rows, err := c.query(ctx, "SELECT CONNECTION_ID()")
	if err == nil {
		_, err = fmt.Sscan(fmt.Sprint(rows[0][0]), &out.id)
	}
	if err == nil {
		err = s.setLevel(ctx, c, level)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("setting the level %s: %w", level, err), c.close())
	}
	return out, nil
}

func (s *session) Level(ctx context.Context, asked spec.Level) (string, error) {
	is, err := s.s.readBack(ctx, s.c)
	if err != nil {
		return "", fmt.Errorf("reading the level back: %w", err)
	}
	all := len(asked.Settings) == 0
	var got spec.Level
	for _, setting := range Driver().Levels {
		v, has := is[setting.Name]
		if !has {
			v = "none" // MariaDB without Galera
		}
		if all || asked.Get(setting.Name) != "" {
			got.Settings = append(got.Settings, spec.Setting{Name: setting.Name, Value: v})
		}
	}
	return got.String(), nil
}

func quote(name string) string { return "`" + strings.ReplaceAll(name, "`", "``") + "`" }

func (s *session) Prepare(ctx context.Context, w *driver.Workload) error {
	for _, op := range w.All() {
		o, err := driver.PrepareRecord(&dialect, w, op, func(st driver.RecordStatement, reads bool) (*prepared, error) {
			return s.prepare(ctx, reads, "%s", st.Text)
		})
		if err != nil {
			return fmt.Errorf("preparing %s: %w", op.Name, err)
		}
		s.ops = append(s.ops, o)
	}
	for _, st := range w.Statements {
		if _, err := s.Add(ctx, st); err != nil {
			return fmt.Errorf("preparing %q: %w", st.Text(func(int) string { return "?" }), err)
		}
	}
	return nil
}

func (s *session) prepare(ctx context.Context, query bool, format string, a ...any) (*prepared, error) {
	st, err := s.c.c.(sql.ConnPrepareContext).PrepareContext(ctx, fmt.Sprintf(format, a...))
	if err != nil {
		return nil, wrap(err)
	}
	s.all = append(s.all, st)
	return &prepared{Stmt: st, query: query, params: st.NumInput()}, nil
}

// dialect is MySQL's way to write the actions on records. Texts compare by a collation otherwise, for which "a" is "A".
var dialect = driver.Dialect{System: "MySQL", Quote: quote, Mark: func(int) string { return "?" }, IfAbsent: [2]string{"INSERT IGNORE", ""}, If: " AND ",
	Equal: func(c *driver.Column, quoted, mark string) string {
		if c.Type == driver.Text || c.Type == driver.Char {
			quoted += " COLLATE utf8mb4_bin"
		}
		return quoted + " = " + mark
	}}

func (s *session) Do(_ context.Context, op *driver.Op, reply *driver.Reply) error {
	if reply.Keep {
		s.kept.Reset()
		s.kept.Keep, s.arena = true, s.arena[:0]
	}
	s.running.Begin()
	err := s.do(op, reply)
	s.running.End()
	if reply.Keep {
		reply.Values, s.kept.Keep = s.kept.Values, false
	}
	return err
}

func (s *session) do(op *driver.Op, reply *driver.Reply) error {
	o := &s.ops[op.Type]
	s.args = s.args[:0]
	if o.Read != nil {
		driver.ReadArgs(o.Action, op, s.text)
		if driver.HasLimit(o.Action) {
			s.arg(int64(op.Limit))
		}
		if err := s.read(o.Read, reply); err != nil || reply.Rows == 0 || o.Action != driver.ReadModifyWrite {
			return err
		}
		s.args, reply.Rows = s.args[:0], 0
	}
	st, err := o.WriteOf(op)
	if err != nil {
		return err
	}
	driver.TextArgs(o.Action, op, s.text)
	return s.write(st, reply)
}

func (s *session) arg(v sql.Value) {
	s.args = append(s.args, sql.NamedValue{Ordinal: len(s.args) + 1, Value: v})
}

// write runs a statement that returns no rows. The operation's end is Interrupt's to tell, so no context is watched.
func (s *session) write(st *prepared, reply *driver.Reply) error {
	r, err := st.Stmt.(sql.StmtExecContext).ExecContext(context.Background(), s.args)
	if err != nil {
		return s.fail(err)
	}
	n, err := r.RowsAffected()
	reply.Rows += n
	return err
}

// read runs a statement that returns rows, and takes them all.
func (s *session) read(st *prepared, reply *driver.Reply) error {
	rows, err := st.Stmt.(sql.StmtQueryContext).QueryContext(context.Background(), s.args)
	if err != nil {
		return s.fail(err)
	}
	n, bytes, err := s.take(rows, &s.kept)
	reply.Rows += n
	reply.Bytes += bytes
	return err
}

// take reads rows to their end; their values are kept where res wants them.
func (s *session) take(rows sql.Rows, res *driver.Result) (n, bytes int64, err error) {
	columns := len(rows.Columns())
	if columns > len(s.dest) {
		s.dest = make([]sql.Value, columns)
	}
	for {
		err := rows.Next(s.dest[:columns])
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return n, bytes, s.fail(errors.Join(err, rows.Close()))
		}
		n++
		for _, v := range s.dest[:columns] {
			bytes += s.value(v, res)
		}
	}
	if err := rows.Close(); err != nil {
		return n, bytes, s.fail(err)
	}
	return n, bytes, nil
}

// value counts the bytes of a value in text form, and keeps a copy where it is wanted.
func (s *session) value(v sql.Value, res *driver.Result) int64 {
	var a driver.Arg
	switch v := v.(type) {
	case nil:
		if res.Keep {
			res.Values = append(res.Values, nil)
		}
		return 0
	case []byte:
		a = driver.Arg{Kind: driver.TextArg, Text: v}
	case string:
		a = driver.Arg{Kind: driver.TextArg, Text: []byte(v)}
	case int64:
		a = driver.Arg{Kind: driver.IntArg, Int: v}
	case uint64:
		a = driver.Arg{Kind: driver.TextArg, Text: fmt.Append(nil, v)}
	case float64:
		a = driver.Arg{Kind: driver.FloatArg, Float: v}
	case float32:
		a = driver.Arg{Kind: driver.TextArg, Text: fmt.Append(nil, v)}
	default:
		a = driver.Arg{Kind: driver.TextArg, Text: fmt.Append(nil, v)}
	}
	if !res.Keep && a.Kind == driver.TextArg {
		return int64(len(a.Text))
	}
	at := len(s.arena)
	s.arena = a.AppendText(s.arena)
	n := len(s.arena) - at
	if res.Keep {
		res.Values = append(res.Values, s.arena[at:len(s.arena):len(s.arena)]) // one that grows leaves the old one to what points into it
	} else {
		s.arena = s.arena[:at]
	}
	return int64(n)
}

// fail classes an error, and remembers when the connection is gone.
func (s *session) fail(err error) error {
	err = wrap(err)
	if driver.IsConnection(err) {
		s.c.bad = true
	}
	return err
}

// Interrupt asks the server to end the operation in progress, and cuts the connection when it doesn't.
func (s *session) Interrupt() {
	s.running.Interrupt(func(ctx context.Context) error {
		c, err := s.s.connect(ctx, s.node)
		if err != nil {
			return err
		}
		_, err = c.exec(ctx, fmt.Sprintf("KILL QUERY %d", s.id))
		_ = c.close() // it has done its work
		return err
	}, s.c.sock.Cut)
}

// CanPoll is true: it is one connection.
func (s *session) CanPoll() bool { return true }

// Poll takes the socket below the library's connection, which reads and writes on the goroutine of its caller.
func (s *session) Poll(wait func()) (int, error) { return s.c.sock.Detach(wait) }

func (s *session) Close() error {
	s.running.Wait()
	return wrap(s.c.close())
}
