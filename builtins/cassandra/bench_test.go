package cassandra

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"sextant/builtins/sidebyside"
	"sextant/interp/driver"
	"sextant/interp/spec"
)

// rate reads the rate of operations of a run of the tool, without its own warm-up.
func rate(b *testing.B, out string) float64 {
	b.Helper()
	m := regexp.MustCompile(`Op rate +: +([0-9,]+) op/s`).FindStringSubmatch(out)
	var n float64
	if m == nil {
		b.Fatalf("the tool says %s", out)
	}
	if _, err := fmt.Sscan(strings.ReplaceAll(m[1], ",", ""), &n); err != nil {
		b.Fatal(err)
	}
	return n
}

// BenchmarkAgainstStress: the same commands as cassandra-stress on the same node, in turns. The tool's turns are n operations after a warm-up of a
// quarter of them; its CPU is that of its start and warm-up as well. The load is written at ALL, as the tool is told to write.
func BenchmarkAgainstStress(b *testing.B) {
	const records = 20_000
	s := local(b, map[string]any{"heap": "1G"})
	of := func(command string) func() sidebyside.Turn {
		w := sidebyside.Workload(b, "cassandra_stress", map[string]any{"command": command, "records": int64(records)})
		return func() sidebyside.Turn {
			return sidebyside.Offered(b, w, 32, func(ctx context.Context) (driver.Session, error) { return s.Session(ctx, spec.Level{}) })
		}
	}
	tool := func(n int, command string, options ...string) func() sidebyside.Turn {
		return func() sidebyside.Turn {
			return sidebyside.Counted(n, func() float64 {
				return rate(b, stressTool(b, s, slices.Concat([]string{command, fmt.Sprint("n=", n)}, options, []string{"-rate", "threads=32"})...))
			})
		}
	}
	read := sidebyside.Workload(b, "cassandra_stress", map[string]any{"command": "read", "records": int64(records)})
	loadDataset(b, s, read, "fp")
	of("mixed")() // warms the server's JVM
	b.Run("load", func(b *testing.B) {
		sidebyside.Run(b, "cassandra-stress", func() sidebyside.Turn { return sidebyside.Loaded(b, s, read) }, tool(records, "write", "cl=ALL"))
	})
	for _, command := range []string{"write", "read", "mixed"} {
		b.Run(command, func(b *testing.B) {
			sidebyside.Run(b, "cassandra-stress", of(command), tool(records*2, command, "cl=ONE", "-pop", fmt.Sprintf("dist=gaussian(1..%d)", records)))
		})
	}
}
