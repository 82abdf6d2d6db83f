package lang

import (
	"strings"
	"testing"
)

// The statistics of design, regression and change points give in a script what analysis/stat gives; expected values are those of
// its vectors.
func TestStatsOfDesign(t *testing.T) {
	mustEval(t, `
def near(what, got, want):
    if abs(got - want) > 1e-6 * abs(want):
        fail(what, "is", got, "and not", want)

d = stats.run_difference(8661, 10623)
near("change", d.change_pct, 22.653273294076897)
near("mean", d.mean, 9642)
near("cv", d.cv_pct, 14.38854495631618)
i = stats.summary_interval(5600.32, 33.31, 5)
near("lo", i.lo, 5558.96017221983)
near("hi", i.hi, 5641.67982778017)
near("n", stats.sample_size(5, 3), 7)
near("n", stats.sample_size(delta = 5, sd = 10, power = 0.8, alpha = 0.05), 64)
near("shift", stats.changepoints([10, 11, 10, 11, 10, 11, 20, 21, 20, 21, 20, 21], min_segment = 3)[0], 6)
near("no shift", len(stats.changepoints([10, 11, 10, 11, 10, 11, 10, 11, 10, 11])), 0)
f = stats.linear([1, 3.1, 4.9, 7.1], [0, 1, 2, 3])
near("slope", f.coefficients[1].value, 2.01)
near("df", f.df, 2)
q = stats.fieller([8761.4, 6910.2, 10544.8, 8020.1, 9570.6], [5600.3, 5571.9, 5640.2, 5588.7, 5600.5])
near("ratio", q.value, 1.5644498885778)
near("lo", q.lo, 1.25472515151888)
experiment("e", system = fake.local(), measure = "1s", workload = workload.mixed("reads"))
`)
	for src, want := range map[string]string{
		"stats.run_difference(0, 5)":                      "stats.run_difference: a change from 0",
		"stats.summary_interval(5, 1, 1)":                 "no interval of a mean from n = 1",
		"stats.sample_size(0, 1)":                         "no sample size tells",
		"stats.changepoints([1, 2])":                      "stats.changepoints:",
		"stats.changepoints([1, 2, 3], factor = -1)":      "factor must not be negative",
		"stats.linear([1, 2, 3])":                         "takes (y, x1, ...)",
		"stats.linear([1, 2, 3, 4], [1, 1, 1, 1])":        "constant",
		"stats.fieller([1, 2], [\"a\", 1])":               "which is no number",
		"stats.fieller([1, 2], [1, 2], confidence = 1.5)": "confidence must be between 0 and 1",
	} {
		if _, err := eval(t, src, Options{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", src, err)
		}
	}
}
