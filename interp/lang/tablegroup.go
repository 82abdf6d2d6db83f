package lang

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"sextant/interp/spec"
)

// split cuts a table by the values of columns, in the order in which they come.
func (v *tableValue) split(at []int) (keys [][]any, parts []*tableValue) {
	index := map[string]int{}
	for _, r := range v.Rows {
		key := make([]any, len(at))
		for i, c := range at {
			key[i] = r[c]
		}
		id := spec.CanonicalString(key)
		k, ok := index[id]
		if !ok {
			k = len(parts)
			index[id] = k
			keys, parts = append(keys, key), append(parts, v.with(nil))
		}
		parts[k].Rows = append(parts[k].Rows, r)
	}
	return keys, parts
}

// inOrder is split, ordered by the values: trials come in a random order, which no table should show.
func (v *tableValue) inOrder(at []int) (keys [][]any, parts []*tableValue) {
	k, p := v.split(at)
	order := make([]int, len(k))
	for i := range order {
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int {
		for i := range at {
			if d := compareValues(k[a][i], k[b][i]); d != 0 {
				return d
			}
		}
		return 0
	})
	for _, i := range order {
		keys, parts = append(keys, k[i]), append(parts, p[i])
	}
	return keys, parts
}

// group is group(column, ...): a list of struct(key, table).
func (v *tableValue) group(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	names, at, err := v.names(b, args)
	if err != nil || len(kwargs) > 0 {
		if err == nil {
			err = fmt.Errorf("%s takes no keywords", b.Name())
		}
		return nil, err
	}
	keys, parts := v.split(at)
	out := make([]starlark.Value, len(parts))
	for i, p := range parts {
		key := starlark.StringDict{}
		for k, n := range names {
			key[n] = fromValue(keys[i][k])
		}
		out[i] = starlarkstruct.FromStringDict(starlark.String("group"), starlark.StringDict{"key": starlarkstruct.FromStringDict(starlark.String("key"), key), "table": p})
	}
	return starlark.NewList(out), nil
}

// pivot is pivot(rows = [...], columns = name, value = name): a row for each combination, a column for each value.
func (v *tableValue) pivot(_ *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	var rows *starlark.List
	var columns, value string
	if err := starlark.UnpackArgs(b.Name(), args, kwargs, "rows", &rows, "columns", &columns, "value", &value); err != nil {
		return nil, err
	}
	var list starlark.Tuple
	for i := range rows.Len() {
		list = append(list, rows.Index(i))
	}
	names, at, err := v.names(b, list)
	if err != nil {
		return nil, err
	}
	col, err := v.index(columns)
	if err != nil {
		return nil, err
	}
	val, err := v.index(value)
	if err != nil {
		return nil, err
	}
	out := &Table{Name: v.Name, Columns: slices.Clone(names)}
	wide := map[string]int{}
	heads, _ := v.inOrder([]int{col})
	for _, h := range heads {
		name := columns + "_" + plainName(spec.Display(h[0]))
		if _, ok := wide[name]; !ok {
			wide[name] = len(out.Columns)
			out.Columns = append(out.Columns, name)
		}
	}
	keys, parts := v.inOrder(at)
	for i, p := range parts {
		line := append(slices.Clone(keys[i]), make([]any, len(out.Columns)-len(names))...)
		for _, r := range p.Rows {
			c := wide[columns+"_"+plainName(spec.Display(r[col]))]
			if line[c] != nil {
				return nil, fmt.Errorf("%s: there are several values of %s where %s is %s: make one of them first, as stats.summary does", b.Name(), value, columns, spec.Display(r[col]))
			}
			line[c] = r[val]
		}
		out.Rows = append(out.Rows, line)
	}
	return &tableValue{Table: out}, nil
}

// plainName makes a part of a column's name of a value.
func plainName(s string) string {
	return strings.Trim(strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= '0' && r <= '9' || r == '_' {
			return r
		}
		if r >= 'A' && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return '_'
	}, s), "_")
}
