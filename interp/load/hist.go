package load

import "math/bits"

// Histogram geometry: HDR with three significant digits and a unit of 1 ns. Values below 2048 have a bucket each; above,
// every power of two is cut into 1024 buckets, so a bucket is never wider than 1/1024 of its lower bound.
const (
	subBits  = 10
	chunkLen = 1 << subBits
	maxBits  = 43                        // values from 2^43 ns (2.4 hours) on are clipped
	chunks   = maxBits - subBits - 1 + 2 // 0: below 1024; 1: below 2048; then one per power of two
	MaxValue = int64(1)<<maxBits - 1     // ns; the largest value that is recorded as it is
	buckets  = chunks * chunkLen         // number of buckets
	exact    = int64(2 * chunkLen)       // values below it are exact
)

// A Hist counts durations in nanoseconds. Chunks of counters appear when first touched, so an operation type whose
// latencies span a few powers of two takes some kilobytes. C is uint32 in the recorders of clients (emptied every
// interval) and uint64 where counts add up for hours. The zero value is ready. Not safe for concurrent use.
type Hist[C uint32 | uint64] struct {
	count, sum uint64 // of recorded values, clipped ones included at MaxValue
	clipped    uint64
	min, max   int64
	chunk      [chunks]*[chunkLen]C
}

// bucketOf is the index of the bucket that holds v, for 0 <= v <= MaxValue.
func bucketOf(v int64) int {
	if v < exact {
		return int(v)
	}
	e := bits.Len64(uint64(v)) - subBits - 1
	return e<<subBits + int(v>>e)
}

// bounds are the smallest and the largest value of a bucket.
func bounds(bucket int) (lower, upper int64) {
	if int64(bucket) < exact {
		return int64(bucket), int64(bucket)
	}
	e := bucket>>subBits - 1
	lower = int64(bucket-e<<subBits) << e
	return lower, lower + 1<<e - 1
}

// Record counts one value. Negative values (which a monotonic clock doesn't give) count as 0, values above MaxValue as
// MaxValue and as clipped.
func (h *Hist[C]) Record(v int64) {
	if uint64(v) > uint64(MaxValue) {
		v = h.clip(v)
	}
	if h.count == 0 || v < h.min {
		h.min = v
	}
	if v > h.max {
		h.max = v
	}
	h.count++
	h.sum += uint64(v)
	b := bucketOf(v)
	c := h.chunk[b>>subBits]
	if c == nil {
		c = new([chunkLen]C)
		h.chunk[b>>subBits] = c
	}
	c[b&(chunkLen-1)]++
}

func (h *Hist[C]) clip(v int64) int64 {
	if v < 0 {
		return 0
	}
	h.clipped++
	return MaxValue
}

// Reset empties the histogram and keeps its chunks.
func (h *Hist[C]) Reset() {
	if h.count == 0 {
		return
	}
	for i := bucketOf(h.min) >> subBits; i <= bucketOf(h.max)>>subBits; i++ {
		if c := h.chunk[i]; c != nil {
			*c = [chunkLen]C{}
		}
	}
	h.count, h.sum, h.clipped, h.min, h.max = 0, 0, 0, 0, 0
}

// Merge adds every value of o to h.
func Merge[C, D uint32 | uint64](h *Hist[C], o *Hist[D]) {
	if o.count == 0 {
		return
	}
	if h.count == 0 || o.min < h.min {
		h.min = o.min
	}
	h.max = max(h.max, o.max)
	h.count += o.count
	h.sum += o.sum
	h.clipped += o.clipped
	for i := bucketOf(o.min) >> subBits; i <= bucketOf(o.max)>>subBits; i++ {
		oc := o.chunk[i]
		if oc == nil {
			continue
		}
		c := h.chunk[i]
		if c == nil {
			c = new([chunkLen]C)
			h.chunk[i] = c
		}
		for j, n := range oc {
			c[j] += C(n)
		}
	}
}

// Count is the number of values, Clipped how many of them were above MaxValue.
func (h *Hist[C]) Count() int64   { return int64(h.count) }
func (h *Hist[C]) Clipped() int64 { return int64(h.clipped) }

// Min, Max (exact) and Mean in nanoseconds; meaningless when Count is 0.
func (h *Hist[C]) Min() int64    { return h.min }
func (h *Hist[C]) Max() int64    { return h.max }
func (h *Hist[C]) Mean() float64 { return float64(h.sum) / float64(h.count) }

// A Bucket is a range of nanoseconds, both ends included, and how many values lie in it.
type Bucket struct{ Lower, Upper, Count int64 }

// Buckets are the buckets that hold something, in ascending order.
func (h *Hist[C]) Buckets() []Bucket {
	var out []Bucket
	for i, c := range h.chunk {
		if c == nil {
			continue
		}
		for j, n := range c {
			if n > 0 {
				lo, up := bounds(i<<subBits + j)
				out = append(out, Bucket{lo, up, int64(n)})
			}
		}
	}
	return out
}

// Quantiles gives, for each permille-of-permille q (500000 is the median, 999000 the 99.9th percentile; ascending), the
// nearest-rank quantile: the upper bound of the bucket that holds the value of rank ceil(q*n/10^6), never outside
// [Min, Max]. The ranks are exact integers. It returns nil when the histogram is empty.
func (h *Hist[C]) Quantiles(q ...int64) []int64 {
	if h.count == 0 {
		return nil
	}
	out := make([]int64, len(q))
	var seen uint64
	k := 0
	for i, c := range h.chunk {
		if c == nil {
			continue
		}
		for j, n := range c {
			if n == 0 {
				continue
			}
			seen += uint64(n)
			for ; k < len(q) && rank(q[k], h.count) <= seen; k++ {
				_, up := bounds(i<<subBits + j)
				out[k] = min(max(up, h.min), h.max)
			}
		}
	}
	return out
}

// rank is ceil(q*n/10^6), at least 1, without overflow.
func rank(q int64, n uint64) uint64 {
	hi, lo := bits.Mul64(uint64(q), n)
	r, rem := bits.Div64(hi, lo, 1_000_000)
	if rem > 0 {
		r++
	}
	return max(r, 1)
}
