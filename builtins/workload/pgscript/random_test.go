package pgscript

import (
	"math"
	"testing"

	"gonum.org/v1/gonum/stat/distuv"

	"sextant/interp/load"
)

// Each random function against its own law over 10 values, by chi-square on 10^6 draws; the limit is the quantile at
// 1 - 10^-6, so that a right generator fails once in a million seeds, and the seed is fixed.
func TestRandomFunctionsFollowTheirLaws(t *testing.T) {
	const n, draws = 10, 1_000_000
	normal := distuv.UnitNormal
	zipf := func(s float64) func(int) float64 {
		var h float64
		for k := 1; k <= n; k++ {
			h += math.Pow(float64(k), -s)
		}
		return func(i int) float64 { return math.Pow(float64(i+1), -s) / h }
	}
	for text, law := range map[string]func(i int) float64{
		"random(5, 14)": func(int) float64 { return 1.0 / n },
		// between the cuts of the unit interval, P(r < x) = (1 - e^(-p x)) / (1 - e^-p)
		"random_exponential(5, 14, 2.5)": func(i int) float64 {
			f := func(x float64) float64 { return -math.Expm1(-2.5*x) / -math.Expm1(-2.5) }
			return f(float64(i+1)/n) - f(float64(i)/n)
		},
		"random_gaussian(5, 14, 3)": func(i int) float64 {
			f := func(x float64) float64 { return normal.CDF(6*x - 3) }
			return (f(float64(i+1)/n) - f(float64(i)/n)) / (f(1) - f(0))
		},
		"random_zipfian(5, 14, 1.2)": zipf(1.2),
		"random_zipfian(5, 14, 3)":   zipf(3),
	} {
		e, err := parseExpr(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		v := &env{rng: seeded(7)}
		var count [n]float64
		for range draws {
			x, err := e(v)
			if err != nil || x.Int < 5 || x.Int > 14 {
				t.Fatalf("%s gives %v, %v", text, x, err)
			}
			count[x.Int-5]++
		}
		var chi float64
		for i, c := range count {
			want := draws * law(i)
			chi += (c - want) * (c - want) / want
		}
		if limit := (distuv.ChiSquared{K: n - 1}).Quantile(1 - 1e-6); !(chi < limit) {
			t.Errorf("%s: chi-square %.1f is above %.1f: %v", text, chi, limit, count)
		}
	}
}

// Large ranges stay in their bounds, at both ends.
func TestRandomBounds(t *testing.T) {
	v := &env{rng: seeded(3)}
	for _, text := range []string{
		"random(9223372036854775806, 9223372036854775807)", "random_gaussian(9223372036854775000, 9223372036854775807, 2)",
		"random_exponential(-9223372036854775808, 9223372036854775807, 0.1)", "random_zipfian(9223372036854775800, 9223372036854775807, 1.001)",
	} {
		e, err := parseExpr(text, nil)
		if err != nil {
			t.Fatal(err)
		}
		low := int64(9223372036854775000)
		if text[:18] == "random_exponential" {
			low = math.MinInt64
		}
		for range 10_000 {
			if x, err := e(v); err != nil || x.Int < low {
				t.Fatalf("%s gives %d, %v", text, x.Int, err)
			}
		}
	}
}

func seeded(seed uint64) *load.Rand {
	r := new(load.Rand)
	r.Seek(seed, 0, 0)
	return r
}
