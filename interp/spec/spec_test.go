package spec

import (
	"errors"
	"math"
	"testing"
	"time"
)

func TestCanonicalTellsValuesApart(t *testing.T) {
	for _, c := range []struct {
		v    Value
		want string
	}{
		{int64(1), "1"}, {1.0, "1.0"}, {1e21, "1e+21"}, {true, "true"}, {nil, "null"}, {"1", `"1"`},
		{time.Second, `{"$ns":1000000000}`}, {Secret{"A"}, `{"$secret":"A"}`},
		{map[string]any{"b": int64(2), "a": []any{int64(1), "x"}}, `{"a":[1,"x"],"b":2}`},
	} {
		if got := CanonicalString(c.v); got != c.want {
			t.Errorf("Canonical(%v) = %s, want %s", c.v, got, c.want)
		}
	}
	for _, bad := range []Value{math.NaN(), math.Inf(1), struct{}{}, map[string]any{"a": []any{math.NaN()}}} {
		if _, err := Canonical(nil, bad); err == nil {
			t.Errorf("Canonical(%v) is no error", bad)
		}
	}
}

func TestHashKeepsPartsApart(t *testing.T) {
	if Hash([]byte("ab"), []byte("c")) == Hash([]byte("a"), []byte("bc")) {
		t.Error("the border between parts doesn't count")
	}
}

func pgType() *SystemType {
	return &SystemType{Name: "pg", Levels: []LevelSetting{
		{Name: "synchronous_commit", Values: []LevelValue{{Name: "off"}, {Name: "on"}}},
		{Name: "isolation", Values: []LevelValue{{Name: "read committed"}, {Name: "serializable"}}},
		{Name: "journal", Values: []LevelValue{{Name: "off"}}},
	}}
}

func TestParseLevel(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{"", "default"}, {"default", "default"}, {"off", "synchronous_commit=off"}, {"OFF", "synchronous_commit=off"},
		{"journal=off", "journal=off"}, {"serializable + on", "synchronous_commit=on isolation=serializable"},
	} {
		l, err := pgType().ParseLevel(c.text)
		if err != nil || l.String() != c.want {
			t.Errorf("ParseLevel(%q) = %v, %v, want %s", c.text, l, err, c.want)
		}
	}
	for _, c := range []struct {
		text, token string
		candidate   string
	}{{"ofv", "ofv", "off"}, {"isolatoin=serializable", "isolatoin", "isolation"}, {"isolation=snapshot", "snapshot", "serializable"}} {
		_, err := pgType().ParseLevel(c.text)
		var le *LevelError
		if !errors.As(err, &le) || le.Token != c.token {
			t.Errorf("ParseLevel(%q): %v", c.text, err)
			continue
		}
		found := false
		for _, n := range le.Candidates {
			found = found || n == c.candidate
		}
		if !found {
			t.Errorf("ParseLevel(%q): candidates %v lack %q", c.text, le.Candidates, c.candidate)
		}
	}
	if _, err := pgType().ParseLevel("off+on"); err == nil {
		t.Error("a setting given twice is no error")
	}
}

// The id depends on everything that is resolved, and on nothing else.
func TestTrialID(t *testing.T) {
	base := func() *Experiment {
		sys := &System{Type: "pg", Maker: "local", Name: "pg", Options: map[string]any{"a": int64(1)}}
		w := &Workload{Type: "ycsb", Params: map[string]any{"records": int64(10)}}
		m := &Measure{System: sys, Workload: w, Load: Load{Shape: "closed", Clients: 2}, Window: time.Second}
		return &Experiment{Name: "e", Seed: 1, Repeats: 2, Axes: []Axis{{Name: "b"}, {Name: "a"}},
			Cells: []Cell{{Values: []Value{int64(1), "x"}, Measure: m}}}
	}
	id := func(e *Experiment, repeat int) string {
		tr, err := NewIdentifier(e).Trial(0, repeat)
		if err != nil {
			t.Fatal(err)
		}
		return tr.ID
	}
	want := id(base(), 0)
	if id(base(), 1) == want {
		t.Error("the repeat doesn't change the id")
	}
	same := map[string]func(*Experiment){
		"name of the experiment": func(e *Experiment) { e.Name = "f" },
		"docstring":              func(e *Experiment) { e.Doc = "x" },
		"position":               func(e *Experiment) { e.Pos.Line = 9; e.Cells[0].Measure.System.Pos.Line = 3 },
		"shown name":             func(e *Experiment) { e.Cells[0].Measure.System.Name = "other" },
		"order of axes": func(e *Experiment) {
			e.Axes[0], e.Axes[1] = e.Axes[1], e.Axes[0]
			v := e.Cells[0].Values
			v[0], v[1] = v[1], v[0]
		},
	}
	for what, change := range same {
		if e := base(); true {
			change(e)
			if id(e, 0) != want {
				t.Errorf("%s changes the id", what)
			}
		}
	}
	differ := map[string]func(*Experiment){
		"seed":       func(e *Experiment) { e.Seed = 2 },
		"axis value": func(e *Experiment) { e.Cells[0].Values[0] = 1.0 },
		"option":     func(e *Experiment) { e.Cells[0].Measure.System.Options["a"] = int64(2) },
		"maker":      func(e *Experiment) { e.Cells[0].Measure.System.Maker = "server" },
		"workload":   func(e *Experiment) { e.Cells[0].Measure.Workload.Params["records"] = int64(11) },
		"clients":    func(e *Experiment) { e.Cells[0].Measure.Load.Clients = 3 },
		"think time": func(e *Experiment) { e.Cells[0].Measure.Load.Think = 1 },
		"level":      func(e *Experiment) { e.Cells[0].Measure.Level.Settings = []Setting{{"s", "off"}} },
		"warm-up":    func(e *Experiment) { e.Cells[0].Measure.Warmup = 1 },
		"window":     func(e *Experiment) { e.Cells[0].Measure.Window = 2 },
		"interval":   func(e *Experiment) { e.Cells[0].Measure.Interval = 1 },
		"timeout":    func(e *Experiment) { e.Cells[0].Measure.Timeout = 1 },
		"reset":      func(e *Experiment) { e.Cells[0].Measure.Reset = "always" },
	}
	for what, change := range differ {
		e := base()
		change(e)
		if id(e, 0) == want {
			t.Errorf("%s doesn't change the id", what)
		}
	}
}
