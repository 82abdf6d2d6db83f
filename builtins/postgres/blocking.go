package postgres

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// blocking reads and writes a TCP connection by plain blocking system calls. Go's network poller costs a client that
// waits for its one reply two more system calls and the wake-up of a thread; with few clients that is a good part of a
// short operation. The connection stays the owner of the file descriptor.
type blocking struct {
	net.Conn
	fd int
}

// newBlocking switches an idle connection over; false when it is no plain TCP (TLS, a test's own).
func newBlocking(c net.Conn) (*blocking, bool) {
	tcp, ok := c.(*net.TCPConn)
	if !ok {
		return nil, false
	}
	raw, err := tcp.SyscallConn()
	if err != nil {
		return nil, false
	}
	b := &blocking{Conn: c}
	var serr error
	err = raw.Control(func(fd uintptr) {
		b.fd = int(fd)
		serr = syscall.SetNonblock(b.fd, false)
	})
	return b, err == nil && serr == nil
}

func (b *blocking) Read(p []byte) (int, error) {
	for {
		n, err := syscall.Read(b.fd, p)
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}

func (b *blocking) Write(p []byte) (int, error) {
	done := 0
	for done < len(p) {
		n, err := syscall.Write(b.fd, p[done:])
		if errors.Is(err, syscall.EINTR) {
			continue
		}
		if err != nil {
			return done, err
		}
		done += n
	}
	return done, nil
}

// cut ends a read or write in progress, from any goroutine.
func (b *blocking) cut() { _ = syscall.Shutdown(b.fd, syscall.SHUT_RDWR) } // it fails only when the connection is gone
