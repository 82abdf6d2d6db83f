package pgscript

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"sextant/interp/driver"
	"sextant/interp/spec"
)

// function is a function of the expression language.
type function struct {
	min, max int // arguments
	nulls    bool
	do       func(*env, []value) (value, error)
}

func (f function) arity() string {
	switch {
	case f.min == f.max && f.min == 1:
		return "1 argument"
	case f.min == f.max:
		return fmt.Sprintf("%d arguments", f.min)
	case f.max >= many:
		return fmt.Sprintf("at least %d arguments", f.min)
	}
	return fmt.Sprintf("%d or %d arguments", f.min, f.max)
}

const many = 1 << 20

// floats makes a function of doubles.
func floats(f func(float64) float64) function {
	return function{1, 1, false, func(_ *env, a []value) (value, error) {
		x, err := asFloat(a[0])
		if err != nil {
			return value{}, err
		}
		return finite(f(x))
	}}
}

func functions() map[string]function {
	pow := function{2, 2, false, func(_ *env, a []value) (value, error) {
		x, err := asFloat(a[0])
		if err != nil {
			return value{}, err
		}
		y, err := asFloat(a[1])
		if err != nil {
			return value{}, err
		}
		return finite(math.Pow(x, y))
	}}
	extreme := func(op string) function {
		return function{1, many, false, func(_ *env, a []value) (value, error) {
			best := a[0]
			for _, v := range a[1:] {
				better, err := compare(op, v, best)
				if err != nil {
					return value{}, err
				}
				if better.Int != 0 {
					best = v
				}
			}
			return best, nil
		}}
	}
	hash := func(h func(x, seed uint64) uint64) function {
		return function{1, 2, false, func(v *env, a []value) (value, error) {
			x, err := asInt(a[0])
			if err != nil {
				return value{}, err
			}
			seed := v.seed
			if len(a) == 2 {
				if seed, err = asInt(a[1]); err != nil {
					return value{}, err
				}
			}
			return integer(int64(h(uint64(x), uint64(seed)))), nil
		}}
	}
	return map[string]function{
		"abs": {1, 1, false, func(_ *env, a []value) (value, error) {
			v := number(a[0])
			if v.Kind == driver.IntArg {
				if v.Int < 0 {
					return integers("-", 0, v.Int)
				}
				return v, nil
			}
			f, err := asFloat(v)
			return double(math.Abs(f)), err
		}},
		"double": {1, 1, false, func(_ *env, a []value) (value, error) { f, err := asFloat(a[0]); return double(f), err }},
		"int":    {1, 1, false, func(_ *env, a []value) (value, error) { n, err := asInt(a[0]); return integer(n), err }},
		"exp":    floats(math.Exp), "ln": floats(math.Log), "sqrt": floats(math.Sqrt),
		"pi":  {0, 0, false, func(*env, []value) (value, error) { return double(math.Pi), nil }},
		"pow": pow, "power": pow,
		"mod": {2, 2, false, func(_ *env, a []value) (value, error) {
			x, err := asInt(a[0])
			if err != nil {
				return value{}, err
			}
			y, err := asInt(a[1])
			if err != nil {
				return value{}, err
			}
			return integers("%", x, y)
		}},
		"greatest": extreme(">"), "least": extreme("<"),
		"hash": hash(murmur2), "hash_murmur2": hash(murmur2), "hash_fnv1a": hash(fnv1a),
		"random": ranged(2, func(v *env, low int64, n uint64, _ float64) (int64, error) {
			if n == 0 {
				return int64(v.rng.Uint64()), nil // the whole range
			}
			return low + int64(v.rng.Uint64N(n)), nil
		}),
		"random_exponential": ranged(3, exponential), "random_gaussian": ranged(3, gaussian), "random_zipfian": ranged(3, zipfian),
	}
}

func unknownFunction(name string) error {
	names := slices.Sorted(maps.Keys(functions()))
	if n := spec.Nearest(name, names); n != "" {
		return fmt.Errorf("unknown function %s; did you mean %s?", name, n)
	}
	return fmt.Errorf("unknown function %s; there are %s", name, strings.Join(names, ", "))
}
