package pgscript

import (
	"errors"
	"fmt"
	"math"
	"math/bits"
	"strconv"

	"sextant/interp/driver"
)

// value is what variables and expressions hold.
type value = driver.Arg

func integer(n int64) value  { return value{Kind: driver.IntArg, Int: n} }
func double(f float64) value { return value{Kind: driver.FloatArg, Float: f} }

func boolean(b bool) value {
	v := value{Kind: driver.BoolArg}
	if b {
		v.Int = 1
	}
	return v
}

var errRange = errors.New("integer out of range")

// number reads a text that \gset has stored as what it looks like.
func number(v value) value {
	if v.Kind != driver.TextArg {
		return v
	}
	s := string(v.Text)
	if n, err := strconv.ParseInt(s, 10, 64); err == nil {
		return integer(n)
	}
	if f, err := strconv.ParseFloat(s, 64); err == nil {
		return double(f)
	}
	switch s {
	case "t", "true", "on", "yes":
		return boolean(true)
	case "f", "false", "off", "no":
		return boolean(false)
	}
	return v
}

func asFloat(v value) (float64, error) {
	switch v = number(v); v.Kind {
	case driver.IntArg:
		return float64(v.Int), nil
	case driver.FloatArg:
		return v.Float, nil
	}
	return 0, fmt.Errorf("%s is no number", show(v))
}

func asInt(v value) (int64, error) {
	switch v = number(v); v.Kind {
	case driver.IntArg:
		return v.Int, nil
	case driver.FloatArg:
		f := math.RoundToEven(v.Float)
		if !(f >= -0x1p63 && f < 0x1p63) {
			return 0, errRange
		}
		return int64(f), nil
	}
	return 0, fmt.Errorf("%s is no integer", show(v))
}

// truth is the meaning of a value in a condition of the expression language: booleans and NULL only.
func truth(v value) (is, null bool, err error) {
	switch v = number(v); v.Kind {
	case driver.Null:
		return false, true, nil
	case driver.BoolArg:
		return v.Int != 0, false, nil
	}
	return false, false, fmt.Errorf("%s is no boolean", show(v))
}

// holds is the meaning of a value in \if: numbers other than 0 hold as well, NULL doesn't.
func holds(v value) (bool, error) {
	switch v = number(v); v.Kind {
	case driver.Null:
		return false, nil
	case driver.BoolArg, driver.IntArg:
		return v.Int != 0, nil
	case driver.FloatArg:
		return v.Float != 0, nil
	}
	return false, fmt.Errorf("%s is no condition", show(v))
}

func show(v value) string {
	if v.Kind == driver.Null {
		return "NULL"
	}
	return string(v.AppendText(nil))
}

// arithmetic is a op b for numbers; NULL with anything is NULL.
func arithmetic(op string, a, b value) (value, error) {
	a, b = number(a), number(b)
	if a.Kind == driver.Null || b.Kind == driver.Null {
		return value{}, nil
	}
	if a.Kind == driver.IntArg && b.Kind == driver.IntArg {
		return integers(op, a.Int, b.Int)
	}
	x, err := asFloat(a)
	if err != nil {
		return value{}, err
	}
	y, err := asFloat(b)
	if err != nil {
		return value{}, err
	}
	switch op {
	case "+":
		return finite(x + y)
	case "-":
		return finite(x - y)
	case "*":
		return finite(x * y)
	case "/":
		if y == 0 {
			return value{}, errors.New("division by zero")
		}
		return finite(x / y)
	}
	return value{}, fmt.Errorf("%s takes integers, not %s and %s", op, show(a), show(b))
}

func finite(f float64) (value, error) {
	if f-f != 0 {
		return value{}, errors.New("double precision out of range")
	}
	return double(f), nil
}

func integers(op string, a, b int64) (value, error) {
	switch op {
	case "+":
		if s := a + b; (s > a) == (b > 0) {
			return integer(s), nil
		}
		return value{}, errRange
	case "-":
		if s := a - b; (s < a) == (b > 0) {
			return integer(s), nil
		}
		return value{}, errRange
	case "*":
		return product(a, b)
	case "/", "%":
		switch {
		case b == 0:
			return value{}, errors.New("division by zero")
		case b == -1 && op == "%":
			return integer(0), nil
		case b == -1 && a == math.MinInt64:
			return value{}, errRange
		case op == "/":
			return integer(a / b), nil
		}
		return integer(a % b), nil
	case "&":
		return integer(a & b), nil
	case "|":
		return integer(a | b), nil
	case "#":
		return integer(a ^ b), nil
	case "<<", ">>":
		if b < 0 || b > 63 {
			return value{}, fmt.Errorf("a shift by %d", b)
		}
		if op == "<<" {
			return integer(a << b), nil
		}
		return integer(a >> b), nil
	}
	return value{}, fmt.Errorf("unknown operator %s", op)
}

func product(a, b int64) (value, error) {
	abs := func(n int64) uint64 {
		if n < 0 {
			return -uint64(n)
		}
		return uint64(n)
	}
	hi, lo := bits.Mul64(abs(a), abs(b))
	negative := (a < 0) != (b < 0)
	switch {
	case hi != 0, lo > 1<<63, lo == 1<<63 && !negative:
		return value{}, errRange
	case negative:
		return integer(int64(-lo)), nil
	}
	return integer(int64(lo)), nil
}

// compare is a op b for two values; NULL with anything is NULL.
func compare(op string, a, b value) (value, error) {
	a, b = number(a), number(b)
	if a.Kind == driver.Null || b.Kind == driver.Null {
		return value{}, nil
	}
	var c int
	switch {
	case a.Kind == b.Kind && (a.Kind == driver.IntArg || a.Kind == driver.BoolArg):
		c = order(a.Int, b.Int)
	default:
		x, err := asFloat(a)
		if err != nil {
			return value{}, err
		}
		y, err := asFloat(b)
		if err != nil {
			return value{}, err
		}
		c = order(x, y)
	}
	switch op {
	case "=":
		return boolean(c == 0), nil
	case "<>", "!=":
		return boolean(c != 0), nil
	case "<":
		return boolean(c < 0), nil
	case "<=":
		return boolean(c <= 0), nil
	case ">":
		return boolean(c > 0), nil
	}
	return boolean(c >= 0), nil
}

func order[T int64 | float64](a, b T) int {
	switch {
	case a < b:
		return -1
	case a > b:
		return 1
	}
	return 0
}

// same is IS: NULL and booleans equal themselves, never NULL.
func same(a, b value) bool {
	a, b = number(a), number(b)
	if a.Kind == driver.Null || b.Kind == driver.Null {
		return a.Kind == b.Kind
	}
	v, err := compare("=", a, b)
	return err == nil && v.Int != 0
}
