package audit

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// A Verdict is what a check says of a row.
type Verdict string

// The verdicts.
const (
	Consistent   Verdict = "consistent"
	Inconsistent Verdict = "inconsistent"
	CantTell     Verdict = "can't tell"
)

// A Finding is what one check says of one row, with the computation that shows it.
type Finding struct {
	Table   string
	Line    int
	Row     string // its first cells
	Check   string
	Verdict Verdict
	Detail  string
}

// Options are what a text doesn't say about its tables.
type Options struct {
	Clients float64 // of Little's law where no column and no caption has them; 0: not known
	Count   float64 // operations of a run, for throughput x time; 0: not known
}

// Audit checks every table of a text. The name says how it is read.
func Audit(name, text string, o Options) ([]Finding, error) {
	tables, err := Tables(name, text)
	if err != nil {
		return nil, err
	}
	var out []Finding
	for _, t := range tables {
		x := &auditor{Table: t, o: o}
		for _, row := range t.Rows {
			nums := make([]*Num, len(row))
			for c, s := range row {
				if v, ok := parse(s); ok {
					nums[c] = &v
				}
			}
			x.nums = append(x.nums, nums)
		}
		x.derived()
		x.intervals()
		x.deviations()
		x.correlations()
		x.classes()
		x.counts()
		x.littlesLaw()
		x.order()
		slices.SortStableFunc(x.found, func(a, b Finding) int { return a.Line - b.Line })
		out = append(out, x.found...)
	}
	return out, nil
}

// auditor is one table under audit.
type auditor struct {
	*Table
	o     Options
	nums  [][]*Num // of each cell; nil: it is no number
	found []Finding
}

func (x *auditor) add(row int, check string, v Verdict, format string, a ...any) {
	label := []string{}
	for c, s := range x.Rows[row] {
		if x.nums[row][c] != nil && c > 0 || len(label) == 2 {
			break
		}
		label = append(label, s)
	}
	x.found = append(x.found, Finding{x.Name(), x.Lines[row], strings.Join(label, ", "), check, v, fmt.Sprintf(format, a...)})
}

// judge adds a finding for a printed value that should lie in [lo, hi]. One that is off by less than a unit of its last digit may
// have been cut instead of rounded.
func (x *auditor) judge(row int, check string, printed Num, lo, hi float64, format string, a ...any) {
	v := Consistent
	if half := (printed.Hi - printed.Lo) / 2; !meets(lo, hi, printed.Lo, printed.Hi) {
		v = Inconsistent
		if meets(lo, hi, printed.Lo-half, printed.Hi+half) {
			v = CantTell
		}
	}
	x.add(row, check, v, format, a...)
}

// column is the first column whose head matches, or -1.
func (x *auditor) column(pattern string) int {
	re := regexp.MustCompile("(?i)" + pattern)
	return slices.IndexFunc(x.Columns, func(h string) bool { return re.MatchString(plain(h)) })
}

// at is the number of a cell.
func (x *auditor) at(row, col int) (Num, bool) {
	if col < 0 || x.nums[row][col] == nil {
		return Num{}, false
	}
	return *x.nums[row][col], true
}

// captionNumber is the number in a phrase of the caption or of a head, such as "n = 60".
func (x *auditor) captionNumber(pattern string) (float64, bool) {
	re := regexp.MustCompile("(?i)" + pattern)
	for _, text := range append([]string{x.Caption}, x.Columns...) {
		if m := re.FindStringSubmatch(plain(text)); m != nil {
			if n, ok := parsed(m[1], false); ok {
				return n.V, true
			}
		}
	}
	return 0, false
}
