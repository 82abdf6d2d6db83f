package pgscript

import (
	"fmt"
	"math"
)

// ranged is a random function: lower bound, upper bound, and a parameter where args is 3. n is the number of values in the
// range; 0 means 2^64.
func ranged(args int, draw func(v *env, low int64, n uint64, param float64) (int64, error)) function {
	return function{args, args, false, func(v *env, a []value) (value, error) {
		low, err := asInt(a[0])
		if err != nil {
			return value{}, err
		}
		high, err := asInt(a[1])
		if err != nil {
			return value{}, err
		}
		if high < low {
			return value{}, fmt.Errorf("an empty range: %d to %d", low, high)
		}
		var param float64
		if args == 3 {
			if param, err = asFloat(a[2]); err != nil {
				return value{}, err
			}
		}
		k, err := draw(v, low, uint64(high)-uint64(low)+1, param)
		return integer(k), err
	}}
}

// positive is uniform over (0, 1].
func positive(v *env) float64 { return 1 - v.rng.Float64() }

// place is the value of the range at share r in [0, 1).
func place(low int64, n uint64, r float64) int64 {
	size := float64(n)
	if n == 0 {
		size = 0x1p64
	}
	k := uint64(r * size)
	if n != 0 && k >= n {
		k = n - 1
	}
	return low + int64(k)
}

// exponential: pgbench's truncated exponential distribution with parameter p > 0.
func exponential(v *env, low int64, n uint64, p float64) (int64, error) {
	if !(p > 0) {
		return 0, fmt.Errorf("the parameter of random_exponential must be above 0, not %v", p)
	}
	cut := math.Exp(-p)
	return place(low, n, -math.Log(cut+(1-cut)*positive(v))/p), nil
}

// gaussian: pgbench's truncated normal distribution with parameter p >= 2; z by Box and Muller.
func gaussian(v *env, low int64, n uint64, p float64) (int64, error) {
	if !(p >= 2) {
		return 0, fmt.Errorf("the parameter of random_gaussian must be at least 2, not %v", p)
	}
	for {
		z := math.Sqrt(-2*math.Log(positive(v))) * math.Sin(2*math.Pi*v.rng.Float64())
		if z >= -p && z < p {
			return place(low, n, (z+p)/(2*p)), nil
		}
	}
}

// zipfian: bounded zipf law by rejection (Devroye 1986, page 550), parameter s in [1.001, 1000].
func zipfian(v *env, low int64, n uint64, s float64) (int64, error) {
	if !(s >= 1.001 && s <= 1000) {
		return 0, fmt.Errorf("the parameter of random_zipfian must be from 1.001 to 1000, not %v", s)
	}
	if n == 1 {
		return low, nil
	}
	size := float64(n)
	if n == 0 {
		size = 0x1p64
	}
	b := math.Pow(2, s-1)
	for {
		u, w := positive(v), positive(v)
		x := math.Floor(math.Pow(u, -1/(s-1)))
		t := math.Pow(1+1/x, s-1)
		if w*x*(t-1)/(b-1) <= t/b && x <= size {
			return low + int64(uint64(x)-1), nil
		}
	}
}

// fnv1a is the 64-bit FNV-1a hash of the eight octets of x, least significant first, with its basis changed by the seed.
func fnv1a(x, seed uint64) uint64 {
	h := 0xcbf29ce484222325 ^ seed
	for range 8 {
		h ^= x & 0xff
		h *= 0x100000001b3
		x >>= 8
	}
	return h
}

// murmur2 is MurmurHash64A of the eight octets of x.
func murmur2(x, seed uint64) uint64 {
	const m uint64 = 0xc6a4a7935bd1e995
	const length uint64 = 8
	h, k := length, x
	h = seed ^ h*m
	k *= m
	k ^= k >> 47
	k *= m
	h = (h ^ k) * m
	h ^= h >> 47
	h *= m
	return h ^ h>>47
}
