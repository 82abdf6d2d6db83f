package lang

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"sextant/interp/spec"
)

// tree is a parsed file with what is needed to point at its parts.
type tree struct {
	name  string // as messages show it
	src   []byte
	lines []string
	file  *syntax.File
	calls map[[2]int32]*syntax.CallExpr // by position of the parenthesis
	dots  map[[2]int32]*syntax.DotExpr  // by position of the dot
}

func newTree(name string, src []byte) *tree {
	return &tree{name: name, src: src, lines: strings.Split(string(src), "\n"),
		calls: map[[2]int32]*syntax.CallExpr{}, dots: map[[2]int32]*syntax.DotExpr{}}
}

func at(p syntax.Position) [2]int32 { return [2]int32{p.Line, p.Col} }

// parse reads the file, indexes calls and attributes, and then puts the guard around repeats.
func (t *tree) parse() error {
	f, err := fileOptions().Parse(t.name, aliasLoad(t.src), 0)
	if err != nil {
		return err
	}
	syntax.Walk(f, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.CallExpr:
			t.calls[at(n.Lparen)] = n
		case *syntax.DotExpr:
			t.dots[at(n.Dot)] = n
		}
		return true
	})
	guardStmts(f.Stmts)
	t.file = f
	return nil
}

// span is a piece of one line.
type span struct {
	pos   spec.Pos
	width int
}

func spanOf(n syntax.Node) span {
	begin, end := n.Span()
	s := span{pos: position(begin), width: 1}
	if end.Line == begin.Line && end.Col > begin.Col {
		s.width = int(end.Col - begin.Col)
	}
	return s
}

func position(p syntax.Position) spec.Pos {
	return spec.Pos{File: p.Filename(), Line: int(p.Line), Col: int(p.Col)}
}

// line is the text of a line, counted from 1.
func (t *tree) line(n int) string {
	if n < 1 || n > len(t.lines) {
		return ""
	}
	return strings.TrimRight(t.lines[n-1], "\r")
}

// unalias is the name that the script has.
func unalias(name string) string {
	if name == loadAlias {
		return "load"
	}
	return name
}

// An argument of a call is found by its keyword, or else by its place among the positional ones. Word means the
// keyword itself instead of its value.
type argument struct {
	name  string
	index int
	word  bool
}

// argument finds the span of an argument of the call whose parenthesis is at pos; without it, that of the called name.
func (t *tree) argument(pos syntax.Position, a argument) (span, bool) {
	call := t.calls[at(pos)]
	if call == nil {
		return span{}, false
	}
	n := 0
	for _, arg := range call.Args {
		if b, ok := arg.(*syntax.BinaryExpr); ok && b.Op == syntax.EQ {
			if id, ok := b.X.(*syntax.Ident); ok && unalias(id.Name) == a.name {
				if a.word {
					return spanOf(b.X), true
				}
				return spanOf(b.Y), true
			}
			continue
		}
		if _, ok := arg.(*syntax.UnaryExpr); ok && isSpread(arg) {
			continue
		}
		if a.name == "" && n == a.index {
			return spanOf(arg), true
		}
		n++
	}
	return span{}, false
}

func isSpread(e syntax.Expr) bool {
	u, ok := e.(*syntax.UnaryExpr)
	return ok && (u.Op == syntax.STAR || u.Op == syntax.STARSTAR)
}

// element finds the span of an element of a list or tuple literal given as keyword of a call.
func (t *tree) element(pos syntax.Position, a argument, i int) (span, bool) {
	call := t.calls[at(pos)]
	if call == nil {
		return span{}, false
	}
	for _, arg := range call.Args {
		b, ok := arg.(*syntax.BinaryExpr)
		if !ok || b.Op != syntax.EQ {
			continue
		}
		if id, ok := b.X.(*syntax.Ident); !ok || id.Name != a.name {
			continue
		}
		if l, ok := b.Y.(*syntax.ListExpr); ok && i < len(l.List) {
			return spanOf(l.List[i]), true
		}
		return spanOf(b.Y), true
	}
	return span{}, false
}

// callee is the span of the called expression.
func (t *tree) callee(pos syntax.Position) (span, bool) {
	call := t.calls[at(pos)]
	if call == nil {
		return span{}, false
	}
	return spanOf(call.Fn), true
}

// misreads are the places in a function where an attribute of its first parameter is read that isn't among names.
func (t *tree) misreads(fn *starlark.Function, known func(string) bool) []*syntax.DotExpr {
	var out []*syntax.DotExpr
	if t.file == nil || fn.NumParams() == 0 {
		return nil
	}
	param, _ := fn.Param(0)
	var body syntax.Node
	syntax.Walk(t.file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.LambdaExpr:
			if n.Lambda == fn.Position() {
				body = n.Body
			}
		case *syntax.DefStmt:
			if n.Name.NamePos == fn.Position() || n.Def == fn.Position() {
				body = n
			}
		}
		return body == nil
	})
	if body == nil {
		return nil
	}
	syntax.Walk(body, func(n syntax.Node) bool {
		if d, ok := n.(*syntax.DotExpr); ok {
			if id, ok := d.X.(*syntax.Ident); ok && id.Name == param && !known(d.Name.Name) {
				out = append(out, d)
			}
		}
		return true
	})
	return out
}

// mentions says whether any attribute or text literal of the file has that name.
func (t *tree) mentions(name string) bool {
	found := false
	if t.file == nil {
		return false
	}
	syntax.Walk(t.file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.DotExpr:
			found = found || n.Name.Name == name
		case *syntax.Literal:
			found = found || n.Value == name
		}
		return !found
	})
	return found
}

// The hidden names that `x * y` and `x + y` call; no script can spell them.
const (
	repeatGuard = "*"
	joinGuard   = "+"
)

// maxRepeat is the longest text or list that one `*` or `+` may make.
const maxRepeat = 1 << 24

// guardedRepeat is x * y with a bound on the size of repeated texts and lists.
func guardedRepeat(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	x, y := args[0], args[1]
	if n, ok := x.(starlark.Int); ok {
		if err := boundRepeat(y, n); err != nil {
			return nil, err
		}
	} else if n, ok := y.(starlark.Int); ok {
		if err := boundRepeat(x, n); err != nil {
			return nil, err
		}
	}
	return starlark.Binary(syntax.STAR, x, y)
}

// guardedJoin is x + y with a bound on the size of joined texts and lists.
func guardedJoin(_ *starlark.Thread, _ *starlark.Builtin, args starlark.Tuple, _ []starlark.Tuple) (starlark.Value, error) {
	if n := length(args[0]) + length(args[1]); n > maxRepeat {
		return nil, fmt.Errorf("joining makes a %s of %d elements, which is too large: at most %d", args[0].Type(), n, maxRepeat)
	}
	return starlark.Binary(syntax.PLUS, args[0], args[1])
}

// length is the number of elements of a text, list or tuple, else 0.
func length(v starlark.Value) int {
	switch v := v.(type) {
	case starlark.String:
		return len(v)
	case starlark.Bytes:
		return len(v)
	case *starlark.List:
		return v.Len()
	case starlark.Tuple:
		return v.Len()
	}
	return 0
}

func boundRepeat(v starlark.Value, n starlark.Int) error {
	size := length(v)
	times, fits := n.Int64()
	if size > 0 && (n.Sign() > 0 && !fits || times > maxRepeat/int64(size)) {
		return fmt.Errorf("repeating a %s of %d elements %s times makes it too large: at most %d elements", v.Type(), size, n, maxRepeat)
	}
	return nil
}
