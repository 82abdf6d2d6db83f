package main

import (
	"fmt"
	"strings"
	"testing"

	"sextant/builtins"
	"sextant/interp/driver/drivertest"
)

// Every workload on every system: the tables agree, the number of rows is what the operations say, the level is the
// asked one, and reading finds what was written.
func TestWorkloadsOnEverySystem(t *testing.T) {
	systems := map[string]string{"sqlite": "sqlite.local()"}
	t.Run("sqlite", func(t *testing.T) { everyWorkload(t, systems["sqlite"], "full") })
	t.Run("postgres", func(t *testing.T) {
		startPostgres(t, "unused") // skips where there is none
		everyWorkload(t, `postgres.local(settings = {"fsync": False})`, "off+repeatable read")
	})
	t.Run("mysql", func(t *testing.T) {
		needInstalled(t, "mysql")
		everyWorkload(t, `mysql.local(settings = {"innodb_log_file_size": "48M"})`, "read committed+innodb_flush_log_at_trx_commit=0")
	})
	t.Run("mongodb", func(t *testing.T) {
		needInstalled(t, "mongodb")
		everyWorkload(t, `mongodb.local()`, "w=1+j=true")
	})
	t.Run("cassandra", func(t *testing.T) {
		needInstalled(t, "cassandra")
		everyWorkload(t, `cassandra.local()`, "read=one+write=quorum")
	})
	t.Run("redis", func(t *testing.T) {
		needInstalled(t, "redis")
		everyWorkload(t, "redis.local()", "everysec")
	})
}

// needInstalled skips where a throwaway server can't be had, or fails where it must be.
func needInstalled(t *testing.T, system string) {
	t.Helper()
	_, err := builtins.DriversByName()[system].Installed(t.Context())
	drivertest.Need(t, err)
}

func everyWorkload(t *testing.T, system, level string) {
	dir := t.TempDir()
	script(t, dir, fmt.Sprintf(`
KINDS = {k: workload.ycsb(k, records = 300) for k in "abcdef".elems()}
KINDS["mix"] = workload.records(records = 300, fields = 3, update_fields = 2, scan_max = 5, keys = zipfian(0.9),
    mix = {"read": 2, "update": 2, "insert": 2, "delete": 1, "scan": 1, "read-modify-write": 2})
for d in ["uniform", "latest", "hotspot", "sequential"]:
    KINDS[d] = workload.records(records = 300, mix = {"read": 3, "update": 1}, keys = d)
KINDS["wide"] = workload.records(records = 100, field_bytes = {"title": 30, "body": 5000}, mix = {"read": 1, "update": 1}, table = "articles")

experiment("every", system = %s, workload = lambda p: KINDS[p.kind], load = closed(3), consistency = %q,
    warmup = lambda p: "0s" if p.kind == "mix" else "20ms", measure = lambda p: operations(600) if p.kind == "mix" else "200ms",
    interval = "50ms", sweep = grid(kind = sorted(KINDS.keys())), repeats = 2)
`, system, level))
	cmd := sextant(t, dir, "run", "x.star")
	cmd.Env = append(cmd.Env, "SEXTANT_TMPDIR=") // where a server's own user gets in
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	run := latest(t, dir, "every")
	conserve(t, run)
	changed := map[string]int64{}
	for _, r := range tableRows(t, run, "operations") {
		if r["outcome"] != "ok" || r["phase"] != "window" {
			continue
		}
		switch r["operation"] {
		case "insert":
			changed[r["trial_id"].(string)] += r["count"].(int64)
		case "delete":
			changed[r["trial_id"].(string)] -= r["count"].(int64)
		}
	}
	for _, r := range tableRows(t, run, "trials") {
		before, after := r["rows_before"].(int64), r["rows_after"].(int64)
		want := int64(300)
		if r["kind"] == "wide" {
			want = 100
		}
		if before != want {
			t.Errorf("%v: began with %d rows", r["kind"], before)
		}
		// The mix has no warm-up and a window by count, so all its operations are counted; but an update of Redis that meets a
		// delete of its record makes it anew, uncounted. The others insert only, in the warm-up as well: a bound.
		switch d := changed[r["trial_id"].(string)]; {
		case r["kind"] == "mix" && strings.HasPrefix(system, "cassandra"): // it can't tell whether a delete found its row
		case r["kind"] == "mix" && after-before != d && !strings.HasPrefix(system, "redis"), after-before < d, d == 0 && after != before:
			t.Errorf("%v: %d rows became %d, the window's operations changed %d", r["kind"], before, after, d)
		}
		if r["level_asked"] != r["level_observed"] {
			t.Errorf("asked %v, observed %v", r["level_asked"], r["level_observed"])
		}
		// an insert's key may be read by nobody before it is acknowledged, so nothing is missing
		if r["kind"] != "mix" && r["not_found"] != int64(0) {
			t.Errorf("%v: %v keys were missing", r["kind"], r["not_found"])
		}
	}
}

// The history of pgbench is emptied before each trial, without loading the accounts again; operations are transactions.
func TestPgbenchIsTrimmed(t *testing.T) {
	for name, system := range map[string]string{"sqlite": "sqlite.local(busy_timeout = \"10s\")", "postgres": `postgres.local(settings = {"fsync": False})`,
		"mysql": `mysql.local(settings = {"innodb_flush_log_at_trx_commit": 0})`} {
		t.Run(name, func(t *testing.T) {
			if name == "postgres" {
				startPostgres(t, "unused") // skips where there is none
			}
			if name == "mysql" {
				needInstalled(t, "mysql")
			}
			dir := t.TempDir()
			script(t, dir, fmt.Sprintf(`
experiment("tpcb", system = %s, workload = lambda p: workload.pgbench(p.script, scale = 2), warmup = "20ms", measure = "200ms", interval = "50ms",
    sweep = grid(script = ["tpcb", "select-only"], concurrency = [1, 3]), repeats = 2)
`, system))
			cmd := sextant(t, dir, "run", "x.star")
			cmd.Env = append(cmd.Env, "SEXTANT_TMPDIR=")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			run := latest(t, dir, "tpcb")
			conserve(t, run)
			trials := tableRows(t, run, "trials")
			if len(trials) != 8 {
				t.Fatalf("%d trials", len(trials))
			}
			for _, r := range trials {
				grown, want := r["rows_after"].(int64)-200022, int64(0)
				if r["script"] == "tpcb" {
					want = r["succeeded"].(int64)
				}
				if r["rows_before"] != int64(200022) || grown < want || (grown == 0) != (want == 0) || r["succeeded"].(int64) == 0 || r["not_found"] != int64(0) {
					t.Errorf("%v: %v rows became %v with %v transactions", r["script"], r["rows_before"], r["rows_after"], r["succeeded"])
				}
			}
			loads := 0
			for _, r := range tableRows(t, run, "events") {
				if r["kind"] == "dataset" {
					loads++
				}
			}
			if loads != 1 {
				t.Errorf("%d loads", loads)
			}
		})
	}
}
