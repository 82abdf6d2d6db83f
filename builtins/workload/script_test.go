package workload

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"sextant/interp/driver"
	"sextant/interp/lang"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// scriptOf evaluates a script whose experiment's workload is a function.
func scriptOf(t *testing.T, src string) load.Workload {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.star")
	src += "\nexperiment(\"e\", system = fake.local(), workload = w, measure = \"1s\", sweep = grid(concurrency = [1]))\n"
	if err := os.WriteFile(path, []byte(src), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := lang.Eval(t.Context(), path, lang.Options{Registry: lang.Registry{Workloads: Types(), Values: Values(), Systems: []*spec.SystemType{{Name: "fake", Makers: []spec.Maker{{Name: "local"}}}}}})
	if err != nil {
		t.Fatal(err)
	}
	w, err := New(p.Experiments[0].Cells[0].Measure.Workload, 1, p)
	if err != nil {
		t.Fatal(err)
	}
	w.Start(1)
	return w
}

// A further attempt of a scripted operation draws what the first one drew; the next operation draws something else, and on
// every machine the same.
func TestScriptAttemptsDrawTheSame(t *testing.T) {
	w := scriptOf(t, `
def f(tx):
    tx.exec("a ?", tx.random(1, 1000000))
    tx.exec("b ?", tx.draw("x"))
    tx.exec("c ?", tx.text(8))
    tx.put(tx.record(), {"field0": tx.text(5)})

w = workload.script(f, params = {"x": random_int(1, 1000000)}, records = 1000, fields = 2)
`)
	g := w.Client(0)
	n := newNoted(w)
	var r load.Rand
	var op driver.Op
	var seen [][]string
	for i := range uint64(3) {
		r.Seek(9, 0, i)
		g.Next(&r, &op)
		first, _ := attempts(t, &op, n, &n.lines)
		seen = append(seen, first)
	}
	if slices.Equal(seen[0], seen[1]) || slices.Equal(seen[1], seen[2]) || len(seen[0]) != 4 {
		t.Errorf("%q", seen)
	}
	const want = "a 88520"
	if seen[0][0] != want {
		t.Errorf("the first operation of seed 9 is %q, want %q on every machine", seen[0][0], want)
	}
}

// Statements are prepared once a session, and again by a new one; a text for each value is refused before it fills the server.
func TestScriptStatements(t *testing.T) {
	w := scriptOf(t, "def f(tx):\n    tx.exec(\"same ?\", 1)\n    tx.exec(\"own %d\" % tx.random(1, 1000000000))\nw = workload.script(f)\n")
	g := w.Client(0)
	var r load.Rand
	var op driver.Op
	one := newNoted(w)
	var err error
	count := 0
	for err == nil && count < 5000 {
		r.Seek(1, 0, uint64(count))
		g.Next(&r, &op)
		err = op.Program.Run(t.Context(), one, &driver.Reply{})
		count++
	}
	if err == nil || !strings.Contains(err.Error(), "more than 1000 statements; give what differs as arguments") || len(one.statements) > maxStatements+1 {
		t.Errorf("after %d operations: %d statements, %v", count, len(one.statements), err)
	}
	two := newNoted(w)
	if err := op.Program.Run(t.Context(), two, &driver.Reply{}); err != nil || len(two.statements) != 2 {
		t.Errorf("a new session has %d statements, %v", len(two.statements), err)
	}
}

// What a function does wrong is an error of the script; what a server says comes through with its class.
func TestScriptErrors(t *testing.T) {
	for body, want := range map[string]string{
		`tx.exec("select ?")`:      "has 1 ?, 0 arguments were given",
		`tx.exec("a; b")`:          "holds several statements",
		`tx.exec(1)`:               "must be a text",
		`tx.exec("select ?", [1])`: "must be a number, a text",
		`tx.get(1)`:                "the workload has no records",
		`tx.draw("y")`:             "params has no y",
		`tx.random(2, 1)`:          "high not below low",
		`tx.text(-1)`:              "bytes must be from 0",
		`tx.begin(1)`:              "tx.begin takes ()",
		`fail("so")`:               "x.star:3:",
	} {
		w := scriptOf(t, "\ndef f(tx):\n    "+body+"\nw = workload.script(f)\n")
		g := w.Client(0)
		var r load.Rand
		var op driver.Op
		g.Next(&r, &op)
		if err := op.Program.Run(t.Context(), newNoted(w), &driver.Reply{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", body, err)
		}
	}
	w := scriptOf(t, "def f(tx):\n    tx.exec(\"x\")\nw = workload.script(f)\n")
	g := w.Client(0)
	var r load.Rand
	var op driver.Op
	g.Next(&r, &op)
	conflict := &driver.Error{Class: driver.Conflict, Code: "40001", Err: errors.New("again")}
	if err := op.Program.Run(t.Context(), &refusing{err: conflict}, &driver.Reply{}); !driver.IsConflict(err) {
		t.Errorf("a conflict is %v", err)
	}
	if err := op.Program.Run(context.Background(), struct{ driver.Session }{}, &driver.Reply{}); err == nil || !strings.Contains(err.Error(), "no SQL") {
		t.Errorf("without SQL: %v", err)
	}
}

// refusing is a session whose statements fail.
type refusing struct {
	quiet
	err error
}

func (s *refusing) Run(context.Context, int, []driver.Arg, *driver.Result) error { return s.err }
