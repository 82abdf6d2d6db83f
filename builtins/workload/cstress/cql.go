package cstress

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"sextant/interp/spec"
)

// token is a piece of CQL: a name, a text in quotes, a placeholder, a sign.
var token = regexp.MustCompile(`(?s)--[^\n]*|//[^\n]*|/\*.*?\*/|'(?:[^']|'')*'|"(?:[^"]|"")*"|[A-Za-z_][A-Za-z0-9_]*|[0-9.]+|[<>!]=|\S`)

// tokens are those of a text without its comments, and where each begins and ends.
func tokens(text string) (out []string, at [][]int) {
	for _, m := range token.FindAllStringIndex(text, -1) {
		s := text[m[0]:m[1]]
		if strings.HasPrefix(s, "--") || strings.HasPrefix(s, "//") || strings.HasPrefix(s, "/*") {
			continue
		}
		out, at = append(out, s), append(at, m)
	}
	return out, at
}

// name is what an identifier means: in lower case unless it is quoted.
func name(tok string) string {
	if strings.HasPrefix(tok, `"`) {
		return strings.ReplaceAll(tok[1:len(tok)-1], `""`, `"`)
	}
	return strings.ToLower(tok)
}

var plain = regexp.MustCompile(`^[a-z0-9_]+$`)

// quote quotes a name where it must be, as the tool does.
func quote(n string) string {
	if plain.MatchString(n) {
		return n
	}
	return `"` + strings.ReplaceAll(n, `"`, `""`) + `"`
}

// parseTable reads CREATE TABLE.
func parseTable(text string) (*Table, error) {
	toks, at := tokens(text)
	word := func(i int, w string) bool { return i < len(toks) && strings.EqualFold(toks[i], w) }
	i := 2
	if !word(0, "create") || !word(1, "table") && !word(1, "columnfamily") {
		return nil, fmt.Errorf("table_definition is no CREATE TABLE")
	}
	if word(2, "if") && word(3, "not") && word(4, "exists") {
		i = 5
	}
	if i+1 < len(toks) && toks[i+1] == "." {
		i += 2
	}
	if i+1 >= len(toks) || toks[i+1] != "(" {
		return nil, fmt.Errorf("table_definition has no columns behind the table's name")
	}
	t := &Table{Name: name(toks[i]), Body: strings.TrimRight(strings.TrimSpace(text[at[i+1][0]:]), "; \n")}
	var parts [][]string
	depth, part := 0, []string{}
	closed := false
	for _, s := range toks[i+1:] {
		switch s {
		case "(", "<":
			depth++
			if depth == 1 {
				continue
			}
		case ")", ">":
			depth--
		}
		if depth == 0 || depth == 1 && s == "," {
			parts, part = append(parts, part), []string{}
			if closed = depth == 0; closed {
				break
			}
			continue
		}
		part = append(part, s)
	}
	if !closed {
		return nil, fmt.Errorf("table_definition has a parenthesis that is not closed")
	}
	var all []*Column
	var partition, clustering []string
	for _, p := range parts {
		if len(p) > 1 && strings.EqualFold(p[0], "primary") && strings.EqualFold(p[1], "key") {
			var err error
			if partition, clustering, err = primaryKey(p[2:]); err != nil {
				return nil, err
			}
			continue
		}
		if len(p) < 2 {
			return nil, fmt.Errorf("table_definition has the column %q, which has no type", strings.Join(p, " "))
		}
		c := &Column{Name: name(p[0])}
		typ := p[1:]
		if n := len(typ); n > 2 && strings.EqualFold(typ[n-2], "primary") && strings.EqualFold(typ[n-1], "key") {
			partition, typ = []string{c.Name}, typ[:n-2]
		}
		if n := len(typ); n > 1 && strings.EqualFold(typ[n-1], "static") {
			typ = typ[:n-1]
		}
		if err := c.setType(strings.Join(typ, "")); err != nil {
			return nil, err
		}
		all = append(all, c)
	}
	if partition == nil {
		return nil, fmt.Errorf("table_definition has no PRIMARY KEY")
	}
	for _, x := range []struct {
		names []string
		to    *[]*Column
	}{{partition, &t.Partition}, {clustering, &t.Clustering}} {
		for _, n := range x.names {
			j := slices.IndexFunc(all, func(c *Column) bool { return c.Name == n })
			if j < 0 {
				return nil, fmt.Errorf("the primary key has %s, which is no column or comes twice", n)
			}
			*x.to = append(*x.to, all[j])
			all = slices.Delete(all, j, j+1)
		}
	}
	t.Values = all
	return t, nil
}

// primaryKey reads "( a, b )" or "( ( a, b ), c )".
func primaryKey(toks []string) (partition, clustering []string, err error) {
	bad := fmt.Errorf("the primary key (%s) can't be read", strings.Join(toks, " "))
	if len(toks) < 3 || toks[0] != "(" || toks[len(toks)-1] != ")" {
		return nil, nil, bad
	}
	toks = toks[1 : len(toks)-1]
	first := toks[:1]
	if toks[0] == "(" {
		end := slices.Index(toks, ")")
		if end < 0 {
			return nil, nil, bad
		}
		first, toks = toks[1:end], toks[end:]
	}
	names := func(list []string) (out []string) {
		for _, s := range list {
			if s != "," {
				out = append(out, name(s))
			}
		}
		return out
	}
	return names(first), names(toks[1:]), nil
}

// A Query is a statement whose parameters are columns of the table.
type Query struct {
	Name  string
	Parts []string // one more than there are parameters
	Args  []int    // columns, as Index numbers them
	// SameRow: the arguments are those of one row; else each is of one of the first rows that a partition gives
	SameRow bool
	Reads   bool
	Adds    bool // to counters or collections: doing it twice is not as once
}

// parseQuery cuts a statement at its parameters and finds the column that each is compared with, or put into.
func (t *Table) parseQuery(q string) (*Query, error) {
	toks, at := tokens(q)
	out := &Query{Reads: len(toks) > 0 && strings.EqualFold(toks[0], "select")}
	from := 0
	for i, s := range toks {
		if s == ";" && i < len(toks)-1 {
			return nil, fmt.Errorf("has several statements")
		}
		if s != "?" {
			continue
		}
		column, err := t.columnOf(toks, i)
		if err != nil {
			return nil, fmt.Errorf("has a parameter, number %d, %w", len(out.Args)+1, err)
		}
		out.Parts, out.Args = append(out.Parts, q[from:at[i][0]]), append(out.Args, column)
		from = at[i][1]
	}
	out.Parts = append(out.Parts, strings.TrimRight(q[from:], "; \n"))
	return out, nil
}

// columnOf is the column of the placeholder at i.
func (t *Table) columnOf(toks []string, i int) (int, error) {
	var what string
	switch {
	case i >= 2 && slices.Contains([]string{"=", "<", ">", "<=", ">=", "!=", "+", "-"}, toks[i-1]):
		what = toks[i-2]
	case inList(toks, i) >= 0:
		what = toks[inList(toks, i)]
	default:
		var err error
		if what, err = inValues(toks, i); err != nil {
			return 0, err
		}
	}
	n := t.Index(name(what))
	if n < 0 {
		var names []string
		for _, c := range t.Columns() {
			names = append(names, c.Name)
		}
		err := fmt.Errorf("that belongs to %s, which is no column of %s", what, t.Name)
		if s := spec.Nearest(name(what), names); s != "" {
			err = fmt.Errorf("%w; did you mean %s?", err, s)
		}
		return 0, err
	}
	return n, nil
}

// inList is the place of the column of "x IN ( ?, ? )", or -1.
func inList(toks []string, i int) int {
	for i--; i > 1 && (toks[i] == "?" || toks[i] == ","); i-- {
	}
	if i > 1 && toks[i] == "(" && strings.EqualFold(toks[i-1], "in") {
		return i - 2
	}
	return -1
}

// inValues is the column of a placeholder in "INSERT INTO t (a, b) VALUES (?, ?)".
func inValues(toks []string, i int) (string, error) {
	lost := fmt.Errorf("of which can't be told to which column it belongs")
	open := slices.Index(toks, "(")
	values := slices.IndexFunc(toks, func(s string) bool { return strings.EqualFold(s, "values") })
	if len(toks) == 0 || !strings.EqualFold(toks[0], "insert") || open < 0 || values < open || i < values+2 {
		return "", lost
	}
	n, depth := 0, 0
	for _, s := range toks[values+2 : i] {
		switch s {
		case "(", "{", "[":
			depth++
		case ")", "}", "]":
			depth--
		case ",":
			if depth == 0 {
				n++
			}
		}
	}
	if depth != 0 || open+1+2*n >= values {
		return "", lost
	}
	return toks[open+1+2*n], nil
}

// insert is the statement by which the tool writes a row.
func (t *Table) insert() *Query {
	q := &Query{Name: "insert", SameRow: true}
	var b strings.Builder
	param := func(c *Column) {
		q.Parts, q.Args = append(q.Parts, b.String()), append(q.Args, t.Index(c.Name))
		b.Reset()
	}
	keys := append(append([]*Column{}, t.Partition...), t.Clustering...)
	if len(t.Values) == 0 {
		var names []string
		for _, c := range keys {
			names = append(names, quote(c.Name))
		}
		b.WriteString("INSERT INTO " + quote(t.Name) + " (" + strings.Join(names, ", ") + ") values(")
		for i, c := range keys {
			if i > 0 {
				b.WriteString(", ")
			}
			param(c)
		}
		q.Parts = append(q.Parts, ")")
		return q
	}
	b.WriteString("UPDATE " + quote(t.Name) + " SET ")
	for i, c := range t.Values {
		if i > 0 {
			b.WriteString(",")
		}
		b.WriteString(quote(c.Name) + " = ")
		if c.base == "counter" || c.element != "" && !c.frozen {
			b.WriteString(quote(c.Name) + " + ")
			q.Adds = true
		}
		param(c)
	}
	b.WriteString(" WHERE ")
	for i, c := range keys {
		if i > 0 {
			b.WriteString(" AND ")
		}
		b.WriteString(quote(c.Name) + " = ")
		param(c)
	}
	q.Parts = append(q.Parts, "")
	return q
}
