package main

import (
	"strings"
	"testing"
)

const checksums = `
WORK = {
    "ycsb": (workload.ycsb("a", records = 500), "usertable"),
    "fields": (workload.records(records = 500, mix = {"update": 1}, fields = {"name": person_name(), "age": random_int(1, 90)}), "records"),
    "docker": (workload.mix("w4", records = 200), "people"),
    "sysbench": (workload.sysbench("oltp_read_write", table_size = 500), "sbtest1"),
    "pgbench": (workload.pgbench("tpcb"), "pgbench_accounts"),
}

def look(ctx):
    table = WORK[ctx.p.work][1]
    columns = [c["name"] for c in ctx.sql("SELECT name FROM pragma_table_info('%s')" % table)]
    row = " || '|' || ".join(["quote(%s)" % c for c in columns])
    ctx.record("sum", hash("".join([r["r"] for r in ctx.sql("SELECT %s AS r FROM %s ORDER BY 1 LIMIT 2000" % (row, table))])))

experiment("sums", system = sqlite.local(), workload = lambda p: WORK[p.work][0], load = lambda p: closed(p.concurrency), seed = SEED, reset = "always",
    sweep = grid(work = sorted(WORK.keys()), concurrency = [1, 16]), warmup = "0s", measure = "20ms", before_trial = look)
`

// The same script with the same seed loads identical data at 1 and at 16 clients, also where the trial before has changed it; another seed
// loads other data, but for pgbench, whose rows are the same everywhere.
func TestDataIsTheSameAtEveryConcurrency(t *testing.T) {
	sums := func(seed string) map[string]float64 {
		dir := t.TempDir()
		script(t, dir, strings.ReplaceAll(checksums, "SEED", seed))
		if out, err := sextant(t, dir, "run", "x.star").CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		out := map[string]float64{}
		work := map[string]string{}
		for _, r := range tableRows(t, latest(t, dir, "sums"), "trials") {
			work[r["trial_id"].(string)] = r["work"].(string)
		}
		n := 0
		for _, r := range tableRows(t, latest(t, dir, "sums"), "measurements") {
			w := work[r["trial_id"].(string)]
			n++
			sum, ok := r["value"].(float64)
			if before, seen := out[w]; !ok || seen && before != sum {
				t.Errorf("seed %s, %s: the checksums are %v and %v", seed, w, before, sum)
			}
			out[w] = sum
		}
		if n != 10 || len(out) != 5 {
			t.Fatalf("%d checksums: %v", n, out)
		}
		return out
	}
	a, b := sums("1"), sums("2")
	for w := range a {
		if (a[w] == b[w]) != (w == "pgbench") {
			t.Errorf("%s: seeds 1 and 2 give %v and %v", w, a[w], b[w])
		}
	}
}
