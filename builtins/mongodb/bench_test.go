package mongodb

import (
	"context"
	"fmt"
	"os/exec"
	"regexp"
	"testing"

	"sextant/builtins/sidebyside"
	"sextant/interp/driver"
	"sextant/interp/spec"
)

// BenchmarkAgainstGoYCSB compares YCSB's workload c and a at 16 clients with go-ycsb on the same server, in turns. The tool is built from
// its source: its module can't be installed by name.
func BenchmarkAgainstGoYCSB(b *testing.B) {
	s := local(b)
	if _, err := exec.LookPath("go-ycsb"); err != nil {
		b.Skip("SKIP: go-ycsb is not installed")
	}
	const records = 1000
	tool := func(command string, more ...string) string {
		args := append([]string{command, "mongodb", "-p", "mongodb.url=" + s.url, "-p", "workload=core", "-p", fmt.Sprint("recordcount=", records), "-p", "threadcount=16",
			"-p", "fieldcount=10", "-p", "fieldlength=100", "-p", "requestdistribution=zipfian"}, more...)
		out, err := exec.CommandContext(b.Context(), "go-ycsb", args...).CombinedOutput()
		if err != nil {
			b.Fatalf("go-ycsb: %v: %s", err, out)
		}
		return string(out)
	}
	rate := func(out string) float64 {
		m := regexp.MustCompile(`(?m)^TOTAL +- Takes\(s\): [0-9.]+, Count: [0-9]+, OPS: ([0-9.]+)`).FindAllStringSubmatch(out, -1)
		var v float64
		if len(m) == 0 {
			b.Fatalf("go-ycsb says %s", out)
		}
		if _, err := fmt.Sscan(m[len(m)-1][1], &v); err != nil {
			b.Fatal(err)
		}
		return v
	}
	tool("load") // a collection of its own
	for _, x := range []struct{ name, read, update string }{{"c", "1", "0"}, {"a", "0.5", "0.5"}} {
		b.Run(x.name, func(b *testing.B) {
			w := sidebyside.Workload(b, "ycsb", map[string]any{"workload": x.name, "records": int64(records)})
			if err := s.Load(b.Context(), w.Shape(), "f", w); err != nil {
				b.Fatal(err)
			}
			sidebyside.Run(b, "go-ycsb", func() sidebyside.Turn {
				return sidebyside.Offered(b, w, 16, func(ctx context.Context) (driver.Session, error) { return s.Session(ctx, spec.Level{}) })
			}, func() sidebyside.Turn {
				return sidebyside.Counted(4000, func() float64 {
					return rate(tool("run", x.name, "-p", "operationcount=4000", "-p", "readproportion="+x.read, "-p", "updateproportion="+x.update))
				})
			})
		})
	}
}
