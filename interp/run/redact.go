package run

import (
	"fmt"
	"net/url"
	"slices"
	"strings"

	"sextant/interp/spec"
)

// Secrets holds the values behind secret("NAME") and takes them out of every text that is written or shown.
type Secrets struct {
	values map[string]string
	hide   *strings.Replacer
}

// ResolveSecrets looks up every secret that the systems of an experiment name. All that are missing are told at once.
func ResolveSecrets(e *spec.Experiment, lookup func(string) (string, bool)) (*Secrets, error) {
	s := &Secrets{values: map[string]string{}}
	var missing, hidden []string
	seen := map[*spec.System]bool{}
	for i := range e.Cells {
		sys := e.Cells[i].Measure.System
		if seen[sys] {
			continue
		}
		seen[sys] = true
		for _, name := range secretNames(sys.Options) {
			v, ok := lookup(name)
			if !ok || v == "" {
				missing = append(missing, name)
				continue
			}
			s.values[name] = v
			hidden = append(hidden, sensitive(v)...)
		}
	}
	if len(missing) > 0 {
		slices.Sort(missing)
		return nil, fmt.Errorf("the experiment needs the environment variables %s (named by secret(...) in the script); set them and start again", strings.Join(slices.Compact(missing), ", "))
	}
	slices.SortFunc(hidden, func(a, b string) int { return len(b) - len(a) }) // the longest first
	var pairs []string
	for _, h := range slices.Compact(hidden) {
		pairs = append(pairs, h, "[secret]")
	}
	s.hide = strings.NewReplacer(pairs...)
	return s, nil
}

func secretNames(v any) []string {
	var out []string
	switch v := v.(type) {
	case spec.Secret:
		out = append(out, v.Name)
	case []any:
		for _, e := range v {
			out = append(out, secretNames(e)...)
		}
	case map[string]any:
		for _, e := range v {
			out = append(out, secretNames(e)...)
		}
	}
	return out
}

// sensitive are the parts of a secret that must not show: the whole of it, and the password within a URL or a
// key=value connection string, in each spelling.
func sensitive(v string) []string {
	out := []string{v}
	if u, err := url.Parse(v); err == nil && u.User != nil {
		if pw, ok := u.User.Password(); ok && pw != "" {
			out = append(out, pw, url.QueryEscape(pw), url.PathEscape(pw))
		}
	}
	if _, rest, ok := strings.Cut(v, "://"); ok { // also of a URL that can't be parsed, as it stands
		if i := strings.LastIndexByte(rest, '@'); i >= 0 {
			_, pw, _ := strings.Cut(rest[:i], ":")
			out = append(out, pw)
		}
	}
	for _, f := range strings.Fields(v) {
		if k, pw, ok := strings.Cut(f, "="); ok && strings.EqualFold(k, "password") {
			out = append(out, strings.Trim(pw, "'"))
		}
	}
	return slices.DeleteFunc(out, func(s string) bool { return s == "" })
}

// Hide replaces every secret in a text.
func (s *Secrets) Hide(text string) string { return s.hide.Replace(text) }

// Resolve is a copy of a system's options with the values in place of the references. It must not be stored.
func (s *Secrets) Resolve(options map[string]any) map[string]any {
	return s.resolve(options).(map[string]any) // a map stays a map
}

func (s *Secrets) resolve(v any) any {
	switch v := v.(type) {
	case spec.Secret:
		return s.values[v.Name]
	case []any:
		out := make([]any, len(v))
		for i, e := range v {
			out[i] = s.resolve(e)
		}
		return out
	case map[string]any:
		out := make(map[string]any, len(v))
		for k, e := range v {
			out[k] = s.resolve(e)
		}
		return out
	}
	return v
}
