package lang

import (
	"fmt"
	"slices"
	"strings"

	"go.starlark.net/starlark"

	"sextant/interp/spec"
)

// axisValues is what axis([...], type=) gives: values of an axis with the type of its column.
type axisValues struct {
	opaque
	values []starlark.Value
	typ    string
}

func (v *axisValues) String() string        { return fmt.Sprintf("<axis of %d>", len(v.values)) }
func (v *axisValues) Type() string          { return "axis" }
func (v *axisValues) Hash() (uint32, error) { return unhashable(v.Type()) }

func axisTypes() []string { return []string{"bool", "int", "float", "string"} }

// axis is axis(values, type="float"): how the column of an axis of mixed types is told its type.
func (ev *evaluator) axis(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	at := ev.here(t)
	got, ok := ev.bind(at, b.Name(), []param{{"values", true}, {"type", true}}, 2, args, kwargs)
	if !ok {
		return invalid{}, nil
	}
	list, err := elements(got["values"].v)
	if err != nil {
		ev.report(at, got["values"].at, err.Error(), "")
		return invalid{}, nil
	}
	typ, _ := got["type"].v.(starlark.String)
	if !slices.Contains(axisTypes(), string(typ)) {
		ev.report(at, got["type"].at, "type must be one of bool, int, float, string, not "+describe(got["type"].v), didYouMean(string(typ), axisTypes()))
		return invalid{}, nil
	}
	return &axisValues{values: list, typ: string(typ)}, nil
}

func elements(v starlark.Value) ([]starlark.Value, error) {
	it, ok := v.(starlark.Iterable)
	if !ok {
		return nil, fmt.Errorf("must be a list of values, not %s", describe(v))
	}
	if s, ok := v.(starlark.Sequence); ok && s.Len() > maxCells {
		return nil, fmt.Errorf("has %d values: at most %d are allowed", s.Len(), maxCells)
	}
	var out []starlark.Value
	i := it.Iterate()
	defer i.Done()
	var x starlark.Value
	for i.Next(&x) {
		out = append(out, x)
	}
	return out, nil
}

// newAxis checks one axis and its values. given holds an index per value; nil when anything was wrong.
func (ev *evaluator) newAxis(at site, a argument, v starlark.Value) (ax *sweepAxis, given []int32) {
	ax = &sweepAxis{name: a.name, index: map[any]int32{}, at: at, arg: a}
	if _, bad := v.(invalid); bad {
		return ax, nil
	}
	if err := ev.axisName(a.name); err != nil {
		ev.report(at, argument{name: a.name, word: true}, err.Error(), "")
		return ax, nil
	}
	list := []starlark.Value(nil)
	if av, ok := v.(*axisValues); ok {
		list, ax.typ, ax.forced = av.values, av.typ, true
	} else {
		var err error
		if list, err = elements(v); err != nil {
			ev.report(at, a, fmt.Sprintf("axis %s %v", a.name, err), "write "+a.name+" = [...]")
			return ax, nil
		}
	}
	ok := true
	for i, x := range list {
		val, err := axisValue(x, ax)
		if err != nil {
			hint := ""
			if w, is := err.(*wrongKind); is {
				hint = w.hint
			}
			ev.reportElement(at, a, i, fmt.Sprintf("axis %s: %v", a.name, err), hint)
			ok = false
			continue
		}
		n := len(ax.values)
		given = append(given, ax.intern(val))
		if len(ax.values) > n {
			ax.first = append(ax.first, i)
		}
	}
	if !ok {
		return ax, nil
	}
	if given == nil {
		given = []int32{}
	}
	return ax, given
}

// axisName refuses a name that can't be a column beside the fixed ones.
func (ev *evaluator) axisName(name string) error {
	for i, r := range name {
		if !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || i > 0 && r >= '0' && r <= '9') {
			return fmt.Errorf("axis %q: a name is made of letters, digits and _", name)
		}
	}
	if name == "" {
		return fmt.Errorf("an axis must have a name")
	}
	for _, r := range ev.opt.Registry.Reserved {
		if strings.EqualFold(r, name) {
			return fmt.Errorf("axis %q: the result tables have a fixed column %q; choose another name", name, r)
		}
	}
	return nil
}

// axisValue converts one value, to the type of the axis where that is told, and sees to it that all have one type.
func axisValue(x starlark.Value, ax *sweepAxis) (spec.Value, error) {
	v, err := toValue(x)
	if err != nil || !scalar(v) {
		return nil, &wrongKind{"a value must be a number, a text, True or False, not " + describe(x),
			"keep objects in a dict and sweep its keys"}
	}
	if v == nil {
		return nil, nil
	}
	if ax.forced {
		return forceType(v, ax.typ)
	}
	typ := typeName(v)
	if ax.typ == "" {
		ax.typ = typ
	}
	if ax.typ != typ {
		return nil, &wrongKind{fmt.Sprintf("%s is of type %s, the values before are of type %s", describe(x), typ, ax.typ),
			fmt.Sprintf("give all values one type, or write %s = axis([...], type = %q)", ax.name, commonType(typ, ax.typ))}
	}
	return v, nil
}

func scalar(v spec.Value) bool {
	switch v.(type) {
	case nil, bool, int64, float64, string:
		return true
	}
	return false
}

func typeName(v spec.Value) string {
	switch v.(type) {
	case bool:
		return "bool"
	case int64:
		return "int"
	case float64:
		return "float"
	}
	return "string"
}

func commonType(a, b string) string {
	if a+b == "intfloat" || a+b == "floatint" {
		return "float"
	}
	return "string"
}

func forceType(v spec.Value, typ string) (spec.Value, error) {
	switch {
	case typeName(v) == typ:
		return v, nil
	case typ == "string":
		return spec.Display(v), nil
	case typ == "float":
		if n, ok := v.(int64); ok {
			return float64(n), nil
		}
	}
	return nil, &wrongKind{fmt.Sprintf("%s can't be of type %s", spec.Display(v), typ), ""}
}

// axesOf reads the keywords of grid and paired.
func (ev *evaluator) axesOf(at site, what string, args starlark.Tuple, kwargs []starlark.Tuple) (axes []*sweepAxis, given [][]int32, ok bool) {
	ok = true
	if len(args) > 0 {
		ev.report(at, argument{index: 0}, what+" takes axes by name only", what+"(scale = [...], ...)")
		ok = false
	}
	for _, kv := range kwargs {
		name := string(kv[0].(starlark.String)) // by Starlark's definition of keyword arguments
		ax, g := ev.newAxis(at, argument{name: name}, kv[1])
		for _, o := range axes {
			if strings.EqualFold(o.name, name) {
				ev.report(at, argument{name: name, word: true}, fmt.Sprintf("the axes %s and %s differ only in case: not every reader of the tables can tell them apart", o.name, name), "")
				ok = false
			}
		}
		if g == nil {
			ok = false
		} else if what == "grid" && len(g) > len(ax.values) {
			ev.reportTwice(at, ax, g)
			ok = false
		}
		axes, given = append(axes, ax), append(given, g)
	}
	return axes, given, ok
}

// reportTwice says which value an axis has twice.
func (ev *evaluator) reportTwice(at site, ax *sweepAxis, given []int32) {
	seen := map[int32]bool{}
	for i, g := range given {
		if seen[g] {
			ev.reportElement(at, ax.arg, i, fmt.Sprintf("axis %s has the value %s twice", ax.name, spec.Display(ax.values[g])), "")
			return
		}
		seen[g] = true
	}
}

// grid is every combination of the values of its axes; the last axis varies fastest.
func (ev *evaluator) grid(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	at := ev.here(t)
	axes, given, ok := ev.axesOf(at, "grid", args, kwargs)
	if !ok {
		return invalid{}, nil
	}
	n := int64(1)
	for _, g := range given {
		if n *= int64(len(g)); n > maxCells {
			ev.report(at, argument{index: -1}, tooMany(n).Error(), "")
			return invalid{}, nil
		}
	}
	s := &sweep{axes: axes, n: int(n), cells: make([]int32, 0, int(n)*len(axes))}
	at0 := make([]int, len(axes))
	for range s.n {
		for a, i := range at0 {
			s.cells = append(s.cells, given[a][i])
		}
		for a := len(at0) - 1; a >= 0; a-- {
			if at0[a]++; at0[a] < len(given[a]) {
				break
			}
			at0[a] = 0
		}
	}
	return s, nil
}

// paired is the first values of all axes together, then the second ones, and so on.
func (ev *evaluator) paired(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	at := ev.here(t)
	axes, given, ok := ev.axesOf(at, "paired", args, kwargs)
	for a := range axes {
		if ok && len(given[a]) != len(given[0]) {
			ev.report(at, axes[a].arg, fmt.Sprintf("paired axes need equally many values: %s has %d, %s has %d",
				axes[0].name, len(given[0]), axes[a].name, len(given[a])), "")
			ok = false
		}
	}
	if !ok {
		return invalid{}, nil
	}
	s := &sweep{axes: axes}
	if len(axes) > 0 {
		s.n = len(given[0])
	}
	for i := range s.n {
		for a := range axes {
			s.cells = append(s.cells, given[a][i])
		}
	}
	return s, s.unique()
}

// rows is combinations written out, each a dict or struct of axis names and values.
func (ev *evaluator) rows(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
	at := ev.here(t)
	got, ok := ev.bind(at, b.Name(), []param{{"list", true}}, 1, args, kwargs)
	if !ok {
		return invalid{}, nil
	}
	list, err := elements(got["list"].v)
	if err != nil {
		ev.report(at, got["list"].at, "rows: "+err.Error(), "write rows([dict(...), dict(...)])")
		return invalid{}, nil
	}
	var names []string
	columns := map[string][]starlark.Value{}
	for i, x := range list {
		names, err = rowOf(x, i, names, columns)
		if err != nil {
			ev.report(at, got["list"].at, err.Error(), "")
			return invalid{}, nil
		}
	}
	s := &sweep{n: len(list)}
	var given [][]int32
	for _, n := range names {
		ax, g := ev.newAxis(at, argument{name: n}, starlark.NewList(columns[n]))
		if g == nil {
			return invalid{}, nil
		}
		s.axes, given = append(s.axes, ax), append(given, g)
	}
	for i := range s.n {
		for a := range s.axes {
			s.cells = append(s.cells, given[a][i])
		}
	}
	return s, s.unique()
}

// rowOf adds one row to the columns; all rows must have the axes of the first.
func rowOf(x starlark.Value, i int, names []string, columns map[string][]starlark.Value) ([]string, error) {
	var keys []string
	get := func(string) (starlark.Value, error) { return nil, nil }
	switch x := x.(type) {
	case *starlark.Dict:
		for _, k := range x.Keys() {
			s, ok := k.(starlark.String)
			if !ok {
				return nil, fmt.Errorf("row %d: names of axes are texts, not %s", i, describe(k))
			}
			keys = append(keys, string(s))
		}
		get = func(n string) (starlark.Value, error) {
			v, _, err := x.Get(starlark.String(n))
			return v, err
		}
	case starlark.HasAttrs:
		keys = x.AttrNames()
		get = x.Attr
	default:
		return nil, fmt.Errorf("row %d must be a dict or a struct, not %s", i, describe(x))
	}
	if i == 0 {
		names = keys
	}
	for _, n := range names {
		if !slices.Contains(keys, n) {
			return nil, fmt.Errorf("row %d has no value for the axis %q; write None where there is none", i, n)
		}
	}
	for _, k := range keys {
		if !slices.Contains(names, k) {
			return nil, fmt.Errorf("row %d has the axis %q, which row 0 has not", i, k)
		}
		v, err := get(k)
		if err != nil {
			return nil, fmt.Errorf("row %d: %w", i, err)
		}
		columns[k] = append(columns[k], v)
	}
	return names, nil
}
