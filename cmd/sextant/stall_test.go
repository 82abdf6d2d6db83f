package main

import (
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"
)

// during runs a script on a throwaway PostgreSQL and calls do with the server's processes once its sessions are open and
// a second of the window has gone.
func during(t *testing.T, text string, clients int, do func(pids []int)) (run, out string) {
	t.Helper()
	startPostgres(t, "unused") // skips where there is none
	dir := t.TempDir()
	script(t, dir, text)
	cmd, base, buf := startRun(t, dir)
	defer func() { _ = cmd.Process.Kill() }()
	idle := len(serverPIDs(t, base))
	for deadline := time.Now().Add(60 * time.Second); ; { // the sessions are processes of their own
		pids := serverPIDs(t, base)
		idle = min(idle, len(pids))
		if len(pids) >= 7+clients && loaded(dir) {
			<-time.After(time.Second)
			do(serverPIDs(t, base))
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("the sessions were not opened: %d processes\n%s", len(pids), buf.String())
		}
	}
	if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != exitFailed {
		t.Fatalf("%v\n%s", err, buf.String())
	}
	return latest(t, dir, "stall"), buf.String()
}

// loaded says whether the run's dataset is there: the sessions come after it.
func loaded(dir string) bool {
	b, err := os.ReadFile(dir + "/results/stall/latest/journal.jsonl")
	return err == nil && strings.Contains(string(b), `"event":"dataset"`)
}

func signalAll(pids []int, sig syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig) // one that has gone meanwhile is as good as hit
	}
}

// A server frozen for 5 of 10 s at 100 operations a second: an open loop shows what users would have waited; a closed loop
// has a sample a client and says that no schedule existed.
func TestFrozenServer(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP: takes half a minute")
	}
	for _, load := range []string{"open(rate = 100, clients = 4)", "closed(4, think = \"39ms\")"} {
		t.Run(load[:4], func(t *testing.T) {
			run, out := during(t, fmt.Sprintf(`experiment("stall", system = postgres.local(settings = {"fsync": False}), workload = workload.ycsb("c", records = 100),
    load = %s, warmup = "0s", measure = "10s", interval = "1s", deadlines = dict(drain = "5s"))`, load), 4, func(pids []int) {
				signalAll(pids, syscall.SIGSTOP)
				<-time.After(5 * time.Second)
				signalAll(pids, syscall.SIGCONT)
			})
			rows := tableRows(t, run, "trials")
			if len(rows) != 1 || rows[0]["status"] != "ok" {
				t.Fatalf("%v\n%s", rows, out)
			}
			conserve(t, run)
			r := rows[0]
			p50, max := r["p50_ms"].(float64), r["max_ms"].(float64)
			if max < 4500 || max > 6000 {
				t.Errorf("the longest response took %v ms", max)
			}
			if load[:4] == "open" {
				if r["scheduled"] != true || r["attempts"].(int64) < 990 {
					t.Errorf("scheduled %v, attempts %v", r["scheduled"], r["attempts"])
				}
				if p75 := quantileOf(t, run, 0.75); p75 < 2000 || p75 > 3200 {
					t.Errorf("the 75th percentile is %v ms", p75)
				}
				if s := r["service_p50_ms"].(float64); s > 20 {
					t.Errorf("service p50 is %v ms", s)
				}
				return
			}
			over := int64(0)
			for _, b := range tableRows(t, run, "latencies") {
				if b["lower_ms"].(float64) > 1000 {
					over += b["count"].(int64)
				}
			}
			if r["scheduled"] != false || over > 4 || over == 0 || p50 > 20 {
				t.Errorf("closed loop: scheduled %v, %d samples hold the pause, p50 %v ms", r["scheduled"], over, p50)
			}
		})
	}
}

// quantileOf is a quantile over all response times of a run.
func quantileOf(t *testing.T, run string, q float64) float64 {
	t.Helper()
	var total int64
	counts := map[float64]int64{}
	for _, b := range tableRows(t, run, "latencies") {
		if b["kind"] == "response" {
			counts[b["upper_ms"].(float64)] += b["count"].(int64)
			total += b["count"].(int64)
		}
	}
	best := 0.0
	for upper := range counts {
		var below int64
		for u, n := range counts {
			if u < upper {
				below += n
			}
		}
		if float64(below) < q*float64(total) && upper > best {
			best = upper
		}
	}
	return best
}

// A server restarted within the window: the series shows the gap and the errors, the window stays what it is, and it goes
// on after. Sessions cut by the server are replaced.
func TestServerCutsItsSessions(t *testing.T) {
	run, out := during(t, `experiment("stall", system = postgres.local(settings = {"fsync": False}), workload = workload.ycsb("c", records = 100),
    load = closed(4), warmup = "0s", measure = "5s", interval = "500ms")`, 4, func(pids []int) {
		for _, pid := range pids[1:] { // not the postmaster: it ends every session, recovers, and takes new ones
			if b, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid)); err == nil && strings.Contains(string(b), "sextant postgres") {
				_ = syscall.Kill(pid, syscall.SIGKILL)
				return
			}
		}
	})
	rows := tableRows(t, run, "trials")
	if len(rows) != 1 || rows[0]["status"] != "ok" || rows[0]["window_s"] != 5.0 {
		t.Fatalf("%v\n%s", rows, out)
	}
	conserve(t, run)
	errs := tableRows(t, run, "errors")
	if len(errs) == 0 || errs[0]["class"] != "connection" {
		t.Errorf("errors: %v", errs)
	}
	last := int64(0)
	for _, r := range tableRows(t, run, "intervals") {
		if r["interval"] == int32(9) {
			last += r["count"].(int64)
		}
	}
	if last == 0 {
		t.Error("nothing succeeded after the server was back")
	}
}
