package ascent

import (
	"dpnbench/engine"
	"fmt"
	"math"
	"slices"
	"testing"

	"dpnbench/engine/num"
	"dpnbench/internal/alloctest"
)

// lowLandscape is a mixture with precisions diag(w_i) + sign F_i^T F_i.
type lowLandscape struct {
	m       *Mixture
	w, f    []float32
	k, d, r int
	sign    float32
}

func newLowLandscape(e *engine.Engine, k, d, r int, sign float32) *lowLandscape {
	random := num.NewRand(19, 0)
	l := &lowLandscape{k: k, d: d, r: r, sign: sign, w: make([]float32, k*d), f: make([]float32, k*r*d)}
	mu, c := make([]float32, k*d), make([]float32, k)
	random.Normal(mu)
	random.Normal(c)
	random.Uniform(l.w, 0.5, 1.5)
	random.Normal(l.f)
	for i := range l.f {
		l.f[i] *= 0.5 / float32(math.Sqrt(float64(d*max(r, 1))))
	}
	l.m = NewLowRankMixture(k, d, r, mu, c)
	l.m.SetLowRank(e, l.w, l.f, sign)
	return l
}

// full returns the same potential with its precisions in full.
func (l *lowLandscape) full(e *engine.Engine) *Mixture {
	p := make([]float32, l.k*l.d*l.d)
	for i := range l.k {
		for a := range l.d {
			for b := range l.d {
				var s float64
				if a == b {
					s = float64(l.w[i*l.d+a])
				}
				for row := i * l.r; row < (i+1)*l.r; row++ {
					s += float64(l.sign) * float64(l.f[row*l.d+a]) * float64(l.f[row*l.d+b])
				}
				p[(i*l.d+a)*l.d+b] = float32(s)
			}
		}
	}
	m := NewMixture(l.k, l.d, l.m.Mu, l.m.C)
	m.SetPrecisions(e, p)
	return m
}

// TestLowRankLikeFull checks that precisions of low rank move rows, and value them, as the
// same precisions in full do, up to rounding.
func TestLowRankLikeFull(t *testing.T) {
	e := newTestEngine(t)
	for _, s := range []struct {
		r    int
		sign float32
	}{{0, 1}, {3, 1}, {3, -1}, {19, 1}} {
		const n, k, d, steps = 23, 4, 19, 5
		l := newLowLandscape(e, k, d, s.r, s.sign)
		full := l.full(e)
		x, y := points(n, d), points(n, d)
		l.m.Ascend(e, 0.2, steps, x, nil, false)
		full.Ascend(e, 0.2, steps, y, nil, false)
		for i := range x.Data {
			if diff := math.Abs(float64(x.Data[i] - y.Data[i])); diff > 2e-5 {
				t.Fatalf("rank %d: number %d of x_n is %v, with full precisions %v", s.r, i, x.Data[i], y.Data[i])
			}
		}
		phi, want, r := make([]float32, n), make([]float32, n), engine.NewMatrix(k, n)
		l.m.Potential(e, y, phi, r)
		full.Potential(e, y, want, engine.Matrix{})
		checkTerms(t, e, l.m, y, phi, r)
		for i := range phi {
			if diff := math.Abs(float64(phi[i] - want[i])); !(diff <= 2e-5*(1+math.Abs(float64(want[i])))) {
				t.Errorf("rank %d: potential %v, with full precisions %v", s.r, phi[i], want[i])
			}
		}
	}
}

// TestLowRankRowsAndThreads is TestRowsAndThreads for precisions of low rank.
func TestLowRankRowsAndThreads(t *testing.T) {
	const n, k, d, r, steps = 29, 5, 37, 4, 6
	type result struct{ x, v []float32 }
	ascend := func(e *engine.Engine, x, v engine.Matrix) (result, *Gradient) {
		l := newLowLandscape(e, k, d, r, 1)
		var tr Trajectory
		x, v = clone(x), clone(v)
		l.m.Ascend(e, 0.25, steps, x, &tr, true)
		g := NewLowRankGradient(k, d, r, true)
		l.m.Backward(e, 0.25, nil, &tr, v, g)
		return result{x.Data, v.Data}, g
	}
	x, v := points(n, d), points(n, d)
	want, wantGrad := ascend(newTestEngine(t, engine.WithTier(engine.Generic), engine.WithThreads(1)), x, v)
	for _, tier := range engine.Available() {
		for _, threads := range []int{1, 2, 3, 8} {
			e := newTestEngine(t, engine.WithTier(tier), engine.WithThreads(threads), engine.WithEagerThreads())
			got, grad := ascend(e, x, v)
			name := fmt.Sprintf("%v, %d threads: ", tier, threads)
			equalBits(t, name+"x_n", got.x, want.x)
			equalBits(t, name+"dL/dx_0", got.v, want.v)
			equalBits(t, name+"dL/dw", grad.W, wantGrad.W)
			equalBits(t, name+"dL/dF", grad.F, wantGrad.F)
			equalBits(t, name+"dL/dmu", grad.Mu, wantGrad.Mu)
			equalBits(t, name+"dL/dc", grad.C, wantGrad.C)
			equalBits(t, name+"dL/dalpha", []float32{grad.Alpha}, []float32{wantGrad.Alpha})
		}
		e := newTestEngine(t, engine.WithTier(tier), engine.WithThreads(2), engine.WithEagerThreads())
		p := make([]int32, n)
		num.NewRand(9, 0).Permutation(p)
		px, pv := engine.NewMatrix(n, d), engine.NewMatrix(n, d)
		for i, j := range p {
			copy(px.Row(i), x.Row(int(j)))
			copy(pv.Row(i), v.Row(int(j)))
		}
		permuted, _ := ascend(e, px, pv)
		for i, j := range p {
			row := func(m engine.Matrix) engine.Matrix { return clone(m.Slice(int(j), int(j)+1, 0, d)) }
			alone, _ := ascend(e, row(x), row(v))
			equalBits(t, "row alone x_n", alone.x, want.x[int(j)*d:int(j+1)*d])
			equalBits(t, "row alone dL/dx_0", alone.v, want.v[int(j)*d:int(j+1)*d])
			equalBits(t, "permuted x_n", permuted.x[i*d:(i+1)*d], alone.x)
			equalBits(t, "permuted dL/dx_0", permuted.v[i*d:(i+1)*d], alone.v)
		}
	}
}

// TestLowRankSparse checks that rows of which few responsibilities are above 0 have the
// same bits whether they are combined component by component or by products, and products
// whatever number of steps they sum together; also where rows are more than one block of
// the inner index.
func TestLowRankSparse(t *testing.T) {
	lowRankSparse(t, 31, false)
	lowRankSparse(t, 45, true)
	if !testing.Short() {
		lowRankSparse(t, 540, false) // the inner index has twice as many; blocks of it have up to 1024
	}
}

func lowRankSparse(t *testing.T, n int, small bool) {
	const k, d, r, steps = 20, 37, 3, 5
	oldShare, oldBytes := sparseShare, operandBytes
	defer func() { sparseShare, operandBytes = oldShare, oldBytes }()
	type result struct {
		x, v []float32
		g    *Gradient
	}
	for _, tier := range engine.Available() {
		for _, sign := range []float32{1, -1} {
			var want *result
			for _, by := range []struct{ share, together int }{ // never, always, by rows
				{k + 1, steps}, {k + 1, 1}, {k + 1, 2}, {1, steps}, {8, steps}, {4, 3},
			} {
				share := by.share
				sparseShare = share
				options := []engine.Option{engine.WithTier(tier), engine.WithThreads(2), engine.WithEagerThreads()}
				if small {
					options = append(options, engine.WithSmallBlocks())
				}
				e := newTestEngine(t, options...)
				l := newLowLandscape(e, k, d, r, sign)
				operandBytes = 4 * by.together * l.m.precision.(*lowRank).sumOperandFloats(e, n)
				x, v := points(n, d), points(n, d)
				for i := range n / 2 { // far from all centres: one-hot
					e.Scale(x.Row(i), 6, x.Row(i))
				}
				var tr Trajectory
				g := NewLowRankGradient(k, d, r, true)
				l.m.Ascend(e, 0.05, steps, x, &tr, true)
				few, many := 0, 0
				for b := range n {
					active := 0
					for i := range k {
						if tr.RAt(0).At(i, b) != 0 {
							active++
						}
					}
					if active*8 <= k {
						few++
					} else {
						many++
					}
				}
				if few < 3 || many < 3 {
					t.Fatalf("%d rows with few responsibilities, %d with many: the test needs both", few, many)
				}
				l.m.Backward(e, 0.05, nil, &tr, v, g)
				if want == nil {
					want = &result{x.Data, v.Data, g}
					continue
				}
				name := fmt.Sprintf("%v, %d rows, sign %v, share %d, %d steps together: ", tier, n, sign, share,
					by.together)
				equalBits(t, name+"x_n", x.Data, want.x)
				equalBits(t, name+"dL/dx_0", v.Data, want.v)
				equalBits(t, name+"dL/dw", g.W, want.g.W)
				equalBits(t, name+"dL/dF", g.F, want.g.F)
				equalBits(t, name+"dL/dmu", g.Mu, want.g.Mu)
				equalBits(t, name+"dL/dc", g.C, want.g.C)
			}
		}
	}
}

// TestSharedWeights checks that weights given once, and not learned, give the bits of as many copies, by both routes
// and with many and few responsibilities above 0.
func TestSharedWeights(t *testing.T) {
	const n, k, d, r, steps = 40, 20, 37, 3, 3
	for _, tier := range engine.Available() {
		e := newTestEngine(t, engine.WithTier(tier), engine.WithThreads(2), engine.WithEagerThreads())
		for _, sign := range []float32{1, -1} {
			for _, route := range []Route{DenseRoute, SparseRoute} {
				for _, far := range []float32{1, 6} {
					name := fmt.Sprintf("%v, sign %v, route %v, rows times %v: ", tier, sign, route, far)
					climb := func(shared bool) (x, v engine.Matrix, g *Gradient) {
						l := newLowLandscape(e, k, d, r, sign)
						w := l.w[:d]
						if !shared {
							w = slices.Repeat(w, k)
						}
						l.m.Route = route
						l.m.SetLowRank(e, w, l.f, sign)
						x, v, g = points(n, d), points(n, d), NewLowRankGradient(k, d, r, !shared)
						e.Scale(x.Data, far, x.Data)
						var tr Trajectory
						l.m.Ascend(e, 0.05, steps, x, &tr, true)
						l.m.Backward(e, 0.05, nil, &tr, v, g)
						return x, v, g
					}
					x, v, g := climb(true)
					wantX, wantV, want := climb(false)
					equalBits(t, name+"x_n", x.Data, wantX.Data)
					equalBits(t, name+"dL/dx_0", v.Data, wantV.Data)
					equalBits(t, name+"dL/dF", g.F, want.F)
					equalBits(t, name+"dL/dmu", g.Mu, want.Mu)
					equalBits(t, name+"dL/dc", g.C, want.C)
				}
			}
		}
	}
}

// TestMixtureOrigin checks that an origin moves results by roundings alone, and that tiers, routes, threads and the
// other rows, of which some share its numbers, change no bit.
func TestMixtureOrigin(t *testing.T) {
	counts := []int{4, 1} // of steps
	if testing.Short() {  // slow under emulation and the race detector, as are all routes below
		counts = counts[:1]
	}
	for _, c := range []struct {
		s    float32 // S
		r    int
		size float32 // of the origin: with 1 rows share some of its numbers
	}{{-0.6, 3, 1}, {-0.6, 3, 1e5}, {0.5, 3, 1}, {0, 3, 1}, {float32(math.Copysign(0, -1)), 3, 1}, {1, 0, 1}} {
		for _, steps := range counts {
			t.Run(fmt.Sprint(c.s, c.r, c.size, steps), func(t *testing.T) { mixtureOrigin(t, c.s, c.r, c.size, steps) })
		}
	}
}

func mixtureOrigin(t *testing.T, s float32, r int, size float32, steps int) {
	const n, k, d = 40, 20, 37
	origin := make([]float32, d)
	for j := range origin {
		origin[j] = size * (float32(j%5) - 1.7)
	}
	type result struct {
		x, v []float32
		g    *Gradient
	}
	climb := func(e *engine.Engine, route Route, together int, o []float32) result {
		l := newLowLandscape(e, k, d, r, -0.6)
		if r == 0 { // linear paths
			for i := range l.w {
				l.w[i] = 1
			}
		}
		l.m.Route, l.m.Origin = route, o
		l.m.SetLowRank(e, l.w[:d], l.f, s)
		x, v, g := points(n, d), points(n, d), NewLowRankGradient(k, d, r, false)
		for b := range n {
			e.Scale(x.Row(b), float32(1+b%3), x.Row(b))
			for j := range d {
				if size == 1 && ((j+b/20)%3 == 0 || j%6 == 5) { // in twenty rows, or all, the same
					x.Set(b, j, origin[j])
				}
			}
		}
		for b := 0; b < n; b += together {
			var tr Trajectory
			l.m.Ascend(e, 0.05, steps, x.SliceRows(b, b+together), &tr, true)
			want := o != nil && size == 1 && l.m.Work().Route == SparseRoute && s < 0
			if left := l.m.Work().LeftOut.Load(); (left > 0) != want {
				t.Errorf("origin %v, route %v: %d multiply-adds left out", o != nil, l.m.Work().Route, left)
			}
			l.m.Backward(e, 0.05, nil, &tr, v.SliceRows(b, b+together), g)
		}
		return result{x.Data, v.Data, g}
	}
	routes := []Route{DenseRoute, SparseRoute, AutoRoute}
	if testing.Short() {
		routes = routes[:2]
	}
	var want, alone *result
	for _, tier := range engine.Available() {
		for _, threads := range []int{1, 3} {
			e := newTestEngine(t, engine.WithTier(tier), engine.WithThreads(threads), engine.WithEagerThreads())
			for _, route := range routes {
				for _, first := range []**result{&want, &alone} {
					together, name := n, fmt.Sprintf("%v, %d threads, route %v: ", tier, threads, route)
					if first == &alone {
						together = 1
					}
					got := climb(e, route, together, origin)
					if *first == nil {
						*first = &got
					}
					equalBits(t, name+"x_n", got.x, want.x)
					equalBits(t, name+"dL/dx_0", got.v, want.v)
					equalBits(t, name+"dL/dF", got.g.F, (*first).g.F)
					equalBits(t, name+"dL/dmu", got.g.Mu, (*first).g.Mu)
				}
			}
		}
	}
	without := climb(newTestEngine(t), DenseRoute, n, nil)
	for name, pair := range map[string][2][]float32{"x_n": {want.x, without.x}, "dL/dx_0": {want.v, without.v},
		"dL/dF": {want.g.F, without.g.F}, "dL/dmu": {want.g.Mu, without.g.Mu}} {
		a, b := wide(pair[0]), wide(pair[1])
		off, used := length64(minus64(a, b)), r > 0 && s != 0 && size == 1
		if most := min(1e-5*float64(size), 0.03); !(off <= most*length64(a)) || used && off == 0 {
			t.Errorf("an origin changes %s by %.2g of its length", name, off/length64(a))
		}
	}
}

// TestScaledFactors checks what the bounds know of P_i = I + s F^T F with one row F, |F| = 0.7: that it is positive
// definite for s = -1 and not for s = -3, and its norm.
func TestScaledFactors(t *testing.T) {
	e := newTestEngine(t, engine.WithThreads(1))
	for _, s := range []float32{-3, -1, 1, 3} {
		m := NewLowRankMixture(1, 2, 1, []float32{1, 2}, []float32{0})
		m.SetLowRank(e, []float32{1, 1}, []float32{0.7, 0}, s)
		if ok := m.makeBounds(e); ok != (s > -2) {
			t.Errorf("s = %v: bounds %v", s, ok)
		} else if norm := math.Sqrt(max(1, 1+0.49*float64(s))); ok && !(m.bounds[0].norm >= 0.9999*norm) {
			t.Errorf("s = %v: norm %v, below %v", s, m.bounds[0].norm, norm)
		}
	}
}

// TestLowRankPrecision holds q, by way of the potential of one component, against float64
// where it is large: pixels of a digit's contrast, far from the centre. Responsibilities
// depend on differences of q of about 1. A black image as origin costs nothing; with one far away q is off by more, but
// not by more than the bounds take into account.
func TestLowRankPrecision(t *testing.T) {
	const n, d, r = 200, 784, 10
	e := newTestEngine(t)
	for _, c := range []struct{ s, origin float32 }{{1, 0}, {-1, 0}, {-1, -0.4242}, {1, -0.4242}, {3, 1e6}, {-1, 1e6}} {
		random := num.NewRand(5, 0)
		w, f, mu := make([]float32, d), make([]float32, r*d), make([]float32, d)
		for j := range w {
			w[j] = 1
		}
		random.Normal(f)
		for i := range f {
			f[i] *= 0.8 / float32(math.Sqrt(d)) // so short that P is positive definite for S = -1
		}
		x := engine.NewMatrix(n, d)
		pixel := func() float32 {
			if random.Float32() < 0.8 {
				return -0.4242
			}
			return 2.8 * random.Float32()
		}
		for j := range mu {
			mu[j] = pixel()
		}
		for i := range x.Data {
			x.Data[i] = pixel()
		}
		m := NewLowRankMixture(1, d, r, mu, []float32{0})
		if c.origin != 0 {
			m.Origin = slices.Repeat([]float32{c.origin}, d)
		}
		m.SetLowRank(e, w, f, c.s)
		if !m.makeBounds(e) {
			t.Fatalf("%+v: no bounds", c)
		}
		phi := make([]float32, n)
		m.Potential(e, x, phi, engine.Matrix{})
		worst, size := 0.0, 0.0
		for i := range n {
			var q, size2, mu2 float64
			for j := range d {
				e := float64(x.At(i, j)) - float64(mu[j])
				q += e * e
				size2, mu2 = size2+square64(x.At(i, j)), mu2+square64(mu[j])
			}
			far := math.Sqrt(q)
			for row := range r {
				var z float64
				for j := range d {
					z += float64(f[row*d+j]) * (float64(x.At(i, j)) - float64(mu[j]))
				}
				q += float64(c.s) * z * z
			}
			off := math.Abs(-2*float64(phi[i]) - q)
			if most := m.bounds[0].roundings(far, math.Sqrt(size2)+math.Sqrt(mu2)) + 2*unit*q; !(off <= most) {
				t.Fatalf("%+v: q %v is off by %v, the bounds take %v into account", c, q, off, most)
			}
			worst, size = max(worst, off), max(size, q)
		}
		t.Logf("%+v: q up to %.0f, off by at most %.2g", c, size, worst)
		if !(worst <= 1e-3) && c.origin < 1 || size < 500 {
			t.Errorf("%+v: q up to %v, off by %v, expected at most 0.001", c, size, worst)
		}
	}
}

func square64(x float32) float64 { return float64(x) * float64(x) }

// TestLowRankAllocates checks that nothing is allocated once an ascent has run.
func TestLowRankAllocates(t *testing.T) {
	e := newTestEngine(t)
	l := newLowLandscape(e, 3, 20, 2, 1)
	x, v := points(9, 20), points(9, 20)
	g := NewLowRankGradient(3, 20, 2, true)
	var tr Trajectory
	if n := alloctest.PerCall(10, func() {
		l.m.SetLowRank(e, l.w, l.f, l.sign)
		l.m.Ascend(e, 0.01, 3, x, &tr, true)
		l.m.Backward(e, 0.01, nil, &tr, v, g)
	}); n != 0 {
		t.Errorf("%v allocations", n)
	}
}
