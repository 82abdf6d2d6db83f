package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"sextant/interp/result"
)

// extraRows counts the rows of a table that an analysis has made.
func extraRows(t *testing.T, run, table string) (n int) {
	t.Helper()
	x, err := result.ReadExtra(run, table)
	if err != nil {
		t.Fatal(err)
	}
	return len(x.Rows)
}

// Every experiment of the repository runs, small: each trial of each is ok, or skipped where its server isn't installed and
// needn't be; each opens with its question and says what to expect and how
// long it takes.
func TestExperiments(t *testing.T) {
	files, err := filepath.Glob("../../experiments/*.star")
	studies, err2 := filepath.Glob("../../experiments/studies/*.star")
	if err != nil || err2 != nil || len(files) < 10 || len(studies) < 4 {
		t.Fatalf("%v, %v: %v, %v", files, studies, err, err2)
	}
	files = append(files, studies...)
	tables := map[string][]string{
		"kubernetes-postgres": {"performance", "interval_stability", "trends", "run_to_run", "ranking", "lowest_latency", "scale_change", "read_write_ratio"},
		"kubernetes-mysql":    {"performance", "tables_change"}, "kubernetes-mongodb": {"operations_of", "update_over_read", "scalability"},
		"kubernetes-cassandra": {"level_correlations", "level_cost"}, "kubernetes-redis": {"ranking"}, "docker-study": {"comparison"}, "mysql-study": {"drop", "tested"},
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".star")
		if name == "tables" {
			continue // what the studies load
		}
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			doc, _, ok := strings.Cut(strings.TrimPrefix(string(text), `"""`), `"""`)
			if first, _, _ := strings.Cut(doc, "\n\n"); !ok || !strings.Contains(first, "?") || !strings.Contains(doc, "xpect") || !strings.Contains(doc, "inute") {
				t.Error("the docstring must begin with the question and say what to expect and how long it takes")
			}
			if name == "quickstart" {
				return // make demo runs it whole
			}
			dir := t.TempDir()
			file, err := filepath.Abs(f)
			if err != nil {
				t.Fatal(err)
			}
			args := []string{"run", "--yes", file}
			if os.Getenv("SEXTANT_REQUIRE_SERVERS") == "" {
				args = append(args, "--skip-missing")
			}
			cmd := sextant(t, dir, args...)
			cmd.Env = append(cmd.Env, "SEXTANT_TMPDIR=", "QUICK=1")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			runs, err := filepath.Glob(filepath.Join(dir, "results", "*"))
			if err != nil || len(runs) == 0 {
				t.Fatalf("no run: %v", err)
			}
			for _, run := range runs {
				n, skipped, verified := 0, 0, int64(0)
				for _, r := range tableRows(t, latest(t, dir, filepath.Base(run)), "trials") {
					n++
					switch {
					case r["status"] == "skipped":
						skipped++
					case r["status"] != "ok" || r["succeeded"].(int64) == 0:
						t.Errorf("%v: %v", r["status"], r["reason"])
					case name == "consistency-cost": // no server was killed: all that was acknowledged is there
						done, ok := r["verified_writes"].(int64)
						if verified += done; !ok || r["lost_writes"] != int64(0) {
							t.Errorf("%v: of %v verified writes %v are lost", r["level_asked"], r["verified_writes"], r["lost_writes"])
						}
					}
				}
				if name == "consistency-cost" && verified < 100 { // a slow server's trial of a fifth of a second may have none
					t.Errorf("%d writes were verified over all trials", verified)
				}
				if n < 2 {
					t.Errorf("%s: %d trials", run, n)
				}
				for _, table := range tables[filepath.Base(run)] {
					if rows := extraRows(t, latest(t, dir, filepath.Base(run)), table); skipped == 0 && rows == 0 {
						t.Errorf("%s: the table %s is empty", run, table)
					}
				}
			}
		})
	}
}
