package audit

import (
	"fmt"
	"math"
	"regexp"
	"strings"
)

var (
	changeHead = regexp.MustCompile(`(?i)Δ|delta|change|diff|drop|gain|overhead`)
	ratioHead  = regexp.MustCompile(`(?i)ratio|speedup|amplification|factor`)
)

// rule is one way to make a column from two others, on intervals; ok is false where it is undefined.
type rule struct {
	name string
	f    func(a, b Num) (lo, hi float64, ok bool)
}

func changeRules() []rule {
	change := func(a, b Num) (float64, float64, bool) {
		if a.Lo <= 0 || b.Lo < 0 {
			return 0, 0, false
		}
		return 100 * (b.Lo/a.Hi - 1), 100 * (b.Hi/a.Lo - 1), true
	}
	return []rule{
		{"100 (b - a) / a", change},
		{"100 (a - b) / a", func(a, b Num) (float64, float64, bool) { lo, hi, ok := change(a, b); return -hi, -lo, ok }},
	}
}

func ratioRules() []rule {
	return []rule{{"b / a", func(a, b Num) (float64, float64, bool) { return b.Lo / a.Hi, b.Hi / a.Lo, a.Lo > 0 && b.Lo >= 0 }}}
}

// widest is the number of columns from which the sources of others are not searched any more.
const widest = 60

// least is how many rows must follow from the same two columns before the others are called wrong.
const least = 2

// derived finds, for each column of changes or ratios, the two columns it is made of: those from which most rows follow. Rows that
// don't follow from them are inconsistent. Where no pair explains half of the rows nothing is said.
func (x *auditor) derived() {
	if len(x.Columns) > widest {
		return
	}
	made := make([]bool, len(x.Columns)) // columns of changes are no sources of others
	for c, head := range x.Columns {
		made[c] = changeHead.MatchString(head)
	}
	for c, head := range x.Columns {
		head = plain(head)
		rules, what := changeRules(), "per cent change"
		if ratioHead.MatchString(head) && !strings.Contains(head, "%") {
			rules, what = ratioRules(), "ratio"
		} else if !changeHead.MatchString(head) {
			continue
		}
		type fit struct {
			rule rule
			a, b int
			hits int
			all  int
		}
		var best fit
		for _, r := range rules {
			for a := range x.Columns {
				for b := range x.Columns {
					if a == b || a == c || b == c || made[a] || made[b] {
						continue
					}
					f := fit{rule: r, a: a, b: b}
					for row := range x.Rows {
						if lo, hi, p, ok := x.derive(row, c, a, b, r); ok {
							f.all++
							if meets(lo, hi, p.Lo, p.Hi) && informative(p, x, row, a, b) {
								f.hits++
							}
						}
					}
					if f.hits > best.hits {
						best = f
					}
				}
			}
		}
		if best.hits < least || 2*best.hits < best.all {
			continue
		}
		for row := range x.Rows {
			lo, hi, p, ok := x.derive(row, c, best.a, best.b, best.rule)
			if !ok {
				continue
			}
			a, _ := x.at(row, best.a)
			b, _ := x.at(row, best.b)
			how := strings.NewReplacer("a", short(a.V), "b", short(b.V)).Replace(best.rule.name)
			x.judge(row, what+" in "+strings.TrimSpace(x.Columns[c]), p, lo, hi, "%s = %s, printed %s", how, span(lo, hi), x.Rows[row][c])
		}
	}
}

// derive is the interval that a rule gives for a cell, and what is printed there.
func (x *auditor) derive(row, c, a, b int, r rule) (lo, hi float64, printed Num, ok bool) {
	p, ok1 := x.at(row, c)
	na, ok2 := x.at(row, a)
	nb, ok3 := x.at(row, b)
	if !ok1 || !ok2 || !ok3 || p.Range || na.Range || nb.Range {
		return 0, 0, p, false
	}
	lo, hi, ok = r.f(na, nb)
	return lo, hi, p, ok
}

// informative: two small whole numbers are near many ratios, so that they explain nothing.
func informative(_ Num, x *auditor, row, a, b int) bool {
	na, _ := x.at(row, a)
	nb, _ := x.at(row, b)
	return math.Abs(na.V) >= 5*(na.Hi-na.Lo) && math.Abs(nb.V) >= 5*(nb.Hi-nb.Lo)
}

func short(v float64) string {
	switch {
	case v == math.Trunc(v) && math.Abs(v) < 1e15:
		return fmt.Sprintf("%.0f", v)
	case math.Abs(v) >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.4g", v)
}

// span shows an interval, or the one number that it is when it is narrow.
func span(lo, hi float64) string {
	if a, b := short(lo), short(hi); a != b {
		return a + " to " + b
	}
	return short(lo)
}
