package spec

import (
	"fmt"
	"slices"
	"strings"
)

// A LevelSetting is one dimension of a system's consistency level: synchronous_commit, isolation, journal_mode.
type LevelSetting struct {
	Name   string
	Doc    string // what it sets, and how it is read back
	Values []LevelValue
}

// A LevelValue is one value of a setting under the system's own name.
type LevelValue struct {
	Name string
	Doc  string
}

// LevelValues makes the values of a setting from names and documentation in turns.
func LevelValues(pairs ...string) []LevelValue {
	var out []LevelValue
	for p := range slices.Chunk(pairs, 2) {
		out = append(out, LevelValue{Name: p[0], Doc: p[1]})
	}
	return out
}

// A Level is an asked level: the settings that the script named, in the order of the system's LevelSettings. The
// zero Level leaves everything as the server has it ("default").
type Level struct {
	Settings []Setting `json:"settings,omitempty"`
}

// A Setting is one named value of a level.
type Setting struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// String is the canonical text of a level, "synchronous_commit=off isolation=serializable", or "default". It is what
// the columns level_asked and level_observed hold.
func (l Level) String() string {
	if len(l.Settings) == 0 {
		return "default"
	}
	var b strings.Builder
	for i, s := range l.Settings {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(s.Name + "=" + s.Value)
	}
	return b.String()
}

// Get is the asked value of a setting, or "".
func (l Level) Get(name string) string {
	for _, s := range l.Settings {
		if s.Name == name {
			return s.Value
		}
	}
	return ""
}

// A LevelError says what is wrong with a level that a script asked for.
type LevelError struct {
	Msg        string
	Candidates []string // the names that would have been right here
	Token      string   // the part that was not understood
}

func (e *LevelError) Error() string { return e.Msg }

// ParseLevel reads a level as a script writes it: values of the settings joined by "+", each either a bare value
// ("off") or "setting=value". A bare value belongs to the first setting that has it. "default" and "" are the zero
// Level. Errors are *LevelError.
func (t *SystemType) ParseLevel(text string) (Level, error) {
	if s := strings.TrimSpace(text); s == "" || s == "default" {
		return Level{}, nil
	}
	got := make([]string, len(t.Levels))
	for _, tok := range strings.Split(text, "+") {
		i, value, err := t.parseToken(strings.TrimSpace(tok))
		if err != nil {
			return Level{}, err
		}
		if got[i] != "" {
			return Level{}, &LevelError{Token: tok, Msg: fmt.Sprintf("level %q gives %s twice: %s and %s", text, t.Levels[i].Name, got[i], value)}
		}
		got[i] = value
	}
	var l Level
	for i, v := range got {
		if v != "" {
			l.Settings = append(l.Settings, Setting{t.Levels[i].Name, v})
		}
	}
	return l, nil
}

func (t *SystemType) parseToken(tok string) (int, string, error) {
	name, value, named := strings.Cut(tok, "=")
	if named {
		name, value = strings.TrimSpace(name), strings.TrimSpace(value)
	} else {
		name, value = "", tok
	}
	var candidates []string
	for i, s := range t.Levels {
		if named && s.Name != name {
			candidates = append(candidates, s.Name)
			continue
		}
		if named {
			candidates = candidates[:0]
		}
		for _, v := range s.Values {
			if strings.EqualFold(v.Name, value) {
				return i, v.Name, nil
			}
			candidates = append(candidates, v.Name)
		}
		if named {
			return 0, "", &LevelError{Token: value, Candidates: candidates, Msg: fmt.Sprintf("%s has no level %s=%q", t.Name, name, value)}
		}
	}
	if named {
		return 0, "", &LevelError{Token: name, Candidates: candidates, Msg: fmt.Sprintf("%s has no level setting %q", t.Name, name)}
	}
	return 0, "", &LevelError{Token: value, Candidates: candidates, Msg: fmt.Sprintf("%s has no level %q", t.Name, value)}
}
