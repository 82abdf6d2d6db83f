package audit

import (
	"math"
	"regexp"
	"strconv"
	"strings"
)

// A Num is a printed number: V, and the interval of what rounds to it. A printed range (74,072–78,186) is an interval as well.
type Num struct {
	V, Lo, Hi float64
	Percent   bool // with a percent sign
	Range     bool
}

// plain makes the typographic signs of a text the ASCII ones.
func plain(s string) string {
	if rest, ok := strings.CutPrefix(strings.TrimSpace(s), "–"); ok {
		s = "-" + rest
	}
	return strings.NewReplacer("−", "-", "–", "–", "‒", "-", " ", " ", " ", " ", " ", " ", "**", "", "`", "", "×", "x").Replace(strings.TrimSpace(s))
}

var (
	number   = regexp.MustCompile(`^[~≈]?\s*([+-]?(?:\d{1,3}(?:,\d{3})+|\d+)(?:\.\d+)?(?:[eE][+-]?\d+)?)\s*(%|x|ms|s|µs|us|ops/s|tps)?$`)
	spanned  = regexp.MustCompile(`^[~≈]?\s*([+-]?[\d,.]+)\s*(?:–|to)\s*([+-]?[\d,.]+)\s*(%|x|ms|s|µs|us)?$`)
	interval = regexp.MustCompile(`^[\[(]\s*([+-]?[\d,.]+)\s*(?:–|,|;| to )\s*([+-]?[\d,.]+)\s*[\])]$`)
	around   = regexp.MustCompile(`^([+-]?[\d,.]+)\s*(?:±|\+/-)\s*([\d,.]+)\s*(%|ms|s)?$`)
)

// parse reads one printed number.
func parse(s string) (Num, bool) {
	s = plain(s)
	if m := number.FindStringSubmatch(s); m != nil {
		return parsed(m[1], m[2] == "%")
	}
	if m := spanned.FindStringSubmatch(s); m != nil {
		a, ok := parsed(m[1], m[3] == "%")
		b, ok2 := parsed(m[2], m[3] == "%")
		if ok && ok2 && a.V <= b.V {
			return Num{V: (a.V + b.V) / 2, Lo: a.Lo, Hi: b.Hi, Percent: a.Percent, Range: true}, true
		}
	}
	return Num{}, false
}

// parsed reads digits with thousands' commas; half a unit of the last digit rounds to it.
func parsed(s string, percent bool) (Num, bool) {
	s = strings.ReplaceAll(s, ",", "")
	v, err := strconv.ParseFloat(s, 64)
	if err != nil || math.IsInf(v, 0) {
		return Num{}, false
	}
	half := 0.5
	digits, exponent, _ := strings.Cut(strings.ToLower(s), "e")
	if _, frac, ok := strings.Cut(digits, "."); ok {
		half *= math.Pow(10, -float64(len(frac)))
	}
	if e, err := strconv.Atoi(exponent); err == nil {
		half *= math.Pow(10, float64(e))
	}
	return Num{V: v, Lo: v - half, Hi: v + half, Percent: percent}, true
}

// parsePair reads "89.28 ± 0.53".
func parsePair(s string) (mean, spread Num, ok bool) {
	m := around.FindStringSubmatch(plain(s))
	if m == nil {
		return mean, spread, false
	}
	mean, ok = parsed(m[1], m[3] == "%")
	if !ok {
		return mean, spread, false
	}
	spread, ok = parsed(m[2], m[3] == "%")
	return mean, spread, ok
}

// parseInterval reads "[14,798–15,987]" or "[-0.595, -0.165]".
func parseInterval(s string) (lo, hi Num, ok bool) {
	s = plain(s)
	m := interval.FindStringSubmatch(s)
	if m == nil {
		// a comma may stand both between the ends and within them
		inner := strings.Trim(s, "[]()")
		if a, b, found := strings.Cut(inner, ", "); found && len(inner) == len(s)-2 {
			m = []string{s, a, b}
		}
	}
	if m == nil {
		return lo, hi, false
	}
	if lo, ok = parsed(strings.TrimSpace(m[1]), false); !ok {
		return lo, hi, false
	}
	hi, ok = parsed(strings.TrimSpace(m[2]), false)
	return lo, hi, ok
}

// meets says whether two intervals have a point in common, with a hair of slack for the arithmetic.
func meets(lo, hi, lo2, hi2 float64) bool {
	slack := 1e-9 * (math.Abs(lo) + math.Abs(hi))
	return lo <= hi2+slack && lo2 <= hi+slack
}
