package stat

import (
	"encoding/json"
	"errors"
	"math"
	"math/rand/v2"
	"os"
	"testing"
)

// vector is one case computed in R and scipy.
type vector struct {
	Name   string
	Inputs struct {
		X          []float64
		P          []float64
		T          []float64
		Confidence float64
		CVPercent  any `json:"cv_percent"` // a number, or "NaN"
	}
	Expected  map[string]json.RawMessage
	Tolerance struct{ Rel, Abs float64 }
}

func vectors(t *testing.T, function string) []vector {
	t.Helper()
	b, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string]json.RawMessage // the functions' inputs differ
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	var out []vector
	if err := json.Unmarshal(all[function], &out); err != nil || len(out) == 0 {
		t.Fatalf("vectors for %s: %v", function, err)
	}
	return out
}

// number is an expected number; nil where R says NaN, which here is undefined.
func (v *vector) number(t *testing.T, key string) *float64 {
	t.Helper()
	var f float64
	if err := json.Unmarshal(v.Expected[key], &f); err != nil {
		if string(v.Expected[key]) == `"NaN"` {
			return nil
		}
		t.Fatalf("%s: %s: %v", v.Name, key, err)
	}
	return &f
}

func (v *vector) nearOrNil(t *testing.T, what string, got, want *float64) {
	t.Helper()
	if (got == nil) != (want == nil) {
		t.Errorf("%s: %s is %v, want %v", v.Name, what, got, want)
		return
	}
	if got != nil {
		v.near(t, what, *got, *want)
	}
}

func (v *vector) near(t *testing.T, what string, got, want float64) {
	t.Helper()
	if !(math.Abs(got-want) <= v.Tolerance.Abs+v.Tolerance.Rel*math.Abs(want)) {
		t.Errorf("%s: %s is %v, want %v", v.Name, what, got, want)
	}
}

func TestMeanAndInterval(t *testing.T) {
	for _, v := range vectors(t, "mean") {
		m, err := Mean(v.Inputs.X, 0.95)
		if err != nil {
			t.Fatal(err)
		}
		v.nearOrNil(t, "mean", &m.Value, v.number(t, "mean"))
	}
	for _, v := range vectors(t, "t_ci_mean") {
		m, err := Mean(v.Inputs.X, v.Inputs.Confidence)
		if err != nil {
			t.Fatal(err)
		}
		v.nearOrNil(t, "lo", m.Lo, v.number(t, "lo"))
		v.nearOrNil(t, "hi", m.Hi, v.number(t, "hi"))
	}
}

func TestDeviation(t *testing.T) {
	for _, v := range vectors(t, "sample_sd") {
		v.nearOrNil(t, "sd", SD(v.Inputs.X), v.number(t, "sd"))
	}
	for _, v := range vectors(t, "cv") {
		v.nearOrNil(t, "cv", CV(v.Inputs.X), v.number(t, "cv_percent"))
	}
}

func TestQuantile(t *testing.T) {
	for _, v := range vectors(t, "quantile") {
		for key, typ := range map[string]QuantileType{"nearest_rank": NearestRank, "type6": WeibullType, "type7": LinearType, "type8": MedianUnbiased8} {
			if v.Expected[key] == nil {
				continue
			}
			var want []float64
			if err := json.Unmarshal(v.Expected[key], &want); err != nil {
				t.Fatalf("%s: %v", v.Name, err)
			}
			for i, p := range v.Inputs.P {
				got, err := Quantile(v.Inputs.X, p, typ)
				if err != nil {
					t.Fatal(err)
				}
				v.near(t, key, got, want[i])
			}
		}
	}
}

func TestStability(t *testing.T) {
	for _, v := range vectors(t, "stability_class") {
		var want string
		if err := json.Unmarshal(v.Expected["class"], &want); err != nil {
			t.Fatal(err)
		}
		cv, ok := v.Inputs.CVPercent.(float64)
		if !ok { // undefined: Summarize gives such a sample no class, as TestUndefinedIsNil shows
			if want != "UNKNOWN" {
				t.Errorf("%s: no number, but class %s", v.Name, want)
			}
			continue
		}
		if got := Stability(cv); got != want {
			t.Errorf("%s: %s, want %s", v.Name, got, want)
		}
	}
}

func TestUndefinedIsNil(t *testing.T) {
	s, err := Summarize([]float64{5}, 0.95)
	if err != nil || s.SD != nil || s.CVPct != nil || s.Mean.Lo != nil || s.Mean.Hi != nil || s.Stability != "" || len(s.Mean.Warnings) == 0 {
		t.Errorf("one value: %+v, %v", s, err)
	}
	if _, err := Summarize(nil, 0.95); !errors.Is(err, ErrEmpty) {
		t.Errorf("no value: %v", err)
	}
	if CV([]float64{-1, 1}) != nil {
		t.Error("a CV around a mean of 0")
	}
	if s, err = Summarize([]float64{1, 2}, 0.95); err != nil || s.Stability != "LOW (provisional)" {
		t.Errorf("two values: %+v, %v", s, err)
	}
	for _, bad := range []float64{-0.1, 1.1, math.NaN()} {
		if _, err := Quantile([]float64{1}, bad, LinearType); err == nil {
			t.Errorf("a quantile at %v", bad)
		}
	}
}

func TestMannKendall(t *testing.T) {
	for _, v := range vectors(t, "mann_kendall") {
		at := v.Inputs.T
		if at == nil {
			for i := range v.Inputs.X {
				at = append(at, float64(i))
			}
		}
		got, err := MannKendall(at, v.Inputs.X)
		if err != nil {
			t.Fatal(err)
		}
		v.near(t, "S", float64(got.S), *v.number(t, "S"))
		v.near(t, "var_S", got.VarS, *v.number(t, "var_S"))
		v.near(t, "z", got.Z, *v.number(t, "z"))
		v.near(t, "p", got.P, *v.number(t, "p"))
		v.near(t, "sen_slope", got.SenSlope, *v.number(t, "sen_slope"))
	}
}

func TestMSER5(t *testing.T) {
	for _, v := range vectors(t, "mser5") {
		got, err := MSER5(v.Inputs.X)
		if err != nil {
			t.Fatal(err)
		}
		v.near(t, "d_batches", float64(got.Cut), *v.number(t, "d_batches"))
		v.near(t, "truncation_index", float64(got.Index), *v.number(t, "truncation_index"))
		v.near(t, "stat_at_d", got.Stat, *v.number(t, "stat_at_d"))
		if want := string(v.Expected["at_limit"]) == "true"; got.AtLimit != want {
			t.Errorf("%s: at the limit: %v", v.Name, got.AtLimit)
		}
	}
}

// The smallest difference holds what it promises: equal samples exceed it about once in 20 times.
func TestSmallestDifference(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{3, 5, 10} {
		exceeded := 0
		const trials = 20_000
		for range trials {
			a, b := make([]float64, n), make([]float64, n)
			for i := range n {
				a[i], b[i] = rng.NormFloat64(), rng.NormFloat64()
			}
			pooled := math.Sqrt((*SD(a)**SD(a) + *SD(b)**SD(b)) / 2)
			ma, _ := Mean(a, 0.95)
			mb, _ := Mean(b, 0.95)
			if math.Abs(ma.Value-mb.Value) > SmallestDifference(pooled, n) {
				exceeded++
			}
		}
		if share := float64(exceeded) / trials; math.Abs(share-0.05) > 0.005 {
			t.Errorf("n = %d: %.4f instead of 0.05", n, share)
		}
	}
}

// Rates that grow faster than the load, or bend upwards, end at the boundary: a coefficient is 0, never below.
func TestScalingBoundaries(t *testing.T) {
	for name, rate := range map[string][]float64{"superlinear": {100, 210, 440, 950, 2000, 4300}, "flat": {100, 100, 100, 100, 100, 101}, "bent upwards": {100, 150, 240, 420, 800, 1700}} {
		u, err := USL([]float64{1, 2, 4, 8, 16, 32}, rate)
		if err != nil || u.Sigma < 0 || u.Kappa < 0 || u.Lambda <= 0 {
			t.Errorf("%s: %+v, %v", name, u, err)
		}
		if u.Kappa == 0 && (u.Peak != nil || len(u.Warnings) == 0) {
			t.Errorf("%s: a peak without a loss: %+v", name, u)
		}
	}
}
