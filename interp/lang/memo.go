package lang

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
)

// cell is the p of a function of the cell: one attribute per axis. It notes which axes are read, in order.
type cell struct {
	axes  []*sweepAxis
	row   []int32
	reads []int32
	seen  []bool // nil: reads are not noted
}

func (c *cell) Type() string          { return "cell" }
func (c *cell) Freeze()               {}
func (c *cell) Truth() starlark.Bool  { return true }
func (c *cell) Hash() (uint32, error) { return unhashable(c.Type()) }
func (c *cell) AttrNames() []string   { return axisNames(c.axes) }

// String reads every axis.
func (c *cell) String() string {
	for i := range c.axes {
		c.read(i)
	}
	return "cell" + cellText(c.axes, c.row)
}

func (c *cell) read(i int) {
	if c.seen != nil && !c.seen[i] {
		c.seen[i] = true
		c.reads = append(c.reads, int32(i))
	}
}

func (c *cell) Attr(name string) (starlark.Value, error) {
	for i, a := range c.axes {
		if a.name == name {
			c.read(i)
			return a.star[c.row[i]], nil
		}
	}
	return nil, starlark.NoSuchAttrError(noAxis(name))
}

// cellFunc calls a function of the cell once per combination of the values that it reads. The function is pure, so the
// first axis that it reads is always the same, the second depends on the first's value only, and so on: the reads form a
// decision tree, and a cell that comes to a leaf needs no call.
type cellFunc[T any] struct {
	t       *starlark.Thread
	fn      starlark.Callable
	axes    []*sweepAxis
	convert func(starlark.Value) (T, error)
	root    *node[T]
	used    []bool // axes read by any call
	calls   int
}

type node[T any] struct {
	axis int32 // -1: a leaf
	kids []*node[T]
	val  T
	err  error
}

func newCellFunc[T any](t *starlark.Thread, fn starlark.Callable, axes []*sweepAxis, convert func(starlark.Value) (T, error)) *cellFunc[T] {
	return &cellFunc[T]{t: t, fn: fn, axes: axes, convert: convert, used: make([]bool, len(axes))}
}

// at is the function's value for a combination.
func (f *cellFunc[T]) at(row []int32) (T, error) {
	slot := &f.root
	for *slot != nil {
		n := *slot
		if n.axis < 0 {
			return n.val, n.err
		}
		slot = &n.kids[row[n.axis]]
	}
	c := &cell{axes: f.axes, row: row, seen: make([]bool, len(f.axes))}
	f.calls++
	v, err := starlark.Call(f.t, f.fn, starlark.Tuple{c}, nil)
	leaf := &node[T]{axis: -1, err: err}
	if err == nil {
		leaf.val, leaf.err = f.convert(v)
	}
	f.insert(row, c.reads, leaf)
	return leaf.val, leaf.err
}

func (f *cellFunc[T]) insert(row []int32, reads []int32, leaf *node[T]) {
	slot := &f.root
	for _, a := range reads {
		f.used[a] = true
		if *slot == nil {
			*slot = &node[T]{axis: a, kids: make([]*node[T], len(f.axes[a].values))}
		}
		if (*slot).axis != a {
			return // not pure after all: without the leaf the function is simply called again
		}
		slot = &(*slot).kids[row[a]]
	}
	if *slot == nil {
		*slot = leaf
	}
}

// takesOne says whether a function can be called with the cell alone.
func takesOne(fn starlark.Callable) error {
	f, ok := fn.(*starlark.Function)
	if !ok {
		return nil
	}
	need := 0
	var names []string
	for i := range f.NumParams() {
		n, _ := f.Param(i)
		names = append(names, n)
		if f.ParamDefault(i) == nil {
			need++
		}
	}
	if f.NumParams() == 0 || need > 1 && !f.HasVarargs() && !f.HasKwargs() {
		return fmt.Errorf("must be a function of one parameter, the cell, not %s(%s)", f.Name(), strings.Join(names, ", "))
	}
	return nil
}
