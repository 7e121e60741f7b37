package engine

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"dpnbench/engine/num"
)

// TestTriangles compares a step of a single row by triangles with pure Go's of whole matrices: every
// number of components in the last group, in one call and in several, between unreadable pages,
// ordinary numbers and such that the products underflow or overflow.
func TestTriangles(t *testing.T) {
	const mostK, mostD = 53, 48
	rnd := num.NewRand(7, 4)
	generic, _ := New(WithTier(Generic), WithThreads(1))
	var walls [6][]float32
	for i := range walls {
		walls[i] = guarded(t, 56*mostD*(mostD+1)/2)
	}
	tested := false
	for _, tier := range Available() {
		kern, _ := tierKernels(tier)
		if kern.table.quadTriangle == nil {
			continue
		}
		tested = true
		e, _ := New(WithTier(tier), WithThreads(1))
		for comps := 1; comps <= mostK; comps++ {
			for d := 16; d <= mostD; d += 16 {
				scale := []float32{1, 1e-15, 1e-22, 1e15}[rnd.Intn(4)]
				end, next := rnd.Intn(2) == 0, 0
				room := func(n int) []float32 {
					next++
					return roomIn(walls[next-1], n, end)
				}
				mu, p := make([]float32, comps*d), make([]float32, comps*d*d)
				rnd.Normal(mu)
				rnd.Normal(p)
				for i := range comps {
					for r := range d {
						mu[i*d+r] *= scale
						for c := range r + 1 {
							p[(i*d+r)*d+c] *= scale
							p[(i*d+c)*d+r] = p[(i*d+r)*d+c]
						}
					}
				}
				m := NewMixture(comps, d, mu, make([]float32, comps))
				e.SetPrecisions(m, p)
				m.triangles.pack(m)
				if !m.triangles.symmetric {
					t.Fatal("symmetric precisions are not")
				}
				l := e.newLoneRow(0, m)
				x := room(d)
				rnd.Normal(x)
				for i := range x {
					x[i] *= scale
				}
				for _, s := range []*[]float32{&l.mu, &m.triangles.data} {
					wall := room(len(*s))
					copy(wall, *s)
					*s = wall
				}
				l.g, l.q, l.work = room(len(l.g)), room(l.groups.lanes()), room(l.groups.widest()*d)
				calls := *kern // of up to five eights each, or of all
				if most := rnd.Intn(6); most > 0 {
					calls.flopPerMicrosecond = float64(16*d*d*most+1) / 100
				}
				calls.quadTriangle(l.groups, l.g, l.q, x, l.mu, m.triangles.data, l.work)

				all := make([]float32, comps*d)
				for i := range comps {
					left, got, want, wantQ := make([]float32, d), make([]float32, d), all[i*d:(i+1)*d], make([]float32, 1)
					genericKernels.subRows(left, d, x, d, mu[i*d:], 0, 1, d)
					other := generic.Pack(nil, View(p[i*d*d:(i+1)*d*d], d, d))
					generic.multiply(0, View(want, 1, d), View(left, 1, d), &operand{packed: other}, false)
					genericKernels.dotRows(wantQ, want, d, left, d, d)
					for j := range got {
						first, width := l.groups.group(i)
						got[j] = l.g[first*d+j*width+i-first]
					}
					what := fmt.Sprintf("%v, component %d of %d, d %d, scale %v", tier, i, comps, d, scale)
					equalBits(t, what+": G", got, want)
					equalBits(t, what+": q", l.q[i:i+1], wantQ)
				}

				r, want, grad := l.q, slices.Clone(x), make([]float32, d)
				clear(r)
				rnd.Uniform(r[:comps], -1, 1)
				r[rnd.Intn(comps)] = 0
				r[rnd.Intn(comps)] = float32(math.Copysign(0, -1))
				kern.moveLanes(l.groups, 0.3, x, r, l.g)
				genericKernels.gradient(grad, r, 1, all, d, comps)
				genericKernels.axpy(0.3, grad, want)
				equalBits(t, fmt.Sprintf("%v, %d components, d %d, scale %v: x", tier, comps, d, scale), x, want)
			}
		}
	}
	if !tested {
		t.Skip("only AVX2 and AVX-512 have such a kernel, and this machine has neither")
	}
}

// TestTrianglesAreOfThesePrecisions changes centres and precisions between ascents of a single row,
// the last time to matrices that are not quite symmetric, and compares with one of several rows.
func TestTrianglesAreOfThesePrecisions(t *testing.T) {
	const k, d, steps = 5, 16, triangleSteps
	rnd := num.NewRand(3, 1)
	for _, tier := range Available() {
		e := newTestEngine(t, WithTier(tier), WithThreads(1), WithRoute(DenseRoute))
		l := newLandscape(e, k, d, 0.8)
		compare := func(what string) {
			t.Helper()
			x := points(3, d)
			if e.PlanMixture(l.m, 3, steps).Halves {
				t.Fatalf("%v: three rows climb one by one, too", tier)
			}
			row := clone(x.Slice(0, 1, 0, d))
			e.Ascend(l.m, l.alpha, steps, x, nil, false)
			e.Ascend(l.m, l.alpha, steps, row, nil, false)
			equalBits(t, fmt.Sprintf("%v, %s", tier, what), row.Data, x.Row(0))
		}
		compare("at first")
		rnd.Normal(l.m.Mu)
		compare("other centres")
		for i := range l.a {
			l.a[i] *= 1.25
		}
		e.SetFactors(l.m, l.a)
		compare("other factors")
		p := make([]float32, k*d*d)
		for i := range p {
			if i/d%d == i%d {
				p[i] = 1 + float32(i%7)
			}
		}
		e.SetPrecisions(l.m, p)
		compare("matrices")
		p[1] = 0.5
		e.SetPrecisions(l.m, p)
		compare("matrices that are not symmetric")
		if want := e.kern.table.quadTriangle != nil; l.m.triangles.packed != want {
			t.Errorf("%v: triangles were made: %t", tier, !want)
		}
	}
}

// TestTrianglesKeepToTheirRow lets a row of NaN, and one that overflows, climb before another one in
// the same block, after memory of lanes without a component has held NaN, and compares with pure Go.
func TestTrianglesKeepToTheirRow(t *testing.T) {
	const d, steps = 16, triangleSteps
	generic := newTestEngine(t, WithTier(Generic), WithThreads(1), WithRoute(DenseRoute))
	for _, tier := range Available() {
		e := newTestEngine(t, WithTier(tier), WithThreads(1), WithRoute(DenseRoute))
		before := newLandscape(e, 24, d, 0.8)
		for i := range before.m.Mu {
			before.m.Mu[i] = float32(math.NaN())
		}
		for k := 4; k <= 20; k++ {
			l, same := newLandscape(e, k, d, 0.8), newLandscape(generic, k, d, 0.8)
			e.Ascend(before.m, before.alpha, steps, points(1, d), nil, false)
			l.m.triangles.data = make([]float32, 24*d*(d+1)/2)
			for i := range l.m.triangles.data { // as a mixture of more lanes has left it
				l.m.triangles.data[i] = float32(math.NaN())
			}
			x := points(2, d)
			want := clone(x.Slice(1, 2, 0, d))
			generic.Ascend(same.m, same.alpha, steps, want, nil, false)
			for _, v := range []float32{float32(math.NaN()), float32(math.Inf(1)), 3e38} {
				y := clone(x)
				for i := range y.Row(0) {
					y.Row(0)[i] = v
				}
				e.Ascend(l.m, l.alpha, steps, y, nil, false)
				equalBits(t, fmt.Sprintf("%v, %d components, after a row of %v", tier, k, v), y.Row(1), want.Row(0))
			}
		}
	}
}

// TestTrianglesInTurns compares a single row of so many features that its groups are several calls
// with the same row among others.
func TestTrianglesInTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("a minute under emulation: without -short")
	}
	const k, d, steps = 20, 512, triangleSteps
	for _, tier := range Available() {
		e := newTestEngine(t, WithTier(tier), WithThreads(1), WithRoute(DenseRoute))
		if e.kern.aloneRows == 0 {
			continue
		}
		l := newLandscape(e, k, d, 0.3)
		x := points(3, d)
		row := clone(x.Slice(0, 1, 0, d))
		if !e.PlanMixture(l.m, 1, steps).Halves {
			t.Fatalf("%v: this row does not climb by triangles", tier)
		}
		e.Ascend(l.m, l.alpha, steps, x, nil, false)
		e.Ascend(l.m, l.alpha, steps, row, nil, false)
		equalBits(t, tier.String(), row.Data, x.Row(0))
	}
}
