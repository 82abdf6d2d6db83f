package main

import (
	"context"
	"errors"
	"flag"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
)

var update = flag.Bool("update", false, "write the scripts' expected outputs anew")

// TestMain lets the test binary be sextant, for the scripts and for the tests that kill it.
func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"sextant": mainForTests})
}

// mainForTests is main with a terminal when SEXTANT_TEST_WIDTH says how wide.
func mainForTests() {
	signals := make(chan os.Signal, 4)
	signal.Notify(signals, os.Interrupt, syscall.SIGTERM)
	e := &env{args: os.Args[1:], stdin: os.Stdin, stdout: os.Stdout, stderr: os.Stderr, lookup: os.LookupEnv, signals: signals, exit: os.Exit}
	os.Exit(run(context.Background(), e))
}

// TestScripts runs testdata/script/*.txtar: every command as a user types it. See the documentation of testscript; the
// added commands stand below.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script", UpdateScripts: *update, RequireExplicitExec: true, RequireUniqueNames: true,
		Setup: func(e *testscript.Env) error {
			e.Setenv("SEXTANT_TMPDIR", filepath.Join(e.WorkDir, ".sandboxes"))
			return nil
		},
		Condition: func(cond string) (bool, error) { return cond == "root" && os.Getuid() == 0, nil },
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			// waitfor FILE TEXT [N]: until the file is there and holds the text N times (1), at most 20 s
			"waitfor": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) < 2 || len(args) > 3 {
					ts.Fatalf("usage: waitfor file text [n]")
				}
				n := 1
				if len(args) == 3 {
					var err error
					if n, err = strconv.Atoi(args[2]); err != nil {
						ts.Fatalf("waitfor: %v", err)
					}
				}
				for deadline := time.Now().Add(20 * time.Second); ; {
					b, err := os.ReadFile(ts.MkAbs(args[0]))
					if err == nil && strings.Count(string(b), args[1]) >= n {
						return
					}
					if time.Now().After(deadline) {
						ts.Fatalf("%s does not hold %q: %v", args[0], args[1], err)
					}
				}
			},
			// appendto GLOB TEXT: adds the text to the one file that matches
			"appendto": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 2 {
					ts.Fatalf("usage: appendto glob text")
				}
				files, err := filepath.Glob(ts.MkAbs(args[0]))
				ts.Check(err)
				if len(files) != 1 {
					ts.Fatalf("%s matches %v", args[0], files)
				}
				f, err := os.OpenFile(files[0], os.O_WRONLY|os.O_APPEND, 0)
				ts.Check(err)
				_, err = f.WriteString(args[1])
				ts.Check(errors.Join(err, f.Close()))
			},
			// lacks FILE TEXT: no file under the folder FILE holds TEXT
			"lacks": func(ts *testscript.TestScript, neg bool, args []string) {
				if neg || len(args) != 2 {
					ts.Fatalf("usage: lacks folder text")
				}
				seen := 0
				ts.Check(filepath.WalkDir(ts.MkAbs(args[0]), func(path string, d os.DirEntry, err error) error {
					if err != nil || d.IsDir() || d.Type()&os.ModeSymlink != 0 {
						return err
					}
					b, err := os.ReadFile(path)
					if err != nil {
						return err
					}
					seen++
					if strings.Contains(string(b), args[1]) {
						ts.Fatalf("%s holds %q", path, args[1])
					}
					return nil
				}))
				if seen < 3 {
					ts.Fatalf("only %d files were looked at", seen)
				}
			},
		},
	})
}
