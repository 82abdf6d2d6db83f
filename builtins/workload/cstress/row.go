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
	ids := stream{d: identities}
	ids.seed(seed ^ w.keySalt)
	ids.next() // seeds the size, which is fixed
	for i := 0; i < w.keyBytes; i += 16 {
		v := ids.next()
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
	return appendBytes(b, identities.seeded(share{bytes: key}.into(0)^w.salts[i]), &w.size, false)
}

// appendBytes appends random bytes, or characters of 7 bits, that a number stands for; their count too is drawn by it.
func appendBytes(b []byte, id int64, size *Distribution, text bool) []byte {
	n := size.seeded(id)
	var f fasterRandom
	f.seed(^id)
	for n > 0 {
		v := f.long()
		for range min(n, 8) {
			c := byte(v)
			if text {
				c = (c&127 + 32) & 127
			}
			b = append(b, c)
			v >>= 8
			n--
		}
	}
	return b
}
