package pgscript

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// A Problem is what is wrong with a script, and on which line, from 1.
type Problem struct {
	Line int
	Msg  string
}

func (p *Problem) Error() string { return fmt.Sprintf("line %d: %s", p.Line, p.Msg) }

// A Script is a parsed script. It is read-only and shared by all clients.
type Script struct {
	Name       string
	Statements []driver.Statement
	cmds       []command
	vars       []string // names by slot
}

// Sleeps says whether it has a \sleep.
func (s *Script) Sleeps() bool {
	return slices.ContainsFunc(s.cmds, func(c command) bool { return c.kind == cmdSleep })
}

// Given are the variables that every script finds set: client_id, scale, random_seed, default_seed.
func Given() []string { return []string{"client_id", "scale", "random_seed", "default_seed"} }

type kind uint8

const (
	cmdSQL      kind = iota
	cmdSet           // slot = expr
	cmdIf            // jump when expr doesn't hold
	cmdJump          // to jump
	cmdSleep         // expr times unit
	cmdPipeline      // begins
	cmdFlush         // the pipeline, which ends unless more is said
)

type command struct {
	kind   kind
	line   int
	stmt   int    // into Statements
	args   []int  // slots of a statement's arguments
	gset   bool   // its one row sets variables
	prefix string // of their names
	slot   int
	expr   expr
	unit   time.Duration
	jump   int
	more   bool // \syncpipeline: the pipeline goes on
}

// parser is the state of Parse.
type parser struct {
	s      *Script
	known  map[string]int
	blocks []block
	piping bool
}

// block is an open \if.
type block struct {
	line  int
	test  int   // command whose jump is to be set at the next \elif, \else or \endif; -1 after \else
	exits []int // commands that jump to the \endif
}

// Parse reads a script. An error is a *Problem.
func Parse(name, text string) (*Script, error) {
	pieces, err := split(text)
	if err != nil {
		return nil, err
	}
	p := &parser{s: &Script{Name: name}, known: map[string]int{}}
	for _, g := range Given() {
		p.define(g)
	}
	for _, x := range pieces {
		var msg error
		if x.meta {
			msg = p.meta(x)
		} else {
			msg = p.sql(x)
		}
		if msg != nil {
			return nil, &Problem{x.line, msg.Error()}
		}
	}
	switch {
	case len(p.blocks) > 0:
		return nil, &Problem{p.blocks[len(p.blocks)-1].line, `\if without \endif`}
	case p.piping:
		return nil, &Problem{pieces[len(pieces)-1].line, `\startpipeline without \endpipeline`}
	case len(p.s.Statements) == 0:
		return nil, &Problem{1, "the script has no SQL command"}
	}
	return p.s, nil
}

func (p *parser) define(name string) int {
	if n, ok := p.known[name]; ok {
		return n
	}
	p.s.vars = append(p.s.vars, name)
	p.known[name] = len(p.s.vars) - 1
	return len(p.s.vars) - 1
}

func (p *parser) slot(name string) (int, error) {
	if n, ok := p.known[name]; ok {
		return n, nil
	}
	hint := ""
	if n := spec.Nearest(name, p.s.vars); n != "" {
		hint = fmt.Sprintf("; did you mean :%s?", n)
	}
	return 0, fmt.Errorf(`variable %s is never set before%s`, name, hint)
}

func (p *parser) add(c command) int {
	p.s.cmds = append(p.s.cmds, c)
	return len(p.s.cmds) - 1
}

func (p *parser) sql(x piece) error {
	c := command{kind: cmdSQL, line: x.line, stmt: len(p.s.Statements)}
	var st driver.Statement
	rest := x.text
	for {
		before, name, after, quoted := variable(rest)
		for _, q := range quoted {
			if _, ok := p.known[q]; ok {
				return fmt.Errorf(":%s stands within quotes, where a prepared statement can't replace it", q)
			}
		}
		st.Parts = append(st.Parts, before)
		if name == "" {
			break
		}
		slot, err := p.slot(name)
		if err != nil {
			return err
		}
		c.args = append(c.args, slot)
		rest = after
	}
	p.s.Statements = append(p.s.Statements, st)
	p.add(c)
	return nil
}

func metaCommands() []string {
	return []string{"set", "sleep", "if", "elif", "else", "endif", "gset", "startpipeline", "syncpipeline", "endpipeline"}
}

func (p *parser) meta(x piece) error {
	word, rest, _ := strings.Cut(strings.ReplaceAll(x.text, "\t", " "), " ")
	rest = strings.TrimSpace(rest)
	switch word {
	case "set":
		return p.setVariable(x.line, rest)
	case "sleep":
		return p.sleep(x.line, rest)
	case "if", "elif", "else", "endif":
		return p.condition(x.line, word, rest)
	case "gset":
		return p.gset(rest)
	case "startpipeline", "endpipeline", "syncpipeline":
		return p.pipeline(x.line, word)
	case "setshell", "shell":
		return fmt.Errorf(`\%s is refused: an experiment must not depend on a shell`, word)
	case "aset":
		return fmt.Errorf(`\aset is not supported: \gset takes the row of the command before it`)
	}
	if n := spec.Nearest(word, metaCommands()); n != "" {
		return fmt.Errorf(`unknown meta-command \%s; did you mean \%s?`, word, n)
	}
	return fmt.Errorf(`unknown meta-command \%s; there are \%s`, word, strings.Join(metaCommands(), `, \`))
}

func (p *parser) setVariable(line int, rest string) error {
	name, text, _ := strings.Cut(rest, " ")
	if nameLength(name) != len(name) || name == "" {
		return fmt.Errorf(`\set needs a variable's name, not %q`, name)
	}
	if strings.TrimSpace(text) == "" {
		return fmt.Errorf(`\set %s needs an expression`, name)
	}
	e, err := parseExpr(text, p.slot)
	if err != nil {
		return fmt.Errorf(`\set %s: %w`, name, err)
	}
	p.add(command{kind: cmdSet, line: line, slot: p.define(name), expr: e})
	return nil
}

func (p *parser) sleep(line int, rest string) error {
	words := strings.Fields(rest)
	unit := "s"
	if len(words) == 2 {
		unit = words[1]
	} else if len(words) == 1 {
		if i := strings.IndexFunc(words[0], func(r rune) bool { return r >= 'a' && r <= 'z' }); i > 0 && words[0][0] != ':' {
			words[0], unit = words[0][:i], words[0][i:]
		}
	}
	units := map[string]time.Duration{"us": time.Microsecond, "ms": time.Millisecond, "s": time.Second}
	if len(words) == 0 || len(words) > 2 || units[unit] == 0 {
		return fmt.Errorf(`\sleep takes a number and us, ms or s, not %q`, rest)
	}
	if n, err := strconv.ParseInt(words[0], 10, 64); err != nil && words[0][0] != ':' || n < 0 {
		return fmt.Errorf(`\sleep takes a number or a variable, not %q`, words[0])
	}
	e, err := parseExpr(words[0], p.slot)
	if err != nil {
		return fmt.Errorf(`\sleep: %w`, err)
	}
	p.add(command{kind: cmdSleep, line: line, expr: e, unit: units[unit]})
	return nil
}

func (p *parser) condition(line int, word, rest string) error {
	if word != "if" && len(p.blocks) == 0 {
		return fmt.Errorf(`\%s without \if`, word)
	}
	if word == "if" {
		e, err := parseExpr(rest, p.slot)
		if err != nil {
			return fmt.Errorf(`\if: %w`, err)
		}
		p.blocks = append(p.blocks, block{line: line, test: p.add(command{kind: cmdIf, line: line, expr: e})})
		return nil
	}
	b := &p.blocks[len(p.blocks)-1]
	if b.test < 0 && word != "endif" {
		return fmt.Errorf(`\%s after \else`, word)
	}
	if word != "endif" {
		b.exits = append(b.exits, p.add(command{kind: cmdJump, line: line}))
	}
	if b.test >= 0 {
		p.s.cmds[b.test].jump = len(p.s.cmds)
	}
	b.test = -1
	switch word {
	case "elif":
		e, err := parseExpr(rest, p.slot)
		if err != nil {
			return fmt.Errorf(`\elif: %w`, err)
		}
		b.test = p.add(command{kind: cmdIf, line: line, expr: e})
	case "endif":
		for _, x := range b.exits {
			p.s.cmds[x].jump = len(p.s.cmds)
		}
		p.blocks = p.blocks[:len(p.blocks)-1]
	}
	return nil
}

// gset marks the command before it; its columns are known only once the server has described it, so every variable that
// the text names later with this prefix counts as set here.
func (p *parser) gset(prefix string) error {
	n := len(p.s.cmds)
	switch {
	case n == 0 || p.s.cmds[n-1].kind != cmdSQL || p.s.cmds[n-1].gset:
		return fmt.Errorf(`\gset must follow an SQL command`)
	case p.piping:
		return fmt.Errorf(`\gset can't be used within a pipeline`)
	case nameLength(prefix) != len(prefix):
		return fmt.Errorf(`\gset takes a prefix of names, not %q`, prefix)
	}
	p.s.cmds[n-1].gset, p.s.cmds[n-1].prefix = true, prefix
	for _, name := range columnNames(p.s.Statements[p.s.cmds[n-1].stmt]) {
		p.define(prefix + name)
	}
	return nil
}

// columnNames are the plain words of a statement: among them are the names of its columns, which the server alone knows.
func columnNames(st driver.Statement) []string {
	var out []string
	for _, part := range st.Parts {
		for _, w := range strings.FieldsFunc(part, func(r rune) bool {
			return !(r == '_' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9')
		}) {
			if w = strings.ToLower(w); nameLength(w) == len(w) && !slices.Contains(out, w) {
				out = append(out, w)
			}
		}
	}
	return out
}

func (p *parser) pipeline(line int, word string) error {
	if begins := word == "startpipeline"; begins == p.piping {
		if begins {
			return fmt.Errorf(`\startpipeline within a pipeline`)
		}
		return fmt.Errorf(`\%s without \startpipeline`, word)
	}
	switch word {
	case "startpipeline":
		p.piping = true
		p.add(command{kind: cmdPipeline, line: line})
	case "syncpipeline":
		p.add(command{kind: cmdFlush, line: line, more: true})
	default:
		p.piping = false
		p.add(command{kind: cmdFlush, line: line})
	}
	return nil
}
