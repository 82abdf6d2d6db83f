package report

import (
	"strings"
	"testing"
)

func f(v float64) *float64 { return &v }

func sample() *Table {
	m := func(mean, h, p float64) map[string]Metric {
		return map[string]Metric{"throughput_ops_s": {Mean: f(mean), Lo: f(mean - h), Hi: f(mean + h), CVPct: f(1.25)},
			"p50_ms": {Merged: f(p)}, "p95_ms": {Merged: f(p * 2)}, "p99_ms": {Merged: f(p * 3)}}
	}
	one := m(900, 0, 0.5)
	one["throughput_ops_s"] = Metric{Mean: f(900.123)}
	return Cells([]string{"scale", "level"}, []Cell{
		{Values: []string{"1000", "off"}, N: 5, ErrorPct: 0.5, Metrics: m(12345.6, 67.8, 0.0123)},
		{Values: []string{"1000", "full"}, N: 1, Failed: 2, Metrics: one},
		{Values: []string{"2000", "off"}, Failed: 3},
	})
}

func TestCells(t *testing.T) {
	var b strings.Builder
	dropped, err := sample().Write(&b, 0, false)
	if err != nil || dropped != nil {
		t.Fatal(err, dropped)
	}
	want := `scale  level  ops/s  ± 95 %  CV %  n  p50 ms  p95 ms  p99 ms  errors %  failed n
1000   off    12346   67.80   1.2  5  0.0123  0.0246  0.0369     0.500         0
1000   full   900.1       -     -  1   0.500   1.000   1.500         0         2
2000   off        -       -     -  0       -       -       -         0         3
`
	if b.String() != want {
		t.Errorf("got\n%s", b.String())
	}
}

func TestBestIsBold(t *testing.T) {
	var b strings.Builder
	if _, err := sample().Write(&b, 0, true); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(b.String(), "\n")
	if strings.Count(b.String(), "\x1b[1m") != 4 || !strings.Contains(lines[1], "\x1b[1m12346\x1b[0m") || strings.Contains(lines[2], "\x1b") {
		t.Errorf("got\n%q", b.String())
	}
}

func TestNarrowTerminal(t *testing.T) {
	var b strings.Builder
	dropped, err := sample().Write(&b, 68, false)
	if err != nil {
		t.Fatal(err)
	}
	if strings.Join(dropped, ",") != "CV %,p95 ms" {
		t.Errorf("dropped %v", dropped)
	}
	for _, l := range strings.Split(b.String(), "\n") {
		if len([]rune(l)) > 68 {
			t.Errorf("%d columns: %s", len([]rune(l)), l)
		}
	}
}
