package audit

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// published are rows of the published studies that users want to repeat, as they were printed.
const published = `
Table 5. Change between scale 500 and scale 1000.

Deployment	Workload	TPS @ 500	TPS @ 1000	TPS Δ%
Monolithic	Write	74,072	77,833	+5.1%
Monolithic	Read	345,459	346,352	+0.3%
Monolithic	OLTP	78,186	78,114	−0.1%
Kubernetes	Write	20,805	25,063	+18.6%
Kubernetes	Read	293,758	294,071	+0.1%

Table 7. Pearson correlation, n = 60 intervals. Bonferroni-corrected threshold for 12 tests: α* = 0.004.

Configuration	R	t (df = 58)	p (Two-Sided)	95% CI	Bonferroni Sig?
K8s Read, scale 500	−0.402	−3.341	0.0015	[−0.595, −0.165]	Yes
K8s Read, scale 1000	−0.351	−2.853	0.0060	[−0.555, −0.106]	Yes
K8s OLTP, scale 500	−0.275	−2.174	0.0338	[−0.494, −0.022]	No

Table 8. Means across runs. 95% CIs from run-level replicates.

Workload	Deploy	n	Mean TPS	95% CI	CV%	Avg Lat (ms)	Threads
oltp_read_only	Monolithic	2	15,392	[14,798–15,987]	0.4%	2.33	36
oltp_read_only	Kubernetes	4	9645	[7978–11,311]	10.9%	7.53	72

Table 10. Stability. n = number of intervals.

Workload	Tables	n (Intervals)	Mean TPS	StdDev (TPS)	CV%	Min TPS	Max TPS	Stability
oltp_read_only	100	30	15,439	815	5.3%	15,237	19,748	HIGH
oltp_point_select	100	30	410,700	13,170	3.2%	406,817	480,557	HIGH
oltp_update_index	100	30	15,728	4555	28.9%	2000	19,000	MEDIUM

Table 19. Redis (pipelined: 200 clients, 1024-byte payload, pipeline depth 64).

Operation	Throughput (ops/sec)	Avg Lat (ms)	p99 (ms)
SPOP	4,182,350	2.9	10.2
RPUSH	1,121,831	4.0	3.2
`

const docker = `
| Database | Total Time (s) | Avg Latency (ms) | Throughput (rec/s) | P50 | P95 | P99 |
|---|---|---|---|---|---|---|
| Cassandra | 89.28 ± 0.53 | 8.84 ± 0.05 | 5600.32 ± 33.31 | 8.04 | 13.22 | 22.73 |
| PostgreSQL | 89.08 ± 16.07 | 8.71 ± 1.47 | 5751.06 ± 959.45 | 6.71 | 16.01 | 32.15 |
| Wrong | 80.00 ± 0.10 | 8.84 ± 0.05 | 5600.32 ± 33.31 | 8.04 | 7.22 | 22.73 |
`

func verdicts(t *testing.T, name, text string, o Options) (map[string]Verdict, string) {
	t.Helper()
	found, err := Audit(name, text, o)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]Verdict{}
	var all strings.Builder
	for _, f := range found {
		key := f.Table + ", " + f.Row + ": " + f.Check
		if old, ok := out[key]; !ok || old == Consistent {
			out[key] = f.Verdict
		}
		fmt.Fprintf(&all, "%s (line %d): %s: %s\n", key, f.Line, f.Verdict, f.Detail)
	}
	return out, all.String()
}

func TestPublished(t *testing.T) {
	got, all := verdicts(t, "study.txt", published, Options{})
	for key, want := range map[string]Verdict{
		// 100 (77833 - 74072) / 74072 = 5.078
		"Table 5, Monolithic, Write: per cent change in TPS Δ%": Consistent,
		// 100 (78114 - 78186) / 78186 = -0.092
		"Table 5, Monolithic, OLTP: per cent change in TPS Δ%": Consistent,
		// 100 (25063 - 20805) / 20805 = 20.466, printed 18.6: that would be the change to 24,675
		"Table 5, Kubernetes, Write: per cent change in TPS Δ%": Inconsistent,
		// -0.402 sqrt(58 / (1 - 0.402^2)) = -3.344; tanh(atanh(-0.402) -+ 1.96/sqrt(57)) = -0.595, -0.166
		"Table 7, K8s Read, scale 500: t of r":               Consistent,
		"Table 7, K8s Read, scale 500: Fisher interval of r": Consistent,
		"Table 7, K8s Read, scale 500: p of r":               Consistent,
		"Table 7, K8s Read, scale 500: Bonferroni mark":      Consistent,
		// 0.0060 is above 0.004, yet marked as surviving the correction
		"Table 7, K8s Read, scale 1000: Bonferroni mark": Inconsistent,
		"Table 7, K8s OLTP, scale 500: Bonferroni mark":  Consistent,
		// t(0.975, 1) = 12.706; 12.706 x 0.004 x 15392 / sqrt 2 = 553 (0.35 to 0.45 % give 484 to 622); printed (15987 - 14798) / 2 = 594.5
		"Table 8, oltp_read_only, Monolithic: interval from n and deviation": Consistent,
		// t(0.975, 3) = 3.182; 3.182 x 0.109 x 9645 / 2 = 1673; printed (11311 - 7978) / 2 = 1666.5
		"Table 8, oltp_read_only, Kubernetes: interval from n and deviation": Consistent,
		// 15392 x 0.00233 = 35.86 of 36 clients
		"Table 8, oltp_read_only, Monolithic: Little's law": Consistent,
		// 9645 x 0.00753 = 72.63 of 72 clients: a product of means over runs with a CV of 10.9 %
		"Table 8, oltp_read_only, Kubernetes: Little's law": CantTell,
		// 100 x 815 / 15439 = 5.279
		"Table 10, oltp_read_only: CV from mean and deviation":     Consistent,
		"Table 10, oltp_read_only: deviation, minimum and maximum": Consistent,
		// no value of 30 is farther from the mean than 13170 x 29 / sqrt 30 = 69730; 480557 - 410700 = 69857
		"Table 10, oltp_point_select: deviation, minimum and maximum": Inconsistent,
		// 100 x 4555 / 15728 = 28.961: 29.0 when it is rounded, 28.9 when it is cut
		"Table 10, oltp_update_index: CV from mean and deviation": CantTell,
		"Table 10, oltp_update_index: stability class":            Consistent,
		// 4182350 x 0.0029 = 12129 of 200 x 64 = 12800
		"Table 19, SPOP: Little's law": Consistent,
		// 1121831 x 0.0040 = 4487 of 12800: two thirds of the cycle are somewhere else
		"Table 19, RPUSH: Little's law": CantTell,
	} {
		if got[key] != want {
			t.Errorf("%s: %q, want %q", key, got[key], want)
		}
	}
	if strings.Count(all, ": inconsistent:") != 3 || t.Failed() {
		t.Log(all)
		t.Errorf("%d findings are inconsistent, want 3", strings.Count(all, ": inconsistent:"))
	}
}

func TestDocker(t *testing.T) {
	got, all := verdicts(t, "docker.md", docker, Options{Count: 500_000, Clients: 50})
	for key, want := range map[string]Verdict{
		// 89.28 x 5600.32 = 499997
		"line 2, Cassandra, 89.28 ± 0.53: throughput x time": Consistent,
		// 89.08 x 5751.06 = 512304, 2.5 % too many: the product of deviations of 18 and 17 % explains 3 %
		"line 2, PostgreSQL, 89.08 ± 16.07: throughput x time": CantTell,
		// 80 x 5600.32 = 448026
		"line 2, Wrong, 80.00 ± 0.10: throughput x time": Inconsistent,
		// 5600.32 x 0.00884 = 49.5
		"line 2, Cassandra, 89.28 ± 0.53: Little's law":         Consistent,
		"line 2, Wrong, 80.00 ± 0.10: order of percentiles":     Inconsistent,
		"line 2, Cassandra, 89.28 ± 0.53: order of percentiles": Consistent,
	} {
		if got[key] != want {
			t.Errorf("%s: %q, want %q\n%s", key, got[key], want, all)
		}
	}
}

// Drops are changes with the other sign; ratios follow from two columns; what no pair of columns explains is left alone.
func TestDerivedColumns(t *testing.T) {
	got, all := verdicts(t, "x.csv", "threads,bare,container,drop %,speedup,luck %change\n1,28036.3,21464.4,23.44,0.77,3\n2,52371.82,39372.24,24.82,0.75,8\n4,86868.2,60000,30.93,0.69,1\n8,90000,80000,15.00,0.89,7\n", Options{})
	want := map[string]Verdict{
		"line 1, 1: per cent change in drop %": Consistent,   // 100 (28036.3 - 21464.4) / 28036.3 = 23.44
		"line 1, 4: per cent change in drop %": Consistent,   // 30.93
		"line 1, 8: per cent change in drop %": Inconsistent, // 11.11
		"line 1, 1: ratio in speedup":          Consistent,
		"line 1, 8: ratio in speedup":          Consistent,
	}
	for key, v := range want {
		if got[key] != v {
			t.Errorf("%s: %q, want %q\n%s", key, got[key], v, all)
		}
	}
	if strings.Contains(all, "luck") {
		t.Errorf("a column that follows from no other is judged:\n%s", all)
	}
}

func TestNumbers(t *testing.T) {
	for s, want := range map[string][3]float64{"15,392": {15392, 15391.5, 15392.5}, "−0.6%": {-0.6, -0.65, -0.55}, "+22.7%": {22.7, 22.65, 22.75}, "18.0×": {18, 17.95, 18.05}, "8.31 ms": {8.31, 8.305, 8.315},
		"74,072–78,186": {76129, 74071.5, 78186.5}, "~5": {5, 4.5, 5.5}, "1e3": {1000, 500, 1500}, "**7**": {7, 6.5, 7.5}} {
		n, ok := parse(s)
		if !ok || math.Abs(n.V-want[0])+math.Abs(n.Lo-want[1])+math.Abs(n.Hi-want[2]) > 1e-9 {
			t.Errorf("%s: %+v, %v", s, n, ok)
		}
	}
	for _, s := range []string{"", "p < 0.001", "Yes", "1.2.3", "5–3", "72/24", "1,23"} {
		if n, ok := parse(s); ok {
			t.Errorf("%q is taken as %+v", s, n)
		}
	}
	for s, want := range map[string][2]float64{"[14,798–15,987]": {14798, 15987}, "[−0.595, −0.165]": {-0.595, -0.165}, "[−0.471, +0.008]": {-0.471, 0.008}, "(1.5; 2)": {1.5, 2}} {
		lo, hi, ok := parseInterval(s)
		if !ok || lo.V != want[0] || hi.V != want[1] {
			t.Errorf("%s: %v, %v, %v", s, lo.V, hi.V, ok)
		}
	}
}

// Whatever is in a text, it is audited or refused: no panic.
func FuzzAudit(f *testing.F) {
	f.Add(published, true)
	f.Add(docker, false)
	f.Add("a,b\n\"", true)
	f.Add("|r|n|95% CI|p|\n|0.99999999|4|[1,2]|0|\n", false)
	f.Fuzz(func(t *testing.T, text string, isCSV bool) {
		name := "x.md"
		if isCSV {
			name = "x.csv"
		}
		found, err := Audit(name, text, Options{Count: 1000, Clients: 8})
		for _, x := range found {
			if err != nil || strings.Contains(x.Detail, "NaN") {
				t.Errorf("%+v, %v", x, err)
			}
		}
	})
}
