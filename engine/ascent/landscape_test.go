package ascent

// The potentials that the tests climb, and what they compare with.

import (
	"math"
	"testing"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// landscape is a potential to climb by both routes, and where from.
type landscape struct {
	name  string
	k, d  int
	low   int // rank of precisions of low rank, or -1 for A_i^T A_i
	sign  float32
	tied  bool
	alpha float32
	mu, c []float32
	a     []float32 // A_i
	w, f  []float32
	x     engine.Matrix
	steps int // that climbBy makes; 0: 6
}

// by returns the mixture with a route.
func (h *landscape) by(e *engine.Engine, route Route) *Mixture {
	m := h.mixture(e)
	m.Route = route
	return m
}

func (h *landscape) mixture(e *engine.Engine) *Mixture {
	if h.low >= 0 {
		m := NewLowRankMixture(h.k, h.d, h.low, h.mu, h.c)
		m.Lanes = true
		m.SetLowRank(e, h.w, h.f, h.sign)
		return m
	}
	m := NewMixture(h.k, h.d, h.mu, h.c)
	if h.tied {
		m = NewTiedMixture(h.k, h.d, h.mu, h.c)
	}
	m.SetFactors(e, h.a)
	return m
}

func (h *landscape) gradient() *Gradient {
	if h.low >= 0 {
		return NewLowRankGradient(h.k, h.d, h.low, true)
	}
	if h.tied {
		return NewTiedGradient(h.k, h.d)
	}
	return NewGradient(h.k, h.d)
}

// newLandscape makes k centres some way apart and rows around them.
func newLandscape(name string, k, d, low int, sign, apart, wide float32, rows int) *landscape {
	r := num.NewRand(5, uint64(len(name)))
	h := &landscape{name: name, k: k, d: d, low: low, sign: sign, alpha: 0.1, mu: make([]float32, k*d),
		c: make([]float32, k), x: engine.NewMatrix(rows, d)}
	r.Normal(h.mu)
	r.Normal(h.c)
	r.Normal(h.x.Data)
	for i := range h.mu {
		h.mu[i] *= apart
	}
	for b := range rows {
		for j := range d {
			h.x.Data[b*d+j] = h.mu[b%k*d+j] + wide*h.x.Data[b*d+j]
		}
	}
	if low >= 0 {
		h.w, h.f = make([]float32, k*d), make([]float32, k*low*d)
		for i := range h.w {
			h.w[i] = 1
		}
		r.Normal(h.f)
		for i := range k * low { // rows of length below 1/sqrt(r)
			row := h.f[i*d : (i+1)*d]
			var s float64
			for _, v := range row {
				s += float64(v) * float64(v)
			}
			for j := range row {
				row[j] *= float32(0.9 / math.Sqrt(s*float64(low)))
			}
		}
		return h
	}
	h.a = make([]float32, k*d*d)
	r.Normal(h.a)
	for i := range h.a {
		h.a[i] *= 0.3 / float32(math.Sqrt(float64(d)))
		if i/d%d == i%d {
			h.a[i]++
		}
	}
	return h
}

// identity makes all A_i the identity.
func (h *landscape) identity() *landscape {
	for i := range h.a {
		h.a[i] = 0
		if i/h.d%h.d == i%h.d {
			h.a[i] = 1
		}
	}
	return h
}

func landscapes() []*landscape {
	list := []*landscape{
		newLandscape("apart", 7, 19, -1, 0, 6, 1, 40),
		newLandscape("close", 7, 19, -1, 0, 1, 2, 40),
		newLandscape("between", 5, 33, -1, 0, 3, 3, 37),
		newLandscape("identity", 9, 40, -1, 0, 4, 1.5, 50).identity(),
		newLandscape("close identity", 9, 40, -1, 0, 0.5, 1, 50).identity(),
		newLandscape("one component", 1, 17, -1, 0, 1, 1, 9),
		newLandscape("one row", 6, 24, -1, 0, 3, 2, 1),
		newLandscape("lowrank", 9, 30, 3, 1, 3, 2, 45),
		newLandscape("diagonal", 40, 20, 0, 1, 3, 1, 70),
		newLandscape("flat", 12, 35, 4, -1, 3, 2, 60),
		newLandscape("wide", 3, 150, -1, 0, 2, 1, 20),
	}
	tied := newLandscape("tied", 6, 21, -1, 0, 4, 1, 30)
	tied.tied, tied.a = true, tied.a[:21*21]
	list = append(list, tied)

	h := newLandscape("coincident", 6, 18, -1, 0, 4, 1, 30)
	copy(h.mu[18:36], h.mu[:18]) // two components in one place, and with one precision
	copy(h.a[18*18:2*18*18], h.a[:18*18])
	h.c[1] = h.c[0]
	for j := range h.d {
		h.x.Set(1, j, (h.mu[2*18+j]+h.mu[3*18+j])/2) // a tie
	}
	list = append(list, h)

	h = newLandscape("far and huge", 6, 18, -1, 0, 4, 1, 30)
	for b := range h.x.Rows {
		scale := float32(math.Pow(10, float64(b%12)*2)) // up to 1e22, which overflows
		for j := range h.d {
			h.x.Data[b*h.d+j] *= scale
		}
	}
	list = append(list, h)

	h = newLandscape("steep", 6, 18, -1, 0, 40, 1, 30)
	for i := range h.a {
		h.a[i] *= 30
	}
	h.alpha = 1e-4
	list = append(list, h)

	h = newLandscape("tiny", 6, 16, -1, 0, 2, 1, 30) // squares of the elements of P_i underflow
	const scale = 0x1p-40
	for i := range h.a {
		h.a[i] = scale / 4
		if i/h.d%h.d == i%h.d {
			h.a[i] += scale / 64
		}
	}
	for _, x := range [][]float32{h.mu, h.x.Data} {
		for i := range x {
			x[i] /= scale
		}
	}
	h.alpha = 0.05 / scale / scale
	list = append(list, h)

	h = newLandscape("negative", 7, 19, -1, 0, 6, 1, 40)
	for i := range h.a {
		h.a[i] *= -1
	}
	list = append(list, h)

	// Component 1 counts for rows that have come far enough to mu_0 from the other side.
	h = newLandscape("met on the way", 2, 60, -1, 0, 0, 1, 12).identity()
	h.alpha, h.steps = 0.3, 12
	clear(h.c)
	clear(h.x.Data)
	h.mu[h.d] = 6
	for i := range h.k {
		h.a[i*h.d*h.d+h.d] = 0.1
	}
	for b := range h.x.Rows {
		h.x.Set(b, 0, -4)
		h.x.Set(b, 1, float32(b)/16)
	}
	list = append(list, h)

	h = newLandscape("overshooting", 6, 18, -1, 0, 4, 1, 30)
	h.alpha = 1.9
	list = append(list, h)

	h = newLandscape("weights", 6, 18, -1, 0, 2, 1, 30)
	for i := range h.c {
		h.c[i] *= 60
	}
	list = append(list, h)

	h = newLandscape("not finite", 5, 12, -1, 0, 4, 1, 20)
	h.x.Set(3, 2, float32(math.NaN()))
	h.x.Set(7, 0, float32(math.Inf(1)))
	h.x.Set(11, 5, 3e38)
	list = append(list, h)
	h = newLandscape("not finite flat", 12, 35, 4, -1, 3, 2, 20)
	h.x.Set(3, 2, float32(math.NaN()))
	h.x.Set(7, 0, float32(math.Inf(1)))
	h.x.Set(11, 5, 3e38)
	list = append(list, h)
	h = newLandscape("wide flat", 3, 90, 37, -1, 1, 2, 20) // more factors than a panel is wide
	list = append(list, h)
	list = append(list, linearLandscape(-1), linearLandscape(0))
	list = append(list, runLandscapes()...)
	for _, by := range []struct {
		name string
		c    float64
	}{{"NaN", math.NaN()}, {"infinite", math.Inf(1)}, {"no", math.Inf(-1)}} {
		low := newLandscape(by.name+" weight lowrank", 9, 30, 3, 1, 3, 2, 20)
		for _, h := range []*landscape{newLandscape(by.name+" weight", 7, 19, -1, 0, 6, 1, 20),
			newLandscape(by.name+" weight identity", 9, 40, -1, 0, 4, 1.5, 20).identity(), low} {
			h.c[1] = float32(by.c)
			list = append(list, h)
		}
	}
	h = newLandscape("not finite diagonal", 5, 12, -1, 0, 4, 1, 20).identity()
	h.x.Set(3, 2, float32(math.NaN()))
	h.x.Set(7, 0, float32(math.Inf(-1)))
	return append(list, h)
}

// runLandscapes are climbed long enough for runs to be combined (single_component.go).
func runLandscapes() []*landscape {
	runs := newLandscape("runs", 5, 70, -1, 0, 3, 1, 8) // two rows of some components
	runs.steps = 18
	cut := newLandscape("runs of large steps", 3, 70, -1, 0, 3, 1, 3) // no combinations of one component
	cut.steps, cut.alpha = 19, 0.25
	for i := range 70 * 70 {
		cut.a[i] *= 2
	}
	ended := newLandscape("runs that end", 2, 100, -1, 0, 3, 1, 2).identity()
	ended.steps, ended.alpha = 30, 0.15
	fast := newLandscape("fast runs", 2, 100, -1, 0, 3, 1, 2).identity() // to where U_t is large and D_t small
	fast.steps, fast.alpha = 30, 0.4
	short := newLandscape("short fast runs", 1, 100, -1, 0, 0, 1, 2).identity() // only what K leaves out shows
	short.steps, short.alpha = 16, 0.3
	long := newLandscape("long runs", 2, 130, -1, 0, 3, 1, 2) // in pieces
	long.steps, long.alpha = 100, 0.02

	hardly := newLandscape("hardly alone", 2, 100, -1, 0, 0, 1, 1).identity()
	// r_1 from 2^-25.5 on, to 0 after some steps
	hardly.steps = 30
	hardly.x.Set(0, 0, 3.3)
	hardly.mu[hardly.d] = 2
	hardly.c[0], hardly.c[1] = 0, -17.7-6.6+2
	return []*landscape{runs, cut, ended, fast, short, long, hardly}
}

// linearLandscape has precisions I and rows on linear paths: on the way to mu_0, beside which
// component 1 comes back; to mu_4, which does not lead at first; and to centres all around.
func linearLandscape(low int) *landscape {
	h := newLandscape("straight", 12, 20, low, 1, 5, 3, 50)
	if low < 0 {
		h.identity()
	}
	h.alpha = 0.6
	clear(h.c)
	for i, at := range [][2]float32{{0, 0}, {5, 0}, {-3, 200}, {3.1, 200}, {8, 200}} {
		clear(h.mu[i*h.d : (i+1)*h.d])
		h.mu[i*h.d], h.mu[i*h.d+1] = at[0], at[1]
	}
	h.c[4] = 27.4
	for b := range 8 {
		clear(h.x.Row(b))
		if b%2 == 0 {
			h.x.Set(b, 0, float32(-8-b))
		} else {
			h.x.Set(b, 1, 200)
			h.x.Set(b, 2, float32(b))
		}
	}
	return h
}

// fullLandscape is a mixture with its factors.
type fullLandscape struct {
	m     *Mixture
	a     []float32
	k, d  int
	alpha float32
}

func newFullLandscape(e *engine.Engine, k, d int, scale float32) *fullLandscape {
	r := num.NewRand(17, 0)
	l := &fullLandscape{k: k, d: d, alpha: 0.3, a: make([]float32, k*d*d)}
	mu, c := make([]float32, k*d), make([]float32, k)
	r.Normal(mu)
	r.Normal(c)
	r.Normal(l.a)
	for i := range l.a {
		l.a[i] *= 0.3 * scale / float32(math.Sqrt(float64(d)))
		if i/d%d == i%d {
			l.a[i] += scale
		}
	}
	l.m = NewMixture(k, d, mu, c)
	l.m.SetFactors(e, l.a)
	return l
}

func points(n, d int) engine.Matrix {
	x := engine.NewMatrix(n, d)
	num.NewRand(23, 0).Normal(x.Data)
	return x
}

func clone(m engine.Matrix) engine.Matrix {
	c := engine.NewMatrix(m.Rows, m.Cols)
	engine.CopyMatrix(c, m)
	return c
}

func equalBits(t *testing.T, what string, got, want []float32) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	for i := range got {
		if math.Float32bits(got[i]) != math.Float32bits(want[i]) {
			t.Fatalf("%s: number %d is %v, want %v", what, i, got[i], want[i])
		}
	}
}

// computed sets q and, for precisions A_i^T A_i, g as the kernels compute them.
func (h *landscape) computed(e *engine.Engine, m *Mixture, i int, x engine.Matrix, q []float32, g engine.Matrix) {
	if h.low < 0 {
		m.QuadGrad(e, g, q, x, i)
		return
	}
	one := NewLowRankMixture(1, h.d, h.low, h.mu[i*h.d:(i+1)*h.d], []float32{0})
	one.SetLowRank(e, h.w[i*h.d:(i+1)*h.d], h.f[i*h.low*h.d:(i+1)*h.low*h.d], h.sign)
	var tr Trajectory
	tr.keepQ = true
	tr.reshape(1, x.Rows, one, false, false)
	one.run(e, ascentJob{alpha: 0, steps: 1, x: clone(x), tr: &tr, plan: one.Plan(e, x.Rows, 1)})
	copy(q, tr.q)
}

// exact returns x - mu_i and q_i in float64.
func (h *landscape) exact(i int, x []float32) (delta []float64, q float64) {
	d := h.d
	delta = make([]float64, d)
	for j := range d {
		delta[j] = float64(x[j]) - float64(h.mu[i*d+j])
	}
	square := func(row []float32) float64 {
		var s float64
		for j, v := range row {
			s += float64(v) * delta[j]
		}
		return s * s
	}
	if h.low >= 0 {
		for j, v := range h.w[i*d : (i+1)*d] {
			q += float64(v) * delta[j] * delta[j]
		}
		for p := i * h.low; p < (i+1)*h.low; p++ {
			q += float64(h.sign) * square(h.f[p*d:(p+1)*d])
		}
		return delta, q
	}
	if h.tied {
		i = 0
	}
	for p := i * d; p < (i+1)*d; p++ {
		q += square(h.a[p*d : (p+1)*d])
	}
	return delta, q
}

func wide(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}
