package report

import (
	"errors"
	"fmt"
	"math"
	"strings"

	"sextant/analysis/stat"
)

// A Pair is one comparison to make: the values of a metric, a trial each, of a cell and of its baseline.
type Pair struct {
	Label    []string // what is compared, in columns
	Metric   string   // column of trials
	Base, To []float64
}

// A Verdict is what a comparison says in words.
type Verdict string

// The verdicts.
const (
	Faster  Verdict = "faster"
	Slower  Verdict = "slower"
	Same    Verdict = "no difference within the margin"
	Unknown Verdict = "can't tell"
)

// A Comparison is a pair with its effect: the change of the mean in per cent of the baseline's, its 95 % interval (log-delta,
// both means' variation), Welch's p and that adjusted over all comparisons (Holm).
type Comparison struct {
	Pair
	BaseMean, Mean *float64
	ChangePct      *float64
	LoPct, HiPct   *float64
	P, AdjustedP   *float64
	Verdict        Verdict
	Note           string // why nothing can be told, or how many repeats would tell a change of the margin
}

// higherIsFaster says which way a metric counts; other columns of trials have no verdict of faster or slower.
func higherIsFaster(metric string) (bool, bool) {
	switch {
	case metric == "throughput_ops_s":
		return true, true
	case strings.HasSuffix(metric, "_ms"):
		return false, true
	}
	return false, false
}

// alpha is the level of the verdicts.
const alpha = 0.05

// Compare makes all comparisons; margin is the change in per cent that would matter.
func Compare(pairs []Pair, margin float64) []Comparison {
	out := make([]Comparison, len(pairs))
	var p []float64
	var tested []int
	for i, pair := range pairs {
		out[i] = effect(pair)
		if out[i].P != nil {
			p, tested = append(p, *out[i].P), append(tested, i)
		}
	}
	adjusted := stat.Holm(p, len(p))
	for k, i := range tested {
		out[i].AdjustedP = &adjusted[k]
	}
	for i := range out {
		out[i].judge(margin)
	}
	return out
}

func effect(pair Pair) Comparison {
	c := Comparison{Pair: pair, Verdict: Unknown}
	if len(pair.Base) == 0 || len(pair.To) == 0 {
		c.Note = "no usable trial on one side"
		return c
	}
	base, err1 := stat.Mean(pair.Base, 0.95)
	to, err2 := stat.Mean(pair.To, 0.95)
	if err := errors.Join(err1, err2); err != nil {
		c.Note = err.Error()
		return c
	}
	c.BaseMean, c.Mean = &base.Value, &to.Value
	if change, err := stat.ChangePct(base.Value, to.Value); err == nil {
		c.ChangePct = &change
	}
	if len(pair.Base) < 2 || len(pair.To) < 2 {
		c.Note = "one trial has no deviation"
		return c
	}
	if r, err := stat.Ratio(pair.To, pair.Base, 0.95); err == nil {
		lo, hi := 100*(*r.Lo-1), 100*(*r.Hi-1)
		c.LoPct, c.HiPct = &lo, &hi
	}
	w, err := stat.Welch(pair.To, pair.Base, 0.95)
	if err != nil {
		c.Note = err.Error()
		return c
	}
	c.P = &w.P
	return c
}

func (c *Comparison) judge(margin float64) {
	up, directed := higherIsFaster(c.Metric)
	switch {
	case c.LoPct != nil && *c.LoPct > -margin && *c.HiPct < margin:
		c.Verdict = Same
	case c.AdjustedP != nil && *c.AdjustedP < alpha && c.ChangePct != nil:
		c.Verdict = Slower
		if (*c.ChangePct > 0) == up {
			c.Verdict = Faster
		}
		if !directed {
			c.Verdict = Verdict(map[bool]string{true: "higher", false: "lower"}[*c.ChangePct > 0])
		}
	case c.Note == "":
		if n := needed(c.Base, c.To, margin); n > 0 {
			c.Note = fmt.Sprintf("about %d repeats would tell %g %%", n, margin)
		}
	}
}

// needed is how many values a side a change of margin per cent takes at 80 % power: 2 (1.96 + 0.84)^2 (CV/margin)^2.
func needed(a, b []float64, margin float64) int {
	x, y := stat.CV(a), stat.CV(b)
	if x == nil || y == nil || margin <= 0 {
		return 0
	}
	cv := math.Sqrt((*x**x + *y**y) / 2)
	return max(int(math.Ceil(2*2.8*2.8*(cv/margin)*(cv/margin))), 2)
}

// Comparisons is the table of comparisons; labels are the heads of Pair.Label.
func Comparisons(labels []string, list []Comparison) *Table {
	t := &Table{Bold: map[[2]int]bool{}}
	for _, l := range labels {
		t.Columns = append(t.Columns, Column{Name: l, Left: true})
	}
	t.Columns = append(t.Columns, Column{Name: "metric", Left: true}, Column{Name: "base", Drop: 3}, Column{Name: "now", Drop: 2}, Column{Name: "change"},
		Column{Name: "95 % interval"}, Column{Name: "p (Holm)", Drop: 1}, Column{Name: "verdict", Left: true})
	for i, c := range list {
		interval := "-"
		if c.LoPct != nil {
			interval = fmt.Sprintf("%+.1f to %+.1f %%", *c.LoPct, *c.HiPct)
		}
		change := "-"
		if c.ChangePct != nil {
			change = fmt.Sprintf("%+.1f %%", *c.ChangePct)
		}
		verdict := string(c.Verdict)
		if c.Note != "" {
			verdict += ": " + c.Note
		}
		t.Rows = append(t.Rows, append(append([]string(nil), c.Label...), c.Metric, Number(c.BaseMean), Number(c.Mean), change, interval, pText(c.AdjustedP), verdict))
		if c.Verdict == Faster || c.Verdict == Slower {
			t.Bold[[2]int{i, len(labels) + 6}] = true
		}
	}
	return t
}

func pText(p *float64) string {
	switch {
	case p == nil:
		return "-"
	case *p < 0.0001:
		return "<0.0001"
	}
	return fmt.Sprintf("%.4f", *p)
}
