package run

import (
	"context"
	"os"
	"sync"
	"time"

	"github.com/shirou/gopsutil/v4/cpu"
	"github.com/shirou/gopsutil/v4/mem"
	"github.com/shirou/gopsutil/v4/net"
	"github.com/shirou/gopsutil/v4/process"

	"sextant/interp/driver"
	"sextant/interp/result"
)

// sampler writes down each second what the host, sextant and the server's processes use.
type sampler struct {
	sys   driver.System
	trial string
	stop  context.CancelFunc
	wg    sync.WaitGroup

	rows  []sampled
	procs map[int32]*process.Process // kept: gopsutil reads less of one that it knows
}

// totals are cumulative figures of some processes, or of the host; nil where they can't be seen.
type totals struct {
	n           int32
	cpu         float64 // s
	rss         int64
	read, write *int64
	recv, sent  *int64
	switches    *int64
}

// sampled is a row and when it was taken.
type sampled struct {
	at  time.Time
	row result.ResourceRow
}

// startSampler begins before the sessions are opened. Its goroutine ends with finish.
func startSampler(ctx context.Context, sys driver.System, trial string) *sampler {
	ctx, cancel := context.WithCancel(ctx)
	s := &sampler{sys: sys, trial: trial, stop: cancel, procs: map[int32]*process.Process{}}
	s.wg.Go(func() { s.run(ctx) })
	return s
}

func (s *sampler) run(ctx context.Context) {
	tick := time.NewTicker(time.Second)
	defer tick.Stop()
	last, at := s.read(ctx), time.Now()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		now, t := s.read(ctx), time.Now()
		for name, x := range now {
			if before, ok := last[name]; ok && ctx.Err() == nil {
				s.rows = append(s.rows, sampled{t, s.row(name, before, x, t.Sub(at).Seconds())})
			}
		}
		last, at = now, t
	}
}

func (s *sampler) row(name string, a, b totals, span float64) result.ResourceRow {
	r := result.ResourceRow{TrialID: s.trial, Process: name, Count: b.n, RSS: ptr(b.rss)}
	if d := b.cpu - a.cpu; d >= 0 && a.n <= b.n { // a process that ended takes its time with it
		r.CPUPct = ptr(100 * d / span)
	}
	r.Read, r.Write = since(a.read, b.read), since(a.write, b.write)
	r.Received, r.Sent = since(a.recv, b.recv), since(a.sent, b.sent)
	r.Switches = since(a.switches, b.switches)
	return r
}

func since(a, b *int64) *int64 {
	if a == nil || b == nil || *b < *a {
		return nil
	}
	return ptr(*b - *a)
}

// finish ends the sampling and gives the rows, with their seconds since the start of the window. A window that never
// began has none.
func (s *sampler) finish(window time.Time) []result.ResourceRow {
	s.stop()
	s.wg.Wait()
	var out []result.ResourceRow
	for _, x := range s.rows {
		if !window.IsZero() {
			x.row.Second = int32(x.at.Sub(window).Round(time.Second) / time.Second)
			out = append(out, x.row)
		}
	}
	return out
}

// read takes the figures of everything that can be seen.
func (s *sampler) read(ctx context.Context) map[string]totals {
	out := map[string]totals{"sextant": s.processes(ctx, []int{os.Getpid()})}
	if p, ok := s.sys.(driver.Processes); ok {
		if pids, _ := p.Processes(ctx); pids != nil {
			out["server"] = s.processes(ctx, pids)
		}
	}
	var h totals
	if t, err := cpu.TimesWithContext(ctx, false); err == nil && len(t) == 1 {
		h.cpu = t[0].User + t[0].System + t[0].Nice + t[0].Irq + t[0].Softirq + t[0].Steal
	}
	if m, err := mem.VirtualMemoryWithContext(ctx); err == nil {
		h.rss = int64(m.Used)
	}
	if n, err := net.IOCountersWithContext(ctx, false); err == nil && len(n) == 1 {
		h.recv, h.sent = ptr(int64(n[0].BytesRecv)), ptr(int64(n[0].BytesSent))
	}
	out["host"] = h
	return out
}

func (s *sampler) processes(ctx context.Context, pids []int) totals {
	t := totals{read: ptr(int64(0)), write: ptr(int64(0)), switches: ptr(int64(0))}
	for _, pid := range pids {
		p := s.procs[int32(pid)]
		if p == nil {
			var err error
			if p, err = process.NewProcessWithContext(ctx, int32(pid)); err != nil {
				continue
			}
			s.procs[int32(pid)] = p
		}
		times, err := p.TimesWithContext(ctx)
		if err != nil {
			continue // it has ended
		}
		t.n++
		t.cpu += times.User + times.System
		if m, err := p.MemoryInfoWithContext(ctx); err == nil {
			t.rss += int64(m.RSS)
		}
		if io, err := p.IOCountersWithContext(ctx); err == nil && t.read != nil {
			*t.read += int64(io.DiskReadBytes)
			*t.write += int64(io.DiskWriteBytes)
		} else {
			t.read, t.write = nil, nil
		}
		if c, err := p.NumCtxSwitchesWithContext(ctx); err == nil && t.switches != nil {
			*t.switches += c.Voluntary + c.Involuntary
		} else {
			t.switches = nil
		}
	}
	return t
}
