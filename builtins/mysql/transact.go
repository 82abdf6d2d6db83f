package mysql

import (
	"context"
	sql "database/sql/driver"
	"fmt"
	"strings"

	"sextant/interp/driver"
)

// Add prepares a statement. Those that begin or end a transaction go by the text protocol, as MySQL prepares none of them.
func (s *session) Add(ctx context.Context, st driver.Statement) (int, error) {
	text := st.Text(func(int) string { return "?" })
	p := &prepared{control: st.Control(), params: st.Params()}
	words := strings.Fields(strings.ToUpper(text))
	switch {
	case p.control == driver.Begin:
		p.text = "BEGIN"
	case len(words) > 1 && words[0] == "START" && words[1] == "TRANSACTION": // and how it is to be
		p.control, p.text = driver.Begin, text
	case p.control == driver.Commit:
		p.text = "COMMIT" // END is none of its words
	case p.control == driver.RollBack:
		p.text = "ROLLBACK"
	default:
		var err error
		if p, err = s.prepare(ctx, returnsRows(words), "%s", text); err != nil {
			return 0, err
		}
		if p.params != st.Params() {
			return 0, &driver.Error{Class: driver.Other, Err: fmt.Errorf("a question mark stands outside of quotes in %q", text)}
		}
	}
	s.stmts = append(s.stmts, *p)
	return len(s.stmts) - 1, nil
}

// returnsRows says by its first word, and RETURNING, whether a statement gives rows.
func returnsRows(words []string) bool {
	if len(words) == 0 {
		return false
	}
	switch strings.TrimLeft(words[0], "(") {
	case "SELECT", "SHOW", "WITH", "VALUES", "EXPLAIN", "DESCRIBE", "CHECK", "ANALYZE", "TABLE", "CALL":
		return true
	}
	for _, w := range words {
		if w == "RETURNING" {
			return true
		}
	}
	return false
}

// Run runs a prepared statement.
func (s *session) Run(_ context.Context, n int, args []driver.Arg, res *driver.Result) error {
	p := &s.stmts[n]
	res.Reset()
	if len(args) != p.params {
		return &driver.Error{Class: driver.Other, Err: fmt.Errorf("the statement has %d parameters, %d arguments were given", p.params, len(args))}
	}
	s.running.Begin()
	defer s.running.End()
	if p.text != "" {
		if _, err := s.c.c.(sql.ExecerContext).ExecContext(context.Background(), p.text, nil); err != nil {
			return s.fail(err)
		}
		s.open = p.control == driver.Begin
		return nil
	}
	s.args = s.args[:0]
	for i := range args {
		s.arg(argument(&args[i]))
	}
	if !p.query {
		var reply driver.Reply
		err := s.write(p, &reply)
		res.Rows = reply.Rows
		return err
	}
	rows, err := p.Stmt.(sql.StmtQueryContext).QueryContext(context.Background(), s.args)
	if err != nil {
		return s.fail(err)
	}
	if res.Keep {
		p.describe(rows)
		res.Columns, s.arena = p.columns, s.arena[:0]
	}
	res.Rows, res.Bytes, err = s.take(rows, res)
	return err
}

// describe notes the columns of a statement's rows the first time.
func (p *prepared) describe(rows sql.Rows) {
	if p.columns != nil {
		return
	}
	types, _ := rows.(sql.RowsColumnTypeDatabaseTypeName)
	for i, name := range rows.Columns() {
		c := driver.ResultColumn{Name: name, Kind: driver.TextArg}
		if types != nil {
			switch t := types.ColumnTypeDatabaseTypeName(i); {
			case strings.HasSuffix(t, "INT"), t == "YEAR":
				c.Kind = driver.IntArg
			case t == "DOUBLE", t == "FLOAT", t == "DECIMAL":
				c.Kind = driver.FloatArg
			}
		}
		p.columns = append(p.columns, c)
	}
}

func argument(a *driver.Arg) sql.Value {
	switch a.Kind {
	case driver.IntArg:
		return a.Int
	case driver.BoolArg:
		return a.Int != 0
	case driver.FloatArg:
		return a.Float
	case driver.TextArg:
		if a.Text == nil {
			return []byte{}
		}
		return a.Text
	}
	return nil
}

func (s *session) InTransaction() bool { return s.open }

// Rollback ends the open transaction, also one that the server has ended already.
func (s *session) Rollback(context.Context) error {
	if !s.open {
		return nil
	}
	s.running.Begin()
	defer s.running.End()
	if _, err := s.c.c.(sql.ExecerContext).ExecContext(context.Background(), "ROLLBACK", nil); err != nil {
		return s.fail(err)
	}
	s.open = false
	return nil
}
