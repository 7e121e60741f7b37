package engine

import (
	"testing"

	"dpnbench/internal/alloctest"
)

// TestNoAllocations checks that the methods used in training do not allocate once their scratch
// memory has grown.
func TestNoAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: slow under emulation and the race detector, which do not change allocations")
	}
	e := newTestEngine(t, WithThreads(2), WithEagerThreads())
	x := points(24, 20)
	a, b, c := points(30, 40), points(40, 50), NewMatrix(30, 50)
	p := e.Pack(nil, b)
	rstd, losses, labels := make([]float32, 30), make([]float32, 30), make([]uint16, 30)
	y, idx := NewMatrix(30, 40), make([]int32, 30)
	m, w, v := make([]float32, 1200), make([]float32, 1200), make([]float32, 1200)
	co := &AdamCoefficients{Clip: 1, Beta1: 0.9, OneMinusBeta1: 0.1, Beta2: 0.999, OneMinusBeta2: 0.001, Step: 1e-3,
		RBC2: 1, Eps: 1e-8}
	dist := NewMatrix(24, 5)
	product := func(w *Worker, _, _ int) { w.Floats(10); w.MatMul(c, a, b, false) }
	at := make([]int32, 40)
	shifted := func(w *Worker, _, _ int) { w.MatMulAt(c, a, b.Data, at, false) }
	for _, call := range []struct {
		name string
		f    func()
	}{
		{"MatMul", func() { e.MatMul(c, a, b, false) }},
		{"MatMul of transposes", func() { e.MatMul(c.T(), b.T(), a.T(), true) }},
		{"MatMulPacked", func() { e.MatMulPacked(c, a, p, false) }},
		{"Pack", func() { e.Pack(p, b) }},
		{"Worker.MatMul", func() { e.Parallel(1, 0, 0, product) }},
		{"Worker.MatMulAt", func() { e.Parallel(1, 0, 0, shifted) }},
		{"LayerNorm", func() { e.LayerNorm(y, rstd, a, 1e-5) }},
		{"LayerNormBackward", func() { e.LayerNormBackward(y, a, rstd, y) }},
		{"SoftmaxCrossEntropy", func() { e.SoftmaxCrossEntropy(y, losses, a, labels, 1) }},
		{"ArgMax", func() { e.ArgMax(idx, a) }},
		{"SquaredDistances", func() { e.SquaredDistances(dist, x, points5) }},
		{"ColumnSums", func() { e.ColumnSums(losses[:20], x, false) }},
		{"Adam", func() { e.Adam(m, a.Data, w, v, co) }},
		{"SumSquares", func() { e.SumSquares(a.Data) }},
		{"Dot", func() { e.Dot(m, w) }},
		{"Exp", func() { e.Exp(m, w) }},
		{"RunStream read", func() { e.RunStream(Read, 1<<18, 2) }},
		{"RunStream write", func() { e.RunStream(Write, 1000, 2) }},
		{"RunStream triad", func() { e.RunStream(Triad, 1<<17, 2) }},
	} {
		if n := alloctest.PerCall(20, call.f); n != 0 {
			t.Errorf("%s: %v allocations a call", call.name, n)
		}
	}
}

var points5 = points(5, 20)
