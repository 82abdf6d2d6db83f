package sandbox

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// TestMain lets the test binary play a sextant that makes a sandbox with a server and then waits to be killed.
func TestMain(m *testing.M) {
	if os.Getenv("SANDBOX_HELPER") == "" {
		os.Exit(m.Run())
	}
	s, err := New("test")
	if err != nil {
		panic(err)
	}
	srv, err := s.Start(s.Command(context.Background(), Account{}, "/bin/sh", "-c", "sleep 1000 & wait", s.Dir), "log")
	if err != nil {
		panic(err)
	}
	for deadline := time.Now().Add(10 * time.Second); len(Children(srv.PID())) == 0; {
		if time.Now().After(deadline) {
			panic("the shell has not started its child")
		}
	}
	fmt.Println(s.Dir, srv.PID())
	select {}
}

func TestKilledOwnerLeavesNothing(t *testing.T) {
	t.Setenv("SEXTANT_TMPDIR", t.TempDir())
	mine, err := New("mine")
	if err != nil {
		t.Fatal(err)
	}
	helper := exec.Command(os.Args[0])
	helper.Env = append(os.Environ(), "SANDBOX_HELPER=1")
	out, err := helper.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := helper.Start(); err != nil {
		t.Fatal(err)
	}
	var dir string
	var pid int
	if _, err := fmt.Fscan(bufio.NewReader(out), &dir, &pid); err != nil {
		t.Fatal(err)
	}
	if err := Clean(); err != nil {
		t.Fatal(err)
	}
	if !running(pid) {
		t.Fatal("Clean ended the server of a living owner")
	}
	family := append(Children(pid), pid)
	if len(family) != 2 {
		t.Fatalf("the server's family is %v", family)
	}
	if err := helper.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = helper.Wait() // it was killed
	if !running(pid) {
		t.Fatal("the server ended with its owner: this test shows nothing")
	}
	if err := Clean(); err != nil {
		t.Fatal(err)
	}
	for _, p := range family {
		if running(p) {
			t.Errorf("process %d still runs", p)
		}
	}
	if _, err := os.Stat(dir); !os.IsNotExist(err) {
		t.Errorf("the folder is still there: %v", err)
	}
	if _, err := os.Stat(mine.Dir); err != nil {
		t.Errorf("a living owner's folder is gone: %v", err)
	}
	if err := mine.Remove(); err != nil {
		t.Fatal(err)
	}
	if left, err := filepath.Glob(filepath.Join(Base(), "*")); err != nil || len(left) != 0 {
		t.Errorf("left: %v %v", left, err)
	}
}

// A process id that another program has by now is not touched.
func TestOnlyOwnProcessesAreEnded(t *testing.T) {
	t.Setenv("SEXTANT_TMPDIR", t.TempDir())
	other := exec.Command("/bin/sleep", "1000")
	if err := other.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = other.Process.Kill(); _ = other.Wait() }()
	s, err := New("test")
	if err != nil {
		t.Fatal(err)
	}
	if err := s.note(other.Process.Pid); err != nil {
		t.Fatal(err)
	}
	if err := s.Remove(); err != nil {
		t.Fatal(err)
	}
	if !running(other.Process.Pid) {
		t.Error("a foreign process was ended")
	}
}

func TestStopKillsAfterTheGrace(t *testing.T) {
	t.Setenv("SEXTANT_TMPDIR", t.TempDir())
	s, err := New("test")
	if err != nil {
		t.Fatal(err)
	}
	srv, err := s.Start(s.Command(t.Context(), Account{}, "/bin/sh", "-c", "trap '' INT; echo ready; while :; do sleep 0.1; done", s.Dir), "log")
	if err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		if b, err := os.ReadFile(s.Path("log")); err == nil && strings.Contains(string(b), "ready") {
			break
		}
		if time.Now().After(deadline) {
			t.Fatal("the server did not start")
		}
	}
	if err := srv.Stop(syscall.SIGINT, 50*time.Millisecond); err != nil {
		t.Fatal(err)
	}
	if srv.Alive() {
		t.Error("it is still alive")
	}
	if err := s.Remove(); err != nil {
		t.Error(err)
	}
	if _, err := s.Start(s.Command(t.Context(), Account{}, "/bin/true"), "log"); err == nil {
		t.Error("a server that could not be recognized later was started")
	}
}

// What a server said last counts, not where its Java code was.
func TestLastLines(t *testing.T) {
	log := "starting\nException: no such keystore\n\tat org.x.A.b(A.java:1)\n\tat org.x.C.d(Native Method)\nCaused by: gone\n\tat org.x.E.f(E.java:2)\n\t... 7 more\n"
	if got := LastLines(log, 2); got != "Exception: no such keystore; Caused by: gone" {
		t.Error(got)
	}
	if got := LastLines("at the end (of all)\n  at last\n", 3); got != "  at last" && got != "at last" {
		t.Error(got)
	}
}
