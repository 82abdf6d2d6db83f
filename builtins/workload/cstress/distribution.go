package cstress

import (
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"sextant/interp/spec"
)

// A Distribution is one of the tool's, over whole numbers from Min to Max.
type Distribution struct {
	Min, Max  int64
	kind      string
	inverted  bool
	mean, dev float64 // gaussian; mean of exp
	shape     float64 // extreme
	scale     float64
	text      string
}

var form = regexp.MustCompile(`^(~?)([A-Za-z]+)\((.+)\)$`)

// kinds are the tool's names of distributions, aliases included.
var kinds = map[string]string{"fixed": "fixed", "uniform": "uniform", "exp": "exp", "extr": "extreme", "extreme": "extreme",
	"gaussian": "gaussian", "gauss": "gaussian", "normal": "gaussian", "norm": "gaussian", "seq": "seq"}

// Names are the tool's names of distributions without their aliases.
func Names() []string {
	return []string{"fixed", "uniform", "gaussian", "exp", "extreme", "seq"}
}

// Parse reads a distribution in the tool's words. Errors say what is wrong, without the text itself.
func Parse(text string) (Distribution, error) {
	m := form.FindStringSubmatch(strings.TrimSpace(text))
	if m == nil {
		return Distribution{}, fmt.Errorf("is no distribution such as gaussian(1..10M), uniform(1..100) or fixed(34)")
	}
	kind := kinds[strings.ToLower(m[2])]
	if kind == "" {
		err := fmt.Errorf("names %s; there are %s", m[2], strings.Join(Names(), ", "))
		if s := spec.Nearest(strings.ToLower(m[2]), Names()); s != "" {
			err = fmt.Errorf("%w; did you mean %s?", err, s)
		}
		return Distribution{}, err
	}
	args := strings.Split(m[3], ",")
	d := Distribution{kind: kind, inverted: m[1] == "~", text: strings.TrimSpace(text)}
	if kind == "fixed" {
		n, err := Number(args[0])
		if err != nil || len(args) > 1 {
			return d, fmt.Errorf("needs one number in fixed(...)")
		}
		d.Min, d.Max = n, n
		return d, nil
	}
	low, high, ok := strings.Cut(args[0], "..")
	var err error
	if d.Min, err = Number(low); err == nil {
		d.Max, err = Number(strings.TrimLeft(high, "."))
	}
	if !ok || err != nil {
		return d, fmt.Errorf("needs a range such as 1..100 or 1..10M first")
	}
	if d.Min > d.Max {
		return d, fmt.Errorf("has a range from %d down to %d", d.Min, d.Max)
	}
	var more []float64
	for _, a := range args[1:] {
		f, err := strconv.ParseFloat(strings.TrimSpace(a), 64)
		if err != nil || math.IsNaN(f) || math.IsInf(f, 0) {
			return d, fmt.Errorf("has %q where a number must be", strings.TrimSpace(a))
		}
		more = append(more, f)
	}
	if err := d.parameters(more); err != nil {
		return d, err
	}
	if d.Min == d.Max {
		d.kind = "fixed"
	}
	return d, nil
}

// parameters sets what stands behind the range.
func (d *Distribution) parameters(more []float64) error {
	span := float64(d.Max - d.Min)
	wrong := func(what string) error { return fmt.Errorf("has %d numbers behind the range; %s", len(more), what) }
	switch d.kind {
	case "uniform", "seq":
		if len(more) > 0 {
			return wrong("there are none")
		}
	case "exp":
		if len(more) > 0 {
			return wrong("there are none")
		}
		// The mean that lets the last value be reached with the square root of a uniform probability.
		d.mean = span / -math.Log(math.Sqrt(1/span))
	case "gaussian":
		d.mean, d.dev = (float64(d.Min)+float64(d.Max))/2, span/2/3
		switch len(more) {
		case 0:
		case 1:
			d.dev = span / 2 / more[0]
		case 2:
			d.mean, d.dev = more[0], more[1]
		default:
			return wrong("there may be the standard deviations to the edge, or mean and standard deviation")
		}
		if d.dev <= 0 && span > 0 || math.IsInf(d.dev, 0) {
			return fmt.Errorf("has a standard deviation that is not above 0")
		}
	case "extreme":
		if len(more) != 1 {
			return wrong("it needs the shape")
		}
		if d.shape = more[0]; d.shape <= 0 {
			return fmt.Errorf("has a shape that is not above 0")
		}
		// Weibull's scale, by the same rule as exp's mean.
		d.scale = span / math.Pow(-math.Log(math.Sqrt(1/span)), 1/d.shape)
	}
	return nil
}

// Number reads a whole number with the tool's k, m and b for thousands, millions and (American) billions.
func Number(text string) (int64, error) {
	text = strings.ToLower(strings.TrimSpace(text))
	factor := int64(1)
	if i := strings.IndexAny(text, "kmb"); i >= 0 && i == len(text)-1 {
		factor = map[byte]int64{'k': 1e3, 'm': 1e6, 'b': 1e9}[text[i]]
		text = text[:i]
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n > math.MaxInt64/factor || n < math.MinInt64/factor {
		return 0, fmt.Errorf("%q is no whole number", text)
	}
	return n * factor, nil
}

// String is the text that the distribution was read from.
func (d Distribution) String() string { return d.text }

// Sequential says that values come in order, each once, then again from the start.
func (d Distribution) Sequential() bool { return d.kind == "seq" }

// A Source gives the uniform random numbers of Draw.
type Source interface{ Float64() float64 } // in [0, 1)

// Draw takes a value. A seq has none: its values are counted.
func (d *Distribution) Draw(r Source) int64 {
	var v int64
	switch d.kind {
	case "uniform":
		v = d.bound(float64(d.Min) + r.Float64()*(float64(d.Max)+1-float64(d.Min)))
	case "gaussian":
		v = d.bound(d.mean + d.dev*gaussian(r))
	case "exp":
		v = d.offset(-d.mean * math.Log1p(-r.Float64()))
	case "extreme":
		v = d.offset(d.scale * math.Pow(-math.Log1p(-r.Float64()), 1/d.shape))
	default:
		v = d.Min
	}
	if d.inverted {
		v = d.Max - (v - d.Min)
	}
	return v
}

// gaussian takes a standard normal number.
func gaussian(r Source) float64 {
	for {
		if z, _, ok := polar(r.Float64(), r.Float64()); ok {
			return z
		}
	}
}

// polar makes two standard normal numbers of two uniform ones by the polar method, as Java does; not of all.
func polar(u, v float64) (y, z float64, ok bool) {
	a, b := 2*u-1, 2*v-1
	s := float64(a*a) + float64(b*b)
	if s >= 1 || s == 0 {
		return 0, 0, false
	}
	m := math.Sqrt(-2 * math.Log(s) / s)
	return a * m, b * m, true
}

// bound cuts a value off towards 0 and keeps it in the range: what lies outside falls on the ends, as with the tool.
func (d *Distribution) bound(v float64) int64 {
	return min(max(int64(v), d.Min), d.Max)
}

func (d *Distribution) offset(v float64) int64 {
	return d.Min + int64(min(max(v, 0), float64(d.Max-d.Min)))
}

// Seedable says whether seeded values are the tool's own, byte for byte.
func (d Distribution) Seedable() bool {
	return slices.Contains([]string{"fixed", "uniform", "gaussian"}, d.kind)
}
