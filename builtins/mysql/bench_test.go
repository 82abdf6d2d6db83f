package mysql

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"testing"

	"sextant/builtins/sidebyside"
	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

const sysbenchRows = 100_000

// BenchmarkAgainstSysbench compares one select by primary key with sysbench oltp_point_select (prepared statements) on its
// own table, in turns of two seconds. It prints the median rates, the median ratio of the rates and of the client's CPU per
// operation, and the spread of the ratio over the turns.
func BenchmarkAgainstSysbench(b *testing.B) {
	s := local(b, 1, map[string]any{})
	if _, err := exec.LookPath("sysbench"); err != nil {
		b.Skipf("SKIP: %v", err)
	}
	size := fmt.Sprintf("--table-size=%d", sysbenchRows)
	sysbench(b, s, "oltp_point_select", "prepare", size)
	defer sysbench(b, s, "oltp_point_select", "cleanup")
	script := fmt.Sprintf("\\set id random(1, %d)\nSELECT c FROM sbtest1 WHERE id = :id;\n", sysbenchRows)
	w := sidebyside.Workload(b, "pgbench", map[string]any{"scripts": map[string]any{"point_select": map[string]any{"text": script, "value": int64(1)}}, "tables": false})
	for _, clients := range []int{1, 8, 64} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			for b.Loop() {
				against(b, s, w, clients)
			}
		})
	}
}

func against(b *testing.B, s *system, w load.Workload, clients int) {
	sidebyside.Run(b, "sysbench", func() sidebyside.Turn {
		return sidebyside.Offered(b, w, clients, func(ctx context.Context) (driver.Session, error) { return s.Session(ctx, spec.Level{}) })
	}, func() sidebyside.Turn {
		return sidebyside.Tool(func() float64 {
			return perSecond(b, sysbench(b, s, "oltp_point_select", "run", fmt.Sprintf("--table-size=%d", sysbenchRows), fmt.Sprintf("--threads=%d", clients), fmt.Sprintf("--time=%v", sidebyside.Window.Seconds()), "--rand-type=uniform"))
		})
	})
}

func sysbench(b testing.TB, s *system, script, command string, more ...string) string {
	b.Helper()
	cfg := s.nodes[0]
	host, port, _ := strings.Cut(cfg.Addr, ":")
	args := append([]string{script, "--mysql-host=" + host, "--mysql-port=" + port, "--mysql-user=" + cfg.User, "--mysql-password=" + cfg.Passwd, "--mysql-db=" + cfg.DBName}, more...)
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

// BenchmarkLoading makes four of sysbench's tables by the driver and by sysbench prepare with as many threads, in turns.
func BenchmarkLoading(b *testing.B) {
	s := local(b, 1, map[string]any{})
	if _, err := exec.LookPath("sysbench"); err != nil {
		b.Skipf("SKIP: %v", err)
	}
	const tables, size = 4, 50_000
	w := sidebyside.Workload(b, "sysbench", map[string]any{"test": "oltp_point_select", "tables": int64(tables), "table_size": int64(size)})
	args := []string{fmt.Sprintf("--tables=%d", tables), fmt.Sprintf("--table-size=%d", size)}
	sidebyside.Run(b, "sysbench", func() sidebyside.Turn {
		turn := sidebyside.Loaded(b, s, w)
		if err := s.Drop(b.Context(), w.Shape()); err != nil {
			b.Fatal(err)
		}
		return turn
	}, func() sidebyside.Turn {
		defer sysbench(b, s, "oltp_point_select", "cleanup", args...)
		return sidebyside.LoadedBy(tables*size, func() {
			sysbench(b, s, "oltp_point_select", "prepare", append(args, fmt.Sprintf("--threads=%d", tables))...)
		})
	})
}
