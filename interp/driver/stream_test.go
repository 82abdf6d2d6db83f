package driver

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"runtime"
	"testing"
	"time"
)

// pair is a Stream and the other end of its connection.
func pair(t *testing.T) (*Stream, net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	c, err := Streamed(net.Dial("tcp", l.Addr().String()))
	if err != nil {
		t.Fatal(err)
	}
	peer, err := l.Accept()
	if err = errors.Join(err, l.Close()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = peer.Close(); _ = c.Close() }) // a test may have closed them
	return c.(*Stream), peer
}

// exchange sends both ways what fits into no buffer at once.
func exchange(t *testing.T, s *Stream, peer net.Conn) {
	t.Helper()
	const size = 1 << 20
	got := make(chan error, 1)
	go func() {
		b := make([]byte, size)
		_, err := io.ReadFull(peer, b)
		if err == nil {
			_, err = peer.Write(b)
		}
		got <- err
	}()
	if n, err := s.Write(make([]byte, size)); n != size || err != nil {
		t.Fatalf("%d bytes written: %v", n, err)
	}
	if n, err := io.ReadFull(s, make([]byte, size)); n != size || err != nil {
		t.Fatalf("%d bytes read: %v", n, err)
	}
	if err := <-got; err != nil {
		t.Fatal(err)
	}
}

// A stream does the same before and after it has left the poller, blocking or with its caller waiting.
func TestStreamCarriesBytes(t *testing.T) {
	t.Run("attached", func(t *testing.T) {
		s, peer := pair(t)
		exchange(t, s, peer)
		if s.Detached() {
			t.Error("it is detached")
		}
	})
	t.Run("blocking", func(t *testing.T) {
		s, peer := pair(t)
		fd, err := s.Detach(nil)
		if err != nil || fd < 0 || !s.Detached() {
			t.Fatal(fd, err)
		}
		exchange(t, s, peer)
		if s.RemoteAddr().String() != peer.LocalAddr().String() {
			t.Errorf("the other end is %v", s.RemoteAddr())
		}
	})
	t.Run("waited for", func(t *testing.T) {
		s, peer := pair(t)
		waits := 0
		if _, err := s.Detach(func() { waits++; runtime.Gosched() }); err != nil { // an edge may be reported at any time
			t.Fatal(err)
		}
		exchange(t, s, peer)
		if waits == 0 {
			t.Error("nothing was waited for")
		}
		if n, err := s.Read(nil); n != 0 || err != nil {
			t.Errorf("reading nothing: %d, %v", n, err)
		}
	})
}

// A read in progress ends when the stream is cut, by name or by a deadline that is past, attached or not; a closed one is closed once.
func TestStreamIsCut(t *testing.T) {
	for name, cut := range map[string]func(*Stream) error{
		"cut":           func(s *Stream) error { s.Cut(); return nil },
		"deadline":      func(s *Stream) error { return s.SetDeadline(time.Unix(1, 0)) },
		"read deadline": func(s *Stream) error { return s.SetReadDeadline(time.Unix(1, 0)) },
		"write deadline": func(s *Stream) error {
			return errors.Join(s.SetWriteDeadline(time.Unix(1, 0)), s.SetReadDeadline(time.Unix(1, 0)))
		},
	} {
		for _, detached := range []bool{false, true} {
			t.Run(name, func(t *testing.T) {
				s, _ := pair(t)
				if detached {
					if _, err := s.Detach(nil); err != nil {
						t.Fatal(err)
					}
				}
				if err := errors.Join(s.SetDeadline(time.Now().Add(time.Hour)), s.SetReadDeadline(time.Time{}), s.SetWriteDeadline(time.Time{})); err != nil {
					t.Fatal(err)
				}
				done := make(chan error)
				go func() {
					_, err := s.Read(make([]byte, 1))
					done <- err
				}()
				if err := cut(s); err != nil {
					t.Fatal(err)
				}
				if err := <-done; err == nil {
					t.Error("the read had no error")
				}
				if err := s.Close(); err != nil {
					t.Error(err)
				}
				if err := s.Close(); !errors.Is(err, net.ErrClosed) {
					t.Errorf("closed twice: %v", err)
				}
				s.Cut() // it can't be cut any more
			})
		}
	}
}

// The descriptor of a closed stream is another connection's soon: cutting the closed one leaves that alone.
func TestStreamCutsNoOther(t *testing.T) {
	s, _ := pair(t)
	fd, err := s.Detach(nil)
	if err = errors.Join(err, s.Close()); err != nil {
		t.Fatal(err)
	}
	for range 20 {
		o, peer := pair(t)
		got, err := o.Detach(nil)
		if err != nil {
			t.Fatal(err)
		}
		if got == fd {
			s.Cut()
			exchange(t, o, peer)
			return
		}
	}
	t.Fatal("the descriptor's number was not used again")
}

// What has ended does not wait, and a stream is found below TLS.
func TestStreamEnds(t *testing.T) {
	s, _ := pair(t)
	if _, err := s.Detach(func() { t.Error("it waited") }); err != nil {
		t.Fatal(err)
	}
	s.End()
	if _, err := s.Read(make([]byte, 1)); err == nil {
		t.Error("nothing was there, and no error")
	}
	if _, err := s.Write(make([]byte, 64<<20)); err == nil {
		t.Error("there was room for 64 MiB")
	}
	if StreamOf(tls.Client(s, nil)) != s || StreamOf(s) != s || StreamOf(s.Conn) != nil {
		t.Error("the stream below a connection is not found")
	}
	a, _ := net.Pipe()
	if _, err := NewStream(a).Detach(nil); err == nil {
		t.Error("a pipe has a descriptor")
	}
	if _, err := Streamed(nil, io.EOF); !errors.Is(err, io.EOF) {
		t.Errorf("a dialler's error became %v", err)
	}
}
