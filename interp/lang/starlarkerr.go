package lang

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"go.starlark.net/resolve"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
)

// reportSyntax notes what the parser or the resolver found: all of it.
func (ev *evaluator) reportSyntax(err error) {
	var list resolve.ErrorList
	var one syntax.Error
	switch {
	case errors.As(err, &list):
		for _, e := range list {
			ev.reportAt(e.Pos, e.Msg, ev.nameHint(e.Msg), nil)
		}
	case errors.As(err, &one):
		ev.reportAt(one.Pos, one.Msg, "", nil)
	default:
		ev.problems.add(&Problem{Msg: err.Error()})
	}
}

var undefined = regexp.MustCompile(`^undefined: (\w+)`)

// nameHint suggests a predeclared name for an undefined one; Starlark itself knows only those of the file.
func (ev *evaluator) nameHint(msg string) string {
	m := undefined.FindStringSubmatch(msg)
	if m == nil || strings.Contains(msg, "did you mean") {
		return ""
	}
	if m[1] == "p" {
		return "p is the parameter of a function of the cell: write lambda p: ..."
	}
	return didYouMean(m[1], ev.known())
}

// reportAt notes a problem at a position, underlining the name that stands there.
func (ev *evaluator) reportAt(pos syntax.Position, msg, hint string, stack []Frame) {
	sp := span{position(pos), 1}
	if t := ev.trees[pos.Filename()]; t != nil {
		sp.width = nameWidth(t.line(int(pos.Line)), int(pos.Col))
	}
	ev.reportSpan(site{stack: stack}, sp, msg, hint)
}

// nameWidth is the number of letters of the name at a column, at least 1.
func nameWidth(line string, col int) int {
	n := 0
	for i, r := range []rune(line) {
		if i < col-1 {
			continue
		}
		if r != '_' && (r < '0' || r > '9') && (r < 'a' || r > 'z') && (r < 'A' || r > 'Z') {
			break
		}
		n++
	}
	return max(n, 1)
}

// reportEval notes why an evaluation ended. What is only a consequence of a reported problem is left out.
func (ev *evaluator) reportEval(err error) {
	if errors.Is(err, errReported) {
		return
	}
	var inner *starlark.EvalError
	for e := err; e != nil; e = errors.Unwrap(e) { // the innermost has the real line
		var ee *starlark.EvalError
		if !errors.As(e, &ee) {
			break
		}
		inner, e = ee, ee
	}
	if inner == nil {
		ev.problems.add(&Problem{Msg: err.Error()})
		return
	}
	if len(ev.problems.list) > 0 && strings.Contains(inner.Msg, invalidType) {
		return
	}
	msg := strings.ReplaceAll(inner.Msg, loadAlias, "load")
	if reason, ok := strings.CutPrefix(msg, "Starlark computation cancelled: "); ok {
		msg = reason
	}
	var pos syntax.Position
	calls := inner.CallStack
	if n := len(calls); n > 1 && strings.HasPrefix(msg, "function "+calls[n-1].Name+" ") {
		calls = calls[:n-1] // the arguments didn't fit: the fault is the caller's
	}
	for i := len(calls) - 1; i >= 0; i-- {
		if f := calls[i]; f.Pos.Line > 0 {
			pos = f.Pos
			break
		}
	}
	stack := framesOf(calls)
	sp, hint := ev.focus(pos, msg)
	if head, did, ok := strings.Cut(msg, " (did you mean "); ok && hint == "" {
		msg, hint = head, "did you mean "+strings.TrimSuffix(did, ")")
	}
	ev.reportSpan(site{stack: stack}, sp, msg, hint)
}

var unexpectedKeyword = regexp.MustCompile(`unexpected keyword argument "?(\w+)"?`)

// focus finds the part of the line that a message is about, and what can be suggested.
func (ev *evaluator) focus(pos syntax.Position, msg string) (span, string) {
	sp := span{position(pos), 1}
	t := ev.trees[pos.Filename()]
	if t == nil {
		return sp, ""
	}
	if d := t.dots[at(pos)]; d != nil {
		return spanOf(d.Name), ""
	}
	call := t.calls[at(pos)]
	if call == nil {
		sp.width = nameWidth(t.line(int(pos.Line)), int(pos.Col))
		return sp, ""
	}
	if m := unexpectedKeyword.FindStringSubmatch(msg); m != nil {
		hint := ""
		if id, ok := call.Fn.(*syntax.Ident); ok {
			hint = didYouMean(m[1], paramsOf(t, id.Name))
		}
		if a, ok := t.argument(pos, argument{name: m[1], word: true}); ok {
			return a, hint
		}
		return spanOf(call.Fn), hint
	}
	return spanOf(call.Fn), ""
}

// paramsOf are the parameters of a function that the file defines.
func paramsOf(t *tree, name string) []string {
	var out []string
	syntax.Walk(t.file, func(n syntax.Node) bool {
		d, ok := n.(*syntax.DefStmt)
		if !ok || d.Name.Name != name {
			return true
		}
		for _, p := range d.Params {
			if b, ok := p.(*syntax.BinaryExpr); ok {
				p = b.X
			}
			if id, ok := p.(*syntax.Ident); ok {
				out = append(out, id.Name)
			}
		}
		return false
	})
	return out
}

// reportCell notes why a function of the cell failed, and every other misspelt axis in that function.
func (ev *evaluator) reportCell(err error, fn starlark.Value, axes []string) {
	f, ok := fn.(*starlark.Function)
	if t := ev.trees[positionOf(f)]; ok && t != nil && strings.Contains(err.Error(), noAxis("")[:len(noAxis(""))-1]) {
		for _, d := range t.misreads(f, func(n string) bool { return slices.Contains(axes, n) }) {
			sp := spanOf(d.Name)
			ev.reportSpan(site{stack: []Frame{{f.Name(), sp.pos}}}, sp, noAxis(d.Name.Name), axisHint(d.Name.Name, axes))
		}
	}
	ev.reportEval(err)
}

func positionOf(f *starlark.Function) string {
	if f == nil {
		return ""
	}
	return f.Position().Filename()
}

func noAxis(name string) string { return fmt.Sprintf("the sweep has no axis %q", name) }

func axisHint(name string, axes []string) string {
	if h := didYouMean(name, axes); h != "" {
		return h
	}
	if len(axes) == 0 {
		return "the experiment has no sweep"
	}
	return "the axes are " + strings.Join(axes, ", ")
}
