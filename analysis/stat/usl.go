package stat

import (
	"fmt"
	"math"

	"gonum.org/v1/gonum/mat"
	"gonum.org/v1/gonum/stat"
)

// A Scaling is a fit of the universal scalability law (Gunther 2007), X(N) = lambda N / (1 + sigma (N-1) + kappa N (N-1)).
type Scaling struct {
	Lambda, Sigma, Kappa float64
	SE                   []float64 // of the three, where they can be had; nil on a boundary or with three points
	RSS, R2              float64
	Peak, PeakRate       *float64 // load and rate at the maximum; nil when there is none (kappa is 0)
	Warnings             []string
}

// At is the rate that the law gives for a load.
func (s *Scaling) At(load float64) float64 { return law(load, [3]float64{s.Lambda, s.Sigma, s.Kappa}) }

// USL fits the law to rates at loads by least squares, with sigma and kappa not below 0.
func USL(load, rate []float64) (Scaling, error) {
	if len(load) != len(rate) || len(load) < 3 {
		return Scaling{}, fmt.Errorf("a scalability fit needs at least three loads with their rates, not %d and %d", len(load), len(rate))
	}
	if err := usable(load, rate); err != nil {
		return Scaling{}, err
	}
	most := 0.0
	for i := range load {
		if !(load[i] >= 1) || !(rate[i] > 0) {
			return Scaling{}, fmt.Errorf("a scalability fit needs loads from 1 and rates above 0, not %v at %v", rate[i], load[i])
		}
		most = max(most, load[i])
	}
	// A coefficient that would be negative is 0, and the others are fitted again.
	var best *Scaling
	for _, free := range [][]int{{0, 1, 2}, {0, 1}, {0, 2}, {0}} {
		p, ok := fitUSL(load, rate, free)
		if !ok || p[0] <= 0 || p[1] < 0 || p[2] < 0 {
			continue
		}
		s := Scaling{Lambda: p[0], Sigma: p[1], Kappa: p[2], RSS: rss(load, rate, p)}
		if best == nil || s.RSS < best.RSS*(1-1e-12) {
			if len(free) == 3 && len(load) > 3 {
				s.SE = standardErrors(load, rate, p, s.RSS)
			}
			best = &s
		}
		if len(free) == 3 {
			break // the least squares without a boundary are the least of all
		}
	}
	if best == nil {
		return Scaling{}, fmt.Errorf("the scalability law doesn't fit these rates: none of its curves rises as they do")
	}
	total := stat.Variance(rate, nil) * float64(len(rate)-1)
	if total == 0 {
		return Scaling{}, ErrConstant
	}
	best.R2 = 1 - best.RSS/total
	if best.Kappa > 0 && best.Sigma < 1 {
		n := math.Sqrt((1 - best.Sigma) / best.Kappa)
		x := law(n, [3]float64{best.Lambda, best.Sigma, best.Kappa})
		best.Peak, best.PeakRate = &n, &x
		if n > most {
			best.Warnings = append(best.Warnings, fmt.Sprintf("the peak at %.0f lies beyond the measured loads (up to %.0f): it is a guess", n, most))
		}
	} else {
		best.Warnings = append(best.Warnings, "no peak: the rates show no loss by coherence (kappa is 0)")
	}
	if len(load) < 6 {
		best.Warnings = append(best.Warnings, fmt.Sprintf("only %d loads: six and more, past the peak, make a fit", len(load)))
	}
	return *best, nil
}

func law(n float64, p [3]float64) float64 { return p[0] * n / (1 + p[1]*(n-1) + p[2]*n*(n-1)) }

func rss(load, rate []float64, p [3]float64) (s float64) {
	for i := range load {
		d := rate[i] - law(load[i], p)
		s += d * d
	}
	return s
}

// gradient is the derivative of the law by its coefficients.
func gradient(n float64, p [3]float64) [3]float64 {
	d := 1 + p[1]*(n-1) + p[2]*n*(n-1)
	return [3]float64{n / d, -p[0] * n * (n - 1) / (d * d), -p[0] * n * n * (n - 1) / (d * d)}
}

// fitUSL is Levenberg's and Marquardt's method for some of the coefficients, the others 0. It begins with the linear fit of
// N/X = (1 + sigma (N-1) + kappa N (N-1)) / lambda.
func fitUSL(load, rate []float64, free []int) (p [3]float64, ok bool) {
	a := mat.NewDense(len(load), len(free), nil)
	b := mat.NewVecDense(len(load), nil)
	for i, n := range load {
		row := [3]float64{1, n - 1, n * (n - 1)}
		for j, f := range free {
			a.Set(i, j, row[f])
		}
		b.SetVec(i, n/rate[i])
	}
	var c mat.VecDense
	if c.SolveVec(a, b) != nil || !(c.AtVec(0) > 0) {
		c = *mat.NewVecDense(len(free), nil)
		c.SetVec(0, load[0]/rate[0])
	}
	p[0] = 1 / c.AtVec(0)
	for j, f := range free[1:] {
		p[f] = c.AtVec(j+1) / c.AtVec(0)
	}
	damp, now := 1e-3, rss(load, rate, p)
	for range 500 {
		k := len(free)
		jtj, jtr := mat.NewDense(k, k, nil), mat.NewVecDense(k, nil)
		for i, n := range load {
			g, d := gradient(n, p), rate[i]-law(n, p)
			for x, fx := range free {
				jtr.SetVec(x, jtr.AtVec(x)+g[fx]*d)
				for y, fy := range free {
					jtj.Set(x, y, jtj.At(x, y)+g[fx]*g[fy])
				}
			}
		}
		moved := false
		for range 60 {
			m := mat.DenseCopyOf(jtj)
			for x := range k {
				m.Set(x, x, m.At(x, x)*(1+damp))
			}
			var step mat.VecDense
			if err := step.SolveVec(m, jtr); err != nil && step.Len() == 0 {
				return p, false
			}
			next := p
			for x, f := range free {
				next[f] += step.AtVec(x)
			}
			if s := rss(load, rate, next); s <= now {
				small := true
				for x, f := range free {
					small = small && math.Abs(step.AtVec(x)) <= 1e-14*math.Abs(next[f])
				}
				p, now, damp, moved = next, s, max(damp/10, 1e-15), !small
				break
			}
			damp = min(damp*10, 1e12)
		}
		if !moved {
			break
		}
	}
	return p, now-now == 0
}

// standardErrors are the roots of the diagonal of s^2 (J'J)^-1.
func standardErrors(load, rate []float64, p [3]float64, rss float64) []float64 {
	j := mat.NewDense(len(load), 3, nil)
	for i, n := range load {
		g := gradient(n, p)
		j.SetRow(i, g[:])
	}
	var jtj, inv mat.Dense
	jtj.Mul(j.T(), j)
	// the coefficients differ by orders of magnitude: scaled before it is inverted
	scale := [3]float64{math.Sqrt(jtj.At(0, 0)), math.Sqrt(jtj.At(1, 1)), math.Sqrt(jtj.At(2, 2))}
	for x := range 3 {
		for y := range 3 {
			jtj.Set(x, y, jtj.At(x, y)/scale[x]/scale[y])
		}
	}
	if inv.Inverse(&jtj) != nil {
		return nil
	}
	out := make([]float64, 3)
	for x := range out {
		out[x] = math.Sqrt(rss/float64(len(load)-3)*inv.At(x, x)) / scale[x]
	}
	return out
}
