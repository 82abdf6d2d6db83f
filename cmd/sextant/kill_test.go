package main

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"sextant/interp/result"
	engine "sextant/interp/run"
)

// sextant prepares a process of the command; the test binary is it.
func sextant(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	path, err := exec.LookPath("sextant") // testscript.Main has put it first in PATH
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(path, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "SEXTANT_TMPDIR="+filepath.Join(dir, ".sandboxes"))
	return cmd
}

func script(t *testing.T, dir, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(dir, "x.star"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// tableRows are the rows of a table by column.
func tableRows(t *testing.T, dir, table string) []map[string]any {
	t.Helper()
	m, err := engine.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	schema, err := m.Schema()
	if err != nil {
		t.Fatal(err)
	}
	cols := schema.Table(table).Columns()
	var out []map[string]any
	err = result.OpenRun(dir, schema).Each(table, func(row []any) error {
		r := map[string]any{}
		for i, v := range row {
			r[cols[i]] = v
		}
		out = append(out, r)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// conserve checks a finished run: every trial of the plan once, and the same sums in every table.
func conserve(t *testing.T, dir string) {
	t.Helper()
	m, err := engine.ReadManifest(dir)
	if err != nil {
		t.Fatal(err)
	}
	seen := map[string]int64{} // trial -> succeeded
	perCell := map[string][]int{}
	idle := 0
	for _, r := range tableRows(t, dir, "trials") {
		id := r["trial_id"].(string)
		if _, twice := seen[id]; twice {
			t.Errorf("trial %s is there twice", id)
		}
		// On a busy machine a window of some milliseconds can go by without an operation; the trial is there all the same.
		if w, ok := r["window_s"].(float64); ok && w < 0.05 && r["reason"] == "no operation was due in the window" {
			seen[id] = 0
			idle++
		} else if r["status"] != "ok" {
			t.Errorf("trial %s: %v: %v", id, r["status"], r["reason"])
			continue
		} else {
			seen[id] = r["succeeded"].(int64)
		}
		if sum := r["succeeded"].(int64) + r["failed"].(int64) + r["timed_out"].(int64) + r["not_found"].(int64); sum != r["attempts"] {
			t.Errorf("trial %s: %d outcomes of %v attempts", id, sum, r["attempts"])
		}
		perCell[r["cell_id"].(string)] = append(perCell[r["cell_id"].(string)], int(r["repeat"].(int32)))
	}
	if idle*20 > len(seen) {
		t.Errorf("%d of %d trials had no operation in their window", idle, len(seen))
	}
	if len(seen) != m.Trials || len(perCell) != len(m.Cells) {
		t.Errorf("%d trials of %d cells; the plan has %d of %d", len(seen), len(perCell), m.Trials, len(m.Cells))
	}
	for cell, repeats := range perCell {
		slices.Sort(repeats)
		for i, r := range repeats {
			if r != i || len(repeats) != m.Repeats {
				t.Errorf("cell %s has the repeats %v", cell, repeats)
				break
			}
		}
	}
	for _, x := range []struct {
		table string
		want  func(map[string]any) bool
	}{
		{"operations", func(r map[string]any) bool { return r["phase"] == "window" && r["outcome"] == "ok" }},
		{"intervals", func(r map[string]any) bool { return r["phase"] == "window" }},
		{"latencies", func(r map[string]any) bool { return r["kind"] == "response" }},
	} {
		sums := map[string]int64{}
		for _, r := range tableRows(t, dir, x.table) {
			if x.want(r) {
				sums[r["trial_id"].(string)] += r["count"].(int64)
			}
		}
		for id, n := range seen {
			if sums[id] != n {
				t.Errorf("trial %s succeeded %d times, %s says %d", id, n, x.table, sums[id])
			}
		}
		if len(sums) > len(seen) || len(sums) < len(seen)-idle {
			t.Errorf("%s has %d trials, trials %d", x.table, len(sums), len(seen))
		}
	}
	entries, err := engine.ReadJournal(filepath.Join(dir, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	journal := map[string]int{}
	for _, e := range entries {
		if e.Event == "trial" || e.Event == "recovered" {
			journal[e.Trial]++
		}
	}
	for id := range seen {
		if journal[id] != 1 {
			t.Errorf("the journal has trial %s %d times", id, journal[id])
		}
	}
}

// kills is how often the run is killed, at random instants.
const kills = 200

// TestRule11KilledRunsTablesAgree kills a run with SIGKILL at random instants, resumes it each time, and looks at the end
// whether every trial is there exactly once.
func TestRule11KilledRunsTablesAgree(t *testing.T) {
	if testing.Short() {
		t.Skip("SKIP: takes a minute")
	}
	dir := t.TempDir()
	script(t, dir, `experiment("killed", system = sqlite.local(), workload = lambda p: workload.ycsb(p.kind, records = 50), repeats = 60,
    sweep = grid(kind = ["a", "d"], concurrency = [1, 2], consistency = ["off", "full"], lap = [1, 2, 3, 4, 5]),
    warmup = "0s", measure = "10ms", interval = "3ms", before_trial = lambda ctx: ctx.log(ctx.p.lap))
`)
	rng := rand.New(rand.NewPCG(1, 2))
	run := ""
	finished := false
	for n := 0; n < kills && !finished; n++ {
		args := []string{"run", "x.star", "--out", "r"}
		if run != "" {
			args = []string{"resume", run}
		}
		cmd := sextant(t, dir, args...)
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		done := make(chan error, 1)
		go func() { done <- cmd.Wait() }()
		select {
		case err := <-done:
			if err != nil && cmd.ProcessState.ExitCode() != exitFailed { // a trial may have been idle: conserve looks at it
				t.Fatalf("start %d: %v\n%s", n, err, out.String())
			}
			finished = true
		case <-time.After(time.Duration(20+rng.IntN(280)) * time.Millisecond):
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			<-done
		}
		if run == "" {
			if dirs, err := filepath.Glob(filepath.Join(dir, "r", "killed", "2*")); err == nil && len(dirs) == 1 {
				if _, err := os.Stat(filepath.Join(dirs[0], "tables")); err == nil {
					run = dirs[0]
				} else if err := os.RemoveAll(dirs[0]); err != nil { // killed before it was a run
					t.Fatal(err)
				}
			}
		}
	}
	last := sextant(t, dir, "resume", run)
	if out, err := last.CombinedOutput(); err != nil && last.ProcessState.ExitCode() != exitFailed {
		t.Fatalf("the last resume: %v\n%s", err, out)
	}
	starts := 0
	entries, err := engine.ReadJournal(filepath.Join(run, "journal.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if e.Event == "resume" {
			starts++
		}
	}
	t.Logf("%d resumes, finished before the last kill: %v", starts, finished)
	if starts < kills/2 {
		t.Errorf("only %d resumes got as far as the journal: the kills came too early to show anything", starts)
	}
	conserve(t, run)
	if left, err := filepath.Glob(filepath.Join(dir, ".sandboxes", "*")); err != nil || len(left) != 0 {
		t.Errorf("left behind: %v %v", left, err)
	}
}

// TestInterrupt: one SIGINT ends with 130 after the trial in hand was dropped, two at once.
func TestInterrupt(t *testing.T) {
	for _, twice := range []bool{false, true} {
		t.Run(fmt.Sprintf("twice=%v", twice), func(t *testing.T) {
			dir := t.TempDir()
			script(t, dir, `experiment("int", system = sqlite.local(), workload = workload.ycsb("a", records = 50), repeats = 50, warmup = "0s", measure = "100ms")`)
			cmd := sextant(t, dir, "run", "x.star")
			var out bytes.Buffer
			cmd.Stdout, cmd.Stderr = &out, &out
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			waitFor(t, filepath.Join(dir, "results", "int", "latest", "journal.jsonl"), `"event":"trial"`)
			begin := time.Now()
			n := 1
			if twice {
				n = 2
			}
			for range n {
				if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
					t.Fatal(err)
				}
			}
			err := cmd.Wait()
			if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
				t.Errorf("exit code %d, %v\n%s", code, err, out.String())
			}
			if took := time.Since(begin); took > 5*time.Second {
				t.Errorf("it took %v to stop", took)
			}
			run, err := filepath.EvalSymlinks(filepath.Join(dir, "results", "int", "latest"))
			if err != nil {
				t.Fatal(err)
			}
			if len(tableRows(t, run, "trials")) == 0 {
				t.Error("what was done is not kept")
			}
			if !twice && !strings.Contains(out.String(), "sextant resume results/int/") {
				t.Errorf("how to go on is not told:\n%s", out.String())
			}
		})
	}
}

func waitFor(t *testing.T, path, text string) {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); ; {
		b, err := os.ReadFile(path)
		if err == nil && strings.Contains(string(b), text) {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("%s does not hold %q: %v", path, text, err)
		}
	}
}
