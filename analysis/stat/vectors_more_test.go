package stat

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"
)

func (r *raw) texts(key string) []string {
	var l []string
	_ = json.Unmarshal(r.Inputs[key], &l)
	return l
}

func (r *raw) text(key string) string {
	var s string
	_ = json.Unmarshal(r.Inputs[key], &s)
	return s
}

func ints(v []int) []float64 {
	out := []float64{}
	for _, i := range v {
		out = append(out, float64(i))
	}
	return out
}

// callsMore are the functions of regression, design, change points, published numbers and other tools' histograms.
func callsMore() map[string]func(r *raw) (outcome, error) {
	opt := func(p *float64) any {
		if p == nil {
			return nil
		}
		return *p
	}
	return map[string]func(r *raw) (outcome, error){
		"ols_simple": func(r *raw) (outcome, error) {
			f, err := Linear(r.list("y"), r.num("confidence", 0.95), r.list("x"))
			if err != nil {
				return nil, err
			}
			a, b := f.Coefficients[0], f.Coefficients[1]
			return outcome{"intercept": a.Value, "slope": b.Value, "se_intercept": a.SE, "se_slope": b.SE, "t_slope": b.Value / b.SE, "p_slope": b.P, "intercept_lo": a.Lo, "intercept_hi": a.Hi,
				"slope_lo": b.Lo, "slope_hi": b.Hi, "r2": f.R2, "adj_r2": f.AdjR2, "sigma": f.Sigma, "df": float64(f.DF)}, nil
		},
		"ols_multi": func(r *raw) (outcome, error) {
			f, err := Linear(r.list("y"), r.num("confidence", 0.95), r.lists("X")...)
			if err != nil {
				return nil, err
			}
			out := outcome{"r2": f.R2, "F": f.F}
			for name, get := range map[string]func(c Coefficient) float64{"coef": func(c Coefficient) float64 { return c.Value }, "se": func(c Coefficient) float64 { return c.SE },
				"p": func(c Coefficient) float64 { return c.P }, "lo": func(c Coefficient) float64 { return c.Lo }, "hi": func(c Coefficient) float64 { return c.Hi }} {
				var l []float64
				for _, c := range f.Coefficients {
					l = append(l, get(c))
				}
				out[name] = l
			}
			return out, nil
		},
		"anova_twoway": func(r *raw) (outcome, error) {
			a, err := ANOVA2(r.list("y"), r.texts("a"), r.texts("b"))
			out := outcome{"ss_a": a.A.SumSq, "df_a": float64(a.A.DF), "F_a": a.A.F, "p_a": a.A.P, "ss_b": a.B.SumSq, "df_b": float64(a.B.DF), "F_b": a.B.F, "p_b": a.B.P, "ss_res": a.ResidualSS, "df_res": float64(a.ResidualDF)}
			if a.AB != nil {
				out["ss_ab"], out["df_ab"], out["F_ab"], out["p_ab"] = a.AB.SumSq, float64(a.AB.DF), a.AB.F, a.AB.P
			}
			return out, err
		},
		"ratio_fieller": func(r *raw) (outcome, error) {
			out := outcome{}
			for name, pooled := range map[string]bool{"pooled": true, "welch": false} {
				e, df, g, err := Fieller(r.list("x"), r.list("y"), r.num("confidence", 0.95), pooled)
				if err != nil {
					return nil, err
				}
				out["ratio"], out[name+"_df"], out[name+"_g"], out[name+"_lo"], out[name+"_hi"], out[name+"_bounded"] = e.Value, df, g, opt(e.Lo), opt(e.Hi), e.Lo != nil
			}
			return out, nil
		},
		"changepoint_pelt": func(r *raw) (outcome, error) {
			s, err := ChangePoints(r.list("x"), r.num("penalty", -1), int(r.num("min_segment", 1)))
			return outcome{"changepoints": ints(s.At), "total_cost": s.Cost, "sigma_mad_diff": s.Sigma}, err
		},
		"changepoint_edivisive_first": func(r *raw) (outcome, error) {
			any, err := EnergySplit(r.list("x"), false)
			if err != nil {
				return nil, err
			}
			full, err := EnergySplit(r.list("x"), true)
			if err != nil {
				return nil, err
			}
			ls, err := LevelSplit(r.list("x"))
			return outcome{"tau": float64(any.At), "kappa": float64(any.End), "qhat": any.Q, "tau_full": float64(full.At), "qhat_full": full.Q, "student_p_at_tau": any.P, "ls_split": float64(ls)}, err
		},
		"steady_state_cov_window": func(r *raw) (outcome, error) {
			i, err := SteadyFrom(r.list("x"), int(r.num("k", 0)), r.num("threshold", 0))
			return outcome{"start_index": float64(i)}, err
		},
		"power_two_sample_t": func(r *raw) (outcome, error) {
			exact, n, err := SampleSize(r.num("delta", 0), r.num("sd", 0), r.num("power", 0), r.num("alpha", 0))
			return outcome{"n_per_group_real": exact, "n_per_group": float64(n)}, err
		},
		"median_ci_benchstat": func(r *raw) (outcome, error) {
			lo, hi, cover, ambiguous, err := ShortestMedianRanks(int(r.num("n", 0)), r.num("confidence", 0))
			return outcome{"lo_rank": float64(lo), "hi_rank": float64(hi), "coverage": cover, "ambiguous": ambiguous}, err
		},
		"t_ci_from_summary": func(r *raw) (outcome, error) {
			e, err := MeanFromSummary(r.num("mean", 0), r.num("sd", 0), int(r.num("n", 0)), r.num("confidence", 0))
			if err != nil {
				return nil, err
			}
			return outcome{"lo": *e.Lo, "hi": *e.Hi, "half_width": (*e.Hi - *e.Lo) / 2}, nil
		},
		"stability_class": func(r *raw) (outcome, error) {
			if r.text("cv_percent") == "NaN" {
				return outcome{"class": Stability(math.NaN())}, nil
			}
			return outcome{"class": Stability(r.num("cv_percent", -1))}, nil
		},
		"run_to_run": func(r *raw) (outcome, error) {
			d, m, cv, err := RunDifference(r.num("r1", 0), r.num("r2", 0))
			return outcome{"diff_pct": d, "mean": m, "cv_pct_n2": cv}, err
		},
		"read_write_ratio": func(r *raw) (outcome, error) {
			a, b, amp, err := Amplification(r.num("mono_read", 0), r.num("mono_write", 0), r.num("k8s_read", 0), r.num("k8s_write", 0))
			return outcome{"mono_ratio": a, "k8s_ratio": b, "amplification": amp}, err
		},
		"littles_law_check": func(r *raw) (outcome, error) {
			c, err := CheckLoad(r.num("clients", 0), r.num("throughput", 0), r.num("response_s", 0))
			return outcome{"in_flight": c.InFlight, "gap_pct": c.GapPct, "client_side_s": c.ClientSideS}, err
		},
		"summary_plausibility": func(r *raw) (outcome, error) {
			p, err := CheckSummary(int(r.num("n", 0)), r.num("mean", 0), r.num("sd", 0), r.num("min", 0), r.num("max", 0))
			return outcome{"samuelson_bound": p.Samuelson, "bhatia_davis_bound": p.BhatiaDavis, "max_deviation": p.MaxDeviation, "possible": p.Possible}, err
		},
		"consistency_penalty": func(r *raw) (outcome, error) {
			var one, quorum map[string]float64
			_ = json.Unmarshal(r.Inputs["one"], &one)
			_ = json.Unmarshal(r.Inputs["quorum"], &quorum)
			ops, err := ChangePct(one["ops"], quorum["ops"])
			out := outcome{"ops_change_pct": ops, "ops_diff": quorum["ops"] - one["ops"], "cv_diff_pp": quorum["cv"] - one["cv"]}
			if err != nil {
				return nil, err
			}
			if out["cv_change_pct"], err = ChangePct(one["cv"], quorum["cv"]); err != nil {
				return nil, err
			}
			for _, k := range []string{"avg", "median", "p95", "p99", "p999"} {
				ratio, _, err := Scalability(one[k], quorum[k], 1, 1)
				if err != nil {
					return nil, err
				}
				out[k+"_ratio"] = ratio
			}
			return out, nil
		},
		"hdr_quantize": func(r *raw) (outcome, error) {
			h, err := NewHDR(int64(r.num("lowest", 0)), int(r.num("sigfigs", 0)))
			if err != nil {
				return nil, err
			}
			var low, high, mid []float64
			for _, v := range r.list("values") {
				a, b, c := h.Equivalent(int64(v))
				low, high, mid = append(low, float64(a)), append(high, float64(b)), append(mid, float64(c))
			}
			return outcome{"lowest_equivalent": low, "highest_equivalent": high, "median_equivalent": mid}, nil
		},
		"coordinated_omission": func(r *raw) (outcome, error) {
			v := int64(r.num("value", 0))
			added := Corrected(v, int64(r.num("expected_interval", 0)))
			l := []float64{}
			for _, a := range added {
				l = append(l, float64(a))
			}
			return outcome{"count": float64(len(added) + 1), "added": l}, nil
		},
		"hdr_stall":       hdrSummary,
		"hdr_percentiles": hdrSummary,
	}
}

// hdrSummary reads values such as "99 x 1000 then 1 x 1000000" or "1..10000 once each".
func hdrSummary(r *raw) (outcome, error) {
	h, err := NewHDR(int64(r.num("lowest", 0)), int(r.num("sigfigs", 0)))
	if err != nil {
		return nil, err
	}
	values := map[int64]int64{}
	interval := int64(r.num("expected_interval", 0))
	text := r.text("values")
	var from, to int64
	if n, _ := fmt.Sscanf(text, "%d..%d once each", &from, &to); n == 2 {
		for v := from; v <= to; v++ {
			values[v]++
		}
	} else {
		for _, part := range strings.Split(text, " then ") {
			var n, v int64
			if k, err := fmt.Sscanf(part, "%d x %d", &n, &v); k != 2 {
				return nil, fmt.Errorf("values %q: %w", text, err)
			}
			values[v] += n
			for _, a := range Corrected(v, interval) {
				values[a] += n
			}
		}
	}
	s, err := h.Summary(values)
	if err != nil {
		return nil, err
	}
	out := outcome{"count": float64(s.Count), "mean": s.Mean, "sd": s.SD, "min": float64(s.Min), "max": float64(s.Max)}
	for key := range r.Expected {
		var p float64
		if n, _ := fmt.Sscanf(key, "p%g", &p); n == 1 {
			out[key] = float64(s.PercentilesAt(p))
		}
	}
	return out, nil
}

// TestVectorsComplete: no function of the vectors is left out.
func TestVectorsComplete(t *testing.T) {
	elsewhere := []string{"mean", "sample_sd", "cv", "t_ci_mean", "quantile", "mann_kendall", "mser5"} // stat_test.go
	have := map[string]bool{}
	for _, n := range elsewhere {
		have[n] = true
	}
	for n := range calls() {
		have[n] = true
	}
	for n := range callsMore() {
		have[n] = true
	}
	for n, cases := range allVectors(t) {
		if !have[n] {
			t.Errorf("nothing is compared with the %d cases of %s", len(cases), n)
		}
	}
}
