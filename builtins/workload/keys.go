package workload

import (
	"fmt"
	"math"
	"math/bits"

	"sextant/interp/load"
	"sextant/interp/spec"
)

// A chooser draws record numbers below n. It belongs to one client.
type chooser interface {
	choose(r *load.Rand, n int64) int64
}

// chooserOf makes one client's chooser of a distribution over a table of rows records.
func chooserOf(dist map[string]any, rows int64, client int) (chooser, error) {
	num := func(name string) float64 { f, _ := dist[name].(float64); return f } // kinds were checked at plan time
	switch dist["$"] {
	case "uniform":
		return uniform{}, nil
	case "zipfian":
		return &scattered{newZipf(num("theta"), rows), newPermutation(rows)}, nil
	case "scrambled_zipfian":
		return &scrambled{newGrayZipf(ycsbTheta, scrambledItems, scrambledZeta), rows}, nil
	case "latest":
		return &latest{newGrayZipf(num("theta"), rows, 0)}, nil
	case "hotspot":
		return hotspot{num("keys"), num("operations")}, nil
	case "exponential":
		return exponential{-math.Log(1-num("percentile")/100) / num("fraction")}, nil
	case "sequential":
		return &sequential{next: load.Mix(uint64(client))}, nil
	}
	return nil, fmt.Errorf("unknown distribution %v", dist["$"])
}

type uniform struct{}

func (uniform) choose(r *load.Rand, n int64) int64 { return int64(r.Uint64N(uint64(n))) }

const (
	ycsbTheta      = 0.99
	scrambledItems = 10_000_000_000
	scrambledZeta  = 26.46902820178302 // YCSB's constant: zeta(10^10, 0.99)
)

// scrambled is YCSB's scrambled zipfian: a zipfian over 10^10 items, hashed onto the keys. Several of its items fall on
// one key, so the hottest has about 3.8 % however many keys there are. It is taken over the loaded rows; inserted ones
// are not drawn.
type scrambled struct {
	z    *grayZipf
	rows int64
}

func (s *scrambled) choose(r *load.Rand, n int64) int64 {
	for {
		if k := fnv64(s.z.next(r)) % s.rows; k < n {
			return k
		}
	}
}

// latest is YCSB's: the last acknowledged record is the hottest.
type latest struct{ z *grayZipf }

func (l *latest) choose(r *load.Rand, n int64) int64 {
	l.z.resize(n)
	return n - 1 - l.z.next(r)
}

// scattered is an exact zipfian whose ranks lie scattered over the loaded rows by a fixed permutation; inserted rows take
// the ranks behind them, so the hot keys stay the same ones.
type scattered struct {
	z *zipf
	p permutation
}

func (s *scattered) choose(r *load.Rand, n int64) int64 {
	if n != s.z.n {
		s.z.resize(n)
	}
	k := s.z.next(r)
	if k < s.p.n {
		return min(s.p.at(k), n-1)
	}
	return k
}

// permutation is a fixed bijection of 0..n-1: a Feistel network over the next even number of bits, walked until the
// value is in range (Black and Rogaway 2002).
type permutation struct {
	n    int64
	half uint
	mask uint64
}

func newPermutation(n int64) permutation {
	half := uint(bits.Len64(uint64(n-1))+1) / 2
	half = max(half, 1)
	return permutation{n, half, 1<<half - 1}
}

func (p permutation) at(k int64) int64 {
	x := uint64(k)
	for {
		l, r := x>>p.half, x&p.mask
		for round := range uint64(4) {
			l, r = r, l^(load.Mix(r+round*0x9e3779b97f4a7c15)&p.mask)
		}
		if x = l<<p.half | r; x < uint64(p.n) {
			return int64(x)
		}
	}
}

// hotspot gives a share of the operations to the first share of the keys, uniform within both.
type hotspot struct{ keys, operations float64 }

func (h hotspot) choose(r *load.Rand, n int64) int64 {
	hot := min(max(int64(h.keys*float64(n)), 1), n)
	if r.Float64() < h.operations || hot == n {
		return int64(r.Uint64N(uint64(hot)))
	}
	return hot + int64(r.Uint64N(uint64(n-hot)))
}

// exponential: the given percentile of the operations goes to the first fraction of the keys.
type exponential struct{ gamma float64 }

func (e exponential) choose(r *load.Rand, n int64) int64 {
	for {
		if k := int64(-math.Log(1-r.Float64()) / e.gamma * float64(n)); k < n {
			return k
		}
	}
}

// sequential walks through the keys one after the other, each client from a place of its own.
type sequential struct{ next uint64 }

func (s *sequential) choose(_ *load.Rand, n int64) int64 {
	k := s.next % uint64(n)
	s.next = k + 1
	return int64(k)
}

// Values are the constructors of key distributions.
func Values() []*spec.ValueType {
	theta := spec.Param{Name: "theta", Kind: spec.KindFloat, Default: 0.99, Doc: "skew; 0.99 is YCSB's", Check: inRange(0, 1, false)}
	exact := theta
	exact.Check = inRange(0, 10, false)
	return append(append(genTypes(), tableType(), transactionType()), []*spec.ValueType{
		{Name: "uniform", Doc: "Every key alike."},
		{Name: "zipfian", Doc: "Exact zipf law, scattered over the keys by a fixed permutation; hot keys stay hot when rows are inserted.", Params: []spec.Param{exact}, Positional: 1},
		{Name: "scrambled_zipfian", Doc: "YCSB's: a zipfian over 10^10 items hashed onto the keys; the hottest key has about 3.8 % whatever the number of keys."},
		{Name: "latest", Doc: "YCSB's: zipfian from the last acknowledged insert backwards.", Params: []spec.Param{theta}, Positional: 1},
		{Name: "hotspot", Doc: "The first share of the keys gets a share of the operations.", Params: []spec.Param{
			{Name: "keys", Kind: spec.KindFloat, Default: 0.2, Doc: "share of the keys that is hot", Check: inRange(0, 1, true)},
			{Name: "operations", Kind: spec.KindFloat, Default: 0.8, Doc: "share of the operations that goes there", Check: inRange(0, 1, true)}}},
		{Name: "exponential", Doc: "YCSB's: a percentile of the operations goes to the first fraction of the keys.", Params: []spec.Param{
			{Name: "percentile", Kind: spec.KindFloat, Default: 95.0, Doc: "per cent of the operations", Check: inRange(0, 100, false)},
			{Name: "fraction", Kind: spec.KindFloat, Default: 0.8571428571, Doc: "share of the keys", Check: inRange(0, 1, true)}}},
		{Name: "sequential", Doc: "One key after the other, each client from a place of its own."},
	}...)
}

// inRange checks low < v < high, or v <= high when closed.
func inRange(low, high float64, closed bool) func(any) error {
	return func(v any) error {
		f, ok := v.(float64)
		if ok && f > low && (f < high || closed && f == high) {
			return nil
		}
		end := "below"
		if closed {
			end = "at most"
		}
		return fmt.Errorf("must be above %v and %s %v, not %s", low, end, high, spec.Display(v))
	}
}
