package sqlite

import (
	"context"
	"errors"
	"fmt"
	"strings"

	sqlite3 "modernc.org/sqlite/lib"

	"sextant/interp/driver"
)

// prepared is a statement of a transaction.
type prepared struct {
	*stmt
	params  int
	changes bool // its result is a number of changed rows
	columns []driver.ResultColumn
}

// Add prepares a statement; those that only begin or end a transaction are taken in any system's words.
func (s *session) Add(_ context.Context, st driver.Statement) (int, error) {
	sql := st.Text(func(int) string { return "?" })
	switch st.Control() {
	case driver.Begin:
		sql = "BEGIN"
	case driver.Commit:
		sql = "COMMIT"
	case driver.RollBack:
		sql = "ROLLBACK"
	}
	h, err := s.d.prepare(sql, 0)
	if err != nil {
		return 0, err
	}
	s.all = append(s.all, h)
	p := prepared{stmt: h, params: st.Params()}
	for i := range h.columns() {
		p.columns = append(p.columns, driver.ResultColumn{Name: h.name(i)})
	}
	word, _, _ := strings.Cut(strings.TrimSpace(strings.ToUpper(sql)), " ")
	p.changes = word == "INSERT" || word == "UPDATE" || word == "DELETE" || word == "REPLACE" || word == "WITH"
	s.stmts = append(s.stmts, p)
	return len(s.stmts) - 1, nil
}

// Run runs a prepared statement.
func (s *session) Run(_ context.Context, n int, args []driver.Arg, res *driver.Result) error {
	s.d.cut.Store(false)
	res.Reset()
	p := &s.stmts[n]
	if len(args) != p.params {
		return &driver.Error{Class: driver.Other, Err: fmt.Errorf("the statement has %d parameters, %d arguments were given", p.params, len(args))}
	}
	defer p.reset()
	size := 0
	for i := range args {
		size += len(args[i].Text)
	}
	if err := p.grow(size); err != nil {
		return err
	}
	for i := range args {
		if err := p.argument(i+1, &args[i]); err != nil {
			return err
		}
	}
	s.arena = s.arena[:0]
	res.Columns = p.columns
	for {
		more, err := p.step()
		if err != nil {
			return err
		}
		if !more {
			break
		}
		res.Rows++
		for i := range p.columns {
			s.value(p.stmt, i, &p.columns[i], res)
		}
	}
	if len(p.columns) == 0 && p.changes {
		res.Rows = s.d.changes()
	}
	return nil
}

func (s *stmt) argument(i int, a *driver.Arg) error {
	switch a.Kind {
	case driver.IntArg, driver.BoolArg:
		return s.integer(i, a.Int)
	case driver.FloatArg:
		return s.float(i, a.Float)
	case driver.TextArg:
		return s.text(i, a.Text)
	}
	if rc := sqlite3.Xsqlite3_bind_null(s.d.tls, s.h, int32(i)); rc != sqlite3.SQLITE_OK {
		return s.d.fail(rc)
	}
	return nil
}

// value copies a column of the row at hand, as a client that used it would; SQLite knows its type only now.
func (s *session) value(st *stmt, i int, c *driver.ResultColumn, res *driver.Result) {
	kind := sqlite3.Xsqlite3_column_type(st.d.tls, st.h, int32(i))
	switch kind {
	case sqlite3.SQLITE_NULL:
		if res.Keep {
			res.Values = append(res.Values, nil)
		}
		return
	case sqlite3.SQLITE_INTEGER:
		c.Kind = driver.IntArg
	case sqlite3.SQLITE_FLOAT:
		c.Kind = driver.FloatArg
	default:
		c.Kind = driver.TextArg
	}
	at := len(s.arena)
	s.arena = st.appendColumn(s.arena, i)
	res.Bytes += int64(len(s.arena) - at)
	if res.Keep {
		res.Values = append(res.Values, s.arena[at:len(s.arena):len(s.arena)]) // one that grows leaves the old one to what points into it
	} else {
		s.arena = s.arena[:at]
	}
}

func (s *session) InTransaction() bool { return !s.d.autocommit() }

// Rollback ends the open transaction.
func (s *session) Rollback(context.Context) error {
	s.d.cut.Store(false)
	return rollback(s.d)
}

// Trim empties the volatile tables.
func (s *system) Trim(ctx context.Context, w *driver.Workload) error {
	return s.with(ctx, func(d *db) error {
		if err := d.exec("BEGIN IMMEDIATE"); err != nil {
			return err
		}
		for _, t := range w.Tables {
			if !t.Volatile {
				continue
			}
			if err := d.exec("DELETE FROM " + quote(t.Name)); err != nil {
				return errors.Join(err, rollback(d))
			}
		}
		return d.exec("COMMIT")
	})
}
