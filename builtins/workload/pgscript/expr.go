package pgscript

import (
	"fmt"
	"strconv"
	"strings"

	"sextant/interp/driver"
	"sextant/interp/load"
)

// env is what an expression is evaluated in.
type env struct {
	vars []value
	set  []bool
	rng  *load.Rand
	seed int64 // :default_seed
	// stack holds the arguments of the function calls in progress
	stack []value
}

// expr is a compiled expression.
type expr func(*env) (value, error)

// exprParser is a parser of one expression by precedence, lowest first: OR, AND, NOT, IS, comparisons, | and #, &, shifts,
// + and -, * / and %, unary signs.
type exprParser struct {
	toks []token
	i    int
	slot func(name string) (int, error) // of a variable
}

// parseExpr compiles an expression.
func parseExpr(s string, slot func(string) (int, error)) (expr, error) {
	toks, err := tokens(s)
	if err != nil {
		return nil, err
	}
	p := &exprParser{toks: toks, slot: slot}
	e, err := p.binary(0)
	if err == nil && p.peek().kind != 0 {
		err = fmt.Errorf("unexpected %q", p.peek().text)
	}
	return e, err
}

func (p *exprParser) peek() token { return p.toks[p.i] }

// accept takes the next token when it is this operator or word.
func (p *exprParser) accept(texts ...string) (string, bool) {
	t := p.peek()
	for _, x := range texts {
		if t.kind == 'o' && t.text == x || t.kind == 'w' && strings.EqualFold(t.text, x) {
			p.i++
			return x, true
		}
	}
	return "", false
}

func (p *exprParser) expect(text string) error {
	if _, ok := p.accept(text); ok {
		return nil
	}
	if t := p.peek(); t.kind != 0 {
		return fmt.Errorf("%q is expected, not %q", text, t.text)
	}
	return fmt.Errorf("%q is missing at the end", text)
}

// levels are the binary operators by precedence.
func levels() [][]string {
	return [][]string{{"OR"}, {"AND"}, nil, {"IS", "ISNULL", "NOTNULL"}, {"=", "<>", "!=", "<=", ">=", "<", ">"},
		{"|", "#"}, {"&"}, {"<<", ">>"}, {"+", "-"}, {"*", "/", "%"}}
}

const notLevel = 2

func (p *exprParser) binary(level int) (expr, error) {
	all := levels()
	if level == len(all) {
		return p.unary()
	}
	if level == notLevel {
		return p.not()
	}
	left, err := p.binary(level + 1)
	for err == nil {
		op, ok := p.accept(all[level]...)
		if !ok {
			return left, nil
		}
		if all[level][0] == "IS" {
			left, err = p.is(op, left)
			continue
		}
		var right expr
		if right, err = p.binary(level + 1); err == nil {
			left = combine(op, left, right)
		}
	}
	return nil, err
}

func combine(op string, left, right expr) expr {
	switch op {
	case "OR", "AND":
		return logic(op == "AND", left, right)
	case "=", "<>", "!=", "<=", ">=", "<", ">":
		return two(left, right, func(a, b value) (value, error) { return compare(op, a, b) })
	}
	return two(left, right, func(a, b value) (value, error) { return arithmetic(op, a, b) })
}

func two(left, right expr, f func(a, b value) (value, error)) expr {
	return func(v *env) (value, error) {
		a, err := left(v)
		if err != nil {
			return a, err
		}
		b, err := right(v)
		if err != nil {
			return b, err
		}
		return f(a, b)
	}
}

// logic is AND or OR as pgbench has them: NULL on the left makes NULL whatever stands on the right, which is looked at only
// when the left one doesn't decide.
func logic(and bool, left, right expr) expr {
	return func(v *env) (value, error) {
		a, err := left(v)
		if err != nil {
			return a, err
		}
		is, null, err := truth(a)
		switch {
		case err != nil || null:
			return value{}, err
		case is != and:
			return boolean(is), nil
		}
		b, err := right(v)
		if err != nil {
			return b, err
		}
		is, null, err = truth(b)
		if err != nil || null {
			return value{}, err
		}
		return boolean(is), nil
	}
}

func (p *exprParser) not() (expr, error) {
	if _, ok := p.accept("NOT"); !ok {
		return p.binary(notLevel + 1)
	}
	e, err := p.not()
	if err != nil {
		return nil, err
	}
	return func(v *env) (value, error) {
		a, err := e(v)
		if err != nil {
			return a, err
		}
		is, null, err := truth(a)
		if null || err != nil {
			return value{}, err
		}
		return boolean(!is), nil
	}, nil
}

// is: IS [NOT] NULL/TRUE/FALSE, ISNULL, NOTNULL.
func (p *exprParser) is(op string, left expr) (expr, error) {
	negate, want := op == "NOTNULL", value{}
	if op == "IS" {
		_, negate = p.accept("NOT")
		w, ok := p.accept("NULL", "TRUE", "FALSE")
		if !ok {
			return nil, fmt.Errorf("IS takes NULL, TRUE or FALSE, not %q", p.peek().text)
		}
		if w != "NULL" {
			want = boolean(w == "TRUE")
		}
	}
	return func(v *env) (value, error) {
		a, err := left(v)
		return boolean(same(a, want) != negate), err
	}, nil
}

func (p *exprParser) unary() (expr, error) {
	op, ok := p.accept("+", "-", "~")
	if !ok {
		return p.primary()
	}
	if t := p.peek(); op == "-" && t.kind == 'n' && t.text == "9223372036854775808" {
		p.i++ // the one integer without a positive counterpart
		return constant(integer(-1 << 63)), nil
	}
	e, err := p.unary()
	if err != nil {
		return nil, err
	}
	switch op {
	case "-":
		return two(constant(integer(0)), e, func(a, b value) (value, error) { return arithmetic("-", a, b) }), nil
	case "~":
		return two(constant(integer(-1)), e, func(a, b value) (value, error) { return arithmetic("#", a, b) }), nil
	}
	return e, nil
}

func constant(v value) expr { return func(*env) (value, error) { return v, nil } }

func (p *exprParser) primary() (expr, error) {
	t := p.peek()
	p.i++
	switch t.kind {
	case 'n':
		if n, err := strconv.ParseInt(t.text, 10, 64); err == nil {
			return constant(integer(n)), nil
		}
		f, err := strconv.ParseFloat(t.text, 64)
		if err != nil || !strings.ContainsAny(t.text, ".eE") {
			return nil, fmt.Errorf("%q is no number that fits", t.text)
		}
		return constant(double(f)), nil
	case 'v':
		slot, err := p.slot(t.text)
		if err != nil {
			return nil, err
		}
		return func(v *env) (value, error) {
			if !v.set[slot] {
				return value{}, fmt.Errorf("variable %s has no value yet", t.text)
			}
			return v.vars[slot], nil
		}, nil
	case 'o':
		if t.text == "(" {
			e, err := p.binary(0)
			if err == nil {
				err = p.expect(")")
			}
			return e, err
		}
	case 'w':
		switch strings.ToUpper(t.text) {
		case "NULL":
			return constant(value{}), nil
		case "TRUE", "FALSE":
			return constant(boolean(strings.EqualFold(t.text, "true"))), nil
		case "CASE":
			return p.cases()
		}
		if _, ok := p.accept("("); ok {
			return p.call(strings.ToLower(t.text))
		}
		return nil, fmt.Errorf("%q is no function; a variable is written :%s", t.text, t.text)
	}
	p.i--
	if t.kind == 0 {
		return nil, fmt.Errorf("the expression is not complete")
	}
	return nil, fmt.Errorf("unexpected %q", t.text)
}

// cases: CASE WHEN condition THEN expr ... [ELSE expr] END.
func (p *exprParser) cases() (expr, error) {
	var conds, thens []expr
	otherwise := constant(value{})
	for {
		if _, ok := p.accept("WHEN"); !ok {
			break
		}
		c, err := p.binary(0)
		if err == nil {
			err = p.expect("THEN")
		}
		if err != nil {
			return nil, err
		}
		e, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		conds, thens = append(conds, c), append(thens, e)
	}
	if len(conds) == 0 {
		return nil, fmt.Errorf("CASE needs WHEN")
	}
	if _, ok := p.accept("ELSE"); ok {
		e, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		otherwise = e
	}
	if err := p.expect("END"); err != nil {
		return nil, err
	}
	return func(v *env) (value, error) {
		for i, c := range conds {
			a, err := c(v)
			if err != nil {
				return a, err
			}
			if is, _, err := truth(a); err != nil || is {
				if err != nil {
					return a, err
				}
				return thens[i](v)
			}
		}
		return otherwise(v)
	}, nil
}

// call compiles the arguments of a function; its opening parenthesis is taken.
func (p *exprParser) call(name string) (expr, error) {
	f, ok := functions()[name]
	if !ok {
		return nil, unknownFunction(name)
	}
	var args []expr
	if _, ok := p.accept(")"); !ok {
		for {
			a, err := p.binary(0)
			if err != nil {
				return nil, err
			}
			args = append(args, a)
			if _, ok := p.accept(","); !ok {
				break
			}
		}
		if err := p.expect(")"); err != nil {
			return nil, err
		}
	}
	if len(args) < f.min || len(args) > f.max {
		return nil, fmt.Errorf("%s takes %s, not %d", name, f.arity(), len(args))
	}
	return func(v *env) (value, error) {
		base := len(v.stack)
		defer func() { v.stack = v.stack[:base] }()
		for _, a := range args {
			x, err := a(v)
			if err != nil || x.Kind == driver.Null && !f.nulls {
				return value{}, err
			}
			v.stack = append(v.stack, x)
		}
		return f.do(v, v.stack[base:])
	}, nil
}
