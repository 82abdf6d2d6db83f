package stat

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"testing"

	gstat "gonum.org/v1/gonum/stat"
)

// simulated are the coverages and false-positive rates that R found with normal data; the tests find them again.
type simulated struct {
	AR1 []struct {
		Rho      float64 `json:"rho"`
		Coverage float64 `json:"t_ci_coverage"`
		Trend    float64 `json:"trend_false_positive"`
	} `json:"ar1_n60"`
	Peeking []struct {
		N     string  `json:"n"`
		Type1 float64 `json:"type1"`
	} `json:"peeking_p_after_every_pair"`
	Stopping []struct {
		CV, Target, Coverage float64
		N0                   int
	} `json:"fixed_width_stopping"`
	Bootstrap []struct {
		N        int
		Coverage float64
	} `json:"percentile_bootstrap_coverage"`
	SD []struct {
		N      int
		Lo, Hi float64
	} `json:"sd_ci_factors_95"`
}

// share counts how often fn is true in n simulations, each with its own stream.
func share(n int, fn func(r *rand.Rand) bool) float64 {
	hits := 0
	for i := range n {
		if fn(rand.New(rand.NewPCG(11, uint64(i)))) {
			hits++
		}
	}
	return float64(hits) / float64(n)
}

// near allows five standard errors of both simulations, the other of which had some thousands of rounds.
func near(t *testing.T, what string, got, want float64, n int) {
	t.Helper()
	se := math.Sqrt(want * (1 - want) * (1/float64(n) + 1.0/2000))
	if math.Abs(got-want) > 5*se+0.0005 {
		t.Errorf("%s: %.3f in %d simulations, want %.3f", what, got, n, want)
	}
	t.Logf("%s: %.3f (R: %.3f)", what, got, want)
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func TestSimulations(t *testing.T) {
	b, err := os.ReadFile("testdata/simulations.json")
	must(t, err)
	var all simulated
	must(t, json.Unmarshal(b, &all))
	if len(all.AR1)*len(all.Peeking)*len(all.Stopping)*len(all.Bootstrap)*len(all.SD) == 0 {
		t.Fatalf("%+v", all)
	}
	covers := func(e Estimate, err error, truth float64) bool {
		must(t, err)
		return e.Lo != nil && *e.Lo <= truth && truth <= *e.Hi
	}
	index := make([]float64, 60)
	for i := range index {
		index[i] = float64(i)
	}
	for _, c := range all.AR1 {
		const n = 4000
		series := func(r *rand.Rand) []float64 {
			x := make([]float64, 60)
			x[0] = r.NormFloat64() / math.Sqrt(1-c.Rho*c.Rho)
			for i := 1; i < len(x); i++ {
				x[i] = c.Rho*x[i-1] + r.NormFloat64()
			}
			return x
		}
		near(t, fmt.Sprintf("coverage of the t interval at autocorrelation %v", c.Rho), share(n, func(r *rand.Rand) bool {
			e, err := Mean(series(r), 0.95)
			return covers(e, err, 0)
		}), c.Coverage, n)
		near(t, fmt.Sprintf("false trends at autocorrelation %v", c.Rho), share(n, func(r *rand.Rand) bool {
			p, err := Pearson(index, series(r), 0.95)
			must(t, err)
			return p.P < 0.05
		}), c.Trend, n)
	}
	for _, c := range all.Peeking {
		const n = 2000
		var from, to int
		_, err := fmt.Sscanf(c.N, "%d..%d", &from, &to)
		must(t, err)
		near(t, "false positives when looking after every pair, n = "+c.N, share(n, func(r *rand.Rand) bool {
			var x, y []float64
			for i := 1; i <= to; i++ {
				x, y = append(x, r.NormFloat64()), append(y, r.NormFloat64())
				if i < from {
					continue
				}
				w, err := Welch(x, y, 0.95)
				must(t, err)
				if w.P < 0.05 {
					return true
				}
			}
			return false
		}), c.Type1, n)
	}
	for _, c := range all.Stopping {
		const n = 3000
		near(t, fmt.Sprintf("coverage when stopping at a width of %v, CV %v, from %d on", c.Target, c.CV, c.N0), share(n, func(r *rand.Rand) bool {
			var x []float64
			for {
				x = append(x, 1+c.CV*r.NormFloat64())
				if len(x) < c.N0 {
					continue
				}
				e, err := Mean(x, 0.95)
				must(t, err)
				if (*e.Hi-*e.Lo)/2 <= c.Target*e.Value {
					return covers(e, err, 1)
				}
			}
		}), c.Coverage, n)
	}
	for _, c := range all.Bootstrap {
		const n = 1500
		near(t, fmt.Sprintf("coverage of the percentile bootstrap of %d values", c.N), share(n, func(r *rand.Rand) bool {
			x := make([]float64, c.N)
			for i := range x {
				x[i] = r.NormFloat64()
			}
			bs, err := Resample(x, func(x []float64) (float64, error) { return gstat.Mean(x, nil), nil }, 0.95, 1000, r.Uint64())
			must(t, err)
			return bs.PctLo <= 0 && 0 <= bs.PctHi
		}), c.Coverage, n)
	}
	for _, c := range all.SD {
		lo, hi, err := SDFactors(c.N, 0.95)
		if err != nil || math.Abs(lo-c.Lo) > 0.01 || math.Abs(hi-c.Hi) > 0.01 {
			t.Errorf("factors of the deviation of %d values: %v, %v, %v; want %v, %v", c.N, lo, hi, err, c.Lo, c.Hi)
		}
	}
}
