package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"time"

	"sextant/interp/driver"
)

// slots is how many hash slots a cluster has.
const slots = 16384

// A slotMap says which node of a cluster has each hash slot. It is never changed, but replaced.
type slotMap struct {
	nodes []string // addresses of the primaries
	owner [slots]uint8
}

// slot is the hash slot of a key: CRC16 (XMODEM) of it, or of what stands between its first braces (the cluster specification).
func slot(key []byte) int {
	for i, c := range key {
		if c != '{' {
			continue
		}
		for j, d := range key[i+1:] {
			if d == '}' {
				if j > 0 {
					key = key[i+1 : i+1+j]
				}
				break
			}
		}
		break
	}
	var crc uint16
	for _, c := range key {
		crc = crc<<8 ^ crcTable[byte(crc>>8)^c]
	}
	return int(crc) % slots
}

var crcTable = func() (t [256]uint16) {
	for i := range t {
		c := uint16(i) << 8
		for range 8 {
			if c&0x8000 != 0 {
				c = c<<1 ^ 0x1021
			} else {
				c <<= 1
			}
		}
		t[i] = c
	}
	return t
}()

// readSlots asks a node for the map; host is for nodes that don't know their own address.
func readSlots(x *wire, host string) (*slotMap, error) {
	v, err := x.call("CLUSTER", "SLOTS")
	if err != nil {
		return nil, err
	}
	ranges, _ := v.([]any)
	m := &slotMap{}
	index := map[string]int{}
	covered := 0
	for _, r := range ranges {
		f, _ := r.([]any)
		if len(f) < 3 {
			return nil, fmt.Errorf("CLUSTER SLOTS gave %v", r)
		}
		from, okFrom := f[0].(int64)
		to, okTo := f[1].(int64)
		primary, _ := f[2].([]any)
		if !okFrom || !okTo || from < 0 || to >= slots || from > to || len(primary) < 2 {
			return nil, fmt.Errorf("CLUSTER SLOTS gave %v", r)
		}
		name, _ := primary[0].(string)
		if name == "" || name == "?" {
			name = host
		}
		addr := net.JoinHostPort(name, fmt.Sprint(primary[1]))
		i, known := index[addr]
		if !known {
			i = len(m.nodes)
			index[addr] = i
			m.nodes = append(m.nodes, addr)
		}
		if i > 255 {
			return nil, errors.New("the cluster has more than 256 primaries")
		}
		for s := from; s <= to; s++ {
			m.owner[s] = uint8(i)
			covered++
		}
	}
	if covered != slots {
		return nil, &driver.Error{Class: driver.Unavailable, Code: "CLUSTERDOWN", Err: fmt.Errorf("%d of %d hash slots have a node", covered, slots)}
	}
	return m, nil
}

// redirect reads an error reply of a cluster: where the key is, and whether only for this once.
func redirect(err error) (addr string, ask, ok bool) {
	var e *driver.Error
	if !errors.As(err, &e) || e.Code != "MOVED" && e.Code != "ASK" {
		return "", false, false
	}
	words := strings.Fields(e.Err.Error())
	if len(words) != 3 {
		return "", false, false
	}
	return words[2], e.Code == "ASK", true
}

// links are the connections of one client: one, or one to each node of a cluster, made when they are needed.
type links struct {
	s     *system
	m     *slotMap // that wires are parallel to; nil: no cluster
	wires []*wire

	mu  sync.Mutex // of all, which Interrupt walks
	all []*wire
	cut bool
}

// open makes the links. Of a cluster one node must answer; the others may be down, which is what their operations say then.
func (s *system) open(ctx context.Context) (*links, error) {
	l := &links{s: s}
	m := s.slotMap.Load()
	if m == nil {
		x, err := l.connect(ctx, s.opt.Addr)
		l.wires = []*wire{x}
		return l, err
	}
	l.m, l.wires = m, make([]*wire, len(m.nodes))
	var first error
	reached := 0
	for i, addr := range m.nodes {
		x, err := l.connect(ctx, addr)
		if err != nil {
			if first == nil {
				first = err
			}
			continue
		}
		l.wires[i] = x
		reached++
	}
	if reached == 0 {
		return nil, first
	}
	return l, nil
}

// connect opens one more connection.
func (l *links) connect(ctx context.Context, addr string) (*wire, error) {
	x, err := l.s.connect(ctx, addr)
	if err != nil {
		return nil, err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, x)
	if l.cut {
		_ = x.conn.SetDeadline(time.Unix(1, 0)) // Interrupt was just called
	}
	return x, nil
}

// to is the connection that has a key.
func (l *links) to(ctx context.Context, key []byte) (*wire, error) {
	if l.m == nil {
		return l.wires[0], nil
	}
	if m := l.s.slotMap.Load(); m != l.m { // another client was redirected
		old := map[string]*wire{}
		for i, x := range l.wires {
			old[l.m.nodes[i]] = x
		}
		l.m, l.wires = m, make([]*wire, len(m.nodes))
		for i, addr := range m.nodes {
			l.wires[i] = old[addr]
		}
	}
	i := l.m.owner[slot(key)]
	if x := l.wires[i]; x != nil {
		return x, nil
	}
	x, err := l.connect(ctx, l.m.nodes[i])
	if err != nil {
		return nil, err
	}
	l.wires[i] = x
	return x, nil
}

// follow is the connection that an error reply points to. A key that has moved for good makes all clients learn the map anew.
func (l *links) follow(ctx context.Context, addr string, ask bool) (*wire, error) {
	if host, _, _ := net.SplitHostPort(addr); host == "" { // the node doesn't know its own address
		known, _, _ := net.SplitHostPort(l.s.opt.Addr)
		addr = net.JoinHostPort(known, strings.TrimPrefix(addr, ":"))
	}
	var x *wire
	if l.m != nil {
		for i, a := range l.m.nodes {
			if a == addr {
				x = l.wires[i]
			}
		}
	}
	if x == nil {
		var err error
		if x, err = l.connect(ctx, addr); err != nil {
			return nil, err
		}
	}
	if ask {
		_, err := x.call("ASKING")
		return x, err
	}
	host, _, _ := net.SplitHostPort(addr)
	m, err := readSlots(x, host)
	if err != nil {
		return nil, err
	}
	l.s.slotMap.Store(m)
	return x, nil
}

// interrupt makes whatever waits for a reply return.
func (l *links) interrupt() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.cut = true
	for _, x := range l.all {
		_ = x.conn.SetDeadline(time.Unix(1, 0)) // it fails only on a closed connection
	}
}

func (l *links) close() error {
	l.mu.Lock()
	defer l.mu.Unlock()
	var err error
	for _, x := range l.all {
		driver.StreamOf(x.conn).End() // of TLS, a farewell is written
		err = errors.Join(err, x.conn.Close())
	}
	return err
}

// topology notes whether the server is part of a cluster, and where its replicas are.
func (s *system) topology(x *wire) error {
	mode, err := info(x, "server", "redis_mode")
	if err != nil {
		return err
	}
	if mode == "cluster" {
		host, _, _ := net.SplitHostPort(s.opt.Addr)
		m, err := readSlots(x, host)
		if err != nil {
			return err
		}
		s.slotMap.Store(m)
		return nil
	}
	s.replicas, err = replicasOf(x)
	return err
}

// A replica is one of a server's replicas, as the server sees it.
type replica struct {
	addr   string
	online bool
	behind int64 // bytes of the replication stream that it has not acknowledged
}

// replicasOf reads the replicas of a primary.
func replicasOf(x *wire) ([]replica, error) {
	v, err := x.call("INFO", "replication")
	if err != nil {
		return nil, err
	}
	var out []replica
	var head int64
	for _, line := range strings.Split(fmt.Sprint(v), "\r\n") {
		name, text, _ := strings.Cut(line, ":")
		if name == "master_repl_offset" {
			head, _ = strconv.ParseInt(text, 10, 64)
		}
		if !strings.HasPrefix(name, "slave") || !strings.Contains(text, "ip=") {
			continue
		}
		f := map[string]string{}
		for _, p := range strings.Split(text, ",") {
			k, v, _ := strings.Cut(p, "=")
			f[k] = v
		}
		at, _ := strconv.ParseInt(f["offset"], 10, 64)
		out = append(out, replica{addr: net.JoinHostPort(f["ip"], f["port"]), online: f["state"] == "online", behind: at})
	}
	for i := range out {
		out[i].behind = max(head-out[i].behind, 0)
	}
	return out, nil
}

// caughtUp waits until a replica has what its primary has now.
func caughtUp(ctx context.Context, primary, replica *wire) error {
	offset := func(x *wire, field string) (int64, error) {
		text, err := info(x, "replication", field)
		if err != nil {
			return 0, err
		}
		n, err := strconv.ParseInt(text, 10, 64)
		if err != nil {
			return 0, fmt.Errorf("the server has no %s", field)
		}
		return n, nil
	}
	want, err := offset(primary, "master_repl_offset")
	for err == nil {
		var have int64
		if have, err = offset(replica, "slave_repl_offset"); err != nil || have >= want {
			break
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-time.After(2 * time.Millisecond):
		}
	}
	return err
}
