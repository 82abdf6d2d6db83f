package cstress

import (
	"fmt"
	"math"
)

// identities is what every generator of the tool draws first, unless a profile says otherwise.
var identities = Distribution{kind: "uniform", Min: 1, Max: 100_000_000_000}

// Rows makes the rows of the tool's predefined commands: a key of KeyBytes characters and columns C0, C1, ... of random bytes.
type Rows struct {
	keyBytes int
	size     Distribution
	keySalt  int64
	salts    []int64 // by column
}

// NewRows makes the rows of tables with n columns whose sizes have the given distribution, which must be Seedable.
func NewRows(keyBytes, n int, size Distribution) *Rows {
	out := &Rows{keyBytes: keyBytes, size: size, keySalt: murmur("randomstrkey")}
	for i := range n {
		out.salts = append(out.salts, murmur(fmt.Sprintf("randomstrC%d", i)))
	}
	return out
}

// Duplicates is how many of n seeds may have a key that a lower one has: keys are drawn, so that some meet. expected is how many do on average,
// most is what is not exceeded but once in a billion tables.
func (w *Rows) Duplicates(n int64) (expected, most float64) {
	keys := float64(identities.Max)
	if w.keyBytes < 10 {
		keys = math.Pow(16, float64(w.keyBytes))
	}
	f := float64(n)
	expected = f + keys*math.Expm1(f*math.Log1p(-1/keys))
	return expected, math.Floor(expected + 6*math.Sqrt(expected) + 6)
}

// AppendKey appends the key of a seed: nibbles as '0' to '9' and 'K' to 'P'.
func (w *Rows) AppendKey(b []byte, seed int64) []byte {
	var r javaRandom
	r.seed(seed ^ w.keySalt)
	identities.uniform(&r) // seeds the size, which is fixed
	for i := 0; i < w.keyBytes; i += 16 {
		v := identities.uniform(&r)
		for range min(16, w.keyBytes-i) {
			n := byte(v & 15)
			if n < 10 {
				b = append(b, '0'+n)
			} else {
				b = append(b, 'A'+n)
			}
			v >>= 4
		}
	}
	return b
}

// AppendColumn appends the bytes of column i in the row of a key.
func (w *Rows) AppendColumn(b, key []byte, i int) []byte {
	var id int64
	for _, c := range key {
		id = 31*id + int64(int8(c))
	}
	var r javaRandom
	r.seed(id ^ w.salts[i])
	seed := identities.uniform(&r)
	size := int(w.size.seeded(&r, seed))
	var f fasterRandom
	f.seed(^seed)
	for size > 0 {
		v := f.long()
		for range min(size, 8) {
			b = append(b, byte(v))
			v >>= 8
			size--
		}
	}
	return b
}
