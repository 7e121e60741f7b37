package engine

import (
	"fmt"
	"math"
	"testing"

	"dpnbench/engine/num"
)

func coefficients(step int) *AdamCoefficients {
	return &AdamCoefficients{Clip: 1, Beta1: 0.9, OneMinusBeta1: 0.1, Beta2: 0.999, OneMinusBeta2: 0.001,
		Step: float32(1e-3 / (1 - math.Pow(0.9, float64(step)))),
		RBC2: float32(1 / math.Sqrt(1-math.Pow(0.999, float64(step)))), Eps: 1e-8}
}

func subnormal(v float32) bool { return v != 0 && math.Abs(float64(v)) < 0x1p-126 }

// TestAdamKeepsNoSubnormals makes steps with gradients that end, or are always small, from moments that may
// be subnormal: afterwards no moment is, and without a gradient they become 0.
func TestAdamKeepsNoSubnormals(t *testing.T) {
	const n, steps = 35, 80000 // v falls from 0.02 to the floor in 75,000
	for _, tier := range Available() {
		e := newTestEngine(t, WithTier(tier), WithThreads(1))
		for _, gradient := range []float32{0, 1, -1e-3, 1e-15, 1e-19, 1e-23, 1e-30, 1e-38, 1e-44} {
			p, g, m, v := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
			for j := range p {
				g[j], m[j], v[j] = gradient, 0x1p-149*float32(j), 0x1p-140*float32(j)
			}
			last := 300
			if gradient == 1 && !testing.Short() {
				last = steps
			}
			for s := 1; s <= last; s++ {
				if s == 20 && gradient == 1 {
					clear(g)
				}
				e.Adam(p, g, m, v, coefficients(min(s, 10000)))
				for j := range p {
					if subnormal(m[j]) || subnormal(v[j]) {
						t.Fatalf("%v, gradient %v: m %v and v %v after %d steps", tier, gradient, m[j], v[j], s)
					}
				}
			}
			if last == steps && (m[0] != 0 || v[0] != 0) {
				t.Errorf("%v: m %v and v %v after %d steps without a gradient, want 0", tier, m[0], v[0], last)
			}
		}
		x := []float32{1, -1, 1e-30, -1e-38, 0x1p-149, float32(math.Inf(1))}
		for range 700 {
			e.Decay(0.9, x)
		}
		for j, v := range x[:5] {
			if v != 0 {
				t.Errorf("%v: number %d has decayed to %v, want 0", tier, j, v)
			}
		}
		if !math.IsInf(float64(x[5]), 1) {
			t.Errorf("%v: infinity has decayed to %v", tier, x[5])
		}
	}
}

// TestAdamAtFloors checks on every tier, in whole vectors and in tails, that a floor itself stays, that what
// is below it becomes +0, and that NaN stays.
func TestAdamAtFloors(t *testing.T) {
	const n = 37
	nan, minusZero := float32(math.NaN()), float32(math.Copysign(0, -1))
	const m, belowM = MomentFloor, 0x1.fffffep-101
	const v, belowV = SecondMomentFloor, 0x1.fffffep-115
	const square, belowSquare = 0x1p-57, 0x1.fffffep-58
	co := &AdamCoefficients{Clip: 1, Beta1: 1, OneMinusBeta1: 1, Beta2: 1, OneMinusBeta2: 8, RBC2: 1, Eps: 1}
	for _, tier := range Available() {
		e := newTestEngine(t, WithTier(tier), WithThreads(1))
		for _, c := range []struct{ g, m, v, wantM, wantV float32 }{
			{0, m, v, m, v}, {0, -m, v, -m, v}, {0, belowM, belowV, 0, 0}, {0, -belowM, -1, 0, 0},
			{m, 0, 0, m, 0}, {-m, 0, 0, -m, 0}, {belowM, 2 * m, 0, 2 * m, 0}, {-belowM, 2 * m, 0, 2 * m, 0},
			{1.5 * m, -m, v, 0, v}, // new m below the floor
			{square, 0, 0, square, 8 * v}, {-square, 0, 0, -square, 8 * v}, {belowSquare, 0, 0, belowSquare, 0},
			{-belowSquare, 0, v, -belowSquare, v}, {minusZero, minusZero, minusZero, 0, 0},
			{nan, 0, 0, nan, nan}, {0, nan, 0, nan, 0}, {0, 0, nan, 0, nan},
		} {
			p, gs, ms, vs := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
			for j := range p {
				gs[j], ms[j], vs[j] = c.g, c.m, c.v
			}
			e.Adam(p, gs, ms, vs, co)
			for j := range p {
				if !sameNumber(ms[j], c.wantM) || !sameNumber(vs[j], c.wantV) {
					t.Fatalf("%v, element %d: g %v, m %v and v %v become m %v and v %v, want %v and %v", tier, j,
						c.g, c.m, c.v, ms[j], vs[j], c.wantM, c.wantV)
				}
			}
		}
		for _, c := range [][2]float32{{m, m}, {-m, -m}, {belowM, 0}, {-belowM, 0}, {-0x1p-149, 0}, {minusZero, 0},
			{nan, nan}} {
			xs := make([]float32, n)
			for j := range xs {
				xs[j] = c[0]
			}
			e.Decay(1, xs)
			for j, got := range xs {
				if !sameNumber(got, c[1]) {
					t.Fatalf("%v, element %d: Decay makes %v of %v, want %v", tier, j, got, c[0], c[1])
				}
			}
		}
	}
}

// sameNumber reports whether both have the same bits or are NaN.
func sameNumber(a, b float32) bool {
	return math.Float32bits(a) == math.Float32bits(b) || a != a && b != b
}

// TestAdamFloors compares the parameters with those of Adam without floors, in float64, for gradients of
// all scales: each step differs by no more than its roundings, and 2^-69 of the learning rate.
func TestAdamFloors(t *testing.T) {
	const n, steps = 64, 400
	e := newTestEngine(t, WithThreads(1))
	for _, exponent := range []int{0, -10, -30, -45, -50, -52, -55, -57, -60, -70, -95, -100, -110, -140} {
		r := num.NewRand(9, uint64(-exponent))
		p, g, m, v := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
		p64, m64, v64 := make([]float64, n), make([]float64, n), make([]float64, n)
		moved := make([]float64, n)
		for s := 1; s <= steps; s++ {
			r.Normal(g)
			co := coefficients(s)
			for j := range g {
				g[j] = float32(math.Ldexp(float64(g[j]), exponent))
				if s%3 == 0 {
					g[j] = 0
				}
				x := float64(g[j])
				m64[j] = float64(co.Beta1)*m64[j] + float64(co.OneMinusBeta1)*x
				v64[j] = float64(co.Beta2)*v64[j] + float64(co.OneMinusBeta2)*x*x
				move := float64(co.Step) * m64[j] / (math.Sqrt(v64[j])*float64(co.RBC2) + float64(co.Eps))
				p64[j] -= move
				moved[j] += math.Abs(move)
			}
			e.Adam(p, g, m, v, co)
		}
		for j := range p {
			// Roundings of m and v add up over about 10 and 1,000 steps, those of p over all.
			bound := 2e-5*moved[j] + steps*(1e-3*0x1p-69+0x1p-149)
			if d := math.Abs(float64(p[j]) - p64[j]); !(d <= bound) {
				t.Errorf("gradients of 2^%d: parameter %d is %v, without floors %v, bound %v", exponent, j,
					p[j], p64[j], bound)
				break
			}
		}
	}
}

// BenchmarkAdamMoments times a step without a gradient: as fast from subnormal moments as from others.
func BenchmarkAdamMoments(b *testing.B) {
	const n = 1 << 16
	for _, tier := range Available() {
		for _, c := range []struct {
			name string
			m, v float32
		}{{"normal", 1e-3, 1e-3}, {"zero", 0, 0}, {"subnormal", 1e-40, 1e-40}, {"falling", 0x1p-125, 0x1p-125}} {
			b.Run(fmt.Sprintf("%v/%s", tier, c.name), func(b *testing.B) {
				e := newTestEngine(b, WithTier(tier), WithThreads(1))
				p, g, m, v := make([]float32, n), make([]float32, n), make([]float32, n), make([]float32, n)
				co := coefficients(1000)
				for b.Loop() {
					for j := range m {
						m[j], v[j] = c.m, c.v
					}
					e.Adam(p, g, m, v, co)
				}
			})
		}
	}
}
