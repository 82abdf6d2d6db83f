package lang

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// A HookContext is what a hook's ctx talks to. Its methods are called from the goroutine of Call.
type HookContext interface {
	// Exec runs a statement in the system's own language and returns how many rows it changed.
	Exec(ctx context.Context, text string, args []any) (int64, error)
	// Query runs a statement and returns its rows.
	Query(ctx context.Context, text string, args []any) (columns []string, rows [][]any, err error)
	Log(text string)
	// Record keeps a named number (int64, float64) or text for the results.
	Record(name string, value any) error
	// Info are the further attributes of ctx: p (axes by name), id, repeat, system, level, clients of the trial.
	Info() map[string]any
}

// A Hook is a function of the script that is called while an experiment runs.
type Hook struct {
	ev   *evaluator
	name string
	fn   starlark.Callable
}

// hookSteps bounds one call of a hook.
const hookSteps = 100_000_000

// Call runs the hook. A failure in the script is a *Problems with its position.
func (h *Hook) Call(ctx context.Context, hc HookContext) error {
	t := &starlark.Thread{Name: h.name, Print: func(_ *starlark.Thread, text string) { hc.Log(text) }}
	t.SetMaxExecutionSteps(hookSteps)
	t.SetLocal(threadKey, h.ev)
	stop := context.AfterFunc(ctx, func() { t.Cancel(ctx.Err().Error()) })
	defer stop()
	attrs := starlark.StringDict{
		"exec":   starlark.NewBuiltin("ctx.exec", execHook(ctx, hc)),
		"sql":    starlark.NewBuiltin("ctx.sql", queryHook(ctx, hc)),
		"query":  starlark.NewBuiltin("ctx.query", queryHook(ctx, hc)),
		"log":    starlark.NewBuiltin("ctx.log", logHook(hc)),
		"record": starlark.NewBuiltin("ctx.record", recordHook(hc)),
	}
	for k, v := range hc.Info() {
		attrs[k] = fromValue(v)
	}
	args := starlark.Tuple{starlarkstruct.FromStringDict(starlark.String("ctx"), attrs)}
	_, err := starlark.Call(t, h.fn, args, nil)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return h.ev.hookError(err)
}

// hookError words a failure with position and stack, and keeps the cause.
func (ev *evaluator) hookError(err error) error {
	copied := &evaluator{trees: ev.trees, dir: ev.dir, predeclared: ev.predeclared}
	copied.reportEval(err)
	perr := copied.problems.err()
	if perr == nil {
		return err
	}
	var ee *starlark.EvalError
	if errors.As(err, &ee) && errors.Unwrap(ee) != nil {
		return &hookFailure{strings.TrimSpace(copied.problems.list[0].String()), errors.Unwrap(ee)}
	}
	return &hookFailure{strings.TrimSpace(copied.problems.list[0].String()), nil}
}

// hookFailure shows the place and unwraps to what the driver said.
type hookFailure struct {
	text  string
	cause error
}

func (e *hookFailure) Error() string { return e.text }
func (e *hookFailure) Unwrap() error { return e.cause }

func statement(b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (string, []any, error) {
	if len(kwargs) > 0 {
		return "", nil, fmt.Errorf("%s takes no keywords", b.Name())
	}
	if len(args) == 0 {
		return "", nil, fmt.Errorf("%s needs a statement", b.Name())
	}
	text, ok := args[0].(starlark.String)
	if !ok {
		return "", nil, fmt.Errorf("%s: the statement must be a text, not %s", b.Name(), describe(args[0]))
	}
	var out []any
	for i, a := range args[1:] {
		v, err := toValue(a)
		if err != nil || !scalar(v) {
			return "", nil, fmt.Errorf("%s: argument %d must be a number, a text, True, False or None, not %s", b.Name(), i+1, describe(a))
		}
		out = append(out, v)
	}
	return string(text), out, nil
}

func execHook(ctx context.Context, hc HookContext) builtin {
	return func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		text, vals, err := statement(b, args, kwargs)
		if err != nil {
			return nil, err
		}
		n, err := hc.Exec(ctx, text, vals)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name(), err)
		}
		return starlark.MakeInt64(n), nil
	}
}

func queryHook(ctx context.Context, hc HookContext) builtin {
	return func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		text, vals, err := statement(b, args, kwargs)
		if err != nil {
			return nil, err
		}
		columns, rows, err := hc.Query(ctx, text, vals)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", b.Name(), err)
		}
		out := make([]starlark.Value, len(rows))
		for i, r := range rows {
			d := starlark.NewDict(len(columns))
			for c, name := range columns {
				if err := d.SetKey(starlark.String(name), fromValue(r[c])); err != nil {
					return nil, err
				}
			}
			out[i] = d
		}
		return starlark.NewList(out), nil
	}
}

func logHook(hc HookContext) builtin {
	return func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var parts []string
		for _, a := range args {
			if s, ok := a.(starlark.String); ok {
				parts = append(parts, string(s))
				continue
			}
			parts = append(parts, a.String())
		}
		if len(kwargs) > 0 {
			return nil, fmt.Errorf("%s takes no keywords", b.Name())
		}
		hc.Log(strings.Join(parts, " "))
		return starlark.None, nil
	}
}

func recordHook(hc HookContext) builtin {
	return func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		var name string
		var v starlark.Value
		if err := starlark.UnpackArgs(b.Name(), args, kwargs, "name", &name, "value", &v); err != nil {
			return nil, err
		}
		got, err := toValue(v)
		if err != nil {
			return nil, err
		}
		if x, ok := got.(bool); ok {
			got = int64(0)
			if x {
				got = int64(1)
			}
		}
		return starlark.None, hc.Record(name, got)
	}
}
