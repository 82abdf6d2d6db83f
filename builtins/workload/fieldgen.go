package workload

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"sextant/interp/driver"
	"sextant/interp/load"
	"sextant/interp/spec"
)

// A gen makes the values of a field or of a parameter. It has no state: a value is a function of the stream r and, for
// sequence, of the row i. One of number and text is set.
type gen struct {
	column driver.Column // type and size; the name is the field's
	number func(r *load.Rand, i int64) int64
	text   func(b []byte, r *load.Rand, i int64) []byte // appends to b
}

// append appends a value in text form.
func (g *gen) append(b []byte, r *load.Rand, i int64) []byte {
	if g.number != nil {
		return strconv.AppendInt(b, g.number(r, i), 10)
	}
	return g.text(b, r, i)
}

// arg makes a value an argument; the memory of its text is used again.
func (g *gen) arg(a *driver.Arg, r *load.Rand, i int64) {
	if g.number != nil {
		a.Kind, a.Int = driver.IntArg, g.number(r, i)
		return
	}
	a.Kind, a.Text = driver.TextArg, g.text(a.Text[:0], r, i)
}

// stateless are the distributions that random_int takes: a draw depends on nothing but the stream.
func stateless() []string {
	return []string{"uniform", "zipfian", "scrambled_zipfian", "hotspot", "exponential"}
}

const stampLayout = "2006-01-02 15:04:05"

// genTypes are the constructors of generators.
func genTypes() []*spec.ValueType {
	integer := func(name, doc string, required bool, def any) spec.Param {
		return spec.Param{Name: name, Kind: spec.KindInt, Required: required, Default: def, Doc: doc}
	}
	stamp := func(name, def, doc string) spec.Param {
		return spec.Param{Name: name, Kind: spec.KindString, Default: def, Doc: doc, Check: func(v any) error {
			_, err := parseStamp(v.(string))
			return err
		}}
	}
	out := []*spec.ValueType{
		{Name: "random_int", Doc: "A whole number from low to high.", Positional: 3, Params: []spec.Param{
			integer("low", "lowest value", true, nil), integer("high", "highest value", true, nil),
			{Name: "distribution", Kind: spec.KindValue, Value: stateless(), Default: map[string]any{"$": "uniform"}, Doc: "which values are frequent"}},
			Check: func(p map[string]any) error {
				if low, high := p["low"].(int64), p["high"].(int64); high < low || high-low+1 <= 0 {
					return &spec.ParamError{Param: "high", Msg: fmt.Sprintf("must be at least low, %d, and not 2^63 above it; it is %d", low, high)}
				}
				return nil
			}},
		{Name: "random_text", Doc: "A text of random letters, digits, - and _.", Positional: 1, Params: []spec.Param{
			{Name: "bytes", Kind: spec.KindInt, Required: true, Doc: "its length", Check: spec.Between(1, maxField)}}},
		{Name: "sequence", Doc: "The number of the row, from first on; for fields only.", Positional: 1, Params: []spec.Param{integer("first", "value in the first row", false, int64(1))}},
		{Name: "choice", Doc: "One of some values, all of them numbers or all texts.", Positional: 1, Params: []spec.Param{
			{Name: "values", Kind: spec.KindList, Required: true, Doc: "the values"},
			{Name: "weights", Kind: spec.KindList, Doc: "how frequent each is; equally without"}},
			Check: func(p map[string]any) error { _, err := choiceGen(p); return err }},
		{Name: "timestamp", Doc: "An instant within a span, in whole seconds, without a time zone.", Positional: 2, Params: []spec.Param{
			stamp("first", "2020-01-01 00:00:00", "earliest"), stamp("last", "2030-01-01 00:00:00", "latest")},
			Check: func(p map[string]any) error {
				first, _ := parseStamp(p["first"].(string))
				if last, _ := parseStamp(p["last"].(string)); last.Before(first) {
					return &spec.ParamError{Param: "last", Msg: fmt.Sprintf("must not be before first, %v", p["first"])}
				}
				return nil
			}},
		{Name: "uuid", Doc: "A random UUID (version 4)."},
	}
	for _, w := range wordGens() {
		out = append(out, &spec.ValueType{Name: w.name, Doc: w.doc})
	}
	return out
}

func parseStamp(s string) (time.Time, error) {
	t, err := time.Parse(stampLayout, s)
	if err != nil {
		if t, err = time.Parse(time.DateOnly, s); err != nil {
			return t, fmt.Errorf("must be a date such as 2026-01-31, or one with a time, 2026-01-31 23:59:59, not %q", s)
		}
	}
	return t, nil
}

// genOf makes the generator of a value as a script gave it. What is no value of genTypes is an error.
func genOf(v any) (*gen, error) {
	p, _ := v.(map[string]any)
	name, _ := p["$"].(string)
	switch name {
	case "random_int":
		low := p["low"].(int64)
		n := p["high"].(int64) - low + 1
		c, err := chooserOf(p["distribution"].(map[string]any), n, 0)
		if err != nil {
			return nil, err
		}
		return &gen{column: intColumn(low, p["high"].(int64)), number: func(r *load.Rand, _ int64) int64 { return low + c.choose(r, n) }}, nil
	case "random_text":
		n, pairs := int(p["bytes"].(int64)), textPairs()
		return &gen{column: driver.Column{Bytes: n}, text: func(b []byte, r *load.Rand, _ int64) []byte {
			b = slices.Grow(b, n)
			at := len(b)
			b = b[:at+n]
			pairs.fill(b[at:], r)
			return b
		}}, nil
	case "sequence":
		first := p["first"].(int64)
		return &gen{column: driver.Column{Type: driver.BigInt, Bytes: 8}, number: func(_ *load.Rand, i int64) int64 { return first + i }}, nil
	case "choice":
		return choiceGen(p)
	case "timestamp":
		first, _ := parseStamp(p["first"].(string)) // checked when it was made
		last, _ := parseStamp(p["last"].(string))
		span := uint64(last.Sub(first)/time.Second) + 1
		return &gen{column: driver.Column{Type: driver.Timestamp, Bytes: 8}, text: func(b []byte, r *load.Rand, _ int64) []byte {
			return first.Add(time.Duration(r.Uint64N(span))*time.Second).AppendFormat(b, stampLayout)
		}}, nil
	case "uuid":
		return &gen{column: driver.Column{Bytes: 36}, text: appendUUID}, nil
	}
	for _, w := range wordGens() {
		if w.name == name {
			return &gen{column: driver.Column{Bytes: w.bytes}, text: w.text}, nil
		}
	}
	var names []string
	for _, t := range genTypes() {
		names = append(names, t.Name+"(...)")
	}
	return nil, fmt.Errorf("must be a generator such as random_int(1, 100), not %s; there are %s", spec.Display(v), strings.Join(names, ", "))
}

func intColumn(low, high int64) driver.Column {
	if low < -1<<31 || high >= 1<<31 {
		return driver.Column{Type: driver.BigInt, Bytes: 8}
	}
	return driver.Column{Type: driver.Int, Bytes: 4}
}

// choiceGen draws one of a list by its weights.
func choiceGen(p map[string]any) (*gen, error) {
	values, _ := p["values"].([]any)
	given, _ := p["weights"].([]any)
	if len(values) == 0 || len(given) > 0 && len(given) != len(values) {
		return nil, &spec.ParamError{Param: "weights", Msg: fmt.Sprintf("are %d for %d values", len(given), len(values))}
	}
	weights := make([]float64, len(values))
	var sum float64
	for i := range weights {
		weights[i] = 1
		if len(given) > 0 {
			w, ok := weightOf(given[i])
			if !ok {
				return nil, &spec.ParamError{Param: "weights", Msg: fmt.Sprintf("hold %s; a weight is a number from 0", spec.Display(given[i]))}
			}
			weights[i] = w
		}
		sum += weights[i]
	}
	if sum <= 0 {
		return nil, &spec.ParamError{Param: "weights", Msg: "have none above 0"}
	}
	bounds := cumulative(weights)
	numbers, texts := make([]int64, len(values)), make([]string, len(values))
	var ints, size int
	for i, v := range values {
		switch v := v.(type) {
		case int64:
			numbers[i] = v
			ints++
		case string:
			texts[i], size = v, max(size, len(v))
		default:
			return nil, &spec.ParamError{Param: "values", Msg: fmt.Sprintf("hold %s; they are whole numbers or texts", spec.Display(v))}
		}
	}
	switch ints {
	case len(values):
		return &gen{column: intColumn(slices.Min(numbers), slices.Max(numbers)), number: func(r *load.Rand, _ int64) int64 { return numbers[pick(bounds, r)] }}, nil
	case 0:
		return &gen{column: driver.Column{Bytes: max(size, 1)}, text: func(b []byte, r *load.Rand, _ int64) []byte { return append(b, texts[pick(bounds, r)]...) }}, nil
	}
	return nil, &spec.ParamError{Param: "values", Msg: "hold numbers and texts; a field has one type"}
}

// weightOf reads a weight: a finite number from 0.
func weightOf(v any) (float64, bool) {
	w, ok := numberOf(v)
	return w, ok && w >= 0
}

// numberOf is a value of a script that is a number, whole or not.
func numberOf(v any) (float64, bool) {
	switch v := v.(type) {
	case int64:
		return float64(v), true
	case float64:
		return v, true
	}
	return 0, false
}
