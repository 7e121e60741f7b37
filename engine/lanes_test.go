package engine

import (
	"fmt"
	"math"
	"slices"
	"testing"

	"dpnbench/engine/num"
)

// packLanes packs symmetric matrices p and centres mu in the layout of QuadLanes.
func packLanes(t *testing.T, e *Engine, comps, d int, mu, p []float32) LaneForms {
	n, each := e.LaneGroups(comps, d), d*(d+1)/2
	l := LaneForms{Groups: n, Mu: make([]float32, n.Lanes()*d), P: make([]float32, n.Lanes()*each)}
	for i := range comps {
		first, width := n.Group(i)
		packed := e.Pack(nil, View(p[i*d*d:(i+1)*d*d], d, d))
		if !packed.Symmetric() {
			t.Fatal("symmetric precisions are not")
		}
		packed.PackTriangle(l.P[first*each+i-first:], width)
		for j := range d {
			l.Mu[first*d+j*width+i-first] = mu[i*d+j]
		}
	}
	return l
}

// TestTriangles compares a step of a single row with packed triangles to pure Go with whole
// matrices: all numbers of components in the last group, in one call and in several, between
// inaccessible pages, with ordinary numbers and with products that underflow or overflow.
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
				l := packLanes(t, e, comps, d, mu, p)
				x := room(d)
				rnd.Normal(x)
				for i := range x {
					x[i] *= scale
				}
				for _, s := range []*[]float32{&l.Mu, &l.P} {
					wall := room(len(*s))
					copy(wall, *s)
					*s = wall
				}
				l.G, l.Q, l.Work = room(l.Groups.Lanes()*d), room(l.Groups.Lanes()), room(l.Groups.Widest()*d)
				calls := *kern // of up to five eights each, or of all
				if most := rnd.Intn(6); most > 0 {
					calls.flopPerMicrosecond = float64(16*d*d*most+1) / 100
				}
				calls.quadTriangle(l.Groups, l.G, l.Q, x, l.Mu, l.P, l.Work)

				all := make([]float32, comps*d)
				for i := range comps {
					left, got, want, wantQ := make([]float32, d), make([]float32,
						d), all[i*d:(i+1)*d], make([]float32, 1)
					genericKernels.subRows(&subRowsArgs{dst: left, ds: d, x: x, xs: d, y: mu[i*d:], rows: 1, n: d})
					other := generic.Pack(nil, View(p[i*d*d:(i+1)*d*d], d, d))
					generic.multiply(0, View(want, 1, d), View(left, 1, d), &operand{packed: other}, false)
					genericKernels.dotRows(wantQ, want, d, left, d, d)
					for j := range got {
						first, width := l.Groups.Group(i)
						got[j] = l.G[first*d+j*width+i-first]
					}
					what := fmt.Sprintf("%v, component %d of %d, d %d, scale %v", tier, i, comps, d, scale)
					equalBits(t, what+": G", got, want)
					equalBits(t, what+": q", l.Q[i:i+1], wantQ)
				}

				r, want, grad := l.Q, slices.Clone(x), make([]float32, d)
				clear(r)
				rnd.Uniform(r[:comps], -1, 1)
				r[rnd.Intn(comps)] = 0
				r[rnd.Intn(comps)] = float32(math.Copysign(0, -1))
				kern.moveLanes(l.Groups, 0.3, x, r, l.G)
				genericKernels.gradient(grad, r, 1, all, d, comps)
				genericKernels.axpy(want, 0.3, grad, want)
				equalBits(t, fmt.Sprintf("%v, %d components, d %d, scale %v: x", tier, comps, d, scale), x, want)
			}
		}
	}
	if !tested {
		t.Skip("only AVX2 and AVX-512 have such a kernel, and this machine has neither")
	}
}
