package mysql

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sextant/builtins/workload"
	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// rounds is how often the two sides take turns.
const rounds = 5

const sysbenchRows = 100_000

// BenchmarkAgainstSysbench compares one select by primary key with sysbench oltp_point_select (prepared statements) on its
// own table, in turns of two seconds. It prints the median rates, the median ratio of the rates and of the client's CPU per
// operation, and the spread of the ratio over the turns.
func BenchmarkAgainstSysbench(b *testing.B) {
	s := local(b, 1, map[string]any{})
	if _, err := exec.LookPath("sysbench"); err != nil {
		b.Skipf("SKIP: %v", err)
	}
	sysbench(b, s, "prepare")
	defer sysbench(b, s, "cleanup")
	script := fmt.Sprintf("\\set id random(1, %d)\nSELECT c FROM sbtest1 WHERE id = :id;\n", sysbenchRows)
	w := build(b, map[string]any{"scripts": map[string]any{"point_select": map[string]any{"text": script, "value": int64(1)}}, "tables": false})
	for _, clients := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			for b.Loop() {
				against(b, s, w, clients)
			}
		})
	}
}

func build(b *testing.B, params map[string]any) load.Workload {
	b.Helper()
	for _, typ := range workload.Types() {
		if typ.Name != "pgbench" {
			continue
		}
		for _, p := range typ.Params {
			if _, set := params[p.Name]; !set {
				params[p.Name] = p.Default
			}
		}
		w, err := workload.New(&spec.Workload{Type: "pgbench", Params: params}, 1)
		if err != nil {
			b.Fatal(err)
		}
		return w
	}
	b.Fatal("no workload pgbench")
	return nil
}

func against(b *testing.B, s *system, w load.Workload, clients int) {
	var rate, ref, ratio, cpu []float64
	for range rounds {
		x, xcpu := offered(b, s, w, clients, 2*time.Second)
		before := cpuOf(syscall.RUSAGE_CHILDREN)
		y := perSecond(b, sysbench(b, s, "run", fmt.Sprintf("--threads=%d", clients), "--time=2", "--rand-type=uniform"))
		ycpu := (cpuOf(syscall.RUSAGE_CHILDREN) - before).Seconds() / (2 * y)
		rate, ref, ratio, cpu = append(rate, x), append(ref, y), append(ratio, x/y), append(cpu, xcpu/ycpu)
	}
	slices.Sort(ratio)
	b.ReportMetric(median(rate), "ops/s-sextant")
	b.ReportMetric(median(ref), "ops/s-sysbench")
	b.ReportMetric(median(ratio), "ratio")
	b.ReportMetric(ratio[0], "ratio-min")
	b.ReportMetric(ratio[rounds-1], "ratio-max")
	b.ReportMetric(median(cpu), "cpu-ratio")
}

func median(x []float64) float64 {
	s := slices.Clone(x)
	slices.Sort(s)
	return s[len(s)/2]
}

func cpuOf(who int) time.Duration {
	var ru syscall.Rusage
	if err := syscall.Getrusage(who, &ru); err != nil {
		return 0
	}
	return time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
}

func sysbench(b *testing.B, s *system, command string, more ...string) string {
	b.Helper()
	cfg := s.nodes[0]
	host, port, _ := strings.Cut(cfg.Addr, ":")
	args := append([]string{"oltp_point_select", "--mysql-host=" + host, "--mysql-port=" + port, "--mysql-user=" + cfg.User, "--mysql-password=" + cfg.Passwd, "--mysql-db=" + cfg.DBName,
		fmt.Sprintf("--table-size=%d", sysbenchRows)}, more...)
	cmd := exec.Command("sysbench", append(args, command)...)
	cmd.Env = os.Environ()
	out, err := cmd.CombinedOutput()
	if err != nil {
		b.Fatalf("sysbench: %v: %s", err, out)
	}
	return string(out)
}

func perSecond(b *testing.B, out string) float64 {
	b.Helper()
	_, rest, ok := strings.Cut(out, "queries:")
	_, rest, ok2 := strings.Cut(rest, "(")
	var v float64
	if _, err := fmt.Sscan(strings.Fields(rest + " x")[0], &v); !ok || !ok2 || err != nil {
		b.Fatalf("no rate in %s", out)
	}
	return v
}

// offered gives operations a second and CPU seconds per operation.
func offered(b *testing.B, s *system, w load.Workload, clients int, window time.Duration) (rate, cpu float64) {
	b.Helper()
	var used [2]time.Duration
	mark := func(begin bool) {
		i := 1
		if begin {
			i = 0
		}
		used[i] = cpuOf(syscall.RUSAGE_SELF)
	}
	res, err := load.Run(b.Context(), load.Config{Clients: clients, Warmup: 200 * time.Millisecond, Window: window, Interval: time.Second, Drain: time.Second, Workload: w, OnWindow: mark,
		Open: func(ctx context.Context, _ int) (driver.Session, error) { return s.Session(ctx, spec.Level{}) }})
	if err != nil {
		b.Fatal(err)
	}
	n := float64(res.Total(load.OK))
	return n / window.Seconds(), (used[1] - used[0]).Seconds() / n
}
