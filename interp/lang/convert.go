package lang

import (
	"fmt"
	"math"
	"strings"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/starlarkstruct"

	"sextant/interp/spec"
)

// wrongKind is a value that doesn't have the kind that was asked for.
type wrongKind struct{ msg, hint string }

func (e *wrongKind) Error() string { return e.msg }

func badKind(v starlark.Value, want, hint string) error {
	if _, ok := v.(starlark.Callable); ok && hint == "" {
		hint = "a function of the cell can only be given to experiment(...): write workload = lambda p: ..."
	}
	return &wrongKind{"must be " + want + ", not " + describe(v), hint}
}

// describe names a value in a message.
func describe(v starlark.Value) string {
	switch v := v.(type) {
	case starlark.NoneType:
		return "None"
	case starlark.String:
		if len(v) <= 40 {
			return "the text " + v.String()
		}
		return "a text"
	case starlark.Int, starlark.Float, starlark.Bool:
		return v.String()
	case starlark.Callable:
		return "a function"
	case invalid:
		return invalidType
	}
	return "a " + v.Type()
}

// toKind converts a Starlark value to a spec.Value of a parameter's kind.
func (ev *evaluator) toKind(v starlark.Value, p *spec.Param) (spec.Value, error) {
	switch p.Kind {
	case spec.KindBool:
		if b, ok := v.(starlark.Bool); ok {
			return bool(b), nil
		}
	case spec.KindInt:
		if i, ok := v.(starlark.Int); ok {
			if n, fits := i.Int64(); fits {
				return n, nil
			}
		}
		if f, ok := v.(starlark.Float); ok && float64(f) == math.Trunc(float64(f)) && math.Abs(float64(f)) < 1<<53 {
			return nil, badKind(v, p.Kind.String(), fmt.Sprintf("write %d", int64(f)))
		}
	case spec.KindFloat:
		switch v := v.(type) {
		case starlark.Int:
			return float64(v.Float()), nil
		case starlark.Float:
			if f := float64(v); f-f == 0 {
				return f, nil
			}
		}
	case spec.KindString:
		if s, ok := v.(starlark.String); ok {
			return string(s), oneOf(string(s), p.OneOf)
		}
	case spec.KindDuration:
		return toDuration(v)
	case spec.KindList:
		if l, ok := toValue(v); ok == nil {
			if l, ok := l.([]any); ok {
				return l, nil
			}
		}
	case spec.KindMap:
		m, err := toValue(v)
		if err != nil {
			return nil, err
		}
		if m, ok := m.(map[string]any); ok {
			return m, nil
		}
	case spec.KindSecret:
		switch v := v.(type) {
		case secretValue:
			return spec.Secret(v), nil
		case starlark.String:
			if p.Check != nil {
				return string(v), nil
			}
		}
	case spec.KindFunction:
		return ev.function(v, p.OneOf)
	case spec.KindValue:
		return ev.toTagged(v, p)
	default:
		return toValue(v)
	}
	return nil, badKind(v, p.Kind.String(), "")
}

func oneOf(s string, list []string) error {
	if len(list) == 0 {
		return nil
	}
	for _, l := range list {
		if l == s {
			return nil
		}
	}
	hint := didYouMean(s, list)
	if hint == "" {
		hint = "it is one of " + strings.Join(list, ", ")
	}
	return &wrongKind{fmt.Sprintf("%q is not known here", s), hint}
}

// toTagged takes the value of a constructor, or the constructor's bare name as text.
func (ev *evaluator) toTagged(v starlark.Value, p *spec.Param) (spec.Value, error) {
	switch v := v.(type) {
	case *tagged:
		return v.m, oneOf(v.kind.Name, p.Value)
	case starlark.String:
		if err := oneOf(string(v), p.Value); err != nil {
			return nil, err
		}
		for _, k := range ev.opt.Registry.Values {
			if k.Name == string(v) {
				return defaultsOf(k)
			}
		}
	case *starlark.Builtin:
		return nil, badKind(v, "a value", fmt.Sprintf("call it: %s(...)", v.Name()))
	}
	return nil, badKind(v, "one of "+strings.Join(p.Value, ", "), "")
}

func defaultsOf(k *spec.ValueType) (spec.Value, error) {
	m := map[string]any{"$": k.Name}
	for _, p := range k.Params {
		if p.Required {
			return nil, &wrongKind{fmt.Sprintf("%s needs %s", k.Name, p.Name), fmt.Sprintf("write %s(%s = ...)", k.Name, p.Name)}
		}
		if p.Default != nil {
			m[p.Name] = p.Default
		}
	}
	return m, nil
}

// toDuration reads text with a unit.
func toDuration(v starlark.Value) (spec.Value, error) {
	switch v := v.(type) {
	case starlark.String:
		d, err := time.ParseDuration(strings.TrimSpace(string(v)))
		if err != nil {
			hint := `units are ns, us, ms, s, m, h: "1m30s"`
			return nil, &wrongKind{fmt.Sprintf("%s is no duration", v.String()), hint}
		}
		return d, nil
	case starlark.Int, starlark.Float:
		return nil, badKind(v, "a duration with a unit", fmt.Sprintf("write %q", v.String()+"s"))
	}
	return nil, badKind(v, `a duration such as "10s"`, "")
}

// toValue converts any plain Starlark value.
func toValue(v starlark.Value) (spec.Value, error) {
	switch v := v.(type) {
	case invalid:
		return nil, errReported
	case starlark.NoneType:
		return nil, nil
	case starlark.Bool:
		return bool(v), nil
	case starlark.Int:
		if n, ok := v.Int64(); ok {
			return n, nil
		}
		return nil, &wrongKind{v.String() + " doesn't fit into 64 bits", ""}
	case starlark.Float:
		if f := float64(v); f-f == 0 {
			return f, nil
		}
		return nil, &wrongKind{v.String() + " is not a finite number", ""}
	case starlark.String:
		return string(v), nil
	case secretValue:
		return spec.Secret(v), nil
	case *tagged:
		return v.m, nil
	case *starlark.Dict:
		m := make(map[string]any, v.Len())
		for _, kv := range v.Items() {
			k, ok := kv[0].(starlark.String)
			if !ok {
				return nil, &wrongKind{"keys must be texts, not " + describe(kv[0]), ""}
			}
			e, err := toValue(kv[1])
			if err != nil {
				return nil, err
			}
			m[string(k)] = e
		}
		return m, nil
	case *starlarkstruct.Struct:
		m := map[string]any{}
		for _, n := range v.AttrNames() {
			a, err := v.Attr(n)
			if err != nil {
				return nil, err
			}
			if m[n], err = toValue(a); err != nil {
				return nil, err
			}
		}
		return m, nil
	case starlark.Iterable:
		var l []any
		it := v.Iterate()
		defer it.Done()
		var x starlark.Value
		for it.Next(&x) {
			e, err := toValue(x)
			if err != nil {
				return nil, err
			}
			l = append(l, e)
		}
		return l, nil
	}
	return nil, badKind(v, "a plain value", "")
}

// fromValue converts a plain value for a script.
func fromValue(v any) starlark.Value {
	switch v := v.(type) {
	case bool:
		return starlark.Bool(v)
	case int64:
		return starlark.MakeInt64(v)
	case float64:
		return starlark.Float(v)
	case string:
		return starlark.String(v)
	case time.Duration:
		return starlark.String(v.String())
	case spec.Secret:
		return secretValue(v)
	case []any:
		l := make([]starlark.Value, len(v))
		for i, e := range v {
			l[i] = fromValue(e)
		}
		return starlark.NewList(l)
	case map[string]any:
		d := starlark.StringDict{}
		for k, e := range v {
			d[k] = fromValue(e)
		}
		return starlarkstruct.FromStringDict(starlarkstruct.Default, d)
	}
	return starlark.None
}
