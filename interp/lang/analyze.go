package lang

import (
	"context"
	"fmt"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"
)

// A ResultSource is what an analysis's r talks to.
type ResultSource interface {
	// Names are the tables of the run, in the order of the documentation.
	Names() []string
	// Table reads a table. "trials" holds the trials that succeeded and have no flag; "all_trials" every one.
	Table(name string) (*Table, error)
	// Emit keeps a table as a result of the analysis.
	Emit(t *Table) error
	Log(text string)
	// Axes are the names of the experiment's axes.
	Axes() []string
}

// Analyze calls the hook with r: r.trials and the other tables, r.table(name, rows), r.log(text).
func (h *Hook) Analyze(ctx context.Context, src ResultSource) error {
	t := &starlark.Thread{Name: h.name, Print: func(_ *starlark.Thread, text string) { src.Log(text) }}
	t.SetLocal(threadKey, h.ev)
	stop := context.AfterFunc(ctx, func() { t.Cancel(ctx.Err().Error()) })
	defer stop()
	_, err := starlark.Call(t, h.fn, starlark.Tuple{&resultsValue{src: src, read: map[string]*tableValue{}}}, nil)
	if err == nil {
		return nil
	}
	if ctx.Err() != nil {
		return fmt.Errorf("%w: %w", ctx.Err(), err)
	}
	return h.ev.hookError(err)
}

// resultsValue is r. Tables are read when they are first asked for.
type resultsValue struct {
	opaque
	src  ResultSource
	read map[string]*tableValue
}

func (v *resultsValue) String() string        { return "<results>" }
func (v *resultsValue) Type() string          { return "results" }
func (v *resultsValue) Hash() (uint32, error) { return unhashable(v.Type()) }

func (v *resultsValue) AttrNames() []string {
	return append([]string{"all_trials", "axes", "log", "table"}, v.src.Names()...)
}

func (v *resultsValue) Attr(name string) (starlark.Value, error) {
	switch {
	case name == "axes":
		return fromValue(anys(v.src.Axes())), nil
	case name == "table":
		return starlark.NewBuiltin("r.table", v.emit), nil
	case name == "log":
		return starlark.NewBuiltin("r.log", func(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
			var text string
			if err := starlark.UnpackArgs(b.Name(), args, kwargs, "text", &text); err != nil {
				return nil, err
			}
			v.src.Log(text)
			return starlark.None, nil
		}), nil
	case name == "all_trials", slices.Contains(v.src.Names(), name):
		if v.read[name] == nil {
			t, err := v.src.Table(name)
			if err != nil {
				return nil, err
			}
			v.read[name] = &tableValue{Table: t}
		}
		return v.read[name], nil
	}
	return nil, nil
}

// emit is r.table(name, rows): rows are a table, or a list of dicts or structs.
func (v *resultsValue) emit(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var name string
	var rows starlark.Value
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "name", &name, "rows", &rows); err != nil {
		return nil, err
	}
	t, err := tableOf(b, rows)
	if err != nil {
		return nil, err
	}
	t.Name = name
	if err := v.src.Emit(t); err != nil {
		return nil, fmt.Errorf("%s: %w", b.Name(), err)
	}
	return starlark.None, nil
}

// tableOf makes a table of a script's rows.
func tableOf(b *starlark.Builtin, rows starlark.Value) (*Table, error) {
	if t, ok := rows.(*tableValue); ok {
		return &Table{Columns: t.Columns, Rows: t.Rows, Axes: t.Axes}, nil
	}
	it, ok := rows.(starlark.Iterable)
	if _, text := rows.(starlark.String); !ok || text {
		return nil, fmt.Errorf("%s: rows must be a table, or a list of dicts, not %s", b.Name(), describe(rows))
	}
	out := &Table{}
	iter := it.Iterate()
	defer iter.Done()
	var x starlark.Value
	for n := 0; iter.Next(&x); n++ {
		line := make([]any, len(out.Columns))
		err := fieldsOf(x, func(name string, v starlark.Value) error {
			plain, err := toValue(v)
			if err != nil || !scalar(plain) {
				return fmt.Errorf("%s: row %d: %s is %s, not a number, a text, True, False or None", b.Name(), n, name, describe(v))
			}
			i := slices.Index(out.Columns, name)
			if i < 0 {
				i = len(out.Columns)
				out.Columns, line = append(out.Columns, name), append(line, nil)
			}
			line[i] = plain
			return nil
		})
		if err != nil {
			return nil, err
		}
		out.Rows = append(out.Rows, line)
	}
	for i, r := range out.Rows {
		out.Rows[i] = append(r, make([]any, len(out.Columns)-len(r))...)
	}
	return out, nil
}

// fieldsOf calls fn for each field of a dict or a struct, in order.
func fieldsOf(v starlark.Value, fn func(name string, v starlark.Value) error) error {
	switch v := v.(type) {
	case *starlark.Dict:
		for _, kv := range v.Items() {
			k, ok := kv[0].(starlark.String)
			if !ok {
				return fmt.Errorf("a row has the key %s, which is no text", describe(kv[0]))
			}
			if err := fn(string(k), kv[1]); err != nil {
				return err
			}
		}
		return nil
	case *starlarkstruct.Struct:
		for _, n := range v.AttrNames() {
			a, err := v.Attr(n)
			if err != nil {
				return err
			}
			if err := fn(n, a); err != nil {
				return err
			}
		}
		return nil
	}
	return fmt.Errorf("a row must be a dict or a struct, not %s", describe(v))
}
