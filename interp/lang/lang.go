package lang

import (
	"context"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"sextant/interp/spec"
)

// A Registry is what scripts can name: data only.
type Registry struct {
	Systems   []*spec.SystemType
	Workloads []*spec.WorkloadType
	Values    []*spec.ValueType
	Reserved  []string // column names that an axis can't have
}

// Options say how a script is evaluated. The zero values of the limits mean the defaults.
type Options struct {
	Registry Registry
	Env      func(name string) (string, bool) // what env() sees; nil: nothing is set
	Print    func(text string)                // takes what print() prints, with its position; nil: dropped
	MaxSteps uint64                           // Starlark steps of the whole evaluation; default 10^9
	MaxTime  time.Duration                    // default 60 s
	MaxBytes uint64                           // growth of the heap; default 2 GiB
}

// A Source is one file of a script, as it was evaluated.
type Source struct {
	Name    string // slash-separated, relative to the folder of the main file
	Content []byte
}

// A Program is an evaluated script.
type Program struct {
	Experiments []*spec.Experiment
	Sources     []Source // the main file first
	Main        string   // its name
	Env         map[string]string
	Doc         string

	hooks     map[hookKey]*Hook
	functions map[string]*Function
}

type hookKey struct{ experiment, hook string }

// Experiment is the experiment of that name, or nil.
func (p *Program) Experiment(name string) *spec.Experiment {
	for _, e := range p.Experiments {
		if e.Name == name {
			return e
		}
	}
	return nil
}

// Hook is a hook of an experiment ("setup", "teardown", "before_trial", "after_trial", "analyze"), or nil.
func (p *Program) Hook(experiment, hook string) *Hook { return p.hooks[hookKey{experiment, hook}] }

// Function is the function of that name that workloads run as an operation, or nil.
func (p *Program) Function(name string) *Function { return p.functions[name] }

// evaluator is one evaluation.
type evaluator struct {
	opt         Options
	root        *os.Root
	dir         string // of the main file, as the user wrote it
	trees       map[string]*tree
	order       []string // modules in the order in which they were read
	modules     map[string]*module
	texts       map[string][]byte // other files that were read
	loading     []string
	predeclared starlark.StringDict
	env         map[string]string
	declared    []*declaration
	problems    problems
	limits      *limits
	functions   map[string]*starlark.Function // that run as operations
	planning    bool                          // top level has ended: experiment() can't be called any more
}

const threadKey = "sextant"

// evaluatorOf finds the evaluation that a built-in is called from.
func evaluatorOf(t *starlark.Thread) *evaluator {
	ev, _ := t.Local(threadKey).(*evaluator)
	return ev
}

func (ev *evaluator) thread(name string) *starlark.Thread {
	t := &starlark.Thread{Name: name, Load: ev.load, Print: ev.print}
	t.SetLocal(threadKey, ev)
	ev.limits.watch(t)
	return t
}

func (ev *evaluator) print(t *starlark.Thread, text string) {
	if ev.opt.Print != nil {
		ev.opt.Print(t.CallFrame(1).Pos.String() + ": " + text)
	}
}

// Eval evaluates a script. When anything is wrong with it the error is *Problems, in the order of the file; other errors
// mean that the file couldn't be read.
func Eval(ctx context.Context, file string, opt Options) (*Program, error) {
	dir, name := filepath.Split(file)
	if dir == "" {
		dir = "."
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, fmt.Errorf("opening the script: %w", err)
	}
	defer root.Close() //nolint:errcheck // it was only read from
	ev := &evaluator{opt: opt, root: root, dir: dir, trees: map[string]*tree{}, modules: map[string]*module{}, texts: map[string][]byte{}, env: map[string]string{},
		functions: map[string]*starlark.Function{}}
	if ev.predeclared, err = ev.names(); err != nil {
		return nil, err
	}
	src, err := root.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("reading the script: %w", missingScript(err, file))
	}
	ev.limits = newLimits(ctx, opt)
	defer ev.limits.stop()
	ev.exec(name, src)
	ev.planning = true
	p := &Program{Main: name, Env: ev.env, hooks: map[hookKey]*Hook{}, functions: map[string]*Function{}}
	for _, n := range ev.order {
		p.Sources = append(p.Sources, Source{n, ev.trees[n].src})
	}
	if t := ev.trees[name]; t != nil && t.file != nil {
		p.Doc = docstring(t.file)
	}
	for _, d := range ev.declared {
		if e := ev.expand(d, p.Doc); e != nil {
			p.Experiments = append(p.Experiments, e)
			for hook, fn := range d.hooks {
				p.hooks[hookKey{e.Name, hook}] = &Hook{ev: ev, name: hook, fn: fn}
			}
		}
	}
	for _, n := range slices.Sorted(maps.Keys(ev.texts)) { // functions of the cell have read theirs by now
		p.Sources = append(p.Sources, Source{n, ev.texts[n]})
	}
	for n, fn := range ev.functions {
		p.functions[n] = &Function{ev: ev, fn: fn}
	}
	if len(ev.declared) == 0 && len(ev.problems.list) == 0 {
		ev.problems.add(&Problem{Pos: spec.Pos{File: ev.shown(name), Line: 1, Col: 1},
			Msg: `the script declares no experiment`, Hint: `write experiment("name", ...)`})
	}
	if err := ev.problems.err(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, context.Cause(ctx)
	}
	return p, nil
}

// missingScript adds the nearest name in the folder to the error about a file that isn't there.
func missingScript(err error, file string) error {
	dir := filepath.Dir(file)
	names, gerr := filepath.Glob(filepath.Join(dir, "*.star"))
	if gerr != nil {
		return err
	}
	for i, n := range names {
		names[i] = filepath.Base(n)
	}
	if n := spec.Nearest(filepath.Base(file), names); n != "" {
		return fmt.Errorf("%w; did you mean %s?", err, filepath.Join(dir, n))
	}
	return err
}

// docstring is the text literal that a file begins with.
func docstring(f *syntax.File) string {
	if len(f.Stmts) == 0 {
		return ""
	}
	if s, ok := f.Stmts[0].(*syntax.ExprStmt); ok {
		if lit, ok := s.X.(*syntax.Literal); ok {
			if text, ok := lit.Value.(string); ok && lit.Token == syntax.STRING {
				return strings.TrimSpace(text)
			}
		}
	}
	return ""
}

// shown is a module's name as messages give it: the path that the user can open.
func (ev *evaluator) shown(name string) string {
	return filepath.Join(ev.dir, filepath.FromSlash(name))
}

func fileOptions() *syntax.FileOptions {
	return &syntax.FileOptions{Set: true, TopLevelControl: true, GlobalReassign: true}
}

// known are all names that a script can use at its top level.
func (ev *evaluator) known() []string {
	out := make([]string, 0, len(ev.predeclared)+len(starlark.Universe))
	for n := range ev.predeclared {
		if n != repeatGuard && n != joinGuard {
			out = append(out, n)
		}
	}
	for n := range starlark.Universe {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}
