package lang

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/maphash"
	"slices"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"sextant/interp/spec"
)

// sweepAxis is one axis with its distinct values.
type sweepAxis struct {
	name   string
	values []spec.Value     // distinct
	star   []starlark.Value // the same for scripts
	index  map[any]int32
	at     site     // where it was given
	arg    argument // and as which argument; element i of the list is value first[i]
	first  []int
	typ    string // "" until known, or forced by axis(..., type=)
	forced bool
}

// sweep is the set of combinations: cells[i*len(axes)+a] is the index of axis a's value in combination i.
type sweep struct {
	axes  []*sweepAxis
	cells []int32
	n     int
	excl  []spec.Exclusion
}

// maxCells bounds a sweep.
const maxCells = 10_000_000

func (s *sweep) String() string        { return fmt.Sprintf("<sweep of %d cells>", s.n) }
func (s *sweep) Type() string          { return "sweep" }
func (s *sweep) Freeze()               {}
func (s *sweep) Truth() starlark.Bool  { return s.n > 0 }
func (s *sweep) Hash() (uint32, error) { return unhashable(s.Type()) }
func (s *sweep) Len() int              { return s.n }

// Iterate gives the combinations as cells.
func (s *sweep) Iterate() starlark.Iterator { return &sweepIterator{s: s} }

type sweepIterator struct {
	s *sweep
	i int
}

func (it *sweepIterator) Next(p *starlark.Value) bool {
	if it.i >= it.s.n {
		return false
	}
	*p = &cell{axes: it.s.axes, row: it.s.row(it.i)}
	it.i++
	return true
}

func (it *sweepIterator) Done() {}

func (s *sweep) row(i int) []int32 {
	k := len(s.axes)
	return s.cells[i*k : (i+1)*k : (i+1)*k]
}

func (s *sweep) AttrNames() []string { return []string{"exclude", "where"} }

func (s *sweep) Attr(name string) (starlark.Value, error) {
	switch name {
	case "where":
		return starlark.NewBuiltin("where", s.filter(true)), nil
	case "exclude":
		return starlark.NewBuiltin("exclude", s.filter(false)), nil
	}
	return nil, nil
}

// Binary is a + b (all combinations of both) and a * b (every combination of one with every one of the other).
func (s *sweep) Binary(op syntax.Token, y starlark.Value, side starlark.Side) (starlark.Value, error) {
	if _, bad := y.(invalid); bad {
		return y, nil
	}
	o, ok := y.(*sweep)
	if !ok || op != syntax.PLUS && op != syntax.STAR {
		return nil, nil
	}
	a, b := s, o
	if side == starlark.Right {
		a, b = o, s
	}
	if op == syntax.PLUS {
		return concat(a, b)
	}
	return cross(a, b)
}

func axisNames(axes []*sweepAxis) []string {
	var out []string
	for _, a := range axes {
		out = append(out, a.name)
	}
	return out
}

func concat(a, b *sweep) (*sweep, error) {
	an, bn := axisNames(a.axes), axisNames(b.axes)
	as, bs := slices.Clone(an), slices.Clone(bn)
	slices.Sort(as)
	slices.Sort(bs)
	if !slices.Equal(as, bs) {
		return nil, fmt.Errorf("sweeps with different axes can't be added: %v and %v; give the missing axis the value None", an, bn)
	}
	if a.n+b.n > maxCells {
		return nil, tooMany(int64(a.n) + int64(b.n))
	}
	out := &sweep{excl: append(slices.Clone(a.excl), b.excl...)}
	translate := make([][]int32, len(a.axes)) // index in b's axis -> index in the sum's
	from := make([]int, len(a.axes))
	for i, ax := range a.axes {
		j := slices.Index(bn, ax.name)
		from[i] = j
		n := ax.clone()
		if bx := b.axes[j]; bx.forced && !n.forced {
			n.typ, n.forced = bx.typ, true
		}
		for _, v := range b.axes[j].values {
			translate[i] = append(translate[i], n.intern(v))
		}
		out.axes = append(out.axes, n)
	}
	out.cells = append(out.cells, a.cells...)
	for i := range b.n {
		row := b.row(i)
		for x := range out.axes {
			out.cells = append(out.cells, translate[x][row[from[x]]])
		}
	}
	out.n = a.n + b.n
	return out, out.unique()
}

func cross(a, b *sweep) (*sweep, error) {
	for _, x := range b.axes {
		if slices.Contains(axisNames(a.axes), x.name) {
			return nil, fmt.Errorf("both sweeps have the axis %q", x.name)
		}
	}
	if n := int64(a.n) * int64(b.n); n > maxCells {
		return nil, tooMany(n)
	}
	out := &sweep{axes: append(slices.Clone(a.axes), b.axes...), n: a.n * b.n}
	for _, e := range a.excl {
		e.Count *= b.n
		out.excl = append(out.excl, e)
	}
	for _, e := range b.excl {
		e.Count *= a.n
		out.excl = append(out.excl, e)
	}
	out.cells = make([]int32, 0, out.n*len(out.axes))
	for i := range a.n {
		for j := range b.n {
			out.cells = append(append(out.cells, a.row(i)...), b.row(j)...)
		}
	}
	return out, nil
}

func tooMany(n int64) error {
	return fmt.Errorf("the sweep has %d combinations: at most %d are allowed", n, maxCells)
}

func (a *sweepAxis) clone() *sweepAxis {
	n := *a
	n.values, n.star, n.first = slices.Clone(a.values), slices.Clone(a.star), slices.Clone(a.first)
	n.index = make(map[any]int32, len(a.index))
	for k, v := range a.index {
		n.index[k] = v
	}
	return &n
}

// intern gives the index of a value, which is added when it is new.
func (a *sweepAxis) intern(v spec.Value) int32 {
	if i, ok := a.index[v]; ok {
		return i
	}
	i := int32(len(a.values))
	a.index[v] = i
	a.values = append(a.values, v)
	a.star = append(a.star, fromValue(v))
	return i
}

// unique says which combination a sweep has twice.
func (s *sweep) unique() error {
	seed := maphash.MakeSeed()
	seen := make(map[uint64]int32, s.n)
	buf := make([]byte, 4*len(s.axes))
	for i := range s.n {
		for k, v := range s.row(i) {
			binary.LittleEndian.PutUint32(buf[4*k:], uint32(v))
		}
		h := maphash.Bytes(seed, buf)
		for {
			j, ok := seen[h]
			if !ok {
				seen[h] = int32(i)
				break
			}
			if slices.Equal(s.row(int(j)), s.row(i)) {
				return fmt.Errorf("the sweep has the cell %s twice", cellText(s.axes, s.row(i)))
			}
			h++
		}
	}
	return nil
}

func cellText(axes []*sweepAxis, row []int32) string {
	out := "("
	for i, a := range axes {
		if i > 0 {
			out += ", "
		}
		out += a.name + " = " + spec.Display(a.values[row[i]])
	}
	return out + ")"
}

// filter is .where(fn) and .exclude(fn, why=): the combinations for which fn is true stay, or go.
func (s *sweep) filter(keep bool) func(*starlark.Thread, *starlark.Builtin, starlark.Tuple, []starlark.Tuple) (starlark.Value, error) {
	return func(t *starlark.Thread, b *starlark.Builtin, args starlark.Tuple, kwargs []starlark.Tuple) (starlark.Value, error) {
		ev := evaluatorOf(t)
		at := ev.here(t)
		got, ok := ev.bind(at, b.Name(), []param{{"fn", true}, {"why", !keep}}, 1, args, kwargs)
		if !ok {
			return invalid{}, nil
		}
		fn, isFn := got["fn"].v.(starlark.Callable)
		if !isFn {
			ev.report(at, got["fn"].at, "must be a function of the cell, not "+describe(got["fn"].v), "write lambda p: ...")
			return invalid{}, nil
		}
		why := ""
		if w, given := got["why"]; given {
			text, isText := w.v.(starlark.String)
			if !isText || text == "" {
				ev.report(at, w.at, "why must be a text that says the reason, not "+describe(w.v), "")
				return invalid{}, nil
			}
			why = string(text)
		}
		out, err := s.keep(t, fn, keep)
		if err != nil {
			ev.reportFilter(at, got["fn"].at, err, fn, axisNames(s.axes))
			return invalid{}, nil
		}
		if gone := s.n - out.n; gone > 0 || !keep {
			if why == "" {
				why = "not " + b.Name()
			}
			out.excl = append(out.excl, spec.Exclusion{Why: why, Count: gone, Pos: at.pos()})
		}
		return out, nil
	}
}

func (s *sweep) keep(t *starlark.Thread, fn starlark.Callable, want bool) (*sweep, error) {
	out := &sweep{axes: s.axes, excl: slices.Clone(s.excl)}
	f := newCellFunc(t, fn, s.axes, func(v starlark.Value) (bool, error) {
		b, ok := v.(starlark.Bool)
		if !ok {
			return false, fmt.Errorf("the function must return True or False, not %s", describe(v))
		}
		return bool(b), nil
	})
	for i := range s.n {
		ok, err := f.at(s.row(i))
		if err != nil {
			return nil, err
		}
		if ok == want {
			out.cells = append(out.cells, s.row(i)...)
			out.n++
		}
	}
	return out, nil
}

// reportFilter notes why the function of a filter failed: in itself, or by what it returned.
func (ev *evaluator) reportFilter(at site, a argument, err error, fn starlark.Callable, axes []string) {
	var inner *starlark.EvalError
	if errors.As(err, &inner) {
		ev.reportCell(err, fn, axes)
		return
	}
	ev.report(at, a, err.Error(), "")
}
