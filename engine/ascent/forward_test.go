package ascent

import (
	"dpnbench/engine"
	"fmt"
	"math"
	"slices"
	"testing"

	"dpnbench/engine/num"
)

// TestRowsAndThreads checks that the end of an ascent and the pulled-back gradient of a
// row depend neither on the other rows, nor on their order, nor on threads or tier: where
// single rows take another path than several (single_row.go), and where they do not.
func TestRowsAndThreads(t *testing.T) {
	for _, s := range [][4]int{{29, 4, 19, 6}, {2, 13, 16, triangleSteps}, {2, 9, 32, triangleSteps}} {
		t.Run(fmt.Sprint(s), func(t *testing.T) { rowsAndThreads(t, s[0], s[1], s[2], s[3]) })
	}
}

func rowsAndThreads(t *testing.T, n, k, d, steps int) {
	type result struct{ x, v []float32 }
	ascend := func(e *engine.Engine, x, v engine.Matrix) (result, *Gradient) {
		l := newFullLandscape(e, k, d, 0.8)
		var tr Trajectory
		end := clone(x)
		x, v = clone(x), clone(v)
		l.m.Ascend(e, l.alpha, steps, x, &tr, true)
		l.m.Ascend(e, l.alpha, steps, end, nil, false)
		equalBits(t, "x_n without a trajectory", end.Data, x.Data)
		g := NewGradient(k, d)
		l.m.Backward(e, l.alpha, l.a, &tr, v, g)
		return result{x.Data, v.Data}, g
	}
	x, v := points(n, d), points(n, d)
	base := newTestEngine(t, engine.WithTier(engine.Generic), engine.WithThreads(1))
	want, wantGrad := ascend(base, x, v)
	for _, tier := range engine.Available() {
		for _, threads := range []int{1, 2, 3, 8} {
			e := newTestEngine(t, engine.WithTier(tier), engine.WithThreads(threads), engine.WithEagerThreads())
			got, grad := ascend(e, x, v)
			name := tier.String()
			equalBits(t, name+" x_n", got.x, want.x)
			equalBits(t, name+" dL/dx_0", got.v, want.v)
			equalBits(t, name+" dL/dA", grad.A, wantGrad.A)
			equalBits(t, name+" dL/dmu", grad.Mu, wantGrad.Mu)
			equalBits(t, name+" dL/dc", grad.C, wantGrad.C)
			equalBits(t, name+" dL/dalpha", []float32{grad.Alpha}, []float32{wantGrad.Alpha})
		}
		e := newTestEngine(t, engine.WithTier(tier), engine.WithThreads(2), engine.WithEagerThreads())
		for i := range n { // each row alone
			row := func(m engine.Matrix) engine.Matrix { return clone(m.Slice(i, i+1, 0, d)) }
			got, _ := ascend(e, row(x), row(v))
			equalBits(t, "row alone x_n", got.x, want.x[i*d:(i+1)*d])
			equalBits(t, "row alone dL/dx_0", got.v, want.v[i*d:(i+1)*d])
		}
		p := make([]int32, n)
		num.NewRand(9, 0).Permutation(p)
		px, pv := engine.NewMatrix(n, d), engine.NewMatrix(n, d)
		for i, j := range p {
			copy(px.Row(i), x.Row(int(j)))
			copy(pv.Row(i), v.Row(int(j)))
		}
		got, _ := ascend(e, px, pv)
		for i, j := range p {
			equalBits(t, "permuted x_n", got.x[i*d:(i+1)*d], want.x[int(j)*d:int(j+1)*d])
			equalBits(t, "permuted dL/dx_0", got.v[i*d:(i+1)*d], want.v[int(j)*d:int(j+1)*d])
		}
	}
}

// TestRecomputedGradients checks that a trajectory too long to keep all G_i, which
// computes them again on the way back, all or those of the last rows, gives the same bits.
func TestRecomputedGradients(t *testing.T) {
	const n, k, steps = 21, 3, 5
	e := newTestEngine(t, engine.WithThreads(2), engine.WithEagerThreads())
	for _, d := range []int{18, longRows + 2} {
		l := newFullLandscape(e, k, d, 0.8/float32(d)*18)
		var grads [3]*Gradient
		var vs [3]engine.Matrix
		each := 4 * k * engine.MostPaddedD(d) * steps // bytes
		for i, limit := range []int{maxKeptG, 0, n / 2 * each} {
			old := maxKeptG
			maxKeptG = limit
			var tr Trajectory
			x, v := points(n, d), points(n, d)
			l.m.Ascend(e, l.alpha, steps, x, &tr, true)
			if most := min(limit/each, n); tr.kept > most || tr.kept == 0 && most > 0 || tr.kept < n && i == 0 {
				t.Errorf("d %d, limit %d: %d rows are kept", d, limit, tr.kept)
			}
			grads[i], vs[i] = NewGradient(k, d), v
			l.m.Backward(e, l.alpha, l.a, &tr, v, grads[i])
			maxKeptG = old
		}
		for i, g := range grads[1:] {
			equalBits(t, "dL/dx_0", vs[i+1].Data, vs[0].Data)
			equalBits(t, "dL/dA", g.A, grads[0].A)
			equalBits(t, "dL/dmu", g.Mu, grads[0].Mu)
			equalBits(t, "dL/dc", g.C, grads[0].C)
			equalBits(t, "dL/dalpha", []float32{g.Alpha}, []float32{grads[0].Alpha})
		}
	}
}

// TestPotentialRises checks that no step below the stable size 2/lambda lowers the
// potential by more than its rounding.
func TestPotentialRises(t *testing.T) {
	const n, k, d, steps = 40, 6, 24, 30
	e := newTestEngine(t)
	l := newFullLandscape(e, k, d, 0.9)
	l.alpha = 0.2
	var tr Trajectory
	x := points(n, d)
	l.m.Ascend(e, l.alpha, steps, x, &tr, false)
	for s := 1; s < steps; s++ {
		for b, phi := range tr.PhiAt(s) {
			if before := tr.PhiAt(s - 1)[b]; !(phi >= before-1e-5*(1+float32(math.Abs(float64(before))))) {
				t.Fatalf("row %d: the potential falls from %v to %v at step %d", b, before, phi, s)
			}
		}
	}
	phi, r := make([]float32, n), engine.NewMatrix(k, n)
	l.m.Potential(e, tr.XAt(3), phi, r)
	equalBits(t, "potential", phi, tr.PhiAt(3))
	equalBits(t, "responsibilities", r.Data, tr.RAt(3).Data)
	checkTerms(t, e, l.m, tr.XAt(3), phi, r)
	for b := range n {
		var sum float64
		for i := range k {
			sum += float64(r.At(i, b))
		}
		if !(math.Abs(sum-1) <= 1e-6) {
			t.Errorf("responsibilities of row %d add up to %v", b, sum)
		}
	}
	if x.At(0, 0) != tr.XAt(steps).At(0, 0) {
		t.Error("the trajectory does not end where x does")
	}
}

// TestOneComponent compares with the closed form: one component with P = s^2 I draws
// every row towards its centre by the factor 1 - alpha s^2 a step.
func TestOneComponent(t *testing.T) {
	const n, d, steps, s, alpha = 5, 33, 12, 0.75, 0.5
	e := newTestEngine(t)
	mu, a := make([]float32, d), make([]float32, d*d)
	num.NewRand(1, 0).Normal(mu)
	for i := range d {
		a[i*d+i] = s
	}
	m := NewMixture(1, d, mu, []float32{0.7})
	m.SetFactors(e, a)
	x := points(n, d)
	first := clone(x)
	m.Ascend(e, alpha, steps, x, nil, false)
	shrink := math.Pow(1-alpha*s*s, steps)
	for i := range n {
		for j := range d {
			want := float64(mu[j]) + shrink*float64(first.At(i, j)-mu[j])
			if got := float64(x.At(i, j)); !(math.Abs(got-want) <= 1e-6*(1+math.Abs(want))) {
				t.Errorf("x_n[%d, %d] = %v, want %v", i, j, got, want)
			}
		}
	}
}

// TestTinyGradient pulls a gradient back through an ascent towards one centre, which takes
// it down by the factor 1 - alpha s^2 a step: it follows that law, and is 0 where it has
// fallen below 2^-100. Rounding would keep it at subnormal numbers for ever.
func TestTinyGradient(t *testing.T) {
	const n, d, s, alpha = 5, 33, 0.75, 0.5
	e := newTestEngine(t)
	mu, a, w := make([]float32, d), make([]float32, d*d), make([]float32, d)
	num.NewRand(1, 0).Normal(mu)
	for i := range d {
		a[i*d+i], w[i] = s, s*s
	}
	full, diag := NewMixture(1, d, mu, []float32{0.7}), NewLowRankMixture(1, d, 0, mu, []float32{0.7})
	full.SetFactors(e, a)
	diag.SetLowRank(e, w, nil, 1)
	for _, steps := range []int{100, 200, 250, 600} {
		for name, m := range map[string]*Mixture{"full": full, "diag": diag} {
			grad := NewGradient(1, d)
			if m == diag {
				grad = NewLowRankGradient(1, d, 0, true)
			}
			x, v := points(n, d), points(n, d)
			first := clone(v)
			var tr Trajectory
			m.Ascend(e, alpha, steps, x, &tr, true)
			m.Backward(e, alpha, a, &tr, v, grad)
			for b := range n {
				var most float64
				for j := range d {
					most = max(most, math.Abs(float64(first.At(b, j))))
				}
				gone := steps
				shrink := 1.0
				for i := range steps {
					if shrink *= 1 - alpha*s*s; shrink*most < 0x1p-100 {
						gone = i
						break
					}
				}
				for j := range d {
					want := 0.0
					if gone == steps {
						want = shrink * float64(first.At(b, j))
					}
					if got := float64(v.At(b, j)); !(math.Abs(got-want) <= 1e-4*math.Abs(want)) {
						t.Fatalf("%s, %d steps: dL/dx_0[%d, %d] = %v, want %v", name, steps, b, j, got, want)
					}
				}
			}
		}
	}
}

// TestStop gives up at every question that an ascent asks, by both routes: no step is computed that
// was not asked for, a backward pass changes nothing, and the next ascent is as if nothing had
// been. Then it gives up a backward pass, which of low rank would sum one step at a time.
func TestStop(t *testing.T) {
	old := operandBytes
	defer func() { operandBytes = old }()
	operandBytes = 1
	const steps, many = 5, 1 << 30
	var list []*landscape
	for _, h := range landscapes() {
		switch h.name { // which begin in different ways
		case "identity", "lowrank":
			list = append(list, h)
		case "apart", "flat":
			if !testing.Short() {
				list = append(list, h)
			}
		}
	}
	slices.Reverse(list) // what is left over of one is of more components than the next has
	want := map[*landscape][]float32{}
	for _, route := range []Route{DenseRoute, SparseRoute} {
		e := newTestEngine(t, engine.WithThreads(1))
		for _, h := range list {
			name := fmt.Sprintf("%s, %v", h.name, route)
			m, grad, x, v := h.by(e, route), h.gradient(), clone(h.x), clone(h.x)
			left, given := 0, true // questions that are answered no
			tr := Trajectory{Stop: func() bool {
				left--
				given = left < 0
				return given
			}}
			for n := 0; given; n++ {
				for _, until := range []bool{true, false} {
					left, given = n, false
					engine.CopyMatrix(x, h.x)
					if until {
						m.AscendUntil(e, tr.Stop, h.alpha, steps, x)
					} else {
						m.Ascend(e, h.alpha, steps, x, &tr, true)
					}
					if w := m.Work(); w.Route != route || given != (left < 0) || !given && n < steps || n > 1000 {
						t.Fatalf("%s: by the route %v, given up: %v, after %d questions, then %d", name, w.Route,
							given, n, -left)
					}
					if !given {
						break
					}
					if route == DenseRoute || n == 0 {
						y := clone(h.x)
						m.Ascend(e, h.alpha, n, y, nil, false)
						equalBits(t, fmt.Sprintf("%s: x after %d steps", name, n), x.Data, y.Data)
					}
					for s := n; s < steps && route == SparseRoute && n > 0; s++ {
						if m.Work().Active[s].Load() != 0 {
							t.Fatalf("%s: step %d was computed, but only %d questions answered no", name, s, n)
						}
					}
				}
				if !given {
					break
				}
				m.Backward(e, h.alpha, h.a, &tr, v, grad)
				equalBits(t, fmt.Sprintf("%s: v, given up after %d questions", name, n), v.Data, h.x.Data)
			}
			left = many
			engine.CopyMatrix(x, h.x)
			m.Ascend(e, h.alpha, steps, x, &tr, true)
			if route == DenseRoute {
				want[h] = clone(x).Data
			}
			equalBits(t, name+": x_n", x.Data, want[h])
			left = 0
			m.Backward(e, h.alpha, h.a, &tr, v, grad)
			equalBits(t, name+": v", v.Data, h.x.Data)
			if left > -2 || left < -10*h.k {
				t.Errorf("%s: the backward pass asked %d times", name, -left)
			}
			left = many
			engine.CopyMatrix(x, h.x)
			m.AscendUntil(e, tr.Stop, h.alpha, steps, x)
			equalBits(t, name+": x_n of AscendUntil", x.Data, want[h])
		}
	}
}

// TestCut checks that a component far below the largest has responsibility 0, one just
// above the cut has not, and neither changes the others.
func TestCut(t *testing.T) {
	for _, tier := range engine.Available() {
		e := newTestEngine(t, engine.WithTier(tier))
		q := engine.View([]float32{0, 0, 2 * 20.7, 2 * 20.9, 1e30, 1e30}, 3, 2)
		phi := make([]float32, 2)
		e.LogSumExp(q, []float32{0, 0, 0}, phi)
		if q.At(1, 0) == 0 || q.At(1, 1) != 0 || q.At(2, 0) != 0 || q.At(0, 1) != 1 || phi[1] != 0 {
			t.Errorf("%v: responsibilities %v, potential %v", tier, q.Data, phi)
		}
	}
}

func TestMisuse(t *testing.T) {
	e := newTestEngine(t)
	l := newFullLandscape(e, 2, 3, 1)
	var plain Trajectory
	l.m.Ascend(e, 0.1, 2, points(4, 3), &plain, false)
	for name, f := range map[string]func(){
		"wrong width":    func() { l.m.Ascend(e, 0.1, 1, points(4, 5), nil, false) },
		"negative steps": func() { l.m.Ascend(e, 0.1, -1, points(4, 3), nil, false) },
		"product of odd shapes": func() {
			e.MatMul(engine.NewMatrix(2, 2), engine.NewMatrix(2, 3),
				engine.NewMatrix(4, 2), false)
		},
		"short data": func() {
			e.MatMul(engine.NewMatrix(2, 2), engine.Matrix{Data: make([]float32, 3), Rows: 2, Cols: 2, RS: 2,
				CS: 1}, engine.NewMatrix(2, 2), false)
		},
		"no backward record": func() {
			l.m.Backward(e, 0.1, l.a, &plain, points(4, 3), NewGradient(2, 3))
		},
		"label out of range": func() {
			e.SoftmaxCrossEntropy(engine.Matrix{}, make([]float32, 1), engine.NewMatrix(1, 3), []uint16{3}, 1)
		},
		"no components":             func() { NewMixture(0, 3, nil, nil) },
		"rank above the dimensions": func() { NewLowRankMixture(2, 3, 4, make([]float32, 6), make([]float32, 2)) },
		"precisions of low rank that were not set": func() {
			NewLowRankMixture(1, 3, 1, make([]float32, 3), make([]float32, 1)).Ascend(e, 0.1, 1, points(4, 3), nil,
				false)
		},
		"full factors for low rank": func() {
			NewLowRankMixture(1, 3, 1, make([]float32, 3), make([]float32, 1)).SetFactors(e, make([]float32, 9))
		},
		"low rank for full precisions": func() { l.m.SetLowRank(e, make([]float32, 6), nil, 1) },
		"factors times Inf": func() {
			NewLowRankMixture(1, 3, 0, make([]float32, 3), make([]float32, 1)).SetLowRank(e, make([]float32, 3), nil,
				float32(math.Inf(1)))
		},
		"lengths that differ": func() { e.Add(make([]float32, 3), make([]float32, 3), make([]float32, 2)) },
	} {
		func() {
			defer func() {
				if s, ok := recover().(string); !ok || len(s) < 10 || s[:8] != "engine: " && s[:8] != "ascent: " {
					t.Errorf("%s: recovered %v, want a message of a package", name, s)
				}
			}()
			f()
		}()
	}
	// After all these panics the engine still works.
	c := engine.NewMatrix(1, 1)
	e.MatMul(c, engine.View([]float32{2, 3}, 1, 2), engine.View([]float32{5, 7}, 2, 1), false)
	if c.Data[0] != 31 {
		t.Errorf("2*5 + 3*7 = %v", c.Data[0])
	}
}

// TestCallsOfComponents compares ascents with enough rows and components for several calls of
// quadSmallD and of moveRows a step with those of pure Go, with precisions of their own and one for
// all, and with and without a trajectory.
func TestCallsOfComponents(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: a second in pure Go, slow under emulation")
	}
	for _, s := range [][3]int{{121, 9, 112}, {97, 33, 64}} {
		rows, k, d := s[0], s[1], s[2]
		for _, tied := range []bool{false, true} {
			var want []float32
			for _, tier := range append([]engine.Tier{engine.Generic}, engine.Available()...) {
				e := newTestEngine(t, engine.WithTier(tier), engine.WithThreads(1))
				rnd := num.NewRand(4, 4)
				mu, c := make([]float32, k*d), make([]float32, k)
				rnd.Normal(mu)
				rnd.Normal(c)
				m, p := NewMixture(k, d, mu, c), make([]float32, k*d*d)
				if tied {
					m, p = NewTiedMixture(k, d, mu, c), p[:d*d]
				}
				rnd.Normal(p)
				for i := range p {
					p[i] *= 0.01
				}
				m.SetPrecisions(e, p)
				x := engine.NewMatrix(rows, d)
				rnd.Normal(x.Data)
				y := clone(x)
				var tr Trajectory
				m.Ascend(e, 0.1, 2, x, &tr, true)
				m.Ascend(e, 0.1, 2, y, nil, false)
				got := slices.Concat(x.Data, y.Data, tr.R, tr.g)
				if want == nil {
					want = got
				}
				equalBits(t, fmt.Sprintf("%v, %d rows of %d, %d components, tied %t", tier, rows, d, k, tied), got,
					want)
			}
		}
	}
}

// checkTerms checks that Terms has the bits of phi, that it is the log-sum-exp of the terms, and that each r above
// the floor is exp(l - phi).
func checkTerms(t *testing.T, e *engine.Engine, m *Mixture, x engine.Matrix, phi []float32, r engine.Matrix) {
	t.Helper()
	l := engine.NewMatrix(m.K, x.Rows)
	same := make([]float32, x.Rows)
	m.Terms(e, x, same, l)
	equalBits(t, "potential beside the terms", same, phi)
	for b, p := range phi {
		var sum float64
		for i := range m.K {
			v := math.Exp(float64(l.At(i, b)) - float64(p))
			sum += v
			if got := float64(r.At(i, b)); got != 0 && !(math.Abs(got-v) <= 1e-4*v) {
				t.Errorf("row %d: r_%d is %v, exp(l - phi) %v", b, i, got, v)
			}
		}
		if !(math.Abs(sum-1) <= 1e-4) {
			t.Errorf("row %d: the terms add up to %v times exp(phi)", b, sum)
		}
	}
}

// TestPaddedOverflow checks rows of which x - mu_i overflows for a component that is infinitely far: without the
// padding (padding.go) its responsibility is 0, and zeros behind its row would make it NaN.
func TestPaddedOverflow(t *testing.T) {
	const d = 12
	h := newLandscape("ends", 2, d, -1, 0, 0, 0, 5)
	for i, v := range h.a {
		h.a[i] = max(v, -v)
	}
	for j := range d {
		h.mu[j], h.mu[d+j] = 1, 0
	}
	h.mu[0], h.mu[d] = 3e38, -3e38
	for b := range h.x.Rows {
		copy(h.x.Row(b), h.mu[:d])
	}
	for _, tier := range engine.Available() {
		e := newTestEngine(t, engine.WithTier(tier))
		var tr Trajectory
		x := clone(h.x)
		h.by(e, DenseRoute).Ascend(e, h.alpha, 2, x, &tr, false)
		equalBits(t, tier.String()+" x_n", x.Data, h.x.Data)
		for i, r := range tr.R {
			if want := float32(1 - i/h.x.Rows%2); r != want {
				t.Errorf("%v: responsibility %d is %v, want %v", tier, i, r, want)
			}
		}
		for i, phi := range tr.Phi {
			if phi != h.c[0] {
				t.Errorf("%v: potential %d is %v, want %v", tier, i, phi, h.c[0])
			}
		}
	}
}
