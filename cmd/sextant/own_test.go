package main

import (
	"fmt"
	"testing"
)

// Operations of one's own on the SQL systems: money that is moved within transactions is neither made nor lost, whatever
// conflicts and is tried again; the log has a row for each transaction that succeeded; the interpreter's time stands apart.
func TestOwnTransactions(t *testing.T) {
	for name, c := range map[string]struct{ system, level string }{
		"sqlite":   {`sqlite.local(busy_timeout = "10s")`, "off"},
		"postgres": {`postgres.local(settings = {"fsync": False})`, "off+serializable"},
		"mysql":    {`mysql.local(settings = {"innodb_flush_log_at_trx_commit": 0})`, "serializable"},
	} {
		t.Run(name, func(t *testing.T) {
			if name == "postgres" {
				startPostgres(t, "unused") // skips where there is none
			}
			if name == "mysql" {
				needInstalled(t, "mysql")
			}
			dir := t.TempDir()
			script(t, dir, fmt.Sprintf(`
TABLES = {
    "accounts": table(rows = 50, fields = {"owner": person_name(), "balance": random_int(100, 1000), "since": timestamp(), "kind": choice(["a", "b"])}, indexes = ["owner"]),
    "moved": table(rows = 0, fields = {"account": random_int(1, 50), "amount": random_int(-5, 5)}),
}

def transfer(tx):
    a, b = tx.draw("account"), tx.draw("account")
    tx.begin()
    rows = tx.query("select balance, owner from accounts where id = ?", a)
    if len(rows) != 1 or type(rows[0]["balance"]) != "int" or " " not in rows[0]["owner"]:
        fail("account", a, "is", rows)
    n = tx.exec("update accounts set balance = balance - ? where id = ?", tx.args.amount, a)
    n += tx.exec("update accounts set balance = balance + ? where id = ?", tx.args.amount, b)
    if n != 2:
        fail(n, "rows changed")
    tx.exec("insert into moved (account, amount) values (?, ?)", a, tx.args.amount)
    tx.commit()

PARAMS = {"account": random_int(1, 50), "other": random_int(1, 50)}
WORK = {
    "script": workload.script(transfer, args = dict(amount = 7), params = {"account": random_int(1, 50, zipfian(0.9))}, tables = TABLES),
    "sql": workload.sql({
        "look": "select balance from accounts where id = :account",
        "pay": transaction(["update accounts set balance = balance - 3 where id = :account", "update accounts set balance = balance + 3 where id = :other",
            "insert into moved (account, amount) values (:account, 3)"]),
    }, params = PARAMS, weights = {"look": 3, "pay": 1}, tables = TABLES),
}

def total(ctx):
    ctx.record("sum", ctx.sql("select sum(balance) as s from accounts")[0]["s"])
    ctx.record("moved", ctx.sql("select count(*) as n from moved")[0]["n"])

experiment("own", system = %s, workload = lambda p: WORK[p.work], consistency = %q, retry = backoff(max = 50, first = "1ms", limit = "10ms"),
    warmup = "20ms", measure = "300ms", interval = "50ms", sweep = grid(work = ["script", "sql"], concurrency = [1, 3]), repeats = 2,
    before_trial = total, after_trial = total)
`, c.system, c.level))
			cmd := sextant(t, dir, "run", "x.star")
			cmd.Env = append(cmd.Env, "SEXTANT_TMPDIR=") // where a server's own user gets in
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			run := latest(t, dir, "own")
			conserve(t, run)
			sums := map[any]bool{}
			moved := map[string]float64{}
			for _, r := range tableRows(t, run, "measurements") {
				switch r["name"] {
				case "sum":
					sums[r["value"]] = true
				case "moved":
					moved[r["trial_id"].(string)] = r["value"].(float64)
				}
			}
			if len(sums) != 1 {
				t.Errorf("sums of the balances: %v", sums)
			}
			paid := map[string]int64{}
			for _, r := range tableRows(t, run, "operations") {
				if r["phase"] == "window" && r["outcome"] == "ok" && (r["operation"] == "transfer" || r["operation"] == "pay") {
					paid[r["trial_id"].(string)] += r["count"].(int64)
				}
			}
			for _, r := range tableRows(t, run, "trials") {
				id, scripted := r["trial_id"].(string), r["work"] == "script"
				if before, after := r["rows_before"].(int64), r["rows_after"].(int64); before != 50 || after-50 != int64(moved[id]) || after-50 < paid[id] || paid[id] == 0 {
					t.Errorf("%v: %d rows became %d, %v moved, %d paid", r["work"], before, after, moved[id], paid[id])
				}
				own, timed := r["script_s"].(float64)
				if timed != scripted || timed && (own <= 0 || own > 0.3*float64(r["clients"].(int32))) {
					t.Errorf("%v: the interpreter took %v s", r["work"], r["script_s"])
				}
			}
		})
	}
}

// A function of the script over records, on every system: what it puts and inserts is what it gets and scans.
func TestScriptedRecordsOnEverySystem(t *testing.T) {
	for name, system := range map[string]string{"sqlite": "sqlite.local()", "postgres": `postgres.local(settings = {"fsync": False})`, "mysql": "mysql.local()",
		"mongodb": "mongodb.local()", "redis": "redis.local()", "cassandra": "cassandra.local()"} {
		t.Run(name, func(t *testing.T) {
			if name != "sqlite" {
				needInstalled(t, name)
			}
			dir := t.TempDir()
			script(t, dir, fmt.Sprintf(`
def same(what, got, want):
    if got != want:
        fail(what, "is", got, "and not", want)

def visit(tx):
    n = tx.insert({"field0": "a%%d" %% tx.client, "field1": "b"})
    tx.put(n, {"field1": "c" + tx.text(5)})
    r = tx.get(n)
    same("field0", r["field0"], "a%%d" %% tx.client)
    same("field1", r["field1"][0], "c")
    tx.put(n, {"field0": "x", "field1": "y"})
    same("record", tx.get(n), {"field0": "x", "field1": "y"})
    first = tx.scan(n, 1)[0]
    same("scanned", (first["field0"], first["field1"]), ("x", "y"))
    tx.delete(n)
    same("deleted", tx.get(n), None)
    old = tx.get(tx.random(0, 199))
    same("bytes", [len(v) for v in old.values()], [20, 20])

experiment("visit", system = %s, workload = workload.script(visit, records = 200, fields = 2, field_bytes = 20), sweep = grid(concurrency = [1, 3]),
    warmup = "20ms", measure = "300ms", interval = "50ms")
`, system))
			cmd := sextant(t, dir, "run", "x.star")
			cmd.Env = append(cmd.Env, "SEXTANT_TMPDIR=")
			if out, err := cmd.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			run := latest(t, dir, "visit")
			conserve(t, run)
			for _, r := range tableRows(t, run, "errors") {
				t.Errorf("%v %v: %v", r["class"], r["code"], r["sample"])
			}
			for _, r := range tableRows(t, run, "trials") {
				if r["rows_before"] != r["rows_after"] || r["succeeded"].(int64) == 0 {
					t.Errorf("%v rows became %v with %v operations", r["rows_before"], r["rows_after"], r["succeeded"])
				}
			}
		})
	}
}

// A script's statements in Cassandra's own language, and a hook's before anything is loaded.
func TestScriptedCQL(t *testing.T) {
	needInstalled(t, "cassandra")
	dir := t.TempDir()
	script(t, dir, `
def setup(ctx):
    ctx.exec("CREATE TABLE hits (k bigint PRIMARY KEY, n double)")

def hit(tx):
    k = tx.draw("k")
    rows = tx.query("SELECT n FROM hits WHERE k = ?", k)
    tx.exec("INSERT INTO hits (k, n) VALUES (?, ?)", k, (rows[0]["n"] if rows else 0.0) + 1.5)

def count(ctx):
    hits = 0.0
    for r in ctx.sql("SELECT n FROM hits"):
        hits += r["n"]
    ctx.record("hits", hits)

experiment("cql", system = cassandra.local(), workload = workload.script(hit, params = {"k": random_int(1, 50)}), setup = setup, after_trial = count,
    load = closed(1), warmup = "0s", measure = operations(100, limit = "1m"))
`)
	if out, err := sextant(t, dir, "run", "x.star").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	for _, r := range tableRows(t, latest(t, dir, "cql"), "measurements") {
		if r["value"] != 150.0 { // one client, so that no hit is lost
			t.Errorf("%v of 150", r["value"])
		}
	}
}
