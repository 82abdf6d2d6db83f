package lang

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

const scripted = `
seen = []

def mine(tx):
    tx.put(tx.args.n)
    for r in tx.get("k", 1.5, True, None):
        tx.put(r["a"], r["b"])

def wrong(tx):
    tx.put(1)
    fail("because")

def endless(tx):
    for i in range(1 << 40):
        pass

def planning(tx):
    fake.local()

def frozen(tx):
    seen.append(1)

w = [workload.scripted(f, args = {"n": 7}) for f in (mine, wrong, endless, planning, frozen)]
experiment("e", system = fake.local(), measure = "1s", workload = w[0])
`

// caller makes a client of a function whose methods keep what they are called with and give what reply says.
func caller(t *testing.T, name string, reply func(args []any) (any, error)) (*Caller, *[][]any) {
	t.Helper()
	p := mustEval(t, scripted)
	f := p.Function(name)
	if f == nil {
		t.Fatalf("no function %s", name)
	}
	calls := &[][]any{}
	note := func(args []any) (any, error) {
		*calls = append(*calls, args)
		if reply == nil {
			return nil, nil
		}
		return reply(args)
	}
	return f.Client([]Method{{Name: "put", Params: "n", Min: 1, Max: 2, Call: note}, {Name: "get", Max: -1, Call: note}}, map[string]any{"args": map[string]any{"n": int64(7)}}), calls
}

// A function gets plain values as its methods gave them, rows as dicts; the time within methods is not its own.
func TestFunctionCalls(t *testing.T) {
	c, calls := caller(t, "mine", func(args []any) (any, error) {
		time.Sleep(20 * time.Millisecond) // what a server takes
		if len(args) == 4 {
			return []any{&Record{Names: []string{"a", "b"}, Values: []any{int64(1), nil}}, &Record{Names: []string{"a", "b"}, Values: []any{"x", 2.5}}}, nil
		}
		return nil, nil
	})
	for range 2 {
		*calls = nil
		own, err := c.Call(t.Context())
		if err != nil || own <= 0 || own > 20*time.Millisecond {
			t.Fatalf("%v, own time %v", err, own)
		}
		got := *calls
		if len(got) != 4 || got[0][0] != int64(7) || got[1][0] != "k" || got[1][1] != 1.5 || got[1][2] != true || got[1][3] != nil ||
			got[2][0] != int64(1) || got[2][1] != nil || got[3][0] != "x" || got[3][1] != 2.5 {
			t.Errorf("%v", got)
		}
	}
}

// An error of a method comes back as it is; one of the script has its place; after either the next call is a fresh one.
func TestFunctionErrors(t *testing.T) {
	gone := errors.New("gone")
	fails := true
	c, _ := caller(t, "mine", func([]any) (any, error) {
		if fails {
			return nil, gone
		}
		return []any{}, nil
	})
	if _, err := c.Call(t.Context()); err != gone {
		t.Errorf("%v", err)
	}
	fails = false
	if _, err := c.Call(t.Context()); err != nil {
		t.Errorf("after an error: %v", err)
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Call(ended); !errors.Is(err, context.Canceled) {
		t.Errorf("with a context that has ended: %v", err)
	}
	for name, want := range map[string]string{"wrong": "x.star:11:5: fail: because", "endless": "more than 10000000 steps", "planning": "fake.local is for the plan", "frozen": "frozen list"} {
		c, _ := caller(t, name, nil)
		for range 2 {
			_, err := c.Call(t.Context())
			var se *ScriptError
			if !errors.As(err, &se) || !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}
