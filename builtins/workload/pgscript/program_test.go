package pgscript

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// recorder is a session that writes down what it is asked to run. It gives one row of 41 and NULL for every statement.
type recorder struct {
	got   []string
	quiet bool
	fail  int // number of the statement that fails, from 1
}

func (r *recorder) note(what string, n int, args []driver.Arg) {
	if r.quiet {
		return
	}
	if n >= 0 {
		what = fmt.Sprint(what, " ", n)
	}
	for i := range args {
		what += " " + show(args[i])
	}
	r.got = append(r.got, what)
}

func (r *recorder) Run(_ context.Context, n int, args []driver.Arg, res *driver.Result) error {
	r.note("run", n, args)
	res.Reset()
	if r.fail > 0 && len(r.got) == r.fail {
		return errors.New("refused")
	}
	res.Rows, res.Bytes = 1, 2
	if res.Keep {
		res.Columns = []driver.ResultColumn{{Name: "x", Kind: driver.IntArg}, {Name: "y", Kind: driver.TextArg}}
		res.Values = append(res.Values, []byte("41"), nil)
	}
	return nil
}

func (r *recorder) Queue(n int, args []driver.Arg) error {
	r.note("queue", n, args)
	return nil
}

func (r *recorder) Flush(_ context.Context, res *driver.Result) error {
	r.note("flush", -1, nil)
	res.Rows, res.Bytes = 5, 6
	return nil
}

func (r *recorder) Add(context.Context, driver.Statement) (int, error) {
	return 0, errors.New("unused")
}
func (r *recorder) InTransaction() bool                                 { return false }
func (r *recorder) Rollback(context.Context) error                      { return nil }
func (r *recorder) Level(context.Context, spec.Level) (string, error)   { return "", nil }
func (r *recorder) Prepare(context.Context, *driver.Workload) error     { return nil }
func (r *recorder) Do(context.Context, *driver.Op, *driver.Reply) error { return nil }
func (r *recorder) Close() error                                        { return nil }

func program(t testing.TB, text string) *Program {
	t.Helper()
	s, err := Parse("x.sql", text)
	if err != nil {
		t.Fatal(err)
	}
	p := s.NewProgram(10, map[string]int64{"client_id": 3, "scale": 2, "random_seed": 5, "default_seed": 5678})
	p.Begin(seeded(1))
	return p
}

// The statements of a workload's scripts are numbered through: this one's begin at 10.
func TestFlow(t *testing.T) {
	for _, x := range []struct{ text, want string }{
		{"\\set a 1\n\\set a :a + :scale\nSELECT :a, :client_id;", "run 10 3 3"},
		{"\\if 1 > 2\nA;\n\\elif 2 > 1\nB;\n\\else\nC;\n\\endif\nD;", "run 11, run 13"},
		{"\\if NULL\nA;\n\\elif 0\nB;\n\\else\nC;\n\\endif", "run 12"},
		{"\\if 0.5\n\\if false\nA;\n\\else\nB;\n\\endif\nC;\n\\endif\nD;", "run 11, run 12, run 13"},
		{"\\if true\n\\else\nA;\n\\endif\nB;", "run 11"},
		{"SELECT x, y \\gset\n\\set z :x + 1\nSELECT :z, :y;", "run 10, run 11 42 NULL"},
		{"SELECT x \\gset p_\nSELECT :p_x;", "run 10, run 11 41"},
		{"\\startpipeline\nA;\nB :scale;\n\\syncpipeline\nC;\n\\endpipeline\nD;", "queue 10, queue 11 2, flush, queue 12, flush, run 13"},
		{"\\set n 0\n\\sleep :n us\n\\sleep 0ms\nA;", "run 10"},
	} {
		var r recorder
		err := program(t, x.text).Run(context.Background(), &r, &driver.Reply{})
		if got := strings.Join(r.got, ", "); got != x.want || err != nil {
			t.Errorf("%q runs %q (%v), not %q", x.text, got, err, x.want)
		}
	}
}

func TestReplyCountsAllStatements(t *testing.T) {
	var reply driver.Reply
	if err := program(t, "A;\nB;\n\\startpipeline\nC;\n\\endpipeline").Run(context.Background(), &recorder{}, &reply); err != nil || reply.Rows != 7 || reply.Bytes != 10 {
		t.Errorf("%+v, %v", reply, err)
	}
}

// A run that is tried again draws the same numbers, with its variables unset again; the next operation draws others.
func TestRetryDrawsTheSame(t *testing.T) {
	p := program(t, "\\set a random(1, 1000000000)\n\\set b random(1, 1000000000)\nSELECT :a, :b;")
	var r recorder
	for range 2 {
		if err := p.Run(context.Background(), &r, &driver.Reply{}); err != nil {
			t.Fatal(err)
		}
	}
	p.Begin(seeded(2))
	if err := p.Run(context.Background(), &r, &driver.Reply{}); err != nil {
		t.Fatal(err)
	}
	if r.got[0] != r.got[1] || r.got[0] == r.got[2] {
		t.Error(r.got)
	}
	p = program(t, "\\if :scale = 1\n\\set a 1\n\\endif\nSELECT :a;")
	p.env.set[len(Given())] = true // as a run before may have left it
	err := p.Run(context.Background(), &r, &driver.Reply{})
	if err == nil || !strings.Contains(err.Error(), "x.sql, line 4: variable a has no value yet") {
		t.Error(err)
	}
}

func TestRunTimeFailuresNameFileAndLine(t *testing.T) {
	for text, want := range map[string]string{
		"\n\\set a 1 / (:scale - 2)\nSELECT :a;":                     "x.sql, line 2: division by zero",
		"SELECT x, y \\gset\n\\if :y = 1\n\\endif\n\\set b :x + 'c'": "",
		"SELECT y \\gset\n\\sleep :y ms\n":                           "x.sql, line 2: NULL is no integer",
	} {
		s, err := Parse("x.sql", text)
		if want == "" {
			if err == nil {
				t.Errorf("%q is taken", text)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		err = s.NewProgram(0, nil).Run(context.Background(), &recorder{}, &driver.Reply{})
		if scale := s.NewProgram(0, map[string]int64{"scale": 2}); strings.Contains(text, "scale") {
			err = scale.Run(context.Background(), &recorder{}, &driver.Reply{})
		}
		var e *driver.Error
		if !errors.As(err, &e) || e.Code != "script" || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, not %q", text, err, want)
		}
	}
}

// An error of the server ends the run at once; so does the end of the context, before the next statement.
func TestErrorsEndTheRun(t *testing.T) {
	r := recorder{fail: 2}
	if err := program(t, "A;\nB;\nC;").Run(context.Background(), &r, &driver.Reply{}); err == nil || !slices.Equal(r.got, []string{"run 10", "run 11"}) {
		t.Error(r.got, err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	var none recorder
	if err := program(t, "A;").Run(ctx, &none, &driver.Reply{}); !errors.Is(err, context.Canceled) || none.got != nil {
		t.Error(none.got, err)
	}
	if err := program(t, "\\sleep 1000 s\nA;").Run(ctx, &none, &driver.Reply{}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestNoAllocation(t *testing.T) {
	p := program(t, "\\set aid random(1, 100000 * :scale)\n\\set delta random(-5000, 5000)\n\\if :delta > 0 and :aid > 5\nUPDATE :delta, :aid;\n\\endif\nSELECT :aid;")
	ctx, r, rng := context.Background(), &recorder{quiet: true}, seeded(4)
	var reply driver.Reply
	if n := testing.AllocsPerRun(1000, func() {
		rng.Uint64()
		p.Begin(rng)
		if err := p.Run(ctx, r, &reply); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("%v allocations an operation", n)
	}
}

// What the program of a transaction of pgbench costs, without a server.
func BenchmarkTpcb(b *testing.B) {
	p := program(b, "\\set aid random(1, 100000 * :scale)\n\\set bid random(1, 1 * :scale)\n\\set tid random(1, 10 * :scale)\n\\set delta random(-5000, 5000)\n"+
		"BEGIN;\nA :delta :aid;\nB :aid;\nC :delta :tid;\nD :delta :bid;\nE :tid :bid :aid :delta;\nEND;")
	ctx, r := context.Background(), &recorder{quiet: true}
	var reply driver.Reply
	for b.Loop() {
		if err := p.Run(ctx, r, &reply); err != nil {
			b.Fatal(err)
		}
	}
}
