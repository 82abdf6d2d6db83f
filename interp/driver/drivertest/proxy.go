package drivertest

import (
	"errors"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// A Proxy stands between a driver and a real server and makes the network misbehave. The zero faults pass everything on.
type Proxy struct {
	Addr   string // where the driver connects to
	server string
	l      net.Listener
	wg     sync.WaitGroup

	delay   atomic.Int64 // ns added to every piece from the server
	drip    atomic.Bool  // the server's bytes come one at a time
	stalled atomic.Bool  // nothing passes in either direction
	refuse  atomic.Bool  // new connections are closed at once

	mu    sync.Mutex
	conns map[net.Conn]bool
	ended chan struct{}
}

// NewProxy starts a proxy on loopback to a server's address; it ends with the test.
func NewProxy(t testing.TB, server string) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{Addr: l.Addr().String(), server: server, l: l, conns: map[net.Conn]bool{}, ended: make(chan struct{})}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		close(p.ended)
		_ = l.Close() // the listener has no data to lose
		p.Cut()
		p.wg.Wait()
	})
	return p
}

// Delay adds a delay to every piece that the server sends.
func (p *Proxy) Delay(d time.Duration) { p.delay.Store(int64(d)) }

// Drip lets the server's bytes come one by one.
func (p *Proxy) Drip(on bool) { p.drip.Store(on) }

// Stall stops all traffic, with the connections left open, or lets it go on.
func (p *Proxy) Stall(on bool) { p.stalled.Store(on) }

// Refuse closes new connections at once, or takes them again.
func (p *Proxy) Refuse(on bool) { p.refuse.Store(on) }

// Cut closes every connection in the middle of whatever it does.
func (p *Proxy) Cut() { p.each(func(c net.Conn) { _ = c.Close() }) }

// HalfClose closes the server's direction of every connection: the driver sees the end of the stream and can still write.
func (p *Proxy) HalfClose() {
	p.each(func(c net.Conn) {
		if t, ok := c.(*net.TCPConn); ok {
			_ = t.CloseWrite() // a connection that is gone is as closed as can be
		}
	})
}

func (p *Proxy) each(fn func(net.Conn)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for c := range p.conns {
		fn(c)
	}
}

func (p *Proxy) accept() {
	for {
		client, err := p.l.Accept()
		if err != nil {
			return
		}
		if p.refuse.Load() {
			_ = client.Close() // that is the fault
			continue
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close() // as the server would have it
			continue
		}
		p.mu.Lock()
		p.conns[client] = true
		p.mu.Unlock()
		var both sync.WaitGroup
		both.Go(func() { p.pipe(server, client, false) })
		both.Go(func() { p.pipe(client, server, true) })
		p.wg.Go(func() {
			both.Wait()
			p.mu.Lock()
			delete(p.conns, client)
			p.mu.Unlock()
			_ = errors.Join(client.Close(), server.Close()) // both directions have ended
		})
	}
}

// pipe passes bytes on, with the faults of the server's direction.
func (p *Proxy) pipe(to, from net.Conn, fromServer bool) {
	defer func() { _ = to.Close() }() // the other direction ends with this one
	buf := make([]byte, 32<<10)
	for {
		n, err := from.Read(buf)
		if n > 0 && !p.pass(to, buf[:n], fromServer) {
			return
		}
		if err != nil {
			if errors.Is(err, io.EOF) && !fromServer {
				if t, ok := to.(*net.TCPConn); ok {
					_ = t.CloseWrite() // the server may still answer
				}
			}
			return
		}
	}
}

// pass writes a piece, when the faults let it.
func (p *Proxy) pass(to net.Conn, b []byte, fromServer bool) bool {
	if fromServer {
		if d := time.Duration(p.delay.Load()); d > 0 && !p.wait(d) {
			return false
		}
	}
	for p.stalled.Load() {
		if !p.wait(time.Millisecond) {
			return false
		}
	}
	for len(b) > 0 {
		k := len(b)
		if fromServer && p.drip.Load() {
			k = 1
		}
		if _, err := to.Write(b[:k]); err != nil {
			return false
		}
		b = b[k:]
	}
	return true
}

func (p *Proxy) wait(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-p.ended:
		return false
	}
}
