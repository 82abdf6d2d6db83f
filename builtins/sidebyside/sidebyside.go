// Package sidebyside puts a driver beside another tool in one benchmark: both take turns on the same server. For tests only.
//
// Map of the package:
//
//	Workload  a workload as a script's workload.NAME(...) makes it
//	Operations, Alike   a workload's operations on a session; whether two samples are of one distribution; Rows, Number: what tests read
//	Offered   one turn of sextant's engine: rate, and CPU of an operation
//	Tool      one turn of the other tool, a child process: the same of it
//	Loaded, LoadedBy   turns of loading a dataset
//	Run       the turns, and the metrics that a benchmark prints
package sidebyside

import (
	"context"
	"slices"
	"syscall"
	"testing"
	"time"

	"sextant/builtins/workload"
	"sextant/interp/driver"
	"sextant/interp/load"
)

// Workload makes a workload of a type's name and the parameters that differ from its defaults.
func Workload(t testing.TB, name string, params map[string]any) load.Workload {
	t.Helper()
	for _, typ := range workload.Types() {
		if typ.Name != name {
			continue
		}
		for _, p := range typ.Params {
			if _, set := params[p.Name]; !set {
				params[p.Name] = p.Default
			}
		}
		w, err := typ.Resolve(params)
		if err != nil {
			t.Fatal(err)
		}
		w.Type = name
		out, err := workload.New(w, 1, nil)
		if err != nil {
			t.Fatal(err)
		}
		return out
	}
	t.Fatalf("no workload %s", name)
	return nil
}

// A Turn is what one side did in its turn: operations a second, and CPU seconds of the client per operation (0: not known).
type Turn struct{ Rate, CPU float64 }

// Window is how long a turn lasts.
const Window = 2 * time.Second

// rounds is how often the two sides take turns.
const rounds = 5

// Run lets both sides take turns. It reports the median rates, the median ratio of the rates and of the CPU per operation, and the
// spread of the ratio of rates.
func Run(b *testing.B, tool string, ours, theirs func() Turn) {
	b.Helper()
	var rate, ref, ratio, cpu []float64
	for range rounds {
		x, y := ours(), theirs()
		rate, ref, ratio = append(rate, x.Rate), append(ref, y.Rate), append(ratio, x.Rate/y.Rate)
		if x.CPU > 0 && y.CPU > 0 {
			cpu = append(cpu, x.CPU/y.CPU)
		}
	}
	b.ReportMetric(median(rate), "ops/s-sextant")
	b.ReportMetric(median(ref), "ops/s-"+tool)
	b.ReportMetric(median(ratio), "ratio")
	b.ReportMetric(slices.Min(ratio), "ratio-min")
	b.ReportMetric(slices.Max(ratio), "ratio-max")
	if len(cpu) > 0 {
		b.ReportMetric(median(cpu), "cpu-ratio")
	}
}

func median(x []float64) float64 {
	s := slices.Sorted(slices.Values(x))
	return s[len(s)/2]
}

func cpuOf(who int) time.Duration {
	var ru syscall.Rusage
	if err := syscall.Getrusage(who, &ru); err != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

// Offered is a turn of the engine in a closed loop.
func Offered(b *testing.B, w load.Workload, clients int, open func(ctx context.Context) (driver.Session, error)) Turn {
	b.Helper()
	return Pipelined(b, w, clients, 1, open)
}

// Pipelined is Offered with batches of a depth.
func Pipelined(b *testing.B, w load.Workload, clients, depth int, open func(ctx context.Context) (driver.Session, error)) Turn {
	b.Helper()
	var used [2]time.Duration
	mark := func(begin bool) {
		i := 1
		if begin {
			i = 0
		}
		used[i] = cpuOf(syscall.RUSAGE_SELF)
	}
	res, err := load.Run(b.Context(), load.Config{Clients: clients, Pipeline: depth, Warmup: 200 * time.Millisecond, Window: Window, Interval: time.Second, Drain: time.Second, Workload: w, OnWindow: mark,
		Open: func(ctx context.Context, _ int) (driver.Session, error) { return open(ctx) }})
	if err != nil {
		b.Fatal(err)
	}
	n := float64(res.Total(load.OK))
	return Turn{n / Window.Seconds(), (used[1] - used[0]).Seconds() / n}
}

// Loaded is a turn of loading a workload's dataset: rows a second.
func Loaded(b *testing.B, l driver.Loader, w load.Workload) Turn {
	b.Helper()
	var rows int64
	for i := range w.Shape().Tables {
		rows += w.Rows(i)
	}
	begin := time.Now()
	if err := l.Load(b.Context(), w.Shape(), "0123456789abcdef", w); err != nil {
		b.Fatal(err)
	}
	return Turn{Rate: float64(rows) / time.Since(begin).Seconds()}
}

// LoadedBy is a turn of another tool that loads a number of rows.
func LoadedBy(rows int64, run func()) Turn {
	begin := time.Now()
	run()
	return Turn{Rate: float64(rows) / time.Since(begin).Seconds()}
}

// Counted is a turn of another tool that runs for n operations as a child of this process, its start included; run gives its rate.
func Counted(n int, run func() (rate float64)) Turn {
	before := cpuOf(syscall.RUSAGE_CHILDREN)
	rate := run()
	return Turn{rate, (cpuOf(syscall.RUSAGE_CHILDREN) - before).Seconds() / float64(n)}
}

// Tool is a turn of another tool that runs for Window as a child of this process; run gives its rate. The server is a child that
// has not ended, so it doesn't count.
func Tool(run func() (rate float64)) Turn {
	before := cpuOf(syscall.RUSAGE_CHILDREN)
	rate := run()
	return Turn{rate, (cpuOf(syscall.RUSAGE_CHILDREN) - before).Seconds() / (Window.Seconds() * rate)}
}
