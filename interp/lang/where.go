package lang

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"

	"sextant/interp/spec"
)

// Where reads an expression over p, such as 'p.scale > 1000 and p.consistency == "off"', and tells for each cell of the
// experiment whether it is true.
func Where(expr string, e *spec.Experiment) (func(cell int) (bool, error), error) {
	ev := &evaluator{trees: map[string]*tree{}, predeclared: starlark.StringDict{repeatGuard: starlark.NewBuiltin(repeatGuard, guardedRepeat),
		joinGuard: starlark.NewBuiltin(joinGuard, guardedJoin)}}
	src := "def where(p): return (" + expr + ")\n"
	t := newTree("--where", []byte(src))
	ev.trees[t.name] = t
	fail := func() error {
		return fmt.Errorf("--where %q:\n%w", expr, ev.problems.err())
	}
	if err := t.parse(); err != nil {
		ev.reportSyntax(err)
		return nil, fail()
	}
	prog, err := starlark.FileProgram(t.file, func(n string) bool { return n == repeatGuard || n == joinGuard })
	if err != nil {
		ev.reportSyntax(err)
		return nil, fail()
	}
	th := &starlark.Thread{Name: "where"}
	th.SetMaxExecutionSteps(defaultSteps)
	globals, err := prog.Init(th, ev.predeclared)
	if err != nil {
		ev.reportEval(err)
		return nil, fail()
	}
	globals.Freeze()
	axes := make([]*sweepAxis, len(e.Axes))
	for i, a := range e.Axes {
		axes[i] = &sweepAxis{name: a.Name, index: map[any]int32{}}
		for _, v := range a.Values {
			axes[i].intern(v)
		}
	}
	fn := globals["where"].(starlark.Callable) // it was just defined
	f := newCellFunc(th, fn, axes, func(v starlark.Value) (bool, error) {
		b, ok := v.(starlark.Bool)
		if !ok {
			return false, fmt.Errorf("--where %q must be True or False, not %s", expr, describe(v))
		}
		return bool(b), nil
	})
	row := make([]int32, len(axes))
	return func(cell int) (bool, error) {
		for i, v := range e.Cells[cell].Values {
			row[i] = axes[i].intern(v)
		}
		ok, err := f.at(append([]int32(nil), row...))
		if err == nil || strings.HasPrefix(err.Error(), "--where") {
			return ok, err
		}
		ev.reportCell(err, fn, axisNames(axes))
		return false, fail()
	}, nil
}
