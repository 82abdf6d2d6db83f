package workload

import (
	"math"

	"sextant/interp/load"
)

// zipf draws ranks 0..n-1 with probability proportional to 1/(rank+1)^theta, exactly, by rejection-inversion (Hörmann and
// Derflinger 1996). It needs no table and no zeta sum, and n may change from draw to draw.
type zipf struct {
	theta float64
	n     int64
	hx0   float64 // H(1/2) - 1: the area's upper end
	hn    float64 // H(n + 1/2)
	s     float64
}

func newZipf(theta float64, n int64) *zipf {
	z := &zipf{theta: theta}
	z.s = 2 - z.inverse(z.h(2.5)-math.Pow(2, -theta))
	z.hx0 = z.h(1.5) - 1
	z.resize(n)
	return z
}

func (z *zipf) resize(n int64) {
	z.n = n
	z.hn = z.h(float64(n) + 0.5)
}

// h is the integral of x^-theta.
func (z *zipf) h(x float64) float64 {
	l := math.Log(x)
	return expm1Over((1-z.theta)*l) * l
}

func (z *zipf) inverse(x float64) float64 {
	t := max(x*(1-z.theta), -1)
	return math.Exp(log1pOver(t) * x)
}

// expm1Over is (e^x - 1)/x, log1pOver ln(1+x)/x, both right at 0.
func expm1Over(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Expm1(x) / x
	}
	return 1 + x/2*(1+x/3)
}

func log1pOver(x float64) float64 {
	if math.Abs(x) > 1e-8 {
		return math.Log1p(x) / x
	}
	return 1 - x*(0.5-x/3)
}

func (z *zipf) next(r *load.Rand) int64 {
	for {
		u := z.hn + r.Float64()*(z.hx0-z.hn)
		x := z.inverse(u)
		k := min(max(int64(x+0.5), 1), z.n)
		if float64(k)-x <= z.s || u >= z.h(float64(k)+0.5)-math.Exp(-z.theta*math.Log(float64(k))) {
			return k - 1
		}
	}
}

// grayZipf is YCSB's generator (Gray et al. 1994): the same law, approximated from the third rank on.
type grayZipf struct {
	theta, alpha, zeta2, c float64 // c: the constant of zeta's expansion
	n                      int64
	zetan, eta, second     float64
}

func newGrayZipf(theta float64, n int64, zetan float64) *grayZipf {
	g := &grayZipf{theta: theta, alpha: 1 / (1 - theta), zeta2: 1 + math.Pow(0.5, theta), c: zetaConstant(theta)}
	g.second = 1 + math.Pow(0.5, theta)
	if zetan > 0 {
		g.set(n, zetan)
	} else {
		g.resize(n)
	}
	return g
}

func (g *grayZipf) resize(n int64) {
	if n != g.n {
		g.set(n, zetaAt(g.theta, g.c, n))
	}
}

func (g *grayZipf) set(n int64, zetan float64) {
	g.n, g.zetan = n, zetan
	g.eta = (1 - math.Pow(2/float64(n), 1-g.theta)) / (1 - g.zeta2/zetan)
}

func (g *grayZipf) next(r *load.Rand) int64 {
	u := r.Float64()
	uz := u * g.zetan
	if uz < 1 {
		return 0
	}
	if uz < g.second {
		return min(1, g.n-1)
	}
	return min(int64(float64(g.n)*math.Pow(g.eta*u-g.eta+1, g.alpha)), g.n-1)
}

// head is up to where zeta is summed term by term; beyond, the Euler-Maclaurin expansion is right to 1e-12.
const head = 256

func zetaSum(theta float64, n int64) float64 {
	var s float64
	for i := n; i >= 1; i-- { // the small terms first
		s += math.Pow(float64(i), -theta)
	}
	return s
}

// zetaTail is the expansion of the sum of i^-theta up to n, less a constant.
func zetaTail(theta float64, n int64) float64 {
	x := float64(n)
	p := math.Pow(x, -theta)
	return x*p/(1-theta) + p/2 - theta*p/x/12 + theta*(theta+1)*(theta+2)*p/(x*x*x)/720
}

func zetaConstant(theta float64) float64 { return zetaSum(theta, head) - zetaTail(theta, head) }

// zetaAt is the sum of i^-theta for i = 1..n, theta != 1, in constant time.
func zetaAt(theta, c float64, n int64) float64 {
	if n <= head {
		return zetaSum(theta, n)
	}
	return c + zetaTail(theta, n)
}
