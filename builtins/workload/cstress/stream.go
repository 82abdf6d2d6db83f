package cstress

import "math"

// stream draws from a distribution after a seed, as the tool does for Seedable ones.
type stream struct {
	d     Distribution
	r     javaRandom
	spare float64 // the second of the two normal numbers that are made at once
	has   bool
}

func (s *stream) seed(n int64) {
	s.r.seed(n)
	s.has = false
}

// seeded is the first value after a seed.
func (d *Distribution) seeded(seed int64) int64 {
	s := stream{d: *d}
	s.seed(seed)
	return s.next()
}

// real is the next number before it is cut to the range; the products are rounded one by one, as Java does.
func (s *stream) real() float64 {
	switch s.d.kind {
	case "uniform":
		u := s.r.Float64()
		return float64(u*float64(s.d.Max+1)) + float64((1-u)*float64(s.d.Min))
	case "gaussian":
		return float64(s.d.dev*s.normal()) + s.d.mean
	}
	return float64(s.d.Min)
}

// normal is Java's nextGaussian.
func (s *stream) normal() float64 {
	if s.has {
		s.has = false
		return s.spare
	}
	for {
		if y, z, ok := polar(s.r.Float64(), s.r.Float64()); ok {
			s.spare, s.has = z, true
			return y
		}
	}
}

func (s *stream) next() int64 {
	v := s.d.Min
	if s.d.kind != "fixed" {
		v = s.d.bound(s.real())
	}
	if s.d.inverted {
		v = s.d.Max - (v - s.d.Min)
	}
	return v
}

// float is the next value that isn't cut to a whole number.
func (s *stream) float() float64 {
	v := min(max(s.real(), float64(s.d.Min)), float64(s.d.Max))
	if s.d.inverted {
		v = float64(s.d.Max) - (v - float64(s.d.Min))
	}
	return v
}

// average is about the mean, as the tool takes it for what it expects of a partition.
func (d *Distribution) average() int64 {
	var sum float64
	n := 0
	for p := float32(0); float64(p) <= 1; p += 0.02 {
		sum += float64(d.quantile(float64(p)))
		n++
	}
	return int64(sum / float64(n))
}

// quantile of a Seedable distribution.
func (d *Distribution) quantile(p float64) int64 {
	if d.inverted {
		p = 1 - p
	}
	v := d.Min
	switch d.kind {
	case "uniform":
		v = d.bound(float64(d.Min) + p*(float64(d.Max)+1-float64(d.Min)))
	case "gaussian":
		if p >= 1 {
			v = d.Max
		} else if p > 0 {
			v = d.bound(d.mean + d.dev*math.Sqrt2*math.Erfinv(2*p-1))
		}
	}
	if d.inverted {
		v = d.Max - (v - d.Min)
	}
	return v
}
