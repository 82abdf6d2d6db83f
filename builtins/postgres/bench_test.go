package postgres

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"sextant/builtins/sidebyside"
	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// psql runs statements with the client of the installed version.
func psql(b *testing.B, s *system, statements ...string) {
	b.Helper()
	args := []string{"-qX", "-v", "ON_ERROR_STOP=1", fmt.Sprintf("host=127.0.0.1 port=%d user=sextant dbname=postgres sslmode=disable", s.cfg.Port)}
	for _, st := range statements {
		args = append(args, "-c", st)
	}
	cmd := exec.Command(filepath.Join(s.local.bin, "psql"), args...)
	cmd.Env = append(os.Environ(), "PGPASSWORD="+s.cfg.Password)
	if out, err := cmd.CombinedOutput(); err != nil {
		b.Fatalf("psql: %v: %s", err, out)
	}
}

// BenchmarkLoad loads a million YCSB rows by the driver and, from a file made beforehand, by psql's \copy, with the same
// key, VACUUM ANALYZE and CHECKPOINT, in turns. It prints seconds and the ratio.
func BenchmarkLoad(b *testing.B) {
	s := local(b, map[string]any{"settings": map[string]any{"max_wal_size": "4GB"}})
	const rows = 1_000_000
	w := sidebyside.Workload(b, "ycsb", map[string]any{"workload": "a", "records": int64(rows)})
	file := filepath.Join(b.TempDir(), "rows.txt")
	if err := writeRows(file, w, rows); err != nil {
		b.Fatal(err)
	}
	table := w.Shape().Tables[0]
	var cols []string
	for _, f := range table.Fields {
		cols = append(cols, f.Name+" text")
	}
	var ours, theirs time.Duration
	for b.Loop() {
		begin := time.Now()
		if err := s.Load(b.Context(), w.Shape(), "0123456789abcdef", w); err != nil {
			b.Fatal(err)
		}
		ours += time.Since(begin)
		if err := s.Drop(b.Context(), w.Shape()); err != nil {
			b.Fatal(err)
		}
		psql(b, s, "CHECKPOINT")
		begin = time.Now()
		psql(b, s, "BEGIN", fmt.Sprintf("CREATE TABLE usertable (ycsb_key varchar(255), %s)", strings.Join(cols, ", ")), `\copy usertable from '`+file+`' with (freeze)`,
			"ALTER TABLE usertable ADD PRIMARY KEY (ycsb_key)", "COMMIT", "VACUUM ANALYZE usertable", "CHECKPOINT")
		theirs += time.Since(begin)
		psql(b, s, "DROP TABLE usertable", "CHECKPOINT")
	}
	n := float64(b.N)
	b.ReportMetric(ours.Seconds()/n, "s-sextant")
	b.ReportMetric(theirs.Seconds()/n, "s-psql")
	b.ReportMetric(ours.Seconds()/theirs.Seconds(), "ratio")
}

// writeRows writes a table in COPY's text format.
func writeRows(path string, w load.Workload, rows int64) (err error) {
	f, err := os.Create(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	b := bufio.NewWriterSize(f, 1<<20)
	var row driver.Row
	for i := range rows {
		w.Row(0, i, &row)
		if bytes.ContainsAny(row.Key, "\\\t\n") {
			return fmt.Errorf("key %q needs escaping", row.Key)
		}
		b.Write(row.Key)
		for _, v := range row.Values {
			b.WriteByte('\t')
			b.Write(bytes.ReplaceAll(v, []byte(`\`), []byte(`\\`)))
		}
		b.WriteByte('\n')
	}
	return b.Flush()
}

// BenchmarkAgainstPgbench compares workload.pgbench with pgbench -M prepared on the same tables (scale 10), in turns of two
// seconds. It prints the median rates, the median ratio of the rates and of the client's CPU per operation, and the spread
// of the ratio over the turns.
func BenchmarkAgainstPgbench(b *testing.B) {
	s := local(b, nil)
	pgbench(b, s, "-i", "-s", "10", "-q")
	for _, script := range []string{"select-only", "tpcb"} {
		w := sidebyside.Workload(b, "pgbench", map[string]any{"script": script, "scale": int64(10)})
		for _, clients := range []int{1, 4, 16, 64} {
			b.Run(fmt.Sprintf("%s/%d", script, clients), func(b *testing.B) {
				for b.Loop() {
					against(b, s, w, script, clients)
				}
			})
		}
	}
}

func against(b *testing.B, s *system, w load.Workload, script string, clients int) {
	builtin := map[string]string{"select-only": "select-only", "tpcb": "tpcb-like"}[script]
	sidebyside.Run(b, "pgbench", func() sidebyside.Turn {
		if err := s.Trim(b.Context(), w.Shape()); err != nil {
			b.Fatal(err)
		}
		return sidebyside.Offered(b, w, clients, func(ctx context.Context) (driver.Session, error) { return s.Session(ctx, spec.Level{}) })
	}, func() sidebyside.Turn {
		return sidebyside.Tool(func() float64 {
			return tps(b, pgbench(b, s, "-b", builtin, "-M", "prepared", "-c", fmt.Sprint(clients), "-j", fmt.Sprint(min(clients, 2)), "-T", fmt.Sprint(sidebyside.Window.Seconds())))
		})
	})
}

func tps(b *testing.B, out string) float64 {
	b.Helper()
	_, rest, ok := strings.Cut(out, "tps = ")
	var v float64
	if _, err := fmt.Sscan(rest, &v); !ok || err != nil {
		b.Fatalf("no tps in %s", out)
	}
	return v
}

// BenchmarkLoading makes pgbench's tables at scale 10 by the driver and by pgbench -i, in turns.
func BenchmarkLoading(b *testing.B) {
	s := local(b, map[string]any{"settings": map[string]any{"max_wal_size": "4GB"}})
	w := sidebyside.Workload(b, "pgbench", map[string]any{"script": "tpcb", "scale": int64(10)})
	sidebyside.Run(b, "pgbench", func() sidebyside.Turn {
		defer psql(b, s, "CHECKPOINT")
		psql(b, s, "DROP TABLE IF EXISTS pgbench_accounts, pgbench_branches, pgbench_history, pgbench_tellers")
		return sidebyside.Loaded(b, s, w)
	}, func() sidebyside.Turn {
		defer psql(b, s, "CHECKPOINT")
		return sidebyside.LoadedBy(1_000_110, func() { pgbench(b, s, "-i", "-s", "10", "-q") })
	})
}
