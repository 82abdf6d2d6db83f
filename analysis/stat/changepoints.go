package stat

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat"
)

// Segments is a series cut at its level shifts.
type Segments struct {
	At    []int   // first index of each new segment
	Cost  float64 // squared deviations within the segments, and the penalty for each change
	Sigma float64 // noise by the median absolute deviation of the differences
}

// PenaltyFactor is what ChangePoints takes times sigma^2 ln n for each change: 2 is the textbook's and splits noise now and
// then, 3 does not.
const PenaltyFactor = 3

// PenaltyUnit is sigma^2 ln n for a series of n values.
func PenaltyUnit(sigma float64, n int) float64 { return sigma * sigma * math.Log(float64(n)) }

// maxSeries bounds the series whose change points are searched.
const maxSeries = 20_000

// NoiseSigma is the standard deviation of a series' noise by its differences: 1.4826 MAD(diff) / sqrt 2. Level shifts hardly
// touch it. Where that is 0 it is the standard deviation of the differences / sqrt 2.
func NoiseSigma(x []float64) (float64, error) {
	if len(x) < 3 {
		return 0, fmt.Errorf("the noise of a series needs three values, not %d", len(x))
	}
	if err := usable(x); err != nil {
		return 0, err
	}
	diff := make([]float64, len(x)-1)
	for i := range diff {
		diff[i] = x[i+1] - x[i]
	}
	m, err := Median(diff)
	if err != nil {
		return 0, err
	}
	all := *SD(diff) / math.Sqrt2 // three values and more have two differences
	for i := range diff {
		diff[i] = math.Abs(diff[i] - m)
	}
	mad, err := Median(diff)
	if mad == 0 { // half of the differences are equal, as those of rounded numbers may be
		return all, err
	}
	return 1.4826 * mad / math.Sqrt2, err
}

// ChangePoints cuts a series into segments of constant level of at least minSegment values so that squared deviations plus
// penalty for each change are least (PELT, Killick, Fearnhead and Eckley 2012). A penalty below 0 means PenaltyFactor sigma^2
// ln n. Values of one series that depend on each other look like changes.
func ChangePoints(x []float64, penalty float64, minSegment int) (Segments, error) {
	n := len(x)
	if minSegment < 1 || n < 2*minSegment || n > maxSeries {
		return Segments{}, fmt.Errorf("change points need between %d and %d values for segments of %d, not %d", 2*max(minSegment, 1), maxSeries, minSegment, n)
	}
	sigma, err := NoiseSigma(x)
	if err != nil {
		return Segments{}, err
	}
	if penalty < 0 {
		penalty = PenaltyFactor * PenaltyUnit(sigma, n)
	}
	sum, square := make([]float64, n+1), make([]float64, n+1)
	center := 0.0
	for _, v := range x {
		center += v / float64(n)
	}
	for i, v := range x {
		d := v - center
		sum[i+1], square[i+1] = sum[i]+d, square[i]+d*d
	}
	cost := func(from, to int) float64 {
		s := sum[to] - sum[from]
		return max(square[to]-square[from]-s*s/float64(to-from), 0)
	}
	best, last := make([]float64, n+1), make([]int, n+1)
	best[0] = -penalty
	for i := 1; i <= n; i++ {
		best[i] = math.Inf(1)
	}
	candidates := []int{0}
	for to := minSegment; to <= n; to++ {
		for _, from := range candidates {
			if to-from < minSegment {
				continue
			}
			if c := best[from] + cost(from, to) + penalty; c < best[to] {
				best[to], last[to] = c, from
			}
		}
		kept := candidates[:0]
		for _, from := range candidates {
			if to-from < minSegment || best[from]+cost(from, to) <= best[to] {
				kept = append(kept, from)
			}
		}
		candidates = append(kept, to-minSegment+1)
	}
	s := Segments{Cost: best[n], Sigma: sigma}
	for at := last[n]; at > 0; at = last[at] {
		s.At = append(s.At, at)
	}
	slices.Reverse(s.At)
	return s, nil
}

// A Split is the strongest single change of a series.
type Split struct {
	At   int     // first index after the change
	End  int     // end of the segment after it that differs most
	Q    float64 // scaled energy distance between the two segments
	P    float64 // pooled t test between all values before and all after
	Full bool    // the segment after it goes to the end of the series
}

// maxEnergy bounds the series whose energy distances are compared.
const maxEnergy = 2000

// EnergySplit finds the split of a series into x[:at] and x[at:end] with the largest energy distance
// mn/(m+n) (2 E|X-Y| - E|X-X'| - E|Y-Y'|), over all at and end, or with end fixed at that of the series when full is set
// (Matteson and James 2014, with exponent 1).
func EnergySplit(x []float64, full bool) (Split, error) {
	n := len(x)
	if n < 4 || n > maxEnergy {
		return Split{}, fmt.Errorf("an energy split needs from 4 to %d values, not %d", maxEnergy, n)
	}
	if err := usable(x); err != nil {
		return Split{}, err
	}
	// within[k] is the sum of distances among x[:k]
	within := make([]float64, n+1)
	for k := 1; k <= n; k++ {
		within[k] = within[k-1]
		for i := range k - 1 {
			within[k] += math.Abs(x[i] - x[k-1])
		}
	}
	best := Split{Q: math.Inf(-1), Full: full}
	for at := 2; at <= n-2; at++ {
		var cross, after float64
		m := float64(at)
		for end := at + 1; end <= n; end++ {
			v := x[end-1]
			for _, u := range x[:at] {
				cross += math.Abs(u - v)
			}
			for _, u := range x[at : end-1] {
				after += math.Abs(u - v)
			}
			k := float64(end - at)
			if end < at+2 || full && end != n {
				continue
			}
			q := m * k / (m + k) * (2*cross/(m*k) - within[at]/(m*(m-1)/2) - after/(k*(k-1)/2))
			if q > best.Q {
				best.At, best.End, best.Q = at, end, q
			}
		}
	}
	best.P = pooledP(x[:best.At], x[best.At:])
	return best, nil
}

// pooledP is the p of Student's two-sample t test with one variance; 1 where both samples are constant and equal, 0 where
// they are constant and differ.
func pooledP(x, y []float64) float64 {
	mx, my := stat.Mean(x, nil), stat.Mean(y, nil)
	var ss float64
	for _, v := range x {
		ss += (v - mx) * (v - mx)
	}
	for _, v := range y {
		ss += (v - my) * (v - my)
	}
	df := float64(len(x) + len(y) - 2)
	if ss == 0 {
		if mx == my {
			return 1
		}
		return 0
	}
	se := math.Sqrt(ss / df * (1/float64(len(x)) + 1/float64(len(y))))
	return tTail(math.Abs(mx-my)/se, df)
}

// LevelSplit is the first index after the one change of level that takes most squared deviation away.
func LevelSplit(x []float64) (int, error) {
	if len(x) < 2 {
		return 0, fmt.Errorf("a split needs two values, not %d", len(x))
	}
	if err := usable(x); err != nil {
		return 0, err
	}
	best, at := math.Inf(1), 0
	for k := 1; k < len(x); k++ {
		var ss float64
		for _, part := range [][]float64{x[:k], x[k:]} {
			m := stat.Mean(part, nil)
			for _, v := range part {
				ss += (v - m) * (v - m)
			}
		}
		if ss < best {
			best, at = ss, k
		}
	}
	return at, nil
}

// SteadyFrom is the start of the first window of k values whose coefficient of variation is below threshold (Georges, Buytaert
// and Eeckhout 2007), or -1 when there is none.
func SteadyFrom(x []float64, k int, threshold float64) (int, error) {
	if k < 2 {
		return 0, fmt.Errorf("a window needs two values, not %d", k)
	}
	if err := usable(x); err != nil {
		return 0, err
	}
	for i := 0; i+k <= len(x); i++ {
		if cv := CV(x[i : i+k]); cv != nil && *cv < 100*threshold {
			return i, nil
		}
	}
	return -1, nil
}
