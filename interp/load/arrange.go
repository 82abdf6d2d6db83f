package load

import (
	"errors"
	"runtime"
	"slices"
	"sync"

	"sextant/interp/driver"
)

// processors are those that Go's scheduler gets beyond its own while loops run.
var processors extraProcessors

type extraProcessors struct {
	mu        sync.Mutex
	own, more int
}

func (p *extraProcessors) add(n int) {
	if n == 0 {
		return // setting them stops the world
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.more == 0 {
		p.own = runtime.GOMAXPROCS(0)
	}
	p.more += n
	runtime.GOMAXPROCS(p.own + p.more)
}

// arrange says which clients run on a goroutine of their own, and which in loops. Clients that wait for nothing but their server's
// replies run in loops, as many as can work at the same time; a single one needs none, its system calls block.
func (t *trial) arrange(clients []*client) (single []*client, loops []*loop, err error) {
	procs := runtime.GOMAXPROCS(0)
	waits := t.cfg.Think > 0 || slices.ContainsFunc(t.shape.Ops, func(o driver.OpType) bool { return o.Sleeps })
	n := min(procs, (len(clients)+1)/2)
	var together []*client
	for _, c := range clients {
		switch {
		case c.polled() == nil:
		case t.queue != nil || waits || !haveLoops:
			c.block = len(clients) <= 2*procs
		case len(clients) == 1:
			c.block = true
		default:
			together = append(together, c)
			continue
		}
		single = append(single, c)
		if err := c.attach(); err != nil {
			return nil, nil, err
		}
	}
	groups := make([][]*client, n)
	for i, c := range together {
		groups[i%n] = append(groups[i%n], c)
	}
	for _, g := range groups {
		if len(g) == 0 {
			continue
		}
		l, err := newLoop(t, g)
		if err != nil {
			for _, o := range loops {
				err = errors.Join(err, o.close())
			}
			return nil, nil, err
		}
		loops = append(loops, l)
	}
	return single, loops, nil
}
