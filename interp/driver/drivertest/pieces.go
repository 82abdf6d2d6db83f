package drivertest

import "net"

// Pieces is a connection that gives its input in pieces of a size, as a network does, and takes any output.
type Pieces struct {
	net.Conn
	In   []byte
	Size int
}

func (p *Pieces) Write(b []byte) (int, error) { return len(b), nil }

func (p *Pieces) Read(b []byte) (int, error) {
	n := copy(b, p.In[:min(p.Size, len(p.In))])
	p.In = p.In[n:]
	if n == 0 {
		return 0, net.ErrClosed
	}
	return n, nil
}
