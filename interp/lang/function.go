package lang

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"go.starlark.net/starlark"

	"sextant/interp/spec"
)

// A Function is a function of the script that runs as an operation: def transfer(tx): ...
type Function struct {
	ev *evaluator
	fn *starlark.Function
}

// A Method is one thing that the function's tx can do.
type Method struct {
	Name string
	// Params say what it is called with, for messages: "statement, arguments...". Min and Max count them; Max -1: any number.
	Params   string
	Min, Max int
	// Call gets plain values: nil, bool, int64, float64, string, []any, map[string]any. It gives one of these or a *Record.
	Call func(args []any) (any, error)
}

// A Record is a row that a Method gives; a script sees a dict.
type Record struct {
	Names  []string
	Values []any
}

// A Caller is one client's thread of a function. It belongs to one goroutine.
type Caller struct {
	f      *Function
	t      *starlark.Thread
	args   starlark.Tuple
	ctx    context.Context // that of the running Call, for the methods
	err    error           // what the last method gave
	within time.Duration   // time spent in methods by the running Call
}

// callerKey marks the threads of callers.
const callerKey = "sextant.caller"

// callSteps bounds one call: about a second of the interpreter.
const callSteps = 10_000_000

// function is the value of a parameter of KindFunction: the name of a function, which must mean one function only, because
// it is found by its name when a run is resumed.
func (ev *evaluator) function(v starlark.Value, known []string) (spec.Value, error) {
	fn, ok := v.(*starlark.Function)
	switch {
	case !ok:
		return nil, badKind(v, spec.KindFunction.String(), "write def mine(tx): ..., and give mine")
	case fn.Name() == "lambda":
		return nil, &wrongKind{"must be a function with a name, not a lambda", "write def mine(tx): ..., and give mine"}
	case fn.NumParams() != 1 || fn.HasVarargs() || fn.HasKwargs():
		return nil, &wrongKind{fmt.Sprintf("must take one parameter, the transaction; %s doesn't", fn.Name()), fmt.Sprintf("write def %s(tx): ...", fn.Name())}
	case fn.NumFreeVars() > 0:
		b, _ := fn.FreeVar(0)
		return nil, &wrongKind{fmt.Sprintf("must not use what belongs to the function around it: %s uses %s", fn.Name(), b.Name),
			fmt.Sprintf("give it by args = dict(%s = %s) and read tx.args.%s", b.Name, b.Name, b.Name)}
	}
	if old := ev.functions[fn.Name()]; old != nil && old != fn {
		return nil, &wrongKind{fmt.Sprintf("must be found by its name, but two functions are called %s", fn.Name()), "give one of them another name"}
	}
	if ev.functions[fn.Name()] == nil {
		ev.misread(fn, known)
	}
	ev.functions[fn.Name()] = fn
	return fn.Name(), nil
}

// Client makes one client's thread. Attrs are plain values that tx has beside its methods.
func (f *Function) Client(methods []Method, attrs map[string]any) *Caller {
	c := &Caller{f: f, ctx: context.Background(), t: &starlark.Thread{Name: f.fn.Name(), Print: func(*starlark.Thread, string) {}}}
	c.t.SetMaxExecutionSteps(callSteps)
	c.t.OnMaxSteps = func(t *starlark.Thread) { t.Cancel(fmt.Sprintf("one call takes more than %d steps", callSteps)) }
	c.t.SetLocal(callerKey, c)
	tx := &namespace{name: "tx", members: map[string]starlark.Value{}}
	for _, m := range methods {
		tx.members[m.Name] = starlark.NewBuiltin("tx."+m.Name, c.method(m))
	}
	for k, v := range attrs {
		tx.members[k] = fromValue(v)
		tx.members[k].Freeze()
	}
	c.args = starlark.Tuple{tx}
	return c
}

func (c *Caller) method(m Method) builtin {
	return func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		if err := c.ctx.Err(); err != nil {
			return nil, c.fail(err)
		}
		if len(kwargs) > 0 || len(args) < m.Min || m.Max >= 0 && len(args) > m.Max {
			return nil, fmt.Errorf("%s takes (%s)", b.Name(), m.Params)
		}
		vals := make([]any, len(args))
		for i, a := range args {
			v, err := toValue(a)
			if err != nil {
				return nil, fmt.Errorf("%s: argument %d %w", b.Name(), i+1, err)
			}
			vals[i] = v
		}
		begin := time.Now()
		got, err := m.Call(vals)
		c.within += time.Since(begin)
		if err != nil {
			return nil, c.fail(err)
		}
		return fromRecord(got)
	}
}

func (c *Caller) fail(err error) error {
	c.err = err
	return err
}

func fromRecord(v any) (starlark.Value, error) {
	switch v := v.(type) {
	case *Record:
		d := starlark.NewDict(len(v.Names))
		for i, n := range v.Names {
			if err := d.SetKey(starlark.String(n), fromValue(v.Values[i])); err != nil {
				return nil, err
			}
		}
		return d, nil
	case []any:
		l := make([]starlark.Value, len(v))
		for i, e := range v {
			var err error
			if l[i], err = fromRecord(e); err != nil {
				return nil, err
			}
		}
		return starlark.NewList(l), nil
	}
	return fromValue(v), nil
}

// A ScriptError is a failure of the script itself, with its place, not one of a method.
type ScriptError struct{ text string }

func (e *ScriptError) Error() string { return e.text }

// Call runs the function once. Own is the time that it spent in the interpreter, not in methods. An error of a method comes
// back as it is; a failure of the script is a *ScriptError.
func (c *Caller) Call(ctx context.Context) (own time.Duration, err error) {
	c.ctx, c.err, c.within = ctx, nil, 0
	c.t.Steps = 0
	begin := time.Now()
	_, err = starlark.Call(c.t, c.f.fn, c.args, nil)
	own = time.Since(begin) - c.within
	if err == nil {
		return own, nil
	}
	c.t.Uncancel()
	if c.err != nil && errors.Is(err, c.err) {
		return own, c.err
	}
	return own, &ScriptError{strings.TrimSpace(c.f.ev.hookError(err).Error())}
}

// misread reports what a function reads of its parameter that isn't among the known names.
func (ev *evaluator) misread(fn *starlark.Function, known []string) {
	t := ev.trees[positionOf(fn)]
	if t == nil {
		return
	}
	for _, d := range t.misreads(fn, func(n string) bool { return slices.Contains(known, n) }) {
		hint := didYouMean(d.Name.Name, known)
		if hint == "" {
			hint = "there are " + strings.Join(known, ", ")
		}
		sp := spanOf(d.Name)
		ev.reportSpan(site{stack: []Frame{{fn.Name(), sp.pos}}}, sp, fmt.Sprintf("the transaction has no %q", d.Name.Name), hint)
	}
}
