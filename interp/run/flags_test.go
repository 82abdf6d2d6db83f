package run

import (
	"math"
	"os"
	"strings"
	"testing"
	"time"

	"sextant/interp/load"
	"sextant/interp/result"
	"sextant/interp/spec"
)

// measured is a load.Result of ten intervals of a second with these counts of successes, and a histogram that says each
// took a millisecond.
func measured(counts ...int64) *load.Result {
	r := &load.Result{Window: time.Duration(len(counts)) * time.Second, Late: new(load.Hist[uint64])}
	h := new(load.Hist[uint64])
	op := load.OpResult{Name: "read"}
	for i, n := range counts {
		for range n {
			h.Record(int64(time.Millisecond))
		}
		op.Count[load.OK] += n
		r.Slots = append(r.Slots, load.Slot{Index: i, Start: time.Duration(i) * time.Second, Length: time.Second, OK: n})
	}
	op.Hist[load.OK], op.Service = h, h
	r.Ops = []load.OpResult{op}
	r.Busy = r.Window
	return r
}

func judged(r *load.Result, m spec.Measure, change func(*watch, *result.TrialRow)) (result.TrialRow, string) {
	row := result.TrialRow{}
	w := &watch{}
	if m.Load.Clients == 0 {
		m.Load = spec.Load{Shape: "closed", Clients: 1}
	}
	if change != nil {
		change(w, &row)
	}
	return row, strings.Join(w.judge(&row, &m, r), "; ") + rowFlags(&row)
}

// rowFlags names the flags that a row has.
func rowFlags(r *result.TrialRow) string {
	out := ""
	for name, f := range map[string]*bool{"client_bound": r.ClientBound, "overloaded": r.Overloaded, "throttled": r.Throttled, "unsteady": r.Unsteady} {
		if f == nil {
			out += " null:" + name
		} else if *f {
			out += " [" + name + "]"
		}
	}
	return out
}

func steadyCounts() []int64 { return []int64{100, 101, 99, 100, 102, 98, 100, 101, 99, 100} }

func TestSteadyTrialHasNoFlag(t *testing.T) {
	row, said := judged(measured(steadyCounts()...), spec.Measure{}, nil)
	if said != "" || *row.InFlight != 1 || *row.BusyPct != 100 || row.BacklogEnd != nil || row.LateP99Ms != nil {
		t.Errorf("%q, in flight %v, busy %v", said, *row.InFlight, *row.BusyPct)
	}
}

// Replies that wait in the generator are said, and from 40 % of the response time on the generator is what was measured.
func TestLag(t *testing.T) {
	for lag, want := range map[time.Duration]string{3900 * time.Millisecond: "", 4100 * time.Millisecond: "client_bound: for 41 % of the response time replies were there and waited"} {
		r := measured(steadyCounts()...)
		r.Lag = lag
		row, said := judged(r, spec.Measure{}, nil)
		if (want == "") != (said == "") || !strings.Contains(said, want) || math.Abs(*row.LagPct-10*lag.Seconds()) > 1e-9 || *row.ClientBound != (want != "") {
			t.Errorf("lag %v: %q, %v %%", lag, said, *row.LagPct)
		}
	}
}

func TestUnsteady(t *testing.T) {
	if _, said := judged(measured(100, 97, 94, 91, 88, 85, 82, 79, 76, 73), spec.Measure{}, nil); !strings.Contains(said, "unsteady: the rate changed by -3") || !strings.Contains(said, "[unsteady]") {
		t.Errorf("a falling rate: %q", said)
	}
	if _, said := judged(measured(100, 100, 101, 101, 102, 102, 103, 103, 104, 104), spec.Measure{}, nil); said != "" {
		t.Errorf("a trend of 4 %%: %q", said)
	}
	if _, said := judged(measured(100, 50, 25), spec.Measure{}, nil); said != "" {
		t.Errorf("three intervals can't tell: %q", said)
	}
}

func TestRule4TheGeneratorWatchesItself(t *testing.T) {
	r := measured(steadyCounts()...)
	r.Busy = r.Window * 8 / 10
	if _, said := judged(r, spec.Measure{}, nil); !strings.Contains(said, "clients spent 20 % of the window outside operations") {
		t.Errorf("idle clients of a closed loop: %q", said)
	}
	if _, said := judged(r, spec.Measure{Load: spec.Load{Shape: "closed", Clients: 1, Think: time.Second}}, nil); said != "" {
		t.Errorf("clients that think: %q", said)
	}
	full := func(w *watch, row *result.TrialRow) { row.ClientCPUPct = ptr(10_000.0) }
	if _, said := judged(measured(steadyCounts()...), spec.Measure{}, full); !strings.Contains(said, "sextant itself took 10000 %") {
		t.Errorf("a full machine: %q", said)
	}
	inside := func(w *watch, row *result.TrialRow) { w.embedded = true; full(w, row) }
	if _, said := judged(measured(steadyCounts()...), spec.Measure{}, inside); said != "" {
		t.Errorf("an embedded database's CPU: %q", said)
	}
	r = measured(steadyCounts()...)
	r.Open = true
	for range 100 {
		r.Late.Record(int64(3 * time.Millisecond))
	}
	row, said := judged(r, spec.Measure{Load: spec.Load{Shape: "open", Clients: 4}}, nil)
	if !strings.Contains(said, "3.0 ms late") || row.LateP99Ms == nil || *row.LateP99Ms < 3 || *row.LateP99Ms > 3.01 {
		t.Errorf("late operations: %q", said)
	}
}

func TestOverloadedAndThrottled(t *testing.T) {
	open := spec.Measure{Load: spec.Load{Shape: "open", Clients: 2}}
	r := measured(steadyCounts()...)
	r.Open, r.Due, r.Dropped = true, 1010, 10
	if _, said := judged(r, open, nil); !strings.Contains(said, "overloaded: 10 of 1010 operations due were never sent") {
		t.Errorf("drops: %q", said)
	}
	r.Dropped = 0
	for i := range r.Slots {
		r.Slots[i].Backlog = int64(10 * i)
	}
	row, said := judged(r, open, nil)
	if !strings.Contains(said, "overloaded: the backlog grew to 90 operations") || *row.BacklogEnd != 90 {
		t.Errorf("a growing backlog: %q", said)
	}
	for i := range r.Slots {
		r.Slots[i].Backlog = 3
	}
	if _, said = judged(r, open, nil); said != "" {
		t.Errorf("a small backlog that stays: %q", said)
	}
	held := func(w *watch, _ *result.TrialRow) { w.throttled = [2]int64{1000, 251_000} }
	if _, said = judged(measured(steadyCounts()...), spec.Measure{}, held); !strings.Contains(said, "throttled: the control group's CPU limit held sextant back for 250 ms") {
		t.Errorf("throttled: %q", said)
	}
}

func TestNoisyMachineIsTold(t *testing.T) {
	files := map[string]string{
		"/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor": "powersave\n", "/sys/devices/system/cpu/intel_pstate/no_turbo": "0\n",
		"/proc/loadavg": "900.5 1 1 1/1 1\n", "/proc/self/cgroup": "0::/box\n", "/sys/fs/cgroup/box/cpu.max": "150000 100000\n",
		"/sys/fs/cgroup/box/memory.max": "max\n", "/proc/pressure/memory": "some avg10=12.50 avg60=0.00 avg300=0.00 total=1\nfull avg10=0.00\n",
	}
	read := func(path string) ([]byte, error) {
		if s, ok := files[path]; ok {
			return []byte(s), nil
		}
		return nil, os.ErrNotExist
	}
	r := &Runner{opt: Options{Observer: nobody{}}, secrets: &Secrets{hide: strings.NewReplacer()}}
	got := strings.Join(r.noteMachine(read), "\n")
	for _, want := range []string{`governor is "powersave"`, "load average at the start is 900.5", `cpu.max is "150000 100000"`, "waited for memory 12.5 %"} {
		if !strings.Contains(got, want) {
			t.Errorf("%q is not told in:\n%s", want, got)
		}
	}
	facts := map[string]string{}
	for _, l := range r.log {
		row := l.row.(result.EnvironmentRow)
		facts[row.Key] = row.Value
	}
	if facts["cpu_turbo"] != "on" || facts["cgroup_cpu_max"] != "150000 100000" || facts["pressure_memory_avg10"] != "12.50" || facts["cgroup_memory_max"] != "" {
		t.Errorf("facts: %v", facts)
	}
	if w := r.noteMachine(func(string) ([]byte, error) { return nil, os.ErrNotExist }); w != nil {
		t.Errorf("a machine that tells nothing: %v", w)
	}
}
