package load

import (
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
	if len(together) > 0 {
		loops, err = newLoops(t, together, n)
	}
	return single, loops, err
}

// share divides connections among n loops as evenly as it goes, those together whose packets come in on the same processor: a loop is woken
// where they come in, and if a server is on the same machine, its process is woken where the loop sends. groups are indexes into cpus,
// homes the processor that most of a group's packets come in on. They are -1 where that says nothing: it isn't known, or two groups have the same.
func share(cpus []int, n int) (groups [][]int, homes []int) {
	order := make([]int, len(cpus))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cpus[a] - cpus[b] })
	homes = make([]int, n)
	for g := range n {
		group := order[g*len(order)/n : (g+1)*len(order)/n]
		groups = append(groups, group)
		count, most := map[int]int{}, 0
		for _, i := range group {
			if count[cpus[i]]++; count[cpus[i]] > most { // in their order: the lowest of those with the same count
				most, homes[g] = count[cpus[i]], cpus[i]
			}
		}
	}
	for g, h := range homes {
		if h < 0 || slices.Contains(homes[:g], h) {
			for i := range homes {
				homes[i] = -1
			}
		}
	}
	return groups, homes
}
