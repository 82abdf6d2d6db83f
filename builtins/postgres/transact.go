package postgres

import (
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strconv"

	"sextant/interp/driver"
)

// argument adds an argument of any kind in text form.
func (x *wire) argument(a *driver.Arg) {
	if a.Kind == driver.Null {
		x.out = append(x.out, 0xff, 0xff, 0xff, 0xff) // length -1
		return
	}
	at := len(x.out)
	x.out = a.AppendText(append(x.out, 0, 0, 0, 0))
	binary.BigEndian.PutUint32(x.out[at:], uint32(len(x.out)-at-4))
}

// value keeps a copy of a value of the row that is being read.
func (x *wire) value(v []byte) {
	if cap(x.arena)-len(x.arena) < len(v) {
		x.arena = make([]byte, 0, max(2*cap(x.arena), len(v), 1<<10)) // what points into the old one keeps it alive
	}
	at := len(x.arena)
	x.arena = append(x.arena, v...)
	x.keep.Values = append(x.keep.Values, x.arena[at:len(x.arena):len(x.arena)])
}

// describe reads a RowDescription.
func (x *wire) describe(b []byte) error {
	if x.desc == nil || len(b) < 2 {
		return nil
	}
	n := int(binary.BigEndian.Uint16(b))
	b = b[2:]
	for range n {
		end := bytes.IndexByte(b, 0)
		if end < 0 || len(b) < end+1+18 { // table, column, type, its size and modifier, format
			return errors.New("a row description ends within a column")
		}
		x.desc.columns = append(x.desc.columns, driver.ResultColumn{Name: string(b[:end]), Kind: kindOf(binary.BigEndian.Uint32(b[end+7:]))})
		b = b[end+1+18:]
	}
	return nil
}

// kindOf is what a text of a type means (OIDs of pg_type, as in decode).
func kindOf(oid uint32) driver.ArgKind {
	switch oid {
	case 16:
		return driver.BoolArg
	case 20, 21, 23, 26:
		return driver.IntArg
	case 700, 701, 1700:
		return driver.FloatArg
	}
	return driver.TextArg
}

// prepare has the server parse and describe a statement.
func (x *wire) prepare(name, sql string, params int) (*statement, error) {
	st := newStatement(name, params)
	x.out = x.out[:0]
	message := func(typ byte, parts ...string) {
		at := len(x.out)
		x.out = append(x.out, typ, 0, 0, 0, 0)
		for _, p := range parts {
			x.out = append(x.out, p...)
		}
		binary.BigEndian.PutUint32(x.out[at+1:], uint32(len(x.out)-at-1))
	}
	message('P', name, "\x00", sql, "\x00", "\x00\x00") // no parameter types: the server finds them
	message('D', "S", name, "\x00")
	x.desc = st
	err := x.exchange()
	x.desc = nil
	return st, err
}

// Add prepares a statement as it is: PostgreSQL has all words that begin or end a transaction.
func (s *session) Add(_ context.Context, st driver.Statement) (int, error) {
	sql := st.Text(func(i int) string { return "$" + strconv.Itoa(i+1) })
	s.number++
	s.running.Begin()
	p, err := s.x.prepare("s"+strconv.Itoa(s.number), sql, st.Params())
	s.running.End()
	if err != nil {
		return 0, err
	}
	s.stmts = append(s.stmts, p)
	return len(s.stmts) - 1, nil
}

// bind adds Bind and Execute of a statement to the request.
func (s *session) bind(n int, args []driver.Arg) error {
	st := s.stmts[n]
	if len(args) != st.params {
		return &driver.Error{Class: driver.Other, Err: fmt.Errorf("the statement has %d parameters, %d arguments were given", st.params, len(args))}
	}
	at := len(s.x.out)
	s.x.out = append(s.x.out, st.head...)
	for i := range args {
		s.x.argument(&args[i])
	}
	s.x.finish(at)
	return nil
}

// Run runs a prepared statement.
func (s *session) Run(_ context.Context, n int, args []driver.Arg, res *driver.Result) error {
	x := s.x
	x.out = x.out[:0]
	res.Reset()
	if err := s.bind(n, args); err != nil {
		return err
	}
	if res.Keep {
		x.keep, x.arena = res, x.arena[:0]
		res.Columns = s.stmts[n].columns
	}
	s.running.Begin()
	err := x.exchange()
	s.running.End()
	x.keep = nil
	res.Rows, res.Bytes = x.rows, x.bytes
	return err
}

// Queue adds a statement to the batch that Flush sends.
func (s *session) Queue(n int, args []driver.Arg) error {
	if s.queued == 0 {
		s.x.out = s.x.out[:0]
	}
	s.queued++
	return s.bind(n, args)
}

// atOnce is how many bytes are sent before the replies are read: what the buffers of a connection hold at the least.
const atOnce = 64 << 10

// Flush sends the batch with one Sync at its end and reads the replies.
func (s *session) Flush(_ context.Context, res *driver.Result) error {
	res.Reset()
	if s.queued == 0 {
		return nil
	}
	s.queued = 0
	if len(s.x.out) > atOnce { // the server may stop reading until its replies are read, and both would wait for ever
		s.x.out = s.x.out[:0]
		return &driver.Error{Class: driver.Other, Code: "pipeline", Err: fmt.Errorf("a pipeline of more than %d bytes", atOnce)}
	}
	s.running.Begin()
	err := s.x.exchange()
	s.running.End()
	res.Rows, res.Bytes = s.x.rows, s.x.bytes
	return err
}

func (s *session) InTransaction() bool { return s.x.state != 'I' && s.x.state != 0 }

// Rollback ends the open transaction by the simple protocol, which a failed one takes as well.
func (s *session) Rollback(context.Context) error {
	s.queued = 0
	if !s.InTransaction() {
		return nil
	}
	s.x.out = append(s.x.out[:0], "Q\x00\x00\x00\x0dROLLBACK\x00"...)
	s.running.Begin()
	err := s.x.send()
	s.running.End()
	return err
}
