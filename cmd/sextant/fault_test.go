package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"sextant/builtins/postgres"
	"sextant/interp/driver"
	"sextant/interp/driver/sandbox"
	"sextant/interp/spec"
)

// startPostgres is a real server with a user "app" that has this password; "" is its address. Without one the test is
// skipped, or fails where servers are required.
func startPostgres(t *testing.T, password string) (address string) {
	t.Helper()
	sys, err := postgres.Driver().Open(t.Context(), driver.Target{System: &spec.System{Type: "postgres", Maker: "local", Name: "postgres"},
		Options: map[string]any{"settings": map[string]any{"fsync": false}}, Log: func(string, string) {}})
	if class, _ := driver.Classify(err); err != nil && class == driver.NotFound && os.Getenv("SEXTANT_REQUIRE_SERVERS") == "" {
		t.Skipf("SKIP: %v", err)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sys.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	if _, err := sys.(driver.Scripter).Exec(t.Context(), fmt.Sprintf("CREATE ROLE app LOGIN SUPERUSER PASSWORD '%s'", password), nil); err != nil {
		t.Fatal(err)
	}
	facts, err := sys.Facts(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range facts {
		if f.Key == "address" {
			return f.Value
		}
	}
	t.Fatal("no address")
	return ""
}

// A password that the script names by secret() is in no file of the run folder and in no output, also when things fail.
func TestRule12PasswordsAreNowhere(t *testing.T) {
	const password = "hunter2_Zq"
	address := startPostgres(t, password)
	dir := t.TempDir()
	script(t, dir, `def before(ctx):
    ctx.log("url is", ctx.system)
    ctx.record("who", ctx.sql("SELECT current_user AS u")[0]["u"])

def broken(ctx):
    ctx.exec("SELECT 'hunter2_Zq' FROM nowhere")

experiment("good", system = postgres.server(url = secret("PG_URL")), workload = workload.ycsb("a", records = 50), warmup = "0s",
    measure = "100ms", repeats = 2, before_trial = before)
experiment("bad", system = postgres.server(url = secret("PG_URL")), workload = workload.ycsb("a", records = 50), warmup = "0s",
    measure = "100ms", before_trial = lambda ctx: ctx.exec("SELECT " + "'x'::" + "hunter2_Zq"))
`)
	look := func(what, text string) {
		t.Helper()
		for _, s := range []string{password, "hunter2%5FZq"} {
			if strings.Contains(text, s) {
				t.Errorf("%s holds %q:\n%.2000q", what, s, text)
			}
		}
	}
	url := "postgres://app:hunter2%5FZq@" + address + "/postgres?sslmode=disable"
	for _, x := range []struct {
		url, experiment string
		code            int
	}{{url, "good", 0}, {url, "bad", 1}, {strings.Replace(url, "Zq", "ZZ", 1), "good", 1}, {"", "good", 1}} {
		cmd := sextant(t, dir, "run", "x.star", "--experiment", x.experiment)
		cmd.Env = append(cmd.Env, "PG_URL="+x.url)
		out, err := cmd.CombinedOutput()
		if code := cmd.ProcessState.ExitCode(); code != x.code {
			t.Errorf("exit code %d, %v\n%s", code, err, out)
		}
		look("the output", strings.ReplaceAll(string(out), "x.star", ""))
		if x.url == "" && !strings.Contains(string(out), "PG_URL") {
			t.Errorf("the missing variable is not named: %s", out)
		}
	}
	files := 0
	err := filepath.WalkDir(filepath.Join(dir, "results"), func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || d.Type()&os.ModeSymlink != 0 {
			return err
		}
		b, err := os.ReadFile(path)
		if err == nil && filepath.Base(path) != "x.star" { // the script itself, where its author wrote it
			files++
			look(path, string(b))
		}
		return err
	})
	if err != nil || files < 10 {
		t.Errorf("looked at %d files, %v", files, err)
	}
	for _, r := range tableRows(t, latest(t, dir, "good"), "trials") {
		if r["level_observed"] != "synchronous_commit=on isolation=read committed read=primary" {
			t.Errorf("the level is %v", r["level_observed"])
		}
	}
}

func latest(t *testing.T, dir, experiment string) string {
	t.Helper()
	run, err := filepath.EvalSymlinks(filepath.Join(dir, "results", experiment, "latest"))
	if err != nil {
		t.Fatal(err)
	}
	return run
}

// serverPIDs are the processes of the throwaway server that a run has started.
func serverPIDs(t *testing.T, base string) []int {
	t.Helper()
	for deadline := time.Now().Add(30 * time.Second); time.Now().Before(deadline); {
		files, err := filepath.Glob(filepath.Join(base, "postgres-*", "pids"))
		if err != nil || len(files) != 1 {
			continue
		}
		b, err := os.ReadFile(files[0])
		if err != nil {
			continue
		}
		lines := strings.Fields(string(b))
		if len(lines) == 0 {
			continue
		}
		pid, err := strconv.Atoi(lines[len(lines)-1])
		if err != nil {
			t.Fatal(err)
		}
		return append([]int{pid}, sandbox.Children(pid)...)
	}
	t.Fatal("no server was started")
	return nil
}

// startRun starts the run of the script in dir, with a folder for throwaway servers where their own user gets in.
func startRun(t *testing.T, dir string) (cmd *exec.Cmd, base string, out *bytes.Buffer) {
	t.Helper()
	base, err := os.MkdirTemp("", "sextant-fault-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { // a test that failed may have killed the run: its server must not stay
		old := os.Getenv("SEXTANT_TMPDIR")
		err := errors.Join(os.Setenv("SEXTANT_TMPDIR", base), sandbox.Clean(), os.Setenv("SEXTANT_TMPDIR", old), os.RemoveAll(base))
		if err != nil {
			t.Error(err)
		}
	})
	if err := os.Chmod(base, 0o711); err != nil {
		t.Fatal(err)
	}
	cmd = sextant(t, dir, "run", "x.star")
	cmd.Env = append(cmd.Env, "SEXTANT_TMPDIR="+base)
	out = new(bytes.Buffer)
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	return cmd, base, out
}

// faulty runs an experiment on a throwaway PostgreSQL, hits its processes with a signal in the third trial, and gives the
// run's folder and output.
func faulty(t *testing.T, sig, then syscall.Signal) (string, string) {
	t.Helper()
	startPostgres(t, "unused") // skips where there is none
	dir := t.TempDir()
	script(t, dir, `experiment("fault", system = postgres.local(settings = {"fsync": False}), workload = workload.ycsb("a", records = 200), repeats = 8,
    warmup = "0s", measure = "500ms", deadlines = dict(connect = "10s", drain = "500ms", teardown = "1s", recover = "20s"))`)
	cmd, base, out := startRun(t, dir)
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer func() { _ = cmd.Process.Kill() }()
	journal := filepath.Join(dir, "results", "fault", "latest", "journal.jsonl")
	waitFor(t, journal, `"event":"trial"`)
	pids := serverPIDs(t, base)
	for _, pid := range pids {
		_ = syscall.Kill(pid, sig) // one that has gone meanwhile is as good as hit
	}
	if then != 0 {
		waitFor(t, journal, `"status":"failed"`)
		for _, pid := range pids {
			_ = syscall.Kill(pid, then)
		}
	}
	select {
	case <-ended:
	case <-time.After(2 * time.Minute):
		t.Fatal("the run does not end")
	}
	if code := cmd.ProcessState.ExitCode(); code != exitFailed {
		t.Errorf("exit code %d\n%s", code, out.String())
	}
	return latest(t, dir, "fault"), out.String()
}

// statuses counts the trials by status and gives the reasons of the failed ones.
func statuses(t *testing.T, run string) (map[any]int, []string) {
	n := map[any]int{}
	var reasons []string
	for _, r := range tableRows(t, run, "trials") {
		n[r["status"]]++
		if r["status"] == "failed" {
			reasons = append(reasons, r["reason"].(string))
			if r["throughput_ops_s"] != nil && r["attempts"] == nil {
				t.Errorf("a failed trial with a throughput: %v", r)
			}
		}
	}
	return n, reasons
}

// The trial in which the server is killed fails with its reason; the server is started again and the others go on.
func TestServerKilledInTrial(t *testing.T) {
	run, out := faulty(t, syscall.SIGKILL, 0)
	n, reasons := statuses(t, run)
	if n["failed"] < 1 || n["failed"] > 2 || n["ok"] < 6 || n["ok"]+n["failed"] != 8 {
		t.Errorf("trials: %v, %v\n%s", n, reasons, out)
	}
	events := fmt.Sprint(tableRows(t, run, "events"))
	if !strings.Contains(events, "it had died") || !strings.Contains(out, "restart: started postgres again") {
		t.Errorf("the restart is not told\n%s", out)
	}
}

// A server that hangs can't outlive the deadlines: the trial fails, and the run goes on when the server does.
func TestServerHangsInTrial(t *testing.T) {
	begin := time.Now()
	run, out := faulty(t, syscall.SIGSTOP, syscall.SIGCONT)
	n, reasons := statuses(t, run)
	if n["failed"] < 1 || n["ok"] < 4 || n["ok"]+n["failed"] != 8 {
		t.Errorf("trials: %v, %v\n%s", n, reasons, out)
	}
	t.Logf("%v after %v: %v", n, time.Since(begin), reasons)
}

// A full disk stops the run with the reason; what was committed stays readable, and with room the run goes on.
func TestDiskFull(t *testing.T) {
	dir := t.TempDir()
	small := filepath.Join(dir, "small")
	if err := os.Mkdir(small, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", 0, "size=512k"); err != nil {
		t.Skipf("SKIP: a small file system can't be mounted: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(small, 0); err != nil {
			t.Error(err)
		}
	})
	script(t, dir, `experiment("full", system = sqlite.local(), workload = workload.ycsb("a", records = 50), repeats = 300, warmup = "0s", measure = "20ms", interval = "1ms")`)
	cmd := sextant(t, dir, "run", "x.star", "--out", "small")
	out, _ := cmd.CombinedOutput() // the exit code says it
	if code := cmd.ProcessState.ExitCode(); code != exitFailed || !strings.Contains(string(out), "no space left on device") || !strings.Contains(string(out), "sextant resume") {
		t.Fatalf("exit code %d\n%s", code, out)
	}
	run, err := filepath.EvalSymlinks(filepath.Join(small, "full", "latest"))
	if err != nil {
		t.Fatal(err)
	}
	before := len(tableRows(t, run, "trials"))
	if before == 0 {
		t.Error("what was committed before can't be read")
	}
	if err := syscall.Mount("tmpfs", small, "tmpfs", syscall.MS_REMOUNT, "size=64m"); err != nil {
		t.Fatal(err)
	}
	if out, err := sextant(t, dir, "resume", run).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	conserve(t, run)
	t.Logf("%d trials were committed before the disk was full", before)
}

// More clients than the server takes sessions are refused before anything is run, with the limit and its cause.
func TestMoreClientsThanSessions(t *testing.T) {
	startPostgres(t, "unused") // skips where there is none
	dir := t.TempDir()
	script(t, dir, `experiment("many", system = postgres.local(settings = {"max_connections": 10}), workload = workload.ycsb("c", records = 10),
    sweep = grid(concurrency = [1, 20]), warmup = "0s", measure = "100ms")`)
	cmd := sextant(t, dir, "run", "x.star")
	cmd.Env = append(cmd.Env, "SEXTANT_TMPDIR=") // where a server's own user gets in
	out, err := cmd.CombinedOutput()
	if err == nil || !strings.Contains(string(out), "the plan has up to 20 clients, but postgres takes 6 sessions (max_connections = 10, of which 3 are reserved and 1 in use)") {
		t.Errorf("%v\n%s", err, out)
	}
	if _, err := os.Stat(filepath.Join(dir, "results", "many")); !os.IsNotExist(err) {
		t.Errorf("there is a run: %v", err)
	}
}
