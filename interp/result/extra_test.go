package result

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

func TestExtraTables(t *testing.T) {
	dir := t.TempDir()
	x := &Extra{Name: "cost", Columns: []string{"z", "a", "mixed", "yes", "never"}, Rows: [][]any{{"b", int64(1), int64(2), true, nil}, {nil, nil, 2.5, nil, nil}, {"", int64(-3), nil, false, nil}}}
	for range 2 { // the second replaces the first
		if err := WriteExtra(dir, x, Meta{RunID: "r", PlanHash: "h"}); err != nil {
			t.Fatal(err)
		}
	}
	got, err := ReadExtra(dir, "cost")
	if want := "[[b 1 2 true <nil>] [<nil> <nil> 2.5 <nil> <nil>] [ -3 <nil> false <nil>]]"; err != nil || fmt.Sprint(got.Rows) != want || fmt.Sprint(got.Columns) != "[z a mixed yes never]" {
		t.Errorf("%+v, %v", got, err)
	}
	if v, ok := got.Rows[0][2].(float64); !ok || v != 2 {
		t.Errorf("an integer beside floats is %T", got.Rows[0][2])
	}
	if names, err := Extras(dir); err != nil || fmt.Sprint(names) != "[cost]" {
		t.Error(names, err)
	}
	for want, bad := range map[string]*Extra{
		"lower-case letters":         {Name: "Cost", Columns: []string{"a"}},
		"has a table of that name":   {Name: "trials", Columns: []string{"a"}},
		"has no columns":             {Name: "x"},
		`the column "a.b"`:           {Name: "x", Columns: []string{"a.b"}},
		`the column "a" is there tw`: {Name: "x", Columns: []string{"a", "a"}},
		"holds ints and strings":     {Name: "x", Columns: []string{"a"}, Rows: [][]any{{int64(1)}, {"b"}}},
		"not a finite number":        {Name: "x", Columns: []string{"a"}, Rows: [][]any{{math.NaN()}}},
	} {
		if err := WriteExtra(dir, bad, Meta{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %s", err, want)
		}
	}
	if names, err := Extras(dir); err != nil || fmt.Sprint(names) != "[cost]" {
		t.Errorf("after refusals: %v %v", names, err)
	}
}
