package lang

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"sextant/interp/spec"
)

// registry is a small catalog: two systems, a workload, a tagged value.
func registry() Registry {
	return Registry{
		Systems: []*spec.SystemType{{
			Name: "fake", Makers: []spec.Maker{
				{Name: "local", Params: []spec.Param{{Name: "settings", Kind: spec.KindMap}, {Name: "wait", Kind: spec.KindDuration, Default: time.Second}}},
				{Name: "server", Positional: 1, Params: []spec.Param{{Name: "url", Kind: spec.KindSecret, Required: true, Check: func(v any) error {
					if s, ok := v.(string); ok && strings.Contains(s, "@") {
						return errors.New("holds a password: write secret(...)")
					}
					return nil
				}}}},
			},
			Levels: []spec.LevelSetting{{Name: "sync", Values: []spec.LevelValue{{Name: "off"}, {Name: "normal"}, {Name: "full"}}},
				{Name: "isolation", Values: []spec.LevelValue{{Name: "serializable"}}}},
			Ops: []string{"read", "update", "insert"},
		}},
		Workloads: []*spec.WorkloadType{{Name: "mixed", Positional: 1, Params: []spec.Param{
			{Name: "kind", Kind: spec.KindString, Required: true, OneOf: []string{"reads", "inserts", "scans"}},
			{Name: "records", Kind: spec.KindInt, Default: int64(10), Check: func(v any) error {
				if v.(int64) < 1 {
					return errors.New("must be at least 1")
				}
				return nil
			}},
			{Name: "keys", Kind: spec.KindValue, Value: []string{"zipf", "even"}, Default: map[string]any{"$": "even"}}},
			Resolve: func(p map[string]any) (*spec.Workload, error) {
				w := &spec.Workload{Params: p, Ops: []string{"read"}, Actions: []string{"read"},
					Dataset: spec.Dataset{Rows: p["records"].(int64), Schema: map[string]any{"table": "t"}}}
				switch p["kind"] {
				case "inserts":
					w.Actions, w.Resizes = []string{"insert"}, true
				case "scans":
					w.Actions = []string{"scan"}
				}
				if p["records"].(int64) == 13 {
					return nil, &spec.ParamError{Param: "records", Msg: "is unlucky"}
				}
				return w, nil
			}},
			{Name: "scripted", Positional: 1, Params: []spec.Param{{Name: "function", Kind: spec.KindFunction, Required: true, OneOf: []string{"args", "get", "put"}},
				{Name: "args", Kind: spec.KindMap}}, Resolve: func(p map[string]any) (*spec.Workload, error) {
				return &spec.Workload{Params: p, Ops: []string{"f"}, Actions: []string{spec.Scripted}, Dataset: spec.Dataset{Schema: map[string]any{}}}, nil
			}}},
		Values: []*spec.ValueType{{Name: "zipf", Positional: 1, Params: []spec.Param{{Name: "theta", Kind: spec.KindFloat, Default: 0.99}}},
			{Name: "even"}},
		Reserved: []string{"trial_id", "seed"},
	}
}

// eval evaluates a script given as text.
func eval(t *testing.T, src string, opt Options) (*Program, error) {
	t.Helper()
	path := filepath.Join(t.TempDir(), "x.star")
	if err := os.WriteFile(path, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	opt.Registry = registry()
	return Eval(t.Context(), path, opt)
}

func mustEval(t *testing.T, src string) *Program {
	t.Helper()
	p, err := eval(t, src, Options{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestErrors evaluates the chunks of testdata/*.star. A line ending in ### "regexp" must have a problem that matches
// (several regexps: as many problems), and no other line may have any.
func TestErrors(t *testing.T) {
	files, err := filepath.Glob("testdata/*.star")
	if err != nil || len(files) == 0 {
		t.Fatalf("no test data: %v", err)
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err != nil {
			t.Fatal(err)
		}
		for i, chunk := range strings.Split(string(b), "\n---\n") {
			t.Run(fmt.Sprintf("%s/%d", filepath.Base(f), i), func(t *testing.T) { checkChunk(t, chunk) })
		}
	}
}

var wanted = regexp.MustCompile(`"((?:[^"\\]|\\.)*)"`)

func checkChunk(t *testing.T, chunk string) {
	want := map[int][]string{}
	for i, line := range strings.Split(chunk, "\n") {
		if _, exp, ok := strings.Cut(line, "###"); ok {
			for _, m := range wanted.FindAllStringSubmatch(exp, -1) {
				want[i+1] = append(want[i+1], strings.ReplaceAll(m[1], `\"`, `"`))
			}
		}
	}
	_, err := eval(t, chunk, Options{MaxSteps: 5_000_000, MaxTime: 10 * time.Second, MaxBytes: 512 << 20})
	var ps *Problems
	if err != nil && !errors.As(err, &ps) {
		t.Fatal(err)
	}
	if ps == nil {
		ps = &Problems{}
	}
	for _, p := range ps.List {
		ok := false
		for i, w := range want[p.Pos.Line] {
			if regexp.MustCompile(w).MatchString(p.Msg + " | " + p.Hint + " | " + fmt.Sprint(p.Pos.Col)) {
				want[p.Pos.Line] = append(want[p.Pos.Line][:i:i], want[p.Pos.Line][i+1:]...)
				ok = true
				break
			}
		}
		if !ok {
			t.Errorf("unexpected:\n%s", p)
		}
	}
	for line, ws := range want {
		for _, w := range ws {
			t.Errorf("line %d: no problem matches %q", line, w)
		}
	}
}

const small = `
experiment("e", system = fake.local(), workload = lambda p: workload.mixed("reads", records = p.scale), measure = "10s",
    sweep = grid(scale = [10, 20], concurrency = [1, 4], consistency = ["off", "full"]))
`

func TestAxesAreApplied(t *testing.T) {
	e := mustEval(t, small).Experiments[0]
	if len(e.Cells) != 8 {
		t.Fatalf("%d cells", len(e.Cells))
	}
	for _, c := range e.Cells {
		m := c.Measure
		if m.Workload.Dataset.Rows != c.Values[0] || int64(m.Load.Clients) != c.Values[1] || m.Level.String() != "sync="+c.Values[2].(string) {
			t.Errorf("cell %v measures %d rows, %d clients, %s", c.Values, m.Workload.Dataset.Rows, m.Load.Clients, m.Level)
		}
		if m.Warmup != 2*time.Second || m.Interval != time.Second || m.Window != 10*time.Second || m.Reset != "auto" {
			t.Errorf("defaults: %+v", m)
		}
	}
	if e.Cells[0].Measure.System != e.Cells[7].Measure.System || e.Cells[0].Measure.Workload != e.Cells[3].Measure.Workload {
		t.Error("equal systems and workloads are not shared")
	}
	if e.Axes[1].AppliedAs != "load" || e.Axes[2].AppliedAs != "level" || e.Axes[0].AppliedAs != "" {
		t.Errorf("axes: %+v", e.Axes)
	}
}

// Both forms of an experiment give the same trials.
func TestTrialFunctionIsTheSame(t *testing.T) {
	general := mustEval(t, `
systems = {"a": fake.local()}
def trial(p):
    return measure(system = systems["a"], workload = workload.mixed("reads", records = p.scale), load = closed(p.concurrency),
        consistency = p.consistency, measure = "10s")
experiment("e", sweep = grid(scale = [10, 20], concurrency = [1, 4], consistency = ["off", "full"]), trial = trial)
`).Experiments[0]
	short := mustEval(t, small).Experiments[0]
	a, b := spec.NewIdentifier(general), spec.NewIdentifier(short)
	for i := range short.Cells {
		x, errx := a.Trial(i, 0)
		y, erry := b.Trial(i, 0)
		if x.ID != y.ID || errx != nil || erry != nil {
			t.Errorf("cell %d: %s and %s, %v %v", i, x.ID, y.ID, errx, erry)
		}
	}
}

func TestSweepAlgebra(t *testing.T) {
	p := mustEval(t, `
sw = (paired(a = [1, 2], b = ["x", "y"]) + rows([dict(a = 3, b = "z")])) * grid(c = [True, False])
sw = sw.exclude(lambda p: p.a == 1 and p.c, why = "not that one").where(lambda p: p.b != "z")
experiment("e", system = fake.local(), measure = "1s", sweep = sw,
    workload = lambda p: workload.mixed("reads", records = p.a + len(p.b) + int(p.c)))
`)
	e := p.Experiments[0]
	var got []string
	for _, c := range e.Cells {
		got = append(got, fmt.Sprint(c.Values...))
	}
	if s := strings.Join(got, " "); s != "1xfalse 2ytrue 2yfalse" {
		t.Errorf("cells: %s", s)
	}
	if len(e.Exclusions) != 2 || e.Exclusions[0].Count != 1 || e.Exclusions[0].Why != "not that one" || e.Exclusions[1].Count != 2 {
		t.Errorf("exclusions: %+v", e.Exclusions)
	}
	if len(e.Axes[0].Values) != 2 {
		t.Errorf("the axis still has the values that no cell has: %v", e.Axes[0].Values)
	}
}

func TestFunctionsAreCalledOncePerValue(t *testing.T) {
	var lines []string
	path := filepath.Join(t.TempDir(), "x.star")
	src := `
def w(p):
    print("called")
    return workload.mixed("reads", records = p.scale)
experiment("e", system = fake.local(), workload = w, measure = "1s", sweep = grid(scale = [10, 20], concurrency = list(range(1, 1001))))
`
	if err := os.WriteFile(path, []byte(src), 0o644); err != nil {
		t.Fatal(err)
	}
	p, err := Eval(t.Context(), path, Options{Registry: registry(), Print: func(s string) { lines = append(lines, s) }})
	if err != nil {
		t.Fatal(err)
	}
	if len(p.Experiments[0].Cells) != 2000 || len(lines) != 2 || !strings.HasSuffix(lines[0], "x.star:3:10: called") {
		t.Errorf("%d cells, %d calls: %v", len(p.Experiments[0].Cells), len(lines), lines)
	}
}

func TestRender(t *testing.T) {
	_, err := eval(t, "def f(p):\n\treturn workload.mixed(\"reads\", recods = p.a)\n\nexperiment(\"e\", system = fake.local(), workload = f, measure = \"1s\", sweep = grid(a = [1]))\n", Options{})
	var ps *Problems
	if !errors.As(err, &ps) || len(ps.List) != 1 {
		t.Fatalf("got %v", err)
	}
	file := ps.List[0].Pos.File
	want := file + `:2:33: workload.mixed has no keyword "recods"
    2 | ` + "\t" + `return workload.mixed("reads", recods = p.a)
      | ` + "\t" + `                               ^^^^^^
      = did you mean "records"?
      in f at ` + file + `:2:23
1 problem`
	if got := err.Error(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestEnvIsRecorded(t *testing.T) {
	src := `experiment("e", system = fake.local(), workload = workload.mixed("reads", records = int(env("N", "5"))), measure = "1s")`
	p, err := eval(t, src, Options{Env: func(n string) (string, bool) { return "7", n == "N" }})
	if err != nil {
		t.Fatal(err)
	}
	if p.Env["N"] != "7" || p.Experiments[0].Cells[0].Measure.Workload.Dataset.Rows != 7 {
		t.Errorf("env: %v", p.Env)
	}
	if p = mustEval(t, src); len(p.Env) != 0 || p.Experiments[0].Cells[0].Measure.Workload.Dataset.Rows != 5 {
		t.Errorf("default: %v", p.Env)
	}
}

func TestLoadStaysInTheTree(t *testing.T) {
	outside := t.TempDir()
	dir := t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(outside, "x.star"), "x = 1\n")
	if err := os.Symlink(filepath.Join(outside, "x.star"), filepath.Join(dir, "link.star")); err != nil {
		t.Fatal(err)
	}
	write(filepath.Join(dir, "lib", "a.star"), `load("b.star", "n")`+"\nrecords = n\n")
	write(filepath.Join(dir, "lib", "b.star"), "n = 4\n")
	write(filepath.Join(dir, "loop.star"), `load("main.star", "z")`+"\n")
	use := "\n" + `experiment("e", system = fake.local(), workload = workload.mixed("reads", records = records), measure = "1s")`
	for load, want := range map[string]string{
		`load("lib/a.star", "records")`:              "",
		`load("link.star", records = "x")`:           "symbolic link",
		`load("../x.star", records = "x")`:           "leaves the folder",
		`load("lib/../../x.star", records = "x")`:    "leaves the folder",
		`load("/etc/passwd", records = "x")`:         "must be relative",
		`load("lib/c.star", records = "x")`:          "no such file",
		`load("lib/aa.star", records = "x")`:         `did you mean "a.star"`,
		`load("loop.star", records = "z")`:           "load cycle: main.star -> loop.star -> main.star",
		`load("lib/a.star", records = "recordings")`: "recordings not found",
	} {
		main := filepath.Join(dir, "main.star")
		write(main, load+use)
		p, err := Eval(t.Context(), main, Options{Registry: registry()})
		if want == "" {
			if err != nil || len(p.Sources) != 3 || p.Sources[1].Name != "lib/a.star" || p.Sources[2].Name != "lib/b.star" {
				t.Errorf("%s: %v %+v", load, err, p)
			}
			continue
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", load, err, want)
		}
	}
}

func TestLimits(t *testing.T) {
	for src, want := range map[string]string{
		"x = [i for i in range(1000000000)]":                           "memory|steps|takes more than",
		"def f():\n  for i in range(1000000000):\n    pass\nf()":       "takes more than 1000000 steps",
		`x = "a" * (1 << 29)`:                                          "too large",
		`x = (1 << 40) * [0]`:                                          "too large",
		"x = \"ab\"\nx *= 1 << 29":                                     "too large",
		"def f(x):\n  for i in range(100):\n    x = x + x\nf(\"abc\")": "joining makes a string of",
		"x = [0]\nfor i in range(100):\n  x = x + x":                   "joining makes a list of",
	} {
		opt := Options{MaxSteps: 1_000_000, MaxTime: time.Minute, MaxBytes: 256 << 20}
		if strings.HasPrefix(src, "x = [i") {
			opt.MaxSteps = 0
		}
		if strings.HasPrefix(src, "x = [0]") {
			opt.MaxBytes = 0 // the default: the bound of + comes first
		}
		_, err := eval(t, src, opt)
		if err == nil || !regexp.MustCompile(want).MatchString(err.Error()) {
			t.Errorf("%s: got %v, want %q", src, err, want)
		}
	}
	_, err := eval(t, "def f():\n  for i in range(1000000000):\n    pass\nf()", Options{MaxTime: 50 * time.Millisecond})
	if err == nil || !strings.Contains(err.Error(), "takes more than 50ms") {
		t.Errorf("time: %v", err)
	}
}

func TestWhere(t *testing.T) {
	e := mustEval(t, small).Experiments[0]
	keep, err := Where(`p.scale > 10 and p.consistency == "off"`, e)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for i := range e.Cells {
		ok, err := keep(i)
		if err != nil {
			t.Fatal(err)
		}
		if want := e.Cells[i].Values[0] == int64(20) && e.Cells[i].Values[2] == "off"; ok != want {
			t.Errorf("cell %v: %v", e.Cells[i].Values, ok)
		}
		n++
	}
	if n != 8 {
		t.Fatal(n)
	}
	if _, err := Where(`p.scale >`, e); err == nil {
		t.Error("a broken expression was taken")
	}
	if keep, err = Where(`p.scal > 1`, e); err == nil {
		_, err = keep(0)
	}
	if err == nil || !strings.Contains(err.Error(), `did you mean`) {
		t.Errorf("misspelt axis: %v", err)
	}
	if keep, err = Where(`p.scale`, e); err == nil {
		_, err = keep(0)
	}
	if err == nil || !strings.Contains(err.Error(), "must be True or False") {
		t.Errorf("no truth value: %v", err)
	}
}

func TestFormatKeepsLoadsInOrder(t *testing.T) {
	src := "load(\"z.star\",\"b\",\"a\")\nload(\"a.star\",\"c\")\nx=[1,2]  # two\n"
	got, err := Format("x.star", []byte(src))
	if err != nil {
		t.Fatal(err)
	}
	want := "load(\"z.star\", \"b\", \"a\")\nload(\"a.star\", \"c\")\n\nx = [1, 2]  # two\n"
	if string(got) != want {
		t.Errorf("got\n%s", got)
	}
	if _, err := Format("x.star", []byte("x = (")); err == nil {
		t.Error("a broken file was formatted")
	}
}

func BenchmarkMillionCells(b *testing.B) {
	path := filepath.Join(b.TempDir(), "x.star")
	src := `experiment("e", system = fake.local(), workload = lambda p: workload.mixed("reads", records = p.scale + 100), measure = "1s",
    sweep = grid(scale = list(range(1, 101)), concurrency = list(range(1, 1001)), consistency = ["off", "full"], copy = list(range(5))),
    warmup = lambda p: "%ds" % p.copy)`
	if err := os.WriteFile(path, []byte(src), 0o644); err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		p, err := Eval(b.Context(), path, Options{Registry: registry()})
		if err != nil || len(p.Experiments[0].Cells) != 1_000_000 {
			b.Fatal(err)
		}
	}
}

func TestLoadIsAKeyword(t *testing.T) {
	src := "x = f(load = 1, a.load == 2, 'load = 3', \"\"\"\n\"load = \"\"\", # load = 4\n load= 5)\nload = 6\nd = {\"\\\"\": f(load=7)}\n"
	want := "x = f(l__d = 1, a.load == 2, 'load = 3', \"\"\"\n\"load = \"\"\", # load = 4\n l__d= 5)\nload = 6\nd = {\"\\\"\": f(l__d=7)}\n"
	if got := string(aliasLoad([]byte(src))); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	formatted, err := Format("x.star", []byte("x = f(load=closed(1), b=2)\n"))
	if err != nil || string(formatted) != "x = f(load = closed(1), b = 2)\n" {
		t.Errorf("formatted: %q, %v", formatted, err)
	}
}

// hookLog is a HookContext that notes what it is asked.
type hookLog struct {
	said []string
	err  error
}

func (h *hookLog) Exec(_ context.Context, text string, args []any) (int64, error) {
	h.said = append(h.said, fmt.Sprint("exec ", text, args))
	return 3, h.err
}

func (h *hookLog) Query(_ context.Context, text string, args []any) ([]string, [][]any, error) {
	h.said = append(h.said, fmt.Sprint("query ", text, args))
	return []string{"n", "s"}, [][]any{{int64(7), "x"}}, h.err
}

func (h *hookLog) Log(text string) { h.said = append(h.said, "log "+text) }

func (h *hookLog) Record(name string, v any) error {
	h.said = append(h.said, fmt.Sprintf("record %s %v (%T)", name, v, v))
	return nil
}

func (h *hookLog) Info() map[string]any {
	return map[string]any{"p": map[string]any{"scale": int64(10)}, "clients": int64(4)}
}

func TestHooks(t *testing.T) {
	p := mustEval(t, `
def before(ctx):
    n = ctx.exec("set x = ?", ctx.p.scale, "a")
    for r in ctx.sql("select"):
        ctx.record("rows", r["n"] + n)
        ctx.log("s is", r["s"], ctx.clients)
    ctx.record("rate", 0.5)
def after(ctx):
    ctx.exec(1)
experiment("e", system = fake.local(), workload = workload.mixed("reads"), measure = "1s", before_trial = before, after_trial = after,
    setup = lambda ctx: [ctx.log(x) for x in range(1 << 40)])
`)
	h := &hookLog{}
	if err := p.Hook("e", "before_trial").Call(t.Context(), h); err != nil {
		t.Fatal(err)
	}
	want := "exec set x = ?[10 a]|query select[]|record rows 10 (int64)|log s is x 4|record rate 0.5 (float64)"
	if got := strings.Join(h.said, "|"); got != want {
		t.Errorf("got %s", got)
	}
	if err := p.Hook("e", "after_trial").Call(t.Context(), h); err == nil || !strings.Contains(err.Error(), "x.star:9:5: ctx.exec: the statement must be a text, not 1") {
		t.Errorf("got %v", err)
	}
	if p.Hook("e", "teardown") != nil || p.Hook("f", "setup") != nil {
		t.Error("a hook that nobody gave")
	}
	boom := errors.New("boom")
	if err := p.Hook("e", "before_trial").Call(t.Context(), &hookLog{err: boom}); !errors.Is(err, boom) || !strings.Contains(err.Error(), "x.star:3:9") {
		t.Errorf("the cause is lost: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := p.Hook("e", "setup").Call(ctx, &hookLog{}); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("an endless hook: %v", err)
	}
}

func TestPasswordsInTheSourceAreMasked(t *testing.T) {
	_, err := eval(t, `experiment("e", system = fake.server("fake://me:s3cr3t@host"), measure = "1s", workload = workload.mixed("reads"))`, Options{})
	if err == nil || strings.Contains(err.Error(), "s3cr3t") || !strings.Contains(err.Error(), `fake.server("fake://me:******@host")`) {
		t.Errorf("got %v", err)
	}
	if got := maskPasswords(`x = "host=h password=geheim user=me"`); got != `x = "host=h password=****** user=me"` {
		t.Errorf("got %s", got)
	}
}
