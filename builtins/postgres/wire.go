package postgres

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"

	"sextant/interp/driver"
)

// wire reads and writes the extended protocol of PostgreSQL 3.0 on an idle connection (documentation, "Message Flow",
// "Message Formats"). One request is Bind, Execute, Sync in one write; its reply ends with ReadyForQuery.
type wire struct {
	conn net.Conn
	out  []byte
	in   []byte // r..w of it is read and not taken
	r, w int

	rows  int64
	bytes int64
	err   *driver.Error  // the first error of the reply
	torn  bool           // the connection can't be used any more
	state byte           // of the transaction, as the last reply ended: 'I' none, 'T' open, 'E' failed
	keep  *driver.Result // where values go, when they are wanted
	arena []byte         // of those values
	desc  *statement     // that RowDescription is for
}

func newWire(conn net.Conn) *wire { return &wire{conn: conn, in: make([]byte, 32<<10)} }

// statement is a prepared statement: the head of its Bind message.
type statement struct {
	head    []byte
	params  int
	columns []driver.ResultColumn // where the server was asked for them
}

func newStatement(name string, params int) *statement {
	h := append([]byte{'B', 0, 0, 0, 0, 0}, name...) // length later; the unnamed portal
	h = append(h, 0, 0, 0)                           // end of the name; no format codes: all text
	return &statement{head: binary.BigEndian.AppendUint16(h, uint16(params)), params: params}
}

// What follows the arguments of Bind: no result format codes (all text); Execute of the unnamed portal, all rows. Then, at
// the end of a request, Sync.
const (
	execute = "\x00\x00" + "E\x00\x00\x00\x09\x00\x00\x00\x00\x00"
	syncMsg = "S\x00\x00\x00\x04"
)

// begin starts a request.
func (x *wire) begin(s *statement) { x.out = append(x.out[:0], s.head...) }

// arg adds an argument in text form.
func (x *wire) arg(v []byte) {
	x.out = append(binary.BigEndian.AppendUint32(x.out, uint32(len(v))), v...)
}

// do sends the request and reads its reply: rows and payload bytes go to reply.
func (x *wire) do(reply *driver.Reply) error {
	x.finish(0)
	err := x.exchange()
	reply.Rows += x.rows
	reply.Bytes += x.bytes
	return err
}

// finish ends the Bind message that begins at out[at:] and adds its Execute.
func (x *wire) finish(at int) {
	binary.BigEndian.PutUint32(x.out[at+1:], uint32(len(x.out)-at-1+2)) // without its type byte, with its result formats
	x.out = append(x.out, execute...)
}

// exchange sends what is in out, with Sync at its end, and reads everything up to the reply's end.
func (x *wire) exchange() error {
	x.out = append(x.out, syncMsg...)
	return x.send()
}

func (x *wire) send() error {
	if x.torn {
		return &driver.Error{Class: driver.Connection, Err: errors.New("the connection was lost before")}
	}
	if _, err := x.conn.Write(x.out); err != nil {
		return x.lost(err)
	}
	x.rows, x.bytes, x.err = 0, 0, nil
	for {
		ready, err := x.message()
		if err != nil {
			return x.lost(err)
		}
		if ready {
			break
		}
	}
	if x.err != nil {
		return x.err
	}
	return nil
}

// lost is the end of the connection. A fatal error that the server had sent before says why.
func (x *wire) lost(err error) error {
	x.torn = true
	if x.err != nil {
		return x.err
	}
	if errors.Is(err, io.EOF) {
		err = errors.New("the server closed the connection")
	}
	class, code := driver.Classify(err)
	if class == driver.Other {
		class = driver.Connection
	}
	return &driver.Error{Class: class, Code: code, Err: err}
}

// need makes n bytes available at x.in[x.r:].
func (x *wire) need(n int) error {
	if x.w-x.r >= n {
		return nil
	}
	if n > len(x.in) {
		bigger := make([]byte, 2*n)
		x.w = copy(bigger, x.in[x.r:x.w])
		x.in, x.r = bigger, 0
	} else if x.r+n > len(x.in) {
		x.w = copy(x.in, x.in[x.r:x.w])
		x.r = 0
	}
	for x.w-x.r < n {
		k, err := x.conn.Read(x.in[x.w:])
		x.w += k
		if err != nil && x.w-x.r < n {
			return err
		}
	}
	return nil
}

// maxMessage is more than any message of a workload: a larger length means that the stream is not understood.
const maxMessage = 1 << 30

// message takes one message; ready says that it was the last of the reply.
func (x *wire) message() (ready bool, err error) {
	if x.r == x.w {
		x.r, x.w = 0, 0
	}
	if err := x.need(5); err != nil {
		return false, err
	}
	typ := x.in[x.r]
	n := int(binary.BigEndian.Uint32(x.in[x.r+1:]))
	if n < 4 || n > maxMessage {
		return false, fmt.Errorf("a message of type %q has the length %d", typ, n)
	}
	if err := x.need(1 + n); err != nil {
		return false, err
	}
	body := x.in[x.r+5 : x.r+1+n]
	x.r += 1 + n
	switch typ {
	case 'D':
		return false, x.row(body)
	case 'C':
		x.complete(body)
	case 'E':
		severity, state, msg := fields(body)
		if x.err == nil {
			x.err = stateError(severity, state, msg)
		}
	case 'N':
		// "canceling wait for synchronous replication": the commit is on this server's disk only, however well it looks
		if _, state, msg := fields(body); state == "01000" && x.err == nil {
			x.err = stateError("WARNING", state, msg)
		}
	case 'T':
		return false, x.describe(body)
	case 'Z':
		if len(body) > 0 {
			x.state = body[0]
		}
		return true, nil
	}
	return false, nil
}

// row counts a DataRow and the bytes of its values.
func (x *wire) row(b []byte) error {
	if len(b) < 2 {
		return errors.New("a row without a number of columns")
	}
	cols := int(binary.BigEndian.Uint16(b))
	b = b[2:]
	for range cols {
		if len(b) < 4 {
			return errors.New("a row ends within a column")
		}
		n := int(int32(binary.BigEndian.Uint32(b)))
		b = b[4:]
		if n < 0 {
			if x.keep != nil {
				x.keep.Values = append(x.keep.Values, nil)
			}
			continue
		}
		if n > len(b) {
			return errors.New("a row ends within a value")
		}
		if x.keep != nil {
			x.value(b[:n])
		}
		x.bytes += int64(n)
		b = b[n:]
	}
	x.rows++
	return nil
}

// complete reads the number of rows off a command tag such as "UPDATE 1" or "INSERT 0 1"; a SELECT has counted them.
func (x *wire) complete(b []byte) {
	if len(b) == 0 || b[0] == 'S' {
		return
	}
	var n, unit int64 = 0, 1
	for i := len(b) - 2; i >= 0 && b[i] >= '0' && b[i] <= '9'; i-- { // the last byte ends the text
		n += int64(b[i]-'0') * unit
		unit *= 10
	}
	x.rows += n
}

// fields are severity, SQLSTATE and message of an ErrorResponse or NoticeResponse.
func fields(b []byte) (severity, state, msg string) {
	for len(b) > 1 && b[0] != 0 {
		key := b[0]
		end := 1
		for end < len(b) && b[end] != 0 {
			end++
		}
		text := string(b[1:end])
		switch key {
		case 'V': // not translated
			severity = text
		case 'C':
			state = text
		case 'M':
			msg = text
		}
		b = b[min(end+1, len(b)):]
	}
	return severity, state, msg
}
