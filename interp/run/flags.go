package run

import (
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"sextant/analysis/stat"
	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/result"
	"sextant/interp/spec"
)

// The limits behind the flags of a trial.
const (
	lagTooMuch  = 40.0             // %: replies that waited in the generator, of the response time
	busyEnough  = 90.0             // %: clients of a closed loop that are busy less wait for the generator
	cpuFull     = 90.0             // % of all cores
	lateTooMuch = time.Millisecond // 99th percentile of lateness, unless service times are longer
	steadyP     = 0.01
	steadyDrift = 0.10 // of the median rate, over the window
	fewSlots    = 10   // intervals below which a trend can't be told
)

// watch is what the generator has seen of itself.
type watch struct {
	embedded  bool
	throttled [2]int64 // µs that the control group was held back
	gc        [2]time.Duration
}

func (w *watch) mark(begin bool) {
	i := 1
	if begin {
		i = 0
	}
	w.throttled[i] = throttledMicros()
	w.gc[i] = gcPauses()
}

// gcPauses is the sum of the collector's pauses so far.
func gcPauses() time.Duration {
	var ms runtime.MemStats
	runtime.ReadMemStats(&ms)
	return time.Duration(ms.PauseTotalNs)
}

// throttledMicros reads how long this process's control group (version 2) was held back by its CPU limit; 0 when there
// is none.
func throttledMicros() int64 {
	group := controlGroup(func(path string) string {
		b, err := os.ReadFile(path)
		if err != nil {
			return ""
		}
		return strings.TrimSpace(string(b))
	})
	st, err := os.ReadFile(filepath.Join(group, "cpu.stat"))
	if err != nil {
		return 0
	}
	for _, line := range strings.Split(string(st), "\n") {
		if v, ok := strings.CutPrefix(line, "throttled_usec "); ok {
			if n, err := strconv.ParseInt(v, 10, 64); err == nil {
				return n
			}
		}
	}
	return 0
}

// judge sets the flags of a measured trial and says in a sentence each why.
func (w *watch) judge(row *result.TrialRow, m *spec.Measure, r *load.Result) []string {
	var say []string
	flag := func(set **bool, why string) {
		*set = ptr(why != "")
		if why != "" {
			say = append(say, why)
		}
	}
	row.GCPauseMs = ptr(float64(w.gc[1]-w.gc[0]) / 1e6)
	row.InFlight = ptr(r.Busy.Seconds() / r.Window.Seconds())
	busy := r.Busy
	if m.Load.Pipeline > 1 {
		busy = r.Batches // operations of a batch end one after the other while their client is busy with the rest
	}
	row.BusyPct = ptr(100 * busy.Seconds() / r.Window.Seconds() / float64(m.Load.Clients))
	if busy > 0 {
		row.LagPct = ptr(100 * r.Lag.Seconds() / busy.Seconds())
	}
	flag(&row.ClientBound, w.clientBound(row, m, r))
	why := ""
	if n := w.throttled[1] - w.throttled[0]; n > 0 {
		why = fmt.Sprintf("throttled: the control group's CPU limit held sextant back for %d ms of the window", n/1000)
	}
	flag(&row.Throttled, why)
	flag(&row.Unsteady, unsteady(r))
	why = ""
	if r.Open {
		if l := load.Summary(r.Late); l != nil {
			row.LateP99Ms = ms(l.P99)
		}
		b := backlogs(r)
		row.BacklogEnd = ptr(b[len(b)-1])
		why = overloaded(r, m, b)
	}
	flag(&row.Overloaded, why)
	return say
}

func (w *watch) clientBound(row *result.TrialRow, m *spec.Measure, r *load.Result) string {
	cores := float64(runtime.GOMAXPROCS(0))
	if !w.embedded && row.ClientCPUPct != nil && *row.ClientCPUPct > cpuFull*cores {
		return fmt.Sprintf("client_bound: sextant itself took %.0f %% of %v cores", *row.ClientCPUPct, cores)
	}
	if r.Open {
		late, service := load.Summary(r.Late), load.Summary(r.AllService())
		if late != nil && service != nil && late.P99 > max(int64(lateTooMuch), service.P50) {
			return fmt.Sprintf("client_bound: 1 %% of the operations were sent %.1f ms late or later although a client was free", float64(late.P99)/1e6)
		}
		return ""
	}
	if row.LagPct != nil && *row.LagPct > lagTooMuch {
		return fmt.Sprintf("client_bound: for %.0f %% of the response time replies were there and waited for the generator, which handles many clients one after the other", *row.LagPct)
	}
	// A client that waits for a new session isn't busy either; then it is the server that holds it up.
	if m.Load.Think == 0 && *row.BusyPct < busyEnough && r.Total(load.ConnectionLost, load.TimedOut) == 0 && r.Lost == 0 && m.Retry.First == 0 {
		return fmt.Sprintf("client_bound: clients spent %.0f %% of the window outside operations, so the generator is part of what was measured", 100-*row.BusyPct)
	}
	return ""
}

// backlogs is the backlog at the end of each interval of the window.
func backlogs(r *load.Result) []int64 {
	var out []int64
	for _, s := range r.Slots {
		if s.Op == 0 && s.Index >= 0 {
			out = append(out, s.Backlog)
		}
	}
	return out
}

// overloaded: operations were dropped, or the backlog at the end is more than the clients can have in hand and has grown
// since the middle of the window.
func overloaded(r *load.Result, m *spec.Measure, b []int64) string {
	end, middle := b[len(b)-1], b[len(b)/2]
	switch {
	case r.Dropped > 0:
		return fmt.Sprintf("overloaded: %d of %d operations due were never sent", r.Dropped, r.Due)
	case end > int64(2*m.Load.Clients) && end > middle+middle/2:
		return fmt.Sprintf("overloaded: the backlog grew to %d operations", end)
	}
	return ""
}

// unsteady looks for a trend in the rate of the whole intervals.
func unsteady(r *load.Result) string {
	rate := r.Rates()
	if len(rate) < fewSlots {
		return ""
	}
	drift, median, p, err := stat.Drift(rate)
	if err != nil || median <= 0 {
		return ""
	}
	if share := drift / median; p < steadyP && (share > steadyDrift || share < -steadyDrift) {
		return fmt.Sprintf("unsteady: the rate changed by %+.0f %% over the window (Mann-Kendall p = %.2g)", 100*share, p)
	}
	return ""
}

// embedded says whether a system runs in this process.
func embedded(sys driver.System) bool { _, ok := sys.(driver.Embedded); return ok }
