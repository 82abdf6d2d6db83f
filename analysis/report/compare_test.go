package report

import (
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	got := Compare([]Pair{
		{Label: []string{"a"}, Metric: "throughput_ops_s", Base: []float64{100, 101, 99, 100, 100}, To: []float64{120, 121, 119, 120, 120}},
		{Label: []string{"b"}, Metric: "p99_ms", Base: []float64{1, 1.01, 0.99, 1, 1}, To: []float64{2, 2.02, 1.98, 2, 2}},
		{Label: []string{"c"}, Metric: "throughput_ops_s", Base: []float64{100, 101, 99, 100, 100}, To: []float64{100.5, 101, 99.5, 100, 100}},
		{Label: []string{"d"}, Metric: "throughput_ops_s", Base: []float64{100, 150, 60}, To: []float64{110, 140, 70}},
		{Label: []string{"e"}, Metric: "throughput_ops_s", Base: []float64{100}, To: []float64{200}},
		{Label: []string{"f"}, Metric: "throughput_ops_s", To: []float64{200}},
		{Label: []string{"g"}, Metric: "client_cpu_pct", Base: []float64{50, 51, 49}, To: []float64{90, 91, 89}},
	}, 5)
	for i, want := range []Verdict{Faster, Slower, Same, Unknown, Unknown, Unknown, "higher"} {
		if got[i].Verdict != want {
			t.Errorf("%s: %s, want %s: %+v", got[i].Label[0], got[i].Verdict, want, got[i])
		}
	}
	if c := *got[0].ChangePct; c != 20 || *got[0].LoPct > 20 || *got[0].HiPct < 20 || *got[0].LoPct < 18 {
		t.Errorf("change %v, %v to %v", c, *got[0].LoPct, *got[0].HiPct)
	}
	if !strings.Contains(got[3].Note, "repeats would tell 5 %") || got[4].P != nil || got[4].Note != "one trial has no deviation" || got[5].ChangePct != nil {
		t.Errorf("notes: %q, %q, %q", got[3].Note, got[4].Note, got[5].Note)
	}
	var b strings.Builder
	if _, err := Comparisons([]string{"cell"}, got[:1]).Write(&b, 0, false); err != nil {
		t.Fatal(err)
	}
	want := `cell  metric            base   now  change     95 % interval  p (Holm)  verdict
a     throughput_ops_s  100.0  120.0  +20.0 %  +18.9 to +21.2 %   <0.0001  faster
`
	if strings.Join(strings.Fields(b.String()), " ") != strings.Join(strings.Fields(want), " ") {
		t.Errorf("got\n%s", b.String())
	}
}

// Many comparisons of equal samples: after the adjustment there is hardly ever a finding.
func TestCompareCountsItsTests(t *testing.T) {
	base := []float64{100, 103, 98, 101, 97}
	var pairs []Pair
	for i := range 40 {
		to := []float64{101, 98, 103, 97, 100}
		to[i%5] += float64(i%7) - 3
		pairs = append(pairs, Pair{Metric: "throughput_ops_s", Base: base, To: to})
	}
	pairs = append(pairs, Pair{Metric: "throughput_ops_s", Base: base, To: []float64{104, 107, 101, 105, 102}}) // p about 0.03 on its own
	got := Compare(pairs, 0.01)
	last := got[len(got)-1]
	if *last.P > 0.05 || *last.AdjustedP < 0.05 || last.Verdict != Unknown {
		t.Errorf("p %v, adjusted %v: %s", *last.P, *last.AdjustedP, last.Verdict)
	}
}
