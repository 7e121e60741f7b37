package ascent

import (
	"fmt"
	"slices"
	"testing"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// TestSums checks that a piece of the rows of an ascent has the gradient that it has alone, to the bit.
func TestSums(t *testing.T) {
	tiers := engine.Available()
	if testing.Short() {
		tiers = tiers[:1]
	}
	for _, h := range landscapes() {
		if h.low >= 0 || testing.Short() && h.d > 99 {
			continue
		}
		for _, tier := range tiers {
			for _, route := range []Route{DenseRoute, SparseRoute} {
				sumPieces(t, fmt.Sprintf("%s, %v, %v", h.name, tier, route), h, route, tier)
			}
		}
	}
}

func sumPieces(t *testing.T, name string, h *landscape, route Route, tier engine.Tier) {
	e := newTestEngine(t, engine.WithTier(tier), engine.WithThreads(2), engine.WithEagerThreads())
	m, steps, n := h.by(e, route), max(h.steps, 6), h.x.Rows
	slope := engine.NewMatrix(n, h.d)
	num.NewRand(8, 8).Normal(slope.Data)
	x, v := clone(h.x), clone(slope)
	var all, alone Trajectory
	m.Ascend(e, h.alpha, steps, x, &all, true)
	m.BackwardRows(e, h.alpha, &all, v)
	cuts := []int{0, min(1, n/3), n / 3, n / 3, n}
	sum := h.gradient() // of all pieces, one after the other
	var grads []*Gradient
	var alphas []float32
	for i, hi := range cuts[1:] {
		lo := cuts[i]
		name := fmt.Sprintf("%s, rows %d to %d", name, lo, hi)
		got, want := h.gradient(), h.gradient()
		m.Sums(e, h.alpha, h.a, &all, lo, hi, got)
		piece, back := clone(h.x.Slice(lo, hi, 0, h.d)), clone(slope.Slice(lo, hi, 0, h.d))
		m.Ascend(e, h.alpha, steps, piece, &alone, true)
		m.Backward(e, h.alpha, h.a, &alone, back, want)
		sameNumbers(t, name+": dL/dx_0", v.Data[lo*h.d:hi*h.d], back.Data)
		sameNumbers(t, name+": dL/dmu", got.Mu, want.Mu)
		sameNumbers(t, name+": dL/dc", got.C, want.C)
		sameNumbers(t, name+": dL/dA", got.A, want.A)
		sameNumbers(t, name+": dL/dalpha", []float32{got.Alpha}, []float32{want.Alpha})
		grads, alphas = append(grads, got), append(alphas, got.Alpha)
	}
	if h.tied {
		return
	}
	m.SumPieces(e, h.alpha, h.a, &all, cuts, sum)
	for _, p := range []struct {
		what string
		of   func(g *Gradient) []float32
	}{
		{"dL/dmu", func(g *Gradient) []float32 { return g.Mu }},
		{"dL/dc", func(g *Gradient) []float32 { return g.C }},
		{"dL/dA", func(g *Gradient) []float32 { return g.A }},
	} {
		want := slices.Clone(p.of(grads[0]))
		for j := range want {
			want[j] = (want[j] + p.of(grads[1])[j]) + (p.of(grads[2])[j] + p.of(grads[3])[j])
		}
		sameNumbers(t, name+", all pieces: "+p.what, p.of(sum), want)
	}
	sameNumbers(t, name+": dL/dalpha of pieces", sum.Alphas, alphas)
}
