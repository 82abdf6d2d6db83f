package run

import (
	"context"
	"os"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/process"

	"sextant/interp/driver"
	"sextant/interp/result"
)

// usage is what sextant and the server's processes used over the window. Where a system can't name its processes the
// server's columns stay null.
type usage struct {
	clientCPU [2]time.Duration
	clientRSS int64
	server    [2]map[int]procUse
	at        [2]time.Time
}

type procUse struct {
	cpu time.Duration
	rss int64
}

// mark takes the figures at the begin or the end of the window.
func (u *usage) mark(ctx context.Context, sys driver.System, begin bool) {
	i := 1
	if begin {
		i = 0
	}
	u.at[i] = time.Now()
	u.clientCPU[i] = ownCPU()
	if p, ok := sys.(driver.Processes); ok {
		if pids, _ := p.Processes(ctx); pids != nil {
			u.server[i] = processes(ctx, pids)
		}
	}
	if !begin {
		if own := processes(ctx, []int{os.Getpid()}); len(own) == 1 {
			u.clientRSS = own[os.Getpid()].rss
		}
	}
}

// ownCPU is user and system time of this process.
func ownCPU() time.Duration {
	var ru syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &ru); err != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// processes reads CPU time and memory; a process that has gone is left out.
func processes(ctx context.Context, pids []int) map[int]procUse {
	out := map[int]procUse{}
	for _, pid := range pids {
		p, err := process.NewProcessWithContext(ctx, int32(pid))
		if err != nil {
			continue
		}
		t, err := p.TimesWithContext(ctx)
		if err != nil {
			continue
		}
		m, err := p.MemoryInfoWithContext(ctx)
		if err != nil {
			continue
		}
		out[pid] = procUse{time.Duration((t.User + t.System) * float64(time.Second)), int64(m.RSS)}
	}
	return out
}

// fill puts the figures into the row. A server process that was not there at the begin counts from its start.
func (u *usage) fill(row *result.TrialRow) {
	span := u.at[1].Sub(u.at[0]).Seconds()
	if u.at[0].IsZero() || span <= 0 {
		return
	}
	row.ClientCPUPct = ptr(100 * (u.clientCPU[1] - u.clientCPU[0]).Seconds() / span)
	if u.clientRSS > 0 {
		row.ClientRSS = &u.clientRSS
	}
	if u.server[0] == nil || u.server[1] == nil {
		return
	}
	var cpu time.Duration
	var rss int64
	for pid, use := range u.server[1] {
		cpu += use.cpu - u.server[0][pid].cpu
		rss += use.rss
	}
	row.ServerCPUPct = ptr(100 * cpu.Seconds() / span)
	row.ServerRSS = &rss
}
