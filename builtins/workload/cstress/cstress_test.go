package cstress

import (
	"encoding/hex"
	"encoding/json"
	"math"
	"math/rand/v2"
	"os"
	"strings"
	"testing"
)

// Rows that cassandra-stress wrote into Cassandra 5.0 with three settings of keysize and -col.
func TestRowsAreTheTools(t *testing.T) {
	var vectors []struct {
		KeyBytes int    `json:"key_bytes"`
		Size     string `json:"size"`
		Seed     int64
		Key      string
		Columns  []string
	}
	b, err := os.ReadFile("testdata/rows.json")
	if err == nil {
		err = json.Unmarshal(b, &vectors)
	}
	if err != nil || len(vectors) < 20 {
		t.Fatal(len(vectors), err)
	}
	for _, v := range vectors {
		d, err := Parse(v.Size)
		if err != nil {
			t.Fatal(err)
		}
		w := NewRows(v.KeyBytes, len(v.Columns), d)
		key := w.AppendKey(nil, v.Seed)
		if string(key) != v.Key {
			t.Errorf("seed %d: key %s, want %s", v.Seed, key, v.Key)
		}
		for i, want := range v.Columns {
			if got := hex.EncodeToString(w.AppendColumn(nil, key, i)); got != want {
				t.Errorf("seed %d, column %d of %s:\n%s, want\n%s", v.Seed, i, v.Size, got, want)
			}
		}
	}
}

// A column of more than 31 numbers of 8 bytes has its generator seeded anew on the way: the bytes repeat the tool's, whose reads check ours in the
// test against the tool; here they must at least be a function of the key alone, and differ.
func TestLongColumns(t *testing.T) {
	d, _ := Parse("fixed(1000)")
	w := NewRows(10, 2, d)
	a, b := w.AppendColumn(nil, []byte("0P37709P21"), 0), w.AppendColumn(nil, []byte("0P37709P21"), 1)
	if string(a) == string(b) || len(a) != 1000 || string(a[:248]) == string(a[248:496]) {
		t.Error("columns repeat")
	}
	if again := w.AppendColumn(nil, []byte("0P37709P21"), 0); string(again) != string(a) {
		t.Error("a column differs the second time")
	}
}

// Draws against the distribution functions of the definitions: a binomial bound of five standard deviations at four quantiles.
func TestDraws(t *testing.T) {
	const n = 200_000
	norm := func(x, mean, dev float64) float64 { return 0.5 * math.Erfc(-(x-mean)/dev/math.Sqrt2) }
	expMean := 999 / -math.Log(math.Sqrt(1.0/999))
	weibull := 999 / math.Pow(-math.Log(math.Sqrt(1.0/999)), 1/0.6)
	for text, cdf := range map[string]func(x float64) float64{ // of a value at most x
		"uniform(1..1000)":                 func(x float64) float64 { return x / 1000 },
		"gaussian(1..1000)":                func(x float64) float64 { return norm(x+1, 500.5, 999.0/6) },
		"gaussian(1..1000,2)":              func(x float64) float64 { return norm(x+1, 500.5, 999.0/4) },
		"normal(1..1000,300,50)":           func(x float64) float64 { return norm(x+1, 300, 50) },
		"exp(1..1000)":                     func(x float64) float64 { return 1 - math.Exp(-x/expMean) },
		"~exp(1..1000)":                    func(x float64) float64 { return math.Exp(-(1000 - x) / expMean) },
		"extreme(1..1000,0.6)":             func(x float64) float64 { return 1 - math.Exp(-math.Pow(x/weibull, 0.6)) },
		"GAUSSIAN(1...1k, 500.5, 1000000)": func(float64) float64 { return 0.5 }, // nearly all on the two ends
	} {
		d, err := Parse(text)
		if err != nil {
			t.Fatal(text, err)
		}
		r := rand.New(rand.NewPCG(1, 2))
		var below [4]float64
		at := [4]float64{40, 300, 500, 900}
		for range n {
			v := d.Draw(r)
			if v < 1 || v > 1000 {
				t.Fatalf("%s gave %d", text, v)
			}
			for i, x := range at {
				if float64(v) <= x {
					below[i]++
				}
			}
		}
		for i, x := range at {
			p := cdf(x)
			if got := below[i] / n; math.Abs(got-p) > 5*math.Sqrt(p*(1-p)/n)+1e-3 {
				t.Errorf("%s: %.4f of the draws are at most %g, want %.4f", text, got, x, p)
			}
		}
	}
}

func TestParse(t *testing.T) {
	for text, want := range map[string]string{
		"zipf(1..10)": "names zipf", "unifrom(1..2)": "did you mean uniform?", "gaussian(10..1)": "from 10 down to 1", "gaussian(1..10,0)": "not above 0", "gaussian(1..9,1,2,3)": "3 numbers",
		"uniform(1..10,3)": "there are none", "uniform(1)": "a range such as", "fixed(x)": "one number", "34": "no distribution", "extreme(1..10)": "needs the shape",
		"uniform(1..99999999999999999999)": "a range", "uniform(1..99999999999B)": "a range", "gaussian(1..2,x)": `"x"`, "qextreme(1..9,2,2)": "names qextreme",
	} {
		if _, err := Parse(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", text, err, want)
		}
	}
	for text, want := range map[string][2]int64{"uniform(1..10M)": {1, 10_000_000}, "SEQ(5..2b)": {5, 2_000_000_000}, "fixed(34)": {34, 34}, "norm(1..3k)": {1, 3000}} {
		if d, err := Parse(text); err != nil || d.Min != want[0] || d.Max != want[1] || d.String() != text {
			t.Errorf("%s: %+v, %v", text, d, err)
		}
	}
}

// Keys that meet: counted over all keys of three nibbles, where many do.
func TestDuplicates(t *testing.T) {
	d, _ := Parse("fixed(1)")
	w := NewRows(3, 1, d)
	for _, n := range []int64{100, 1000, 5000} {
		seen := map[string]bool{}
		for s := range n {
			seen[string(w.AppendKey(nil, s+1))] = true
		}
		expected, most := w.Duplicates(n)
		got := float64(n) - float64(len(seen))
		if got > most || math.Abs(got-expected) > 6*math.Sqrt(expected)+6 {
			t.Errorf("of %d keys %g meet another, expected %.1f, at most %g", n, got, expected, most)
		}
	}
	if e, most := NewRows(10, 1, d).Duplicates(1_000_000); math.Abs(e-5) > 0.1 || most < 6 || most > 30 {
		t.Errorf("a million partitions: %g, at most %g", e, most)
	}
}

func TestRowsAllocateNothing(t *testing.T) {
	d, _ := Parse("fixed(34)")
	w := NewRows(10, 5, d)
	key, col := make([]byte, 0, 16), make([]byte, 0, 64)
	if n := testing.AllocsPerRun(100, func() {
		key = w.AppendKey(key[:0], 7)
		col = w.AppendColumn(col[:0], key, 3)
	}); n != 0 {
		t.Errorf("%g allocations", n)
	}
}
