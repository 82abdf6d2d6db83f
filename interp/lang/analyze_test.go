package lang

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// source is a run of one table: throughput and latency of two levels at two sizes, three repeats.
type source struct {
	emitted map[string]*Table
	logged  []string
}

func (s *source) Names() []string { return []string{"trials", "operations"} }
func (s *source) Axes() []string  { return []string{"size", "level"} }
func (s *source) Log(text string) { s.logged = append(s.logged, text) }
func (s *source) Emit(t *Table) error {
	s.emitted[t.Name] = t
	return nil
}

func (s *source) Table(name string) (*Table, error) {
	t := &Table{Name: name, Columns: []string{"size", "level", "rate", "p99_ms", "note"}, Axes: []string{"size", "level"}}
	for i, rate := range []float64{100, 110, 120, 50, 55, 60, 200, 210, 220, 150, 160, 170} {
		t.Rows = append(t.Rows, []any{int64(1 + i/6), []string{"off", "full"}[i/3%2], rate, 1000 / rate, nil})
	}
	return t, nil
}

// analyze evaluates an analyze hook of one expression or statement body.
func analyzed(t *testing.T, body string) (*source, error) {
	t.Helper()
	dir := t.TempDir()
	file := filepath.Join(dir, "x.star")
	text := "def look(r):\n    " + strings.ReplaceAll(body, "\n", "\n    ") + "\n\nexperiment(\"e\", system = fake.local(), workload = workload.mixed(\"reads\"), measure = \"1s\", analyze = look)\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	p, err := Eval(t.Context(), file, Options{Registry: registry()})
	if err != nil {
		t.Fatal(err)
	}
	s := &source{emitted: map[string]*Table{}}
	return s, p.Hook("e", "analyze").Analyze(t.Context(), s)
}

func TestTablesOfAnAnalysis(t *testing.T) {
	for body, want := range map[string]string{
		`r.log(str(len(r.trials)))`: "12",
		`r.log(str([x.rate for x in r.trials.where(level = "off", size = 1)]))`:                                                                                         "[100.0, 110.0, 120.0]",
		`r.log(str([x.rate for x in r.trials.where(lambda x: x.rate > 200).sort("rate", reverse = True)]))`:                                                             "[220.0, 210.0]",
		`r.log(str(r.trials.select("rate", "level").columns))`:                                                                                                          `["rate", "level"]`,
		`r.log(str([(g.key.level, len(g.table)) for g in r.trials.group("level")]))`:                                                                                    `[("off", 6), ("full", 6)]`,
		`r.log(str([g.table[0].rate for g in r.trials.group("level", "size")]))`:                                                                                        "[100.0, 50.0, 200.0, 150.0]",
		`t = stats.summary(r.trials, "rate").pivot(rows = ["size"], columns = "level", value = "mean")` + "\n" + `r.log(str([(x.level_off, x.level_full) for x in t]))`: "[(110.0, 55.0), (210.0, 160.0)]",
		`r.log(str([x.change_pct for x in stats.penalty(r.trials, axis = "level", baseline = "off", metric = "rate")]))`:                                                "[-50.0, -23.80952380952381]",
		`r.log(str([(x.size_low, x.size_high, x.ratio) for x in stats.scalability(r.trials, "size", "rate")]))`:                                                         "[(1, 2, 2.909090909090909), (1, 2, 1.9090909090909092)]",
		`r.log(str([x.n for x in stats.correlation_matrix(r.trials, ["rate", "p99_ms", "size"])]))`:                                                                     "[12, 12, 12]",
		`c = stats.penalty(r.trials, axis = "level", baseline = "off", metric = "rate")` + "\n" + `r.log(str([[x.lo_pct < x.change_pct, x.change_pct < x.hi_pct, x.hi_pct < 0] for x in c] + [[x.p_adjusted for x in c] == stats.holm(c.column("p")), c[0].p < c[0].p_adjusted or c[1].p < c[1].p_adjusted]))`: "[[True, True, True], [True, True, True], True, True]",
		`r.log(str([(x.n, x.mean) for x in stats.summary(r.trials, "note", by = ["level"])]))`:                  "[(0, None), (0, None)]",
		`m = stats.mean([1, 2, 3, 4, 5])` + "\n" + `r.log("%s %d" % (m.value, m.n))`:                            "3.0 5",
		`r.log(str(stats.median(r.trials.column("p99_ms")) > 0))`:                                               "True",
		`r.log(str([stats.sd([5]), stats.cv([1, 1]), stats.stability(None), stats.stability(20.0)]))`:           `[None, 0.0, None, "MEDIUM"]`,
		`r.log(str(stats.holm([0.01, 0.04, 0.03])))`:                                                            "[0.03, 0.06, 0.06]",
		`r.log(str(stats.bonferroni([0.01, 0.4], m = 3)))`:                                                      "[0.03, 1.0]",
		`r.log(str(stats.change_pct(200, 150)))`:                                                                "-25.0",
		`r.log(str(stats.littles_law(1000, 0.002)))`:                                                            "2.0",
		`r.log(str(stats.kendall([1, 2, 3, 4], [1, 2, 3, 4]).value))`:                                           "1.0",
		`r.log(str(stats.anova([1, 2, 3], [1, 2, 3]).statistic))`:                                               "0.0",
		`x = stats.welch([3, 4, 5], [1, 2, 3])` + "\n" + `r.log(str([x.value, x.lo < 2, x.p < 0.2, x.df > 3]))`: "[2.0, True, True, True]",
		`r.log(str(stats.tost([100.1, 99.8, 100.4, 100], [100.3, 99.7, 100.1, 100.2], 2).equivalent))`:          "True",
		`u = stats.usl([1, 2, 4, 8, 12, 16], [500, 952.380952380952, 1739.13043478261, 2962.96296296296, 3870.96774193548, 4571.42857142857])` + "\n" + `r.log("%s %s" % (int(u.rate1 + 0.5), u.peak))`: "500 None",
		`e = stats.bootstrap([1, 2, 3, 4, 5], "median")` + "\n" + `r.log(str([e.value, e.lo >= 1, e.hi <= 5]))`:                                                                                         "[3.0, True, True]",
		`r.log(str(stats.bootstrap([1, 2, 3]).lo == stats.bootstrap([1, 2, 3]).lo))`:                                                                                                                    "True",
		`r.log(str(stats.geomean([1, 4]).value))`:                                                                  "2.0",
		`r.log(str(stats.wilcoxon([1, 2, 3], [2, 4, 6]).p))`:                                                       "0.25",
		`e = stats.quantile_interval([1, 2, 3, 4, 5, 6])` + "\n" + `r.log(str([e.value, e.lo, e.hi, e.coverage]))`: "[3.5, 1.0, 6.0, 0.96875]",
		`r.log(str(stats.quantile([1, 2, 3, 4], 0.5)))`:                                                            "2.5",
		`r.log(str(stats.cliff([3, 4], [1, 2]).cliff))`:                                                            "1.0",
	} {
		s, err := analyzed(t, body)
		if err != nil || len(s.logged) != 1 || s.logged[0] != want {
			t.Errorf("%s: %v, %v; want %s", body, s.logged, err, want)
		}
	}
}

// An analysis never gives a silent NaN, and no mean of what has none.
func TestAnalysisErrors(t *testing.T) {
	for body, want := range map[string]string{
		`r.trials.column("rat")`:                `table trials has no column "rat"; did you mean "rate"?`,
		`r.nothing`:                             "nothing",
		`stats.mean([])`:                        "stats.mean: a statistic of no values is undefined",
		`stats.mean([1, None])`:                 "stats.mean: x holds None, which is no number: leave out what was not measured",
		`stats.mean("12")`:                      "must be a list of numbers",
		`stats.mean(r.trials.column("p99_ms"))`: "p99_ms is a percentile or an extreme of each trial, and the mean of those is none: use stats.median",
		`stats.summary(r.trials, "p99_ms")`:     "p99_ms is a percentile",
		`stats.penalty(r.trials, axis = "level", baseline = "on", metric = "rate")`:    `no trial has level = "on"; there are "full", "off"`,
		`stats.penalty(r.trials, axis = "level", baseline = "off", metric = "p99_ms")`: "p99_ms is a percentile",
		`stats.scalability(r.trials, "level", "rate")`:                                 "the axis level holds full, which is no number",
		`stats.welch([1, 1], [1, 1])`:                                                  "the values don't vary",
		`stats.welch([1], [1, 2])`:                                                     "needs two values in each sample",
		`stats.welch([1, 2], [1, 2], confidence = 1.5)`:                                "confidence must be between 0 and 1",
		`stats.pearson([1, 2, 3, 4], [1, 2])`:                                          "needs at least four pairs",
		`stats.holm([1.5])`:                                                            "1.5 is no p value",
		`stats.bonferroni([0.1, 0.2], m = 1)`:                                          "m = 1 is less than the 2 p values",
		`stats.tost([1, 2], [1, 2], 0)`:                                                "the margin must be above 0",
		`stats.bootstrap([1, 2], "mode")`:                                              "statistic is mean or median",
		`stats.bootstrap(r.trials.column("p99_ms"))`:                                   "p99_ms is a percentile",
		`stats.geomean([1, 0])`:                                                        "values above 0, not 0",
		`stats.usl([1, 2], [1, 2])`:                                                    "at least three loads",
		`stats.quantil([1], 0.5)`:                                                      "quantile",
		`r.trials.pivot(rows = ["size"], columns = "level", value = "rate")`:           "there are several values of rate where level is off",
		`r.table("x", "text")`:                                                         "rows must be a table, or a list of dicts",
		`r.table("x", [{"a": [1]}])`:                                                   "row 0: a is a list",
		`r.trials.where()`:                                                             "takes a function of the row, or column = value",
	} {
		if _, err := analyzed(t, body); err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "x.star:2:") {
			t.Errorf("%s: %v, want %s", body, err, want)
		}
	}
}

// One repeat a cell has a change but no interval and no p; a level that was not measured says so.
func TestPenaltyOfFewValues(t *testing.T) {
	s, err := analyzed(t, `one = r.trials.where(lambda x: x.rate in [100.0, 50.0, 150.0])
r.table("cost", stats.penalty(one, axis = "level", baseline = "off", metric = "rate"))`)
	if err != nil {
		t.Fatal(err)
	}
	c := s.emitted["cost"]
	got := fmt.Sprint(c.Rows)
	if !strings.Contains(got, "[1 full off rate 1 1 50 100 -50 <nil> <nil> <nil> <nil> no interval: a ratio") || !strings.Contains(got, "[2 full off rate 1 0 150 <nil> <nil> <nil> <nil> <nil> <nil> not measured on both sides]") {
		t.Errorf("%v: %s", c.Columns, got)
	}
}
