package lang

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"go.starlark.net/starlark"

	"sextant/interp/spec"
)

// A Problem is one thing that is wrong with a script.
type Problem struct {
	Pos   spec.Pos
	Width int    // columns to underline; at least 1
	Line  string // the source line; "" when there is none
	Msg   string
	Hint  string  // what to write instead; may be empty
	Stack []Frame // the outermost call first
}

// A Frame is one call on the way to a problem.
type Frame struct {
	Func string
	Pos  spec.Pos
}

// String is the problem as a person reads it: position and message, the line with a caret, the call stack.
func (p *Problem) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s: %s\n", p.Pos, p.Msg)
	if p.Line != "" {
		num := fmt.Sprintf("%5d", p.Pos.Line)
		pad := make([]rune, 0, p.Pos.Col)
		for i, r := range []rune(p.Line) {
			if i >= p.Pos.Col-1 {
				break
			}
			if r != '\t' {
				r = ' '
			}
			pad = append(pad, r)
		}
		fmt.Fprintf(&b, "%s | %s\n%s | %s%s\n", num, p.Line, strings.Repeat(" ", len(num)), string(pad), strings.Repeat("^", max(p.Width, 1)))
	}
	if p.Hint != "" {
		fmt.Fprintf(&b, "      = %s\n", p.Hint)
	}
	for _, f := range p.Stack {
		fmt.Fprintf(&b, "      in %s at %s\n", f.Func, f.Pos)
	}
	return b.String()
}

// Problems is everything that is wrong with a script.
type Problems struct {
	List    []*Problem
	Omitted int // further ones that are not in the list
}

func (p *Problems) Error() string {
	var b strings.Builder
	for _, q := range p.List {
		b.WriteString(q.String())
	}
	n := len(p.List) + p.Omitted
	switch {
	case p.Omitted > 0:
		fmt.Fprintf(&b, "%d problems, the first %d are shown", n, len(p.List))
	case n == 1:
		b.WriteString("1 problem")
	default:
		fmt.Fprintf(&b, "%d problems", n)
	}
	return b.String()
}

// maxProblems is how many are told; the rest is counted.
const maxProblems = 50

// problems collects, without saying the same thing twice.
type problems struct {
	list    []*Problem
	omitted int
	seen    map[string]bool
}

func (ps *problems) add(p *Problem) {
	key := p.Pos.String() + "\x00" + p.Msg
	if ps.seen == nil {
		ps.seen = map[string]bool{}
	}
	if ps.seen[key] {
		return
	}
	ps.seen[key] = true
	if len(ps.list) >= maxProblems {
		ps.omitted++
		return
	}
	ps.list = append(ps.list, p)
}

func (ps *problems) err() error {
	if len(ps.list) == 0 {
		return nil
	}
	slices.SortStableFunc(ps.list, func(a, b *Problem) int {
		if a.Pos.File != b.Pos.File {
			return 0 // files stay in the order in which they were read
		}
		if a.Pos.Line != b.Pos.Line {
			return a.Pos.Line - b.Pos.Line
		}
		return a.Pos.Col - b.Pos.Col
	})
	return &Problems{ps.list, ps.omitted}
}

// A site is a place that problems can be reported at: a call in a script, with its stack.
type site struct {
	tree  *tree
	call  starlark.CallFrame // the frame that holds the call; its Pos is the parenthesis
	stack []Frame
}

// here is the call of the built-in that runs on the thread.
func (ev *evaluator) here(t *starlark.Thread) site {
	if t.CallStackDepth() < 2 {
		return site{}
	}
	f := t.CallFrame(1)
	return site{tree: ev.trees[f.Pos.Filename()], call: f, stack: framesOf(t.CallStack())}
}

// framesOf drops built-ins, which have no place in the script.
func framesOf(cs starlark.CallStack) []Frame {
	var out []Frame
	for _, f := range cs {
		if f.Pos.Line > 0 && f.Name != repeatGuard && f.Name != joinGuard {
			out = append(out, Frame{f.Name, position(f.Pos)})
		}
	}
	return out
}

// pos is the place of the call itself.
func (s site) pos() spec.Pos {
	if s.tree != nil {
		if sp, ok := s.tree.callee(s.call.Pos); ok {
			return sp.pos
		}
	}
	return position(s.call.Pos)
}

// report notes a problem at an argument of the call, or at the call when the argument can't be found.
func (ev *evaluator) report(s site, a argument, msg, hint string) {
	sp, ok := span{}, false
	if s.tree != nil {
		if sp, ok = s.tree.argument(s.call.Pos, a); !ok {
			sp, ok = s.tree.callee(s.call.Pos)
		}
	}
	if !ok {
		sp = span{position(s.call.Pos), 1}
	}
	ev.reportSpan(s, sp, msg, hint)
}

// reportElement notes a problem at an element of a list given as an argument.
func (ev *evaluator) reportElement(s site, a argument, i int, msg, hint string) {
	if s.tree != nil {
		if sp, ok := s.tree.element(s.call.Pos, a, i); ok {
			ev.reportSpan(s, sp, msg, hint)
			return
		}
	}
	ev.report(s, a, msg, hint)
}

func (ev *evaluator) reportSpan(s site, sp span, msg, hint string) {
	p := &Problem{Pos: sp.pos, Width: sp.width, Msg: msg, Hint: hint, Stack: s.stack}
	if t := ev.trees[sp.pos.File]; t != nil {
		p.Line = maskPasswords(t.line(sp.pos.Line))
	}
	ev.problems.add(p)
}

var passwords = regexp.MustCompile(`(?i)(://[^:/@\s"']*:|password=)([^@\s"'&]+)`)

// maskPasswords covers the passwords of connection strings in a source line, column for column.
func maskPasswords(line string) string {
	return passwords.ReplaceAllStringFunc(line, func(m string) string {
		g := passwords.FindStringSubmatch(m)
		return g[1] + strings.Repeat("*", utf8.RuneCountInString(g[2]))
	})
}

// didYouMean is the hint for a misspelt name, or "".
func didYouMean(name string, candidates []string) string {
	if n := spec.Nearest(name, candidates); n != "" {
		return fmt.Sprintf("did you mean %q?", n)
	}
	return ""
}
