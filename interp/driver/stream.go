package driver

import (
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"syscall"
	"time"
)

// A Polled is a Session whose waiting for replies its caller can take over, so that one thread waits for many connections
// with one system call. It is called after Prepare, at most once.
type Polled interface {
	Session
	// CanPoll says whether it can: a session with several connections can't.
	CanPoll() bool
	// Poll takes the connection from Go's network poller and returns its descriptor. From then on Do calls wait, on its own
	// goroutine, where it needs bytes or room that aren't there: wait returns when the descriptor may be readable or writable, as an edge-triggered
	// epoll reports it. A nil wait: the system calls block. The session may only be interrupted and closed by other goroutines.
	Poll(wait func()) (fd int, err error)
}

// A Stream is a connection that can leave Go's network poller, which costs a client that waits for its one reply two more
// system calls and the wake-up of a thread.
type Stream struct {
	net.Conn        // as it was dialled
	fd       int    // after Detach, else -1
	wait     func() // nil: system calls block
	dry      bool   // everything that had come was read

	mu     sync.Mutex
	closed bool
}

// NewStream makes a Stream of a TCP or Unix connection.
func NewStream(c net.Conn) *Stream { return &Stream{Conn: c, fd: -1, dry: true} }

// Streamed is NewStream of what a dialler returns.
func Streamed(c net.Conn, err error) (net.Conn, error) {
	if err != nil {
		return nil, err
	}
	return NewStream(c), nil
}

// StreamOf is the Stream below a connection, nil when there is none.
func StreamOf(c net.Conn) *Stream {
	for {
		switch x := c.(type) {
		case *Stream:
			return x
		case interface{ NetConn() net.Conn }: // TLS
			c = x.NetConn()
		default:
			return nil
		}
	}
}

// Detach is Polled.Poll for an idle connection: nothing reads or writes it meanwhile.
func (s *Stream) Detach(wait func()) (int, error) {
	sc, ok := s.Conn.(syscall.Conn)
	if !ok {
		return -1, fmt.Errorf("a connection of type %T has no descriptor", s.Conn)
	}
	raw, err := sc.SyscallConn()
	if err != nil {
		return -1, fmt.Errorf("taking the descriptor of a connection: %w", err)
	}
	var derr error
	err = raw.Control(func(fd uintptr) {
		syscall.ForkLock.RLock()
		defer syscall.ForkLock.RUnlock()
		if s.fd, derr = syscall.Dup(int(fd)); derr == nil {
			syscall.CloseOnExec(s.fd)
		}
	})
	if err == nil {
		err = derr
	}
	if err != nil {
		return -1, fmt.Errorf("taking the descriptor of a connection: %w", err)
	}
	// The poller watches the connection until its own descriptor is closed.
	if err := errors.Join(s.Conn.Close(), syscall.SetNonblock(s.fd, wait != nil)); err != nil {
		return -1, fmt.Errorf("taking a connection from the poller: %w", err)
	}
	s.wait = wait
	return s.fd, nil
}

// End lets what is read and written from here on not wait.
func (s *Stream) End() { s.wait = nil }

// Detached says whether the connection has left the poller.
func (s *Stream) Detached() bool { return s.fd >= 0 }

func (s *Stream) Read(p []byte) (int, error) {
	if s.fd < 0 {
		return s.Conn.Read(p)
	}
	if len(p) == 0 {
		return 0, nil
	}
	read := readNow
	if s.wait == nil {
		read = syscall.Read
	}
	for {
		if s.dry && s.wait != nil {
			s.wait() // a reply is seldom there at once: asking for it first would be a call more
		}
		n, err := read(s.fd, p)
		switch {
		case err == syscall.EINTR:
			continue
		case err == syscall.EAGAIN && s.wait != nil:
			s.dry = true
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		s.dry = n < len(p) // then the edge that reports more is still to come
		return n, nil
	}
}

func (s *Stream) Write(p []byte) (int, error) {
	if s.fd < 0 {
		return s.Conn.Write(p)
	}
	write := writeNow
	if s.wait == nil {
		write = syscall.Write
	}
	done := 0
	for done < len(p) {
		n, err := write(s.fd, p[done:])
		switch {
		case err == syscall.EINTR:
		case err == syscall.EAGAIN && s.wait != nil:
			s.wait()
			s.dry = false // what woke it may have been bytes to read
		case err != nil:
			return done, err
		default:
			done += n
		}
	}
	return done, nil
}

// Cut ends a read or write in progress, from any goroutine. The connection can't be used any more.
func (s *Stream) Cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
	case s.fd < 0:
		_ = s.Conn.SetDeadline(time.Unix(1, 0)) // it fails only on a closed connection
	default:
		_ = syscall.Shutdown(s.fd, syscall.SHUT_RDWR) // it fails only when the connection is gone
	}
}

// Close closes the descriptor.
func (s *Stream) Close() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return net.ErrClosed
	}
	s.closed = true
	if s.fd < 0 {
		return s.Conn.Close()
	}
	return syscall.Close(s.fd)
}

// SetDeadline, and those for reads and writes, have no effect on a detached connection, except that a time that is past cuts it.
func (s *Stream) SetDeadline(t time.Time) error {
	if s.fd < 0 {
		return s.Conn.SetDeadline(t)
	}
	if !t.IsZero() && t.Before(time.Now()) {
		s.Cut()
	}
	return nil
}

// SetReadDeadline is SetDeadline of a detached connection.
func (s *Stream) SetReadDeadline(t time.Time) error {
	if s.fd < 0 {
		return s.Conn.SetReadDeadline(t)
	}
	return s.SetDeadline(t)
}

// SetWriteDeadline is SetDeadline of a detached connection.
func (s *Stream) SetWriteDeadline(t time.Time) error {
	if s.fd < 0 {
		return s.Conn.SetWriteDeadline(t)
	}
	return s.SetDeadline(t)
}
