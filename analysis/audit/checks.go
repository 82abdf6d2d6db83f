package audit

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strings"

	"sextant/analysis/stat"
)

// intervals checks printed t intervals of a mean against its n and its deviation or CV.
func (x *auditor) intervals() {
	n, mean, ci := x.column(`^n$|^n\b`), x.column(`mean`), x.column(`95\s*%\s*ci|confidence`)
	cv, sd := x.column(`\bcv`), x.column(`\bsd\b|std|deviation`)
	if mean < 0 || ci < 0 || n < 0 || cv < 0 && sd < 0 {
		return
	}
	for row := range x.Rows {
		k, ok := x.at(row, n)
		m, ok2 := x.at(row, mean)
		lo, hi, ok3 := parseInterval(x.Rows[row][ci])
		if !ok || !ok2 || !ok3 || k.V < 2 {
			continue
		}
		var s Num
		if s, ok = x.at(row, sd); !ok {
			if s, ok = x.at(row, cv); !ok {
				continue
			}
			s = Num{V: s.V * m.V / 100, Lo: s.Lo * m.Lo / 100, Hi: s.Hi * m.Hi / 100}
		}
		e, err := stat.MeanFromSummary(0, 1, int(k.V), 0.95)
		if err != nil {
			continue
		}
		half := Num{V: (hi.V - lo.V) / 2, Lo: (hi.Lo - lo.Hi) / 2, Hi: (hi.Hi - lo.Lo) / 2}
		x.judge(row, "interval from n and deviation", half, *e.Hi*max(s.Lo, 0), *e.Hi*s.Hi, "half width t(%.0f) s/sqrt(%.0f) = %s, printed %s", k.V-1, k.V, span(*e.Hi*max(s.Lo, 0), *e.Hi*s.Hi), short(half.V))
		x.judge(row, "middle of the interval", Num{Lo: (lo.Lo + hi.Lo) / 2, Hi: (lo.Hi + hi.Hi) / 2}, m.Lo, m.Hi, "middle %s, mean %s", short((lo.V+hi.V)/2), x.Rows[row][mean])
	}
}

// deviations checks CVs against mean and deviation, and whether deviation, minimum and maximum can be those of n values.
func (x *auditor) deviations() {
	cv, mean, sd := x.column(`\bcv`), x.column(`mean|tps|throughput`), x.column(`^sd\b|std|deviation`)
	if sd >= 0 && (mean < 0 || latencyHead(x.Columns[sd]) != latencyHead(x.Columns[mean])) {
		sd = -1 // of another quantity
	}
	low, high, n := x.column(`^min\b(?: (?:tps|ops|throughput).*)?$|minimum`), x.column(`^max\b(?: (?:tps|ops|throughput).*)?$|maximum`), x.column(`^n$|^n\b`)
	said, known := x.captionNumber(`\bn\s*=\s*(\d+)`)
	for row := range x.Rows {
		m, ok := x.at(row, mean)
		s, ok2 := x.at(row, sd)
		if mean >= 0 && !ok2 { // "89.28 ± 0.53" in one cell
			m, s, ok2 = parsePair(x.Rows[row][mean])
			ok = ok2
		}
		if !ok || !ok2 || m.Lo <= 0 {
			continue
		}
		if c, ok := x.at(row, cv); ok {
			x.judge(row, "CV from mean and deviation", c, 100*max(s.Lo, 0)/m.Hi, 100*s.Hi/m.Lo, "100 x %s / %s = %s %%, printed %s", short(s.V), short(m.V), span(100*max(s.Lo, 0)/m.Hi, 100*s.Hi/m.Lo), x.Rows[row][cv])
		}
		lo, ok3 := x.at(row, low)
		hi, ok4 := x.at(row, high)
		k, ok5 := x.at(row, n)
		if !ok5 {
			k.V, ok5 = said, known
		}
		if !ok3 || !ok4 || !ok5 {
			continue
		}
		p, err := stat.CheckSummary(int(k.V), m.V, s.Hi, lo.Lo, hi.Hi)
		if err != nil {
			continue
		}
		v := Consistent
		if !p.Possible {
			v = Inconsistent
		}
		x.add(row, "deviation, minimum and maximum", v, "of %d values none is farther than %s from the mean, printed %s; no deviation is above %s, printed %s", int(k.V), short(p.Samuelson), short(p.MaxDeviation), short(p.BhatiaDavis), short(s.V))
	}
}

func latencyHead(h string) bool { return strings.Contains(strings.ToLower(h), "lat") }

// correlations checks r against its t, its p, its Fisher interval, and the marks of a Bonferroni correction.
func (x *auditor) correlations() {
	r := x.column(`^(pearson )?r$|^r\b|pearson`)
	if r < 0 {
		return
	}
	n, t, p, ci, mark := x.column(`^n$`), x.column(`^t\b`), x.column(`^p\b`), x.column(`95\s*%\s*ci`), x.column(`bonferroni`)
	common, known := x.captionNumber(`df\s*=\s*(\d+)`) // n of all rows
	if common += 2; !known {
		common, known = x.captionNumber(`\bn\s*=\s*(\d+)`)
	}
	for row := range x.Rows {
		v, ok := x.at(row, r)
		if !ok || v.Range || math.Abs(v.V) >= 1 {
			continue
		}
		size := common
		if k, ok := x.at(row, n); ok {
			size = k.V
		} else if !known {
			continue
		}
		ends := [2]stat.Test{}
		var err error
		for i, e := range []float64{max(v.Lo, -0.999999), min(v.Hi, 0.999999)} {
			if ends[i], err = stat.PearsonOf(e, int(size), 0.95); err != nil {
				break
			}
		}
		if err != nil || ends[0].Lo == nil {
			continue
		}
		of := fmt.Sprintf("r = %s, n = %.0f", x.Rows[row][r], size)
		if a, b, ok := x.intervalAt(row, ci); ok {
			x.judge(row, "Fisher interval of r", a, *ends[0].Lo, *ends[1].Lo, "%s: lower end %s, printed %s", of, span(*ends[0].Lo, *ends[1].Lo), short(a.V))
			x.judge(row, "Fisher interval of r", b, *ends[0].Hi, *ends[1].Hi, "%s: upper end %s, printed %s", of, span(*ends[0].Hi, *ends[1].Hi), short(b.V))
		}
		if v, ok := x.at(row, t); ok {
			x.judge(row, "t of r", v, ends[0].Statistic, ends[1].Statistic, "%s: t = %s, printed %s", of, span(ends[0].Statistic, ends[1].Statistic), x.Rows[row][t])
		}
		if v, ok := x.at(row, p); ok {
			lo, hi := min(ends[0].P, ends[1].P), max(ends[0].P, ends[1].P)
			if ends[0].Value < 0 && ends[1].Value > 0 {
				hi = 1
			}
			x.judge(row, "p of r", v, lo, hi, "%s: p = %s, printed %s", of, span(lo, hi), x.Rows[row][p])
			x.bonferroni(row, mark, v)
		}
	}
}

func (x *auditor) intervalAt(row, col int) (lo, hi Num, ok bool) {
	if col < 0 {
		return lo, hi, false
	}
	return parseInterval(x.Rows[row][col])
}

// bonferroni checks a mark of significance against p and the threshold that the caption gives.
func (x *auditor) bonferroni(row, col int, p Num) {
	if col < 0 {
		return
	}
	said := strings.ToLower(strings.TrimSpace(x.Rows[row][col]))
	yes := strings.HasPrefix(said, "yes") || said == "✓" || said == "*"
	if !yes && !strings.HasPrefix(said, "no") {
		return
	}
	limit, ok := x.captionNumber(`(?:α|alpha)\*?\s*=\s*(0?\.\d+)`)
	if !ok {
		tests, ok2 := x.captionNumber(`(\d+)\s+tests`)
		if !ok2 {
			return
		}
		limit = 0.05 / tests
	}
	v := Consistent
	if yes != (p.V < limit) {
		v = Inconsistent
	}
	x.add(row, "Bonferroni mark", v, "p = %s against %s, marked %s", short(p.V), short(limit), said)
}

// classes checks classes of stability against the CV.
func (x *auditor) classes() {
	cv, class := x.column(`\bcv`), x.column(`stability|class`)
	if cv < 0 || class < 0 {
		return
	}
	for row := range x.Rows {
		v, ok := x.at(row, cv)
		said := strings.ToUpper(strings.TrimSpace(x.Rows[row][class]))
		if !ok || v.Range || !slices.Contains([]string{"HIGH", "MEDIUM", "LOW"}, said) {
			continue
		}
		got := Consistent
		if said != stat.Stability(v.Lo) && said != stat.Stability(v.Hi) {
			got = Inconsistent
		}
		x.add(row, "stability class", got, "CV %s %% is %s, printed %s", short(v.V), stat.Stability(v.V), said)
	}
}

// counts checks that throughput x time is the number of operations. Means over repeats with a spread don't multiply exactly.
func (x *auditor) counts() {
	time, rate := x.column(`total time|run ?time|elapsed`), x.column(`throughput|tps|ops`)
	if time < 0 || rate < 0 || x.o.Count <= 0 {
		return
	}
	for row := range x.Rows {
		t, st, ok := x.spread(row, time)
		r, sr, ok2 := x.spread(row, rate)
		if !ok || !ok2 || t.V <= 0 || r.V <= 0 {
			continue
		}
		n := t.V * r.V
		off := 100 * (n - x.o.Count) / x.o.Count
		// The mean of 1/x is above 1 / the mean by about the square of the coefficient of variation.
		drift := 100 * st.V / t.V * sr.V / r.V
		v := Consistent
		switch {
		case meets(t.Lo*r.Lo, t.Hi*r.Hi, x.o.Count, x.o.Count):
		case math.Abs(off) <= max(1.5*drift, 0.1):
			v = CantTell
		default:
			v = Inconsistent
		}
		x.add(row, "throughput x time", v, "%s x %s = %s, %+.2f %% of %s; the spread of the repeats explains %.2f %%", short(t.V), short(r.V), short(n), off, short(x.o.Count), drift)
	}
}

// spread is a cell's number, and its deviation where it has one.
func (x *auditor) spread(row, col int) (v, sd Num, ok bool) {
	if m, s, ok := parsePair(x.Rows[row][col]); ok {
		return m, s, true
	}
	v, ok = x.at(row, col)
	return v, Num{}, ok && !v.Range
}

var latencyUnit = regexp.MustCompile(`(?i)\((ms|s|µs|us)\)|\b(ms|µs|us)\b`)

// littlesLaw checks clients against throughput x mean latency: in a closed loop no more can be in flight.
func (x *auditor) littlesLaw() {
	rate, lat, who := x.column(`throughput|\btps\b|ops/s`), x.column(`(avg|average|mean).*lat`), x.column(`threads|clients|concurrency`)
	if rate < 0 || lat < 0 {
		return
	}
	depth, ok := x.captionNumber(`pipeline(?: depth)?[ :=]+(\d+)`)
	if !ok {
		depth = 1
	}
	cv := x.column(`\bcv`)
	scale := 1e-3
	text := x.Columns[lat] + " " + x.Caption
	if m := latencyUnit.FindStringSubmatch(text); m != nil {
		switch strings.ToLower(m[1] + m[2]) {
		case "s":
			scale = 1
		case "µs", "us":
			scale = 1e-6
		}
	}
	common := x.o.Clients
	if c, ok := x.captionNumber(`(\d+)\s+(?:threads|clients|concurrent)`); ok {
		common = c
	}
	for row := range x.Rows {
		r, sr, ok := x.spread(row, rate)
		l, sl, ok2 := x.spread(row, lat)
		if !ok || !ok2 || r.V <= 0 {
			continue
		}
		clients := common
		if c, ok := x.at(row, who); ok {
			clients = c.V
		}
		if clients *= depth; clients <= 0 {
			continue
		}
		// The product of two means over repeats is above the mean of the products by about the product of their spreads.
		drift := 1.5 * 100 * sr.V / r.V * sl.V / max(l.V, 1e-12)
		if c, ok := x.at(row, cv); ok && drift == 0 {
			drift = 1.5 * c.V * c.V / 100
		}
		c, err := stat.CheckLoad(clients, r.V, l.V*scale)
		if err != nil {
			continue
		}
		lo, hi := r.Lo*max(l.Lo, 0)*scale, r.Hi*l.Hi*scale
		v := Consistent
		switch {
		case lo > clients*(1.01+drift/100):
			v = Inconsistent
		case hi < clients*0.94 || lo > clients:
			v = CantTell
		}
		x.add(row, "Little's law", v, "%s/s x %s s = %s in flight, %.0f clients (%+.1f %%)", short(r.V), short(l.V*scale), span(lo, hi), clients, c.GapPct)
	}
}

// order checks that percentiles don't fall and that mean and percentiles lie within minimum and maximum.
func (x *auditor) order() {
	heads := []string{`^min`, `p50|median`, `p90\b`, `p95`, `p99\b`, `p99\.?9\b|p999`, `^max.*lat|^max`}
	var cols []int
	for _, h := range heads {
		if c := x.column(h); c >= 0 && !slices.Contains(cols, c) {
			cols = append(cols, c)
		}
	}
	if len(cols) < 2 {
		return
	}
	for row := range x.Rows {
		bad := ""
		seen := 0
		var last Num
		for _, c := range cols {
			v, ok := x.at(row, c)
			if !ok || v.Range {
				continue
			}
			if seen++; seen > 1 && v.Hi < last.Lo {
				bad = fmt.Sprintf("%s %s is below the %s before it", strings.TrimSpace(x.Columns[c]), short(v.V), short(last.V))
			}
			last = v
		}
		switch {
		case seen < 2:
		case bad != "":
			x.add(row, "order of percentiles", Inconsistent, "%s", bad)
		default:
			x.add(row, "order of percentiles", Consistent, "%d of them rise", seen)
		}
	}
}
