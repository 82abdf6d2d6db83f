package drivertest

import (
	"context"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// Need skips a test when err says what is not installed, or fails it where every server is required.
func Need(t testing.TB, err error) {
	t.Helper()
	switch {
	case err == nil:
	case os.Getenv("SEXTANT_REQUIRE_SERVERS") != "":
		t.Fatalf("%v, and SEXTANT_REQUIRE_SERVERS is set", err)
	default:
		t.Skipf("SKIP: %v", err)
	}
}

// target is what Open gets of a maker's options.
func target(d driver.Driver, maker string, options map[string]any) driver.Target {
	return driver.Target{System: &spec.System{Type: d.Name, Maker: maker, Name: d.Name, Options: options}, Options: options, Log: func(string, string) {}}
}

// Local opens a throwaway system that is closed with the test.
func Local(t testing.TB, d driver.Driver, options map[string]any) driver.System {
	t.Helper()
	sys, err := d.Open(t.Context(), target(d, "local", options))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := sys.Close(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return sys
}

// OpenError opens a server that exists within a time, closes it again, and gives the error of opening it.
func OpenError(t *testing.T, d driver.Driver, options map[string]any, within time.Duration) error {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), within)
	defer cancel()
	sys, err := d.Open(ctx, target(d, "server", options))
	if err == nil {
		if err := sys.Close(t.Context()); err != nil {
			t.Error(err)
		}
	}
	return err
}

// Level reads a level of the driver's words.
func Level(t *testing.T, d driver.Driver, text string) spec.Level {
	t.Helper()
	l, err := d.ParseLevel(text)
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// Stop sends SIGSTOP to a process and waits until it has stopped.
func Stop(t *testing.T, pid int) {
	t.Helper()
	if err := syscall.Kill(pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	for deadline := time.Now().Add(10 * time.Second); ; {
		b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		if err != nil {
			t.Fatal(err)
		}
		if _, rest, _ := strings.Cut(string(b), ") "); strings.HasPrefix(rest, "T") {
			return
		}
		if time.Now().After(deadline) {
			t.Fatal("the process does not stop")
		}
	}
}
