package cstress

// javaRandom is java.util.Random: a linear congruential generator of 48 bits, as its documentation defines it.
type javaRandom struct{ state uint64 }

const (
	javaMultiplier = 0x5DEECE66D
	javaMask       = 1<<48 - 1
)

func (r *javaRandom) seed(s int64) {
	r.state = (uint64(s) ^ javaMultiplier) & javaMask
}

// next gives the upper bits, at most 32, as a signed number.
func (r *javaRandom) next(bits uint) int32 {
	r.state = (r.state*javaMultiplier + 0xB) & javaMask
	return int32(r.state >> (48 - bits))
}

func (r *javaRandom) long() int64 { return int64(r.next(32))<<32 + int64(r.next(32)) }

// Float64 is Java's nextDouble.
func (r *javaRandom) Float64() float64 {
	return float64(int64(r.next(26))<<27+int64(r.next(27))) * (1.0 / (1 << 53))
}

// fasterRandom is the tool's generator of bytes: an xorshift with Java's signed shifts, seeded anew every 32 numbers.
type fasterRandom struct {
	java  javaRandom
	state int64
	used  int
}

func (r *fasterRandom) seed(s int64) {
	r.state = s
	r.renew()
}

func (r *fasterRandom) renew() {
	r.used = 0
	r.java.seed(r.state)
	r.state = r.java.long()
}

func (r *fasterRandom) long() int64 {
	if r.used++; r.used == 32 {
		r.renew()
	}
	s := r.state
	s ^= s >> 12
	s ^= s << 25
	s ^= s >> 27
	r.state = s
	return s * 2685821657736338717
}

// murmur is the first half of MurmurHash3 x64 128 with seed 0 of a text, as Cassandra computes it: bytes of the tail are signed.
func murmur(text string) int64 {
	const c1, c2 = 0x87c37b91114253d5, 0x4cf5ad432745937f
	var h1, h2 uint64
	rotl := func(v uint64, n uint) uint64 { return v<<n | v>>(64-n) }
	data := []byte(text)
	for ; len(data) >= 16; data = data[16:] {
		var k1, k2 uint64
		for i := range 8 {
			k1 |= uint64(data[i]) << (8 * i)
			k2 |= uint64(data[8+i]) << (8 * i)
		}
		h1 = (rotl(h1^rotl(k1*c1, 31)*c2, 27)+h2)*5 + 0x52dce729
		h2 = (rotl(h2^rotl(k2*c2, 33)*c1, 31)+h1)*5 + 0x38495ab5
	}
	var k1, k2 uint64
	for i := range data {
		v := uint64(int64(int8(data[i])))
		if i < 8 {
			k1 ^= v << (8 * i)
		} else {
			k2 ^= v << (8 * (i - 8))
		}
	}
	h1 ^= rotl(k1*c1, 31) * c2
	h2 ^= rotl(k2*c2, 33) * c1
	h1 ^= uint64(len(text))
	h2 ^= uint64(len(text))
	h1 += h2
	h2 += h1
	mix := func(h uint64) uint64 {
		h = (h ^ h>>33) * 0xff51afd7ed558ccd
		h = (h ^ h>>33) * 0xc4ceb9fe1a85ec53
		return h ^ h>>33
	}
	return int64(mix(h1) + mix(h2))
}
