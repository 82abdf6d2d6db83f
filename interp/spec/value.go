package spec

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strconv"
	"time"
)

// A Value is what an axis, an option or a parameter may hold: nil, bool, int64, float64, string, time.Duration,
// Secret, []any of Values, or map[string]any of Values. Nothing else is ever stored under the type any in a plan.
type Value = any

// A Secret names a value that is looked up when a run starts and is never written anywhere. Only its name is part of
// the plan.
type Secret struct{ Name string }

// String shows the reference, never the value.
func (s Secret) String() string { return "secret(" + strconv.Quote(s.Name) + ")" }

// Canonical appends the canonical form of v to b: JSON with sorted keys, integers without and floats always with a
// fraction or exponent (so 1 and 1.0 differ), durations as {"$ns":n}, secrets as {"$secret":"NAME"}. Values that are
// not a Value, and NaN or infinite floats, are an error.
func Canonical(b []byte, v Value) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(b, "null"...), nil
	case bool:
		return strconv.AppendBool(b, v), nil
	case int64:
		return strconv.AppendInt(b, v, 10), nil
	case int:
		return strconv.AppendInt(b, int64(v), 10), nil
	case float64:
		return appendFloat(b, v)
	case string:
		return appendString(b, v), nil
	case time.Duration:
		return append(strconv.AppendInt(append(b, `{"$ns":`...), int64(v), 10), '}'), nil
	case Secret:
		return append(appendString(append(b, `{"$secret":`...), v.Name), '}'), nil
	case []any:
		b = append(b, '[')
		var err error
		for i, e := range v {
			if i > 0 {
				b = append(b, ',')
			}
			if b, err = Canonical(b, e); err != nil {
				return b, fmt.Errorf("element %d: %w", i, err)
			}
		}
		return append(b, ']'), nil
	case map[string]any:
		return appendMap(b, v)
	}
	return b, fmt.Errorf("a value of type %T has no canonical form", v)
}

func appendMap(b []byte, m map[string]any) ([]byte, error) {
	keys := make([]string, 0, len(m))
	for k := range m {
		keys = append(keys, k)
	}
	slices.Sort(keys)
	b = append(b, '{')
	var err error
	for i, k := range keys {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(appendString(b, k), ':')
		if b, err = Canonical(b, m[k]); err != nil {
			return b, fmt.Errorf("key %q: %w", k, err)
		}
	}
	return append(b, '}'), nil
}

func appendFloat(b []byte, f float64) ([]byte, error) {
	if math.IsNaN(f) || math.IsInf(f, 0) {
		return b, fmt.Errorf("%v is not a finite number", f)
	}
	n := len(b)
	b = strconv.AppendFloat(b, f, 'g', -1, 64)
	if !bytes.ContainsAny(b[n:], ".e") {
		b = append(b, ".0"...)
	}
	return b, nil
}

func appendString(b []byte, s string) []byte {
	j, err := json.Marshal(s) // strings always marshal; invalid UTF-8 becomes U+FFFD
	if err != nil {
		panic(err)
	}
	return append(b, j...)
}

// CanonicalString is Canonical as a string; for values already checked to be Values it cannot fail, and an
// unrepresentable value shows as its error text in angle brackets.
func CanonicalString(v Value) string {
	b, err := Canonical(nil, v)
	if err != nil {
		return "<" + err.Error() + ">"
	}
	return string(b)
}

// Hash is the first 64 bits of the SHA-256 over the parts, each preceded by its length, as 16 hexadecimal digits.
func Hash(parts ...[]byte) string {
	h := sha256.New()
	var n [8]byte
	for _, p := range parts {
		for i := range n {
			n[i] = byte(len(p) >> (8 * i))
		}
		h.Write(n[:])
		h.Write(p)
	}
	return hex.EncodeToString(h.Sum(nil)[:8])
}

// Display is how a value is shown to a person: strings without quotes, durations in Go's short form.
func Display(v Value) string {
	switch v := v.(type) {
	case nil:
		return "None"
	case string:
		return v
	case bool:
		if v {
			return "True"
		}
		return "False"
	case time.Duration:
		return v.String()
	}
	return CanonicalString(v)
}
