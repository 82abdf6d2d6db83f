package stat

import (
	"encoding/json"
	"maps"
	"math"
	"os"
	"strings"
	"testing"

	gstat "gonum.org/v1/gonum/stat"
)

// raw is a case whose inputs and results differ by function.
type raw struct {
	Name      string
	Inputs    map[string]json.RawMessage
	Expected  map[string]json.RawMessage
	Tolerance struct {
		Rel, Abs float64
		Fields   map[string]struct{ Rel, Abs float64 } // instead, where a result has its own
	}
}

func (r *raw) list(key string) []float64 {
	var l []float64
	_ = json.Unmarshal(r.Inputs[key], &l) // an input that isn't there is nil
	return l
}

func (r *raw) lists(key string) [][]float64 {
	var l [][]float64
	_ = json.Unmarshal(r.Inputs[key], &l)
	return l
}

func (r *raw) num(key string, def float64) float64 {
	v := def
	_ = json.Unmarshal(r.Inputs[key], &v)
	return v
}

// outcome is what a function gave, by the names of the vectors; a list where there are several numbers.
type outcome map[string]any

// calls are the functions by the names of the vectors. What a vector expects beyond this is no part of a function here.
func calls() map[string]func(r *raw) (outcome, error) {
	opt := func(p *float64) any {
		if p == nil {
			return nil
		}
		return *p
	}
	test := func(t Test, err error) (outcome, error) {
		return outcome{"mean_diff": t.Value, "r": t.Value, "rho": t.Value, "t": t.Statistic, "df": t.DF, "p": t.P, "p_t": t.P, "lo": opt(t.Lo), "hi": opt(t.Hi)}, err
	}
	group := func(names ...string) func(GroupTest, error) (outcome, error) {
		return func(g GroupTest, err error) (outcome, error) {
			return outcome{names[0]: g.Statistic, "df": g.DF1, "df1": g.DF1, "df2": g.DF2, names[1]: g.P, names[2]: g.Effect}, err
		}
	}
	return map[string]func(r *raw) (outcome, error){
		"pearson": func(r *raw) (outcome, error) {
			return test(Pearson(r.list("x"), r.list("y"), r.num("confidence", 0.95)))
		},
		"pearson_from_r": func(r *raw) (outcome, error) {
			return test(PearsonOf(r.num("r", 0), int(r.num("n", 0)), r.num("confidence", 0.95)))
		},
		"spearman": func(r *raw) (outcome, error) { return test(Spearman(r.list("x"), r.list("y"))) },
		"welch_t":  func(r *raw) (outcome, error) { return test(Welch(r.list("x"), r.list("y"), r.num("confidence", 0.95))) },
		"paired_t": func(r *raw) (outcome, error) {
			return test(Paired(r.list("x"), r.list("y"), r.num("confidence", 0.95)))
		},
		"kendall": func(r *raw) (outcome, error) {
			k, err := Kendall(r.list("x"), r.list("y"))
			return outcome{"tau_b": k.TauB, "z": k.Z, "p_normal": k.P}, err
		},
		"mann_whitney": func(r *raw) (outcome, error) {
			m, err := MannWhitney(r.list("x"), r.list("y"))
			out := outcome{"U1": m.U1, "U2": m.U2, "p_normal_cc": m.PNormal}
			if m.Exact {
				out["p_exact"] = m.P
			}
			return out, err
		},
		"mann_whitney_min_p": func(r *raw) (outcome, error) {
			var p []float64
			for _, n := range r.list("n") {
				p = append(p, MannWhitneyMinP(int(n), int(n)))
			}
			return outcome{"p": p}, nil
		},
		"hodges_lehmann": func(r *raw) (outcome, error) {
			e, err := HodgesLehmann(r.list("x"), r.list("y"), r.num("confidence", 0.95))
			return outcome{"shift": e.Value, "lo": opt(e.Lo), "hi": opt(e.Hi)}, err
		},
		"cohens_d": func(r *raw) (outcome, error) {
			e, err := EffectSize(r.list("x"), r.list("y"))
			return outcome{"d": e.CohenD, "hedges_g": e.HedgesG, "pooled_sd": e.PooledSD}, err
		},
		"cliffs_delta": func(r *raw) (outcome, error) {
			x, y := r.list("x"), r.list("y")
			return outcome{"delta": 2*pairs(x, y)/float64(len(x)*len(y)) - 1}, nil
		},
		"p_adjust": func(r *raw) (outcome, error) {
			p, m := r.list("p"), int(r.num("m", 0))
			return outcome{"bonferroni": Bonferroni(p, m), "holm": Holm(p, m), "bh": BenjaminiHochberg(p, m)}, nil
		},
		"kruskal_wallis": func(r *raw) (outcome, error) { return group("H", "p", "epsilon_sq")(KruskalWallis(r.lists("groups"))) },
		"anova_oneway":   func(r *raw) (outcome, error) { return group("F", "p", "eta_sq")(ANOVA(r.lists("groups"))) },
		"levene": func(r *raw) (outcome, error) {
			return group("W_median", "p_median", "-")(BrownForsythe(r.lists("groups")))
		},
		"ratio_log_delta": func(r *raw) (outcome, error) {
			e, err := Ratio(r.list("x"), r.list("y"), r.num("confidence", 0.95))
			return outcome{"ratio": e.Value, "lo": opt(e.Lo), "hi": opt(e.Hi)}, err
		},
		"autocorr": func(r *raw) (outcome, error) {
			out := outcome{}
			var err error
			for lag, name := range map[int]string{1: "r1", 2: "r2", 3: "r3"} {
				if out[name], err = Autocorrelation(r.list("x"), lag); err != nil {
					return nil, err
				}
			}
			out["ess_ar1_clipped"], err = EffectiveSize(r.list("x"))
			return out, err
		},
		"durbin_watson": func(r *raw) (outcome, error) {
			d, err := DurbinWatson(r.list("residuals"))
			return outcome{"dw": d}, err
		},
		"littles_law": func(r *raw) (outcome, error) {
			return outcome{"concurrency": LittlesLaw(r.num("throughput", 0), r.num("response_s", 0), r.num("think_s", 0))}, nil
		},
		"relative_change": func(r *raw) (outcome, error) {
			c, err := ChangePct(r.num("base", 0), r.num("new", 0))
			return outcome{"change_pct": c}, err
		},
		"scalability_ratio": func(r *raw) (outcome, error) {
			a, b, err := Scalability(r.num("tps_low", 0), r.num("tps_high", 0), r.num("n_low", 0), r.num("n_high", 0))
			return outcome{"ratio": a, "efficiency": b}, err
		},
		"t_tail": func(r *raw) (outcome, error) {
			var p []float64
			for i, t := range r.list("t") {
				p = append(p, tTail(t, r.list("df")[i]))
			}
			return outcome{"p": p}, nil
		},
		"f_tail": func(r *raw) (outcome, error) {
			var p []float64
			for i, f := range r.list("f") {
				p = append(p, fTail(f, r.list("d1")[i], r.list("d2")[i]))
			}
			return outcome{"p": p}, nil
		},
		"median_ci": func(r *raw) (outcome, error) {
			e, cover, err := QuantileInterval(r.list("x"), 0.5, r.num("confidence", 0.95))
			return outcome{"median": e.Value, "lo": opt(e.Lo), "hi": opt(e.Hi), "coverage": cover}, err
		},
		"quantile_ci": func(r *raw) (outcome, error) {
			e, cover, err := QuantileInterval(r.list("x"), r.num("p", 0), r.num("confidence", 0.95))
			return outcome{"lo": opt(e.Lo), "hi": opt(e.Hi), "coverage": cover}, err
		},
		"wilcoxon_signed_rank": func(r *raw) (outcome, error) {
			w, err := SignedRank(r.list("x"), r.list("y"))
			return outcome{"V": w.U1, "p_exact": w.P}, err
		},
		"geomean": func(r *raw) (outcome, error) {
			e, gsd, err := GeometricMean(r.list("x"), r.num("confidence", 0.95))
			return outcome{"gm": e.Value, "gsd": opt(gsd), "lo": opt(e.Lo), "hi": opt(e.Hi)}, err
		},
		"two_level_mean": func(r *raw) (outcome, error) {
			e, err := TwoLevelMean(r.lists("runs"), r.num("confidence", 0.95), r.num("c1", 0), r.num("c2", 0))
			return outcome{"mean": e.Value, "lo": opt(e.Lo), "hi": opt(e.Hi), "S1_sq": e.Within, "T1_sq": e.Within, "S2_sq": e.MeansVariance, "T2_sq": e.Between, "df": float64(e.N - 1), "r1_opt": float64(e.Best)}, err
		},
		"tost_welch": func(r *raw) (outcome, error) {
			e, err := TOST(r.list("x"), r.list("y"), r.num("margin", 0), r.num("alpha", 0.05))
			return outcome{"p_lower": e.PLower, "p_upper": e.PUpper, "p": e.P, "lo90": opt(e.Lo), "hi90": opt(e.Hi)}, err
		},
		"bootstrap_ci": func(r *raw) (outcome, error) {
			mean := func(x []float64) (float64, error) { return gstat.Mean(x, nil), nil }
			e, err := Resample(r.list("x"), mean, r.num("confidence", 0.95), 40_000, 1)
			return outcome{"estimate": e.Value, "se": e.SE, "pct_lo": e.PctLo, "pct_hi": e.PctHi, "bca_lo": opt(e.Lo), "bca_hi": opt(e.Hi), "z0": e.Bias, "accel": e.Accel}, err
		},
		"usl_fit": func(r *raw) (outcome, error) {
			u, err := USL(r.list("N"), r.list("X"))
			out := outcome{"lambda": u.Lambda, "sigma": u.Sigma, "kappa": u.Kappa, "r2": u.R2, "rss": u.RSS}
			if u.SE != nil {
				out["se"] = u.SE
			}
			if r.Name != "usl_amdahl_kappa0" { // its peak lies at infinity
				out["n_peak"], out["x_peak"] = opt(u.Peak), opt(u.PeakRate)
			}
			return out, err
		},
		"t_quantile": func(r *raw) (outcome, error) {
			var q []float64
			for _, df := range r.list("df") {
				q = append(q, tQuantile(r.num("p", 0), df))
			}
			return outcome{"t": q}, nil
		},
	}
}

func allVectors(t *testing.T) map[string][]raw {
	t.Helper()
	b, err := os.ReadFile("testdata/vectors.json")
	if err != nil {
		t.Fatal(err)
	}
	var all map[string][]raw
	if err := json.Unmarshal(b, &all); err != nil {
		t.Fatal(err)
	}
	return all
}

// TestVectors: every function gives what R and scipy give, at each case's tolerance.
func TestVectors(t *testing.T) {
	all := allVectors(t)
	functions := calls()
	maps.Copy(functions, callsMore())
	cases, numbers := 0, 0
	for name, call := range functions {
		if len(all[name]) == 0 {
			t.Errorf("no vectors for %s", name)
		}
		for i := range all[name] {
			r := &all[name][i]
			got, err := call(r)
			if err != nil {
				t.Errorf("%s %s: %v", name, r.Name, err)
				continue
			}
			n := compare(t, name, r, got)
			if n == 0 {
				t.Errorf("%s %s: nothing was compared", name, r.Name)
			}
			cases++
			numbers += n
		}
	}
	t.Logf("%d cases, %d numbers", cases, numbers)
}

// compare checks every number that both sides have.
func compare(t *testing.T, name string, r *raw, got outcome) (n int) {
	t.Helper()
	near := func(key string, g, w float64) {
		n++
		rel, abs := r.Tolerance.Rel, r.Tolerance.Abs
		if own, ok := r.Tolerance.Fields[key]; ok {
			rel, abs = own.Rel, own.Abs
		}
		if !(math.Abs(g-w) <= abs+rel*math.Abs(w)) {
			t.Errorf("%s %s: %s is %v, want %v", name, r.Name, key, g, w)
		}
	}
	for key, j := range r.Expected {
		g, ok := got[key]
		if !ok {
			continue
		}
		var yes bool
		var word string
		switch {
		case json.Unmarshal(j, &yes) == nil:
			if n++; g != yes {
				t.Errorf("%s %s: %s is %v, want %v", name, r.Name, key, g, yes)
			}
			continue
		case json.Unmarshal(j, &word) == nil && word != "NaN" && !strings.HasSuffix(word, "Inf"):
			if n++; g != word {
				t.Errorf("%s %s: %s is %v, want %v", name, r.Name, key, g, word)
			}
			continue
		}
		var one *float64
		var many []float64
		switch {
		case json.Unmarshal(j, &one) == nil && one != nil:
			if g == nil {
				t.Errorf("%s %s: %s is undefined, want %v", name, r.Name, key, *one)
				continue
			}
			near(key, g.(float64), *one)
		case json.Unmarshal(j, &many) == nil && many != nil:
			l := g.([]float64)
			if len(l) != len(many) {
				t.Errorf("%s %s: %s has %d numbers, want %d", name, r.Name, key, len(l), len(many))
				continue
			}
			for i := range l {
				near(key, l[i], many[i])
			}
		default: // R says NA, NaN or infinite: undefined here
			if f, ok := g.(float64); ok && key != "p" {
				t.Errorf("%s %s: %s is %v, want %s", name, r.Name, key, f, j)
			}
		}
	}
	return n
}

// Whatever comes in, a result or an error comes out: no panic, no NaN.
func FuzzStatistics(f *testing.F) {
	f.Add([]byte{1, 2, 3, 4}, []byte{5, 6, 7, 8}, uint8(0))
	f.Add([]byte{}, []byte{0}, uint8(3))
	f.Add([]byte{9, 9, 9, 9}, []byte{9, 9, 9, 9}, uint8(1))
	f.Fuzz(func(t *testing.T, a, b []byte, kind uint8) {
		conv := func(in []byte) []float64 {
			if len(in) > 40 {
				in = in[:40]
			}
			out := make([]float64, len(in))
			for i, c := range in {
				out[i] = float64(c)
				if kind%2 == 1 {
					out[i] *= 1e300 / 255
				}
			}
			return out
		}
		x, y := conv(a), conv(b)
		finite := func(what string, err error, v ...float64) {
			for _, n := range v {
				if err == nil && n != n {
					t.Errorf("%s gives NaN without an error for %v %v", what, x, y)
				}
			}
		}
		w, err := Welch(x, y, 0.95)
		finite("Welch", err, w.P)
		m, err := MannWhitney(x, y)
		finite("MannWhitney", err, m.P, m.U1)
		h, err := HodgesLehmann(x, y, 0.95)
		finite("HodgesLehmann", err, h.Value)
		k, err := KruskalWallis([][]float64{x, y})
		finite("KruskalWallis", err, k.P)
		p, err := Pearson(x, y, 0.95)
		finite("Pearson", err, p.Value, p.P)
		q, err := Kendall(x, y)
		finite("Kendall", err, q.TauB, q.P)
		tr, err := MannKendall(x, x)
		finite("MannKendall", err, tr.P)
		if _, err := MSER5(x); err == nil && len(x) < 10 {
			t.Error("MSER5 of fewer than two batches")
		}
		qi, cover, err := QuantileInterval(x, 0.5, 0.95)
		finite("QuantileInterval", err, qi.Value, cover)
		sr, err := SignedRank(x, y)
		finite("SignedRank", err, sr.U1, sr.P)
		eq, err := TOST(x, y, 3, 0.05)
		finite("TOST", err, eq.Value, eq.P)
		gm, _, err := GeometricMean(x, 0.95)
		finite("GeometricMean", err, gm.Value)
		two, err := TwoLevelMean([][]float64{x, y}, 0.95, 1, 10)
		finite("TwoLevelMean", err, two.Value, two.Between)
		bs, err := Resample(x, Median, 0.95, 1000, 1)
		finite("Resample", err, bs.Value, bs.SE, bs.PctLo, bs.Bias, bs.Accel)
		lf, err := Linear(x, 0.95, y)
		finite("Linear", err, lf.R2, lf.Sigma, lf.F)
		for _, c := range lf.Coefficients {
			finite("Linear", err, c.Value, c.SE, c.Lo, c.Hi, c.P)
		}
		fi, df, g, err := Fieller(x, y, 0.95, kind%3 == 0)
		finite("Fieller", err, fi.Value, df, g)
		if fi.Lo != nil {
			finite("Fieller", err, *fi.Lo, *fi.Hi)
		}
		cp, err := ChangePoints(x, -1, 1+int(kind)%3)
		finite("ChangePoints", err, cp.Cost, cp.Sigma)
		es, err := EnergySplit(x, kind%2 == 0)
		finite("EnergySplit", err, es.Q, es.P)
		_, err = LevelSplit(x)
		finite("LevelSplit", err)
		_, err = SteadyFrom(x, 3, 0.1)
		finite("SteadyFrom", err)
		if len(x) > 4 {
			pw, err := Power(x[0], x[1], x[2], 0.05)
			finite("Power", err, pw)
			cl, err := CheckLoad(x[0], x[1], x[2])
			finite("CheckLoad", err, cl.InFlight, cl.GapPct, cl.ClientSideS)
			cs, err := CheckSummary(int(kind), x[0], x[1], x[2], x[3])
			finite("CheckSummary", err, cs.Samuelson, cs.BhatiaDavis, cs.MaxDeviation)
			d, m, cv, err := RunDifference(x[0], x[1])
			finite("RunDifference", err, d, m, cv)
			levels := make([]string, len(x))
			for i := range levels {
				levels[i] = string(rune('a' + i%2))
			}
			a2, err := ANOVA2(x, levels, append(levels[1:], "b"))
			finite("ANOVA2", err, a2.A.F, a2.A.P, a2.B.F)
		}
		u, err := USL(x, y)
		finite("USL", err, u.Lambda, u.Sigma, u.Kappa, u.RSS, u.R2)
	})
}
