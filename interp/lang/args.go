package lang

import (
	"fmt"
	"strings"

	"go.starlark.net/starlark"
)

// param is one parameter of a built-in.
type param struct {
	name     string
	required bool
}

// arg is one given argument and where it stands in the call.
type arg struct {
	v  starlark.Value
	at argument
}

// bind assigns arguments to parameters; the first positional ones may be given without a name. Everything that is wrong
// is reported; ok is false then.
func (ev *evaluator) bind(s site, what string, params []param, positional int, args starlark.Tuple, kwargs []starlark.Tuple) (map[string]arg, bool) {
	out := make(map[string]arg, len(args)+len(kwargs))
	ok := true
	for i, v := range args {
		if i >= positional {
			names := "no argument by position"
			if positional > 0 {
				names = fmt.Sprintf("at most %d by position", positional)
			}
			ev.report(s, argument{index: i}, fmt.Sprintf("%s takes %s", what, names), nameThem(params, positional))
			ok = false
			break
		}
		out[params[i].name] = arg{v, argument{index: i}}
	}
	for _, kv := range kwargs {
		name := unalias(string(kv[0].(starlark.String))) // by Starlark's definition of keyword arguments
		if !hasParam(params, name) {
			ev.report(s, argument{name: name, word: true}, fmt.Sprintf("%s has no keyword %q", what, name), keywordHint(name, params))
			ok = false
			continue
		}
		if _, twice := out[name]; twice {
			ev.report(s, argument{name: name, word: true}, fmt.Sprintf("%s got %s by position and by name", what, name), "")
			ok = false
			continue
		}
		out[name] = arg{kv[1], argument{name: name}}
	}
	for _, p := range params {
		if _, given := out[p.name]; p.required && !given {
			ev.report(s, argument{index: -1}, fmt.Sprintf("%s needs %s", what, p.name), "")
			ok = false
		}
	}
	for _, a := range out {
		if _, bad := a.v.(invalid); bad {
			ok = false
		}
	}
	return out, ok
}

func hasParam(params []param, name string) bool {
	for _, p := range params {
		if p.name == name {
			return true
		}
	}
	return false
}

func keywordHint(name string, params []param) string {
	var names []string
	for _, p := range params {
		names = append(names, p.name)
	}
	if h := didYouMean(name, names); h != "" {
		return h
	}
	return nameThem(params, 0)
}

func nameThem(params []param, from int) string {
	var names []string
	for _, p := range params[from:] {
		names = append(names, p.name)
	}
	if len(names) == 0 {
		return ""
	}
	return "its keywords are " + strings.Join(names, ", ")
}
