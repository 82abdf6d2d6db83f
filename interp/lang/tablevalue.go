package lang

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"sextant/interp/spec"
)

// A Table is a result table as an analysis sees it: plain values (nil, bool, int64, float64, string) by column.
type Table struct {
	Name    string
	Columns []string
	Rows    [][]any
	Axes    []string // those columns that are axes of the experiment
}

// tableValue is a Table in a script. Its methods give new tables; it never changes.
type tableValue struct {
	opaque
	*Table
}

func (v *tableValue) String() string        { return fmt.Sprintf("<table %s: %d rows>", v.Name, len(v.Rows)) }
func (v *tableValue) Type() string          { return "table" }
func (v *tableValue) Hash() (uint32, error) { return unhashable(v.Type()) }
func (v *tableValue) Len() int              { return len(v.Rows) }
func (v *tableValue) Truth() starlark.Bool  { return len(v.Rows) > 0 }

// Index gives a row as a struct.
func (v *tableValue) Index(i int) starlark.Value { return v.row(i) }

func (v *tableValue) row(i int) starlark.Value {
	d := make(starlark.StringDict, len(v.Columns))
	for c, name := range v.Columns {
		d[name] = fromValue(v.Rows[i][c])
	}
	return starlarkstruct.FromStringDict(starlark.String("row"), d)
}

func (v *tableValue) Iterate() starlark.Iterator { return &tableIterator{v: v} }

type tableIterator struct {
	v *tableValue
	i int
}

func (it *tableIterator) Next(p *starlark.Value) bool {
	if it.i >= len(it.v.Rows) {
		return false
	}
	*p = it.v.row(it.i)
	it.i++
	return true
}

func (it *tableIterator) Done() {}

func tableMethods() map[string]func(*tableValue, *starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return map[string]func(*tableValue, *starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error){
		"where": (*tableValue).where, "select": (*tableValue).choose, "sort": (*tableValue).sorted, "column": (*tableValue).values, "group": (*tableValue).group, "pivot": (*tableValue).pivot,
	}
}

func (v *tableValue) AttrNames() []string {
	out := []string{"columns"}
	for n := range tableMethods() {
		out = append(out, n)
	}
	slices.Sort(out)
	return out
}

func (v *tableValue) Attr(name string) (starlark.Value, error) {
	if name == "columns" {
		return fromValue(anys(v.Columns)), nil
	}
	m, ok := tableMethods()[name]
	if !ok {
		return nil, nil
	}
	return starlark.NewBuiltin("table."+name, func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		return m(v, t, b, args, kwargs)
	}), nil
}

func anys(list []string) []any {
	out := make([]any, len(list))
	for i, s := range list {
		out[i] = s
	}
	return out
}

// index finds a column.
func (v *tableValue) index(name string) (int, error) {
	if i := slices.Index(v.Columns, name); i >= 0 {
		return i, nil
	}
	h := spec.Nearest(name, v.Columns)
	for _, c := range v.Columns {
		if h == "" && name != "" && strings.HasPrefix(c, name+"_") { // without its unit
			h = c
		}
	}
	if h != "" {
		return 0, fmt.Errorf("table %s has no column %q; did you mean %q?", v.Name, name, h)
	}
	return 0, fmt.Errorf("table %s has no column %q; it has %s", v.Name, name, strings.Join(v.Columns, ", "))
}

func (v *tableValue) with(rows [][]any) *tableValue {
	return &tableValue{Table: &Table{Name: v.Name, Columns: v.Columns, Rows: rows, Axes: v.Axes}}
}

// where(fn) keeps the rows for which fn(row) holds; where(column = value, ...) those that have the values.
func (v *tableValue) where(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(args) > 1 || len(args)+len(kwargs) == 0 {
		return nil, fmt.Errorf("%s takes a function of the row, or column = value", b.Name())
	}
	type cond struct {
		col  int
		want starlark.Value
	}
	var conds []cond
	for _, kv := range kwargs {
		name := string(kv[0].(starlark.String)) // the interpreter's own
		if name == loadAlias {
			name = "load"
		}
		i, err := v.index(name)
		if err != nil {
			return nil, err
		}
		conds = append(conds, cond{i, kv[1]})
	}
	var rows [][]any
	for i, r := range v.Rows {
		keep := true
		for _, c := range conds {
			eq, err := starlark.Equal(fromValue(r[c.col]), c.want)
			if err != nil {
				return nil, err
			}
			keep = keep && eq
		}
		if len(args) == 1 && keep {
			got, err := starlark.Call(t, args[0], starlark.Tuple{v.row(i)}, nil)
			if err != nil {
				return nil, err
			}
			keep = bool(got.Truth())
		}
		if keep {
			rows = append(rows, r)
		}
	}
	return v.with(rows), nil
}

// names reads column names that were given one by one.
func (v *tableValue) names(b *starlark.Builtin, args starlark.Tuple) (names []string, at []int, err error) {
	if len(args) == 0 {
		return nil, nil, fmt.Errorf("%s needs names of columns", b.Name())
	}
	for _, a := range args {
		s, ok := a.(starlark.String)
		if !ok {
			return nil, nil, fmt.Errorf("%s takes names of columns, not %s", b.Name(), describe(a))
		}
		i, err := v.index(string(s))
		if err != nil {
			return nil, nil, err
		}
		names, at = append(names, string(s)), append(at, i)
	}
	return names, at, nil
}

// choose is select(column, ...).
func (v *tableValue) choose(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	if len(kwargs) > 0 {
		return nil, fmt.Errorf("%s takes no keywords", b.Name())
	}
	names, at, err := v.names(b, args)
	if err != nil {
		return nil, err
	}
	out := &Table{Name: v.Name, Columns: names}
	for _, a := range v.Axes {
		if slices.Contains(names, a) {
			out.Axes = append(out.Axes, a)
		}
	}
	for _, r := range v.Rows {
		line := make([]any, len(at))
		for i, c := range at {
			line[i] = r[c]
		}
		out.Rows = append(out.Rows, line)
	}
	return &tableValue{Table: out}, nil
}

// compareValues orders plain values: None first, then False, True, numbers, texts.
func compareValues(a, b any) int {
	rank := func(v any) int {
		switch v.(type) {
		case nil:
			return 0
		case bool:
			return 1
		case string:
			return 3
		}
		return 2
	}
	if ra, rb := rank(a), rank(b); ra != rb || ra == 0 {
		return ra - rb
	}
	switch a := a.(type) {
	case bool:
		switch b := b.(bool); {
		case a == b:
			return 0
		case a:
			return 1
		}
		return -1
	case string:
		return strings.Compare(a, b.(string))
	}
	x, y := numberOf(a), numberOf(b)
	switch {
	case x < y:
		return -1
	case x > y:
		return 1
	}
	return 0
}

func numberOf(v any) float64 {
	switch v := v.(type) {
	case int64:
		return float64(v)
	case float64:
		return v
	}
	return 0
}

// sorted is sort(column, ..., reverse = False).
func (v *tableValue) sorted(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var reverse bool
	if err := starlark.UnpackArgs(b.Name(), nil, kwargs, "reverse?", &reverse); err != nil {
		return nil, err
	}
	_, at, err := v.names(b, args)
	if err != nil {
		return nil, err
	}
	rows := slices.Clone(v.Rows)
	slices.SortStableFunc(rows, func(a, b []any) int {
		for _, c := range at {
			if d := compareValues(a[c], b[c]); d != 0 {
				if reverse {
					return -d
				}
				return d
			}
		}
		return 0
	})
	return v.with(rows), nil
}

// columnValue is a column with its name, so that a statistic knows what it is of.
type columnValue struct {
	*starlark.List
	name string
}

func (c *columnValue) Type() string { return "column" }

// values is column(name).
func (v *tableValue) values(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	names, at, err := v.names(b, args)
	if err != nil || len(kwargs) > 0 || len(names) != 1 {
		if err == nil {
			err = fmt.Errorf("%s takes the name of one column", b.Name())
		}
		return nil, err
	}
	var out []starlark.Value
	for _, r := range v.Rows {
		out = append(out, fromValue(r[at[0]]))
	}
	return &columnValue{starlark.NewList(out), names[0]}, nil
}
