package stat

import (
	"fmt"
	"math"
	"math/bits"
	"slices"
)

// HDR is the scale of a high dynamic range histogram as other tools write it: values from lowest to highest in whole units,
// with a number of significant decimal digits. It answers what such a histogram says about a value; sextant's own histograms
// are finer.
type HDR struct {
	unit  uint // magnitude of the lowest value: 2^unit
	half  uint // magnitude of half the sub-buckets
	count int64
}

// NewHDR makes a scale. digits are from 1 to 5.
func NewHDR(lowest int64, digits int) (HDR, error) {
	if lowest < 1 || digits < 1 || digits > 5 {
		return HDR{}, fmt.Errorf("no histogram from %d with %d digits", lowest, digits)
	}
	sub := uint(bits.Len64(uint64(2*math.Pow10(digits)) - 1)) // sub-buckets: the next power of two
	return HDR{unit: uint(bits.Len64(uint64(lowest))) - 1, half: sub - 1, count: 1 << sub}, nil
}

// step is the width of the bucket of v.
func (h HDR) step(v int64) int64 {
	bucket := bits.Len64(uint64(v)|uint64(h.count-1)<<h.unit) - int(h.unit) - int(h.half+1)
	return 1 << (int(h.unit) + bucket)
}

// Equivalent is the range of values that the histogram can't tell from v, and the value that stands for them in a mean.
func (h HDR) Equivalent(v int64) (low, high, median int64) {
	s := h.step(v)
	low = v / s * s
	return low, low + s - 1, low + s/2
}

// Corrected are the values that coordinated omission is taken to have hidden behind v in a closed loop that meant to send every
// interval (Tene's correction): v - interval, v - 2 interval, ... down to the interval.
func Corrected(v, interval int64) []int64 {
	var out []int64
	if interval <= 0 {
		return nil
	}
	for m := v - interval; m >= interval; m -= interval {
		out = append(out, m)
	}
	return out
}

// HDRSummary is what a histogram of that scale reports of its values: count, mean and deviation from the buckets' middles,
// lowest and highest, and percentiles at rank floor(p n/100 + 1/2).
type HDRSummary struct {
	Count         int64
	Mean, SD      float64
	Min, Max      int64
	PercentilesAt func(p float64) int64
}

// Summary describes the values, each with its count.
func (h HDR) Summary(values map[int64]int64) (HDRSummary, error) {
	var keys []int64
	s := HDRSummary{}
	for v, n := range values {
		if v < 0 || n < 0 {
			return s, fmt.Errorf("a histogram holds values from 0, not %d", v)
		}
		if n > 0 {
			keys = append(keys, v)
			s.Count += n
		}
	}
	if s.Count == 0 {
		return s, ErrEmpty
	}
	slices.Sort(keys)
	for _, v := range keys {
		_, _, mid := h.Equivalent(v)
		s.Mean += float64(mid) * float64(values[v]) / float64(s.Count)
	}
	for _, v := range keys {
		_, _, mid := h.Equivalent(v)
		s.SD += (float64(mid) - s.Mean) * (float64(mid) - s.Mean) * float64(values[v]) / float64(s.Count)
	}
	s.SD = math.Sqrt(s.SD)
	s.Min, _, _ = h.Equivalent(keys[0])
	_, s.Max, _ = h.Equivalent(keys[len(keys)-1])
	s.PercentilesAt = func(p float64) int64 {
		rank := min(max(int64(p*float64(s.Count)/100+0.5), 1), s.Count)
		var cum int64
		for _, v := range keys {
			if cum += values[v]; cum >= rank {
				low, high, _ := h.Equivalent(v)
				if p == 0 {
					return low
				}
				return high
			}
		}
		return s.Max
	}
	return s, nil
}
