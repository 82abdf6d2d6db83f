package redis

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
)

// wire writes commands and reads replies of RESP2 and RESP3 (Redis serialization protocol) on one connection. Several commands may
// be written before their replies are read: a pipeline.
type wire struct {
	conn net.Conn
	out  []byte
	in   []byte // r..w of it is read and not taken
	r, w int
	torn bool
	// reads counts what came from the network
	reads int
}

func newWire(conn net.Conn) *wire { return &wire{conn: conn, in: make([]byte, 32<<10)} }

// begin starts a command of n parts.
func (x *wire) begin(n int) {
	x.out = append(strconv.AppendInt(append(x.out, '*'), int64(n), 10), "\r\n"...)
}

func (x *wire) part(b []byte) {
	x.out = append(strconv.AppendInt(append(x.out, '$'), int64(len(b)), 10), "\r\n"...)
	x.out = append(append(x.out, b...), "\r\n"...)
}

func (x *wire) text(s string) {
	x.out = append(strconv.AppendInt(append(x.out, '$'), int64(len(s)), 10), "\r\n"...)
	x.out = append(append(x.out, s...), "\r\n"...)
}

// flush sends what was written.
func (x *wire) flush() error {
	if x.torn {
		return lostError(net.ErrClosed)
	}
	_, err := x.conn.Write(x.out)
	x.out = x.out[:0]
	if err != nil {
		x.torn = true
		return lostError(err)
	}
	return nil
}

// lost marks the connection as unusable.
func (x *wire) lost(err error) error {
	x.torn = true
	if errors.Is(err, io.EOF) {
		err = errors.New("the server closed the connection")
	}
	return lostError(err)
}

// line takes one line without its end; it is valid until the next read.
func (x *wire) line() ([]byte, error) {
	for from := x.r; ; {
		if i := bytes.IndexByte(x.in[from:x.w], '\n'); i >= 0 {
			l := x.in[x.r : from+i+1]
			x.r = from + i + 1
			if len(l) < 2 || l[len(l)-2] != '\r' {
				return nil, fmt.Errorf("a line of a reply ends without CR: %q", l)
			}
			return l[:len(l)-2], nil
		}
		from = x.w
		had := x.w - x.r
		if err := x.more(); err != nil {
			return nil, err
		}
		from = x.r + had
	}
}

// more reads at least one byte, moving what is there to the front when there is no room.
func (x *wire) more() error {
	if x.r == x.w {
		x.r, x.w = 0, 0
	}
	if x.w == len(x.in) {
		if x.r > 0 {
			x.w = copy(x.in, x.in[x.r:x.w])
			x.r = 0
		} else {
			x.in = append(x.in, make([]byte, len(x.in))...)
		}
	}
	n, err := x.conn.Read(x.in[x.w:])
	x.reads++
	x.w += n
	if n > 0 {
		return nil
	}
	if err == nil {
		err = io.ErrNoProgress
	}
	return err
}

// maxLength is more than any value of a reply: a larger one means that the stream is not understood.
const maxLength = 1 << 30

// number reads the number of a header line.
func number(l []byte) (int64, error) {
	n, err := strconv.ParseInt(string(l[1:]), 10, 64) // the compiler keeps the string off the heap
	if err != nil || n > maxLength && l[0] != ':' {
		return 0, fmt.Errorf("the header %q of a reply has no length", l)
	}
	return n, nil
}

// sum is what counts of a reply: the number of leaves that are not nil, their bytes, and the value of an integer.
type sum struct {
	leaves, bytes, integer int64
	nilReply, empty        bool // the reply was nil; a list without elements
}

// count reads one reply and adds it up. An error reply is a *driver.Error, and the connection goes on.
func (x *wire) count(s *sum) error {
	l, err := x.line()
	if err != nil {
		return x.lost(err)
	}
	if len(l) == 0 {
		return x.lost(errors.New("an empty header of a reply"))
	}
	typ := l[0]
	switch typ {
	case '-':
		return replyError(string(l[1:]))
	case '_':
		s.nilReply = true
		return nil
	case '+', ',', '#', '(':
		s.leaves++
		s.bytes += int64(len(l) - 1)
		return nil
	}
	n, err := number(l)
	if err != nil {
		return x.lost(err)
	}
	if n < 0 && typ != ':' {
		s.nilReply = true
		return nil
	}
	switch typ {
	case ':':
		s.integer = n
		return nil
	case '$', '=':
		s.leaves++
		s.bytes += n
		return x.skip(int(n) + 2)
	case '!':
		text, err := x.take(int(n))
		if err != nil {
			return err
		}
		return replyError(text)
	case '|', '>': // what comes beside the reply
		var aside sum
		for range parts(typ, n) {
			if err := x.count(&aside); x.torn {
				return err
			}
		}
		return x.count(s)
	case '*', '%', '~':
		s.empty = n == 0
		var first error
		for range parts(typ, n) {
			if err := x.count(s); err != nil {
				if x.torn {
					return err
				}
				first = err
			}
		}
		return first
	}
	return x.lost(fmt.Errorf("a reply of the unknown type %q", typ))
}

// parts is how many replies a reply of several has: those of a map are names and values in turns.
func parts(typ byte, n int64) int64 {
	if typ == '%' || typ == '|' {
		return 2 * n
	}
	return n
}

// take reads a text of n bytes and its line end.
func (x *wire) take(n int) (string, error) {
	for x.w-x.r < n+2 {
		if err := x.more(); err != nil {
			return "", x.lost(err)
		}
	}
	s := string(x.in[x.r : x.r+n])
	x.r += n + 2
	return s, nil
}

// skip takes n bytes: they are in the client's memory, nobody looks at them.
func (x *wire) skip(n int) error {
	for x.w-x.r < n {
		n -= x.w - x.r
		x.r = x.w
		if err := x.more(); err != nil {
			return x.lost(err)
		}
	}
	x.r += n
	return nil
}

// value reads one reply as nil, int64, string or []any; for everything but the hot path.
func (x *wire) value() (any, error) {
	l, err := x.line()
	if err != nil {
		return nil, x.lost(err)
	}
	if len(l) == 0 {
		return nil, x.lost(errors.New("an empty header of a reply"))
	}
	typ := l[0]
	switch typ {
	case '-':
		return nil, replyError(string(l[1:]))
	case '+', ',', '#', '(':
		return string(l[1:]), nil
	case '_':
		return nil, nil
	}
	n, err := number(l)
	if err != nil {
		return nil, x.lost(err)
	}
	if n < 0 && typ != ':' {
		return nil, nil
	}
	switch typ {
	case ':':
		return n, nil
	case '$':
		text, err := x.take(int(n))
		return any(text), err
	case '=': // a text behind its kind, as in "txt:"
		text, err := x.take(int(n))
		if _, rest, ok := strings.Cut(text, ":"); ok {
			text = rest
		}
		return any(text), err
	case '!':
		text, err := x.take(int(n))
		if err != nil {
			return nil, err
		}
		return nil, replyError(text)
	case '*', '%', '~', '|', '>':
		var out []any
		var first error
		for range parts(typ, n) {
			v, err := x.value()
			if err != nil {
				if x.torn {
					return nil, err
				}
				first = err
			}
			out = append(out, v)
		}
		if typ == '|' || typ == '>' { // what comes beside the reply
			return x.value()
		}
		return out, first
	}
	return nil, x.lost(fmt.Errorf("a reply of the unknown type %q", typ))
}

// call does one command and gives its reply.
func (x *wire) call(parts ...string) (any, error) {
	x.begin(len(parts))
	for _, p := range parts {
		x.text(p)
	}
	if err := x.flush(); err != nil {
		return nil, err
	}
	return x.value()
}
