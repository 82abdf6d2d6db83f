package redis

import (
	"bytes"
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

// reads is a load.Workload that reads one record.
type reads struct{ shape *driver.Workload }

func (r reads) Shape() *driver.Workload        { return r.shape }
func (reads) Rows(int) int64                   { return 0 }
func (reads) Row(int, int64, *driver.Row)      {}
func (reads) Start(uint64)                     {}
func (reads) Client(int) load.Generator        { return reads{} }
func (reads) Next(_ *load.Rand, op *driver.Op) { op.Key = []byte("row") }

// BenchmarkAgainstRedisBenchmark compares HGETALL of one record of 10 x 100 bytes with redis-benchmark doing the same, in
// five interleaved turns. It prints the median rates and ratio, and the ratio's spread.
func BenchmarkAgainstRedisBenchmark(b *testing.B) {
	if _, err := exec.LookPath("redis-benchmark"); err != nil {
		b.Skipf("SKIP: %v", err)
	}
	s := local(b, map[string]any{"appendonly": false})
	shape := &driver.Workload{Tables: []driver.Table{{Name: "t", Key: "k"}}, Ops: []driver.OpType{{Name: "read", Action: driver.Read}}}
	set := []string{"HSET", "row"}
	for i := range 10 {
		name := fmt.Sprintf("field%d", i)
		shape.Tables[0].Fields = append(shape.Tables[0].Fields, driver.Column{Name: name, Bytes: 100})
		set = append(set, name, strings.Repeat("x", 100))
	}
	if err := s.with(b.Context(), func(x *wire) error { _, err := x.call(set...); return err }); err != nil {
		b.Fatal(err)
	}
	for _, clients := range []int{1, 16, 50} {
		b.Run(fmt.Sprint(clients), func(b *testing.B) {
			for b.Loop() {
				sidebyside.Run(b, "redis-benchmark", func() sidebyside.Turn {
					return sidebyside.Offered(b, reads{shape}, clients, func(ctx context.Context) (driver.Session, error) { return s.Session(ctx, spec.Level{}) })
				}, func() sidebyside.Turn {
					return benchmarked(b, s, 40_000*min(clients, 4), "-c", fmt.Sprint(clients), "--csv", "HGETALL", "row")
				})
			}
		})
	}
}

// benchmarked is a turn of redis-benchmark: n requests.
func benchmarked(b *testing.B, s *system, n int, args ...string) sidebyside.Turn {
	b.Helper()
	port := s.opt.Addr[strings.LastIndexByte(s.opt.Addr, ':')+1:]
	return sidebyside.Counted(n, func() (rate float64) {
		out, err := exec.Command("redis-benchmark", append([]string{"-h", "127.0.0.1", "-p", port, "-a", s.opt.Password, "-n", fmt.Sprint(n)}, args...)...).Output()
		if err != nil {
			b.Fatal(err)
		}
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		if _, err := fmt.Sscan(strings.Trim(strings.Split(lines[len(lines)-1], ",")[1], `"`), &rate); err != nil {
			b.Fatalf("%s: %v", out, err)
		}
		return rate
	})
}

// BenchmarkPipelines compares SET and GET of 3 bytes at 50 clients, one command at a time and 64, with redis-benchmark in turns.
func BenchmarkPipelines(b *testing.B) {
	if _, err := exec.LookPath("redis-benchmark"); err != nil {
		b.Skipf("SKIP: %v", err)
	}
	s := local(b, map[string]any{"appendonly": false})
	for _, test := range []string{"set", "get"} {
		for _, depth := range []int{1, 64} {
			b.Run(fmt.Sprintf("%s-%d", test, depth), func(b *testing.B) {
				w := sidebyside.Workload(b, "redis", map[string]any{"tests": test})
				if err := s.Load(b.Context(), w.Shape(), "0123456789abcdef", w); err != nil {
					b.Fatal(err)
				}
				for b.Loop() {
					sidebyside.Run(b, "redis-benchmark", func() sidebyside.Turn {
						return sidebyside.Pipelined(b, w, 50, depth, func(ctx context.Context) (driver.Session, error) { return s.Session(ctx, spec.Level{}) })
					}, func() sidebyside.Turn {
						return benchmarked(b, s, 150_000*min(depth, 12), "-c", "50", "-P", fmt.Sprint(depth), "-t", test, "--csv")
					})
				}
			})
		}
	}
}

// BenchmarkLoading writes 100,000 records of YCSB by the driver and by redis-cli --pipe from a file made beforehand, in turns.
func BenchmarkLoading(b *testing.B) {
	tool, err := exec.LookPath("redis-cli")
	if err != nil {
		b.Skipf("SKIP: %v", err)
	}
	s := local(b, map[string]any{"appendonly": false})
	const records = 100_000
	w := sidebyside.Workload(b, "ycsb", map[string]any{"workload": "a", "records": int64(records)})
	table := &w.Shape().Tables[0]
	var commands wire
	var row driver.Row
	for i := range int64(records) {
		w.Row(0, i, &row)
		hset(&commands, table, row.Key, nil, row.Values)
	}
	port := s.opt.Addr[strings.LastIndexByte(s.opt.Addr, ':')+1:]
	flush := func() {
		if _, err := s.Exec(b.Context(), "FLUSHALL", nil); err != nil {
			b.Fatal(err)
		}
	}
	sidebyside.Run(b, "redis-cli", func() sidebyside.Turn {
		defer flush()
		return sidebyside.Loaded(b, s, w)
	}, func() sidebyside.Turn {
		defer flush()
		return sidebyside.LoadedBy(records, func() {
			cmd := exec.Command(tool, "-h", "127.0.0.1", "-p", port, "--pipe")
			cmd.Env = append(os.Environ(), "REDISCLI_AUTH="+s.opt.Password)
			cmd.Stdin = bytes.NewReader(commands.out)
			if out, err := cmd.CombinedOutput(); err != nil || !bytes.Contains(out, []byte("errors: 0, replies: 100000")) {
				b.Fatalf("redis-cli: %v: %s", err, out)
			}
		})
	})
}
