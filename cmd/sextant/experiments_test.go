package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Every experiment of the repository runs, small: each trial of each is ok, or skipped where its server isn't installed and
// needn't be; each opens with its question and says what to expect and how
// long it takes.
func TestExperiments(t *testing.T) {
	files, err := filepath.Glob("../../experiments/*.star")
	if err != nil || len(files) < 10 {
		t.Fatalf("%v: %v", files, err)
	}
	for _, f := range files {
		name := strings.TrimSuffix(filepath.Base(f), ".star")
		t.Run(name, func(t *testing.T) {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			doc, _, ok := strings.Cut(strings.TrimPrefix(string(text), `"""`), `"""`)
			if first, _, _ := strings.Cut(doc, "\n\n"); !ok || !strings.Contains(first, "?") || !strings.Contains(doc, "xpect ") || !strings.Contains(doc, "inute") {
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
			n := 0
			for _, r := range tableRows(t, latest(t, dir, name), "trials") {
				n++
				if r["status"] == "failed" || r["status"] == "ok" && r["succeeded"].(int64) == 0 {
					t.Errorf("%v: %v", r["status"], r["reason"])
				}
			}
			if n < 2 {
				t.Errorf("%d trials", n)
			}
		})
	}
}
