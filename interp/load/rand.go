package load

import "math/bits"

// Rand is a counter-based random stream: SplitMix64 (Steele, Lea, Flood 2014) whose state is set from (seed, client,
// index) for every operation. It is frozen: the same arguments give the same numbers on every machine and in every
// version of sextant. Not safe for use by several goroutines.
type Rand struct{ state uint64 }

const golden = 0x9e3779b97f4a7c15

// Mix is the finalizer of SplitMix64: a bijection of the 64-bit integers that scatters them.
func Mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// Seek puts the stream at the start of the numbers for (seed, client, index).
func (r *Rand) Seek(seed, client, index uint64) {
	r.at(stream(seed, client), index)
}

// stream is what the numbers of a seed and client have in common.
func stream(seed, client uint64) uint64 { return Mix(Mix(seed+golden) ^ (client+1)*golden) }

// at is Seek with what stream says.
func (r *Rand) at(stream, index uint64) { r.state = Mix(stream + (index+1)*golden) }

// Uint64 is the next 64 random bits.
func (r *Rand) Uint64() uint64 {
	r.state += golden
	return Mix(r.state)
}

// Uint64N is uniform over [0, n), without bias (Lemire 2019). n must not be 0.
func (r *Rand) Uint64N(n uint64) uint64 {
	hi, lo := bits.Mul64(r.Uint64(), n)
	if lo < n {
		for t := -n % n; lo < t; {
			hi, lo = bits.Mul64(r.Uint64(), n)
		}
	}
	return hi
}

// Float64 is uniform over [0, 1) in steps of 2^-53.
func (r *Rand) Float64() float64 { return float64(r.Uint64()>>11) * 0x1p-53 }
