package engine

import "testing"

// TestNoAllocations checks that the methods that training calls allocate nothing once
// their scratch memory is there.
func TestNoAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("emulated machines and the race detector allocate no other way")
	}
	e := newTestEngine(t, WithThreads(2), WithEagerThreads())
	l := newLandscape(e, 3, 20, 0.8)
	x, v := points(24, 20), points(24, 20)
	var tr Trajectory
	grad := NewMixtureGradient(3, 20)
	ways := wayHills()[0]
	hill, grad2 := ways.mixture(e), ways.gradient()
	x2, v2 := clone(ways.x), clone(ways.x)
	few := newHill("many components", 20, 40, -1, 0, 4, 1, 6)
	e3 := newTestEngine(t, WithThreads(2), WithEagerThreads(), WithRoute(SparseRoute))
	sparse, grad3, x3, v3 := few.mixture(e3), few.gradient(), clone(few.x), clone(few.x)
	a, b, c := points(30, 40), points(40, 50), NewMatrix(30, 50)
	p := e.Pack(nil, b)
	rstd, losses, labels := make([]float32, 30), make([]float32, 30), make([]byte, 30)
	y, idx := NewMatrix(30, 40), make([]int32, 30)
	m, w := make([]float32, 1200), make([]float32, 1200)
	co := &AdamCoefficients{Clip: 1, Beta1: 0.9, OneMinusBeta1: 0.1, Beta2: 0.999, OneMinusBeta2: 0.001, Step: 1e-3, RBC2: 1, Eps: 1e-8}
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
		{"SetFactors", func() { e.SetFactors(l.m, l.a) }},
		{"Ascend", func() { e.Ascend(l.m, l.alpha, 3, x, nil, false) }},
		{"Ascend and back", func() {
			e.Ascend(l.m, l.alpha, 3, x, &tr, true)
			e.AscendBackward(l.m, l.alpha, l.a, &tr, v, grad)
		}},
		{"Ascend and back with ways", func() {
			copy(x2.Data, ways.x.Data) // from where there are ways
			copy(v2.Data, ways.x.Data)
			e.Ascend(hill, 0.1, fewPowers, x2, &tr, true)
			e.AscendBackward(hill, 0.1, ways.a, &tr, v2, grad2)
		}},
		{"Ascend and back by the sparse route", func() {
			copy(x3.Data, few.x.Data)
			e3.SetFactors(sparse, few.a)
			e3.Ascend(sparse, few.alpha, 6, x3, &tr, true)
			e3.AscendBackward(sparse, few.alpha, few.a, &tr, v3, grad3)
		}},
		{"LayerNorm", func() { e.LayerNorm(y, rstd, a, 1e-5) }},
		{"LayerNormBackward", func() { e.LayerNormBackward(y, a, rstd, y) }},
		{"SoftmaxCrossEntropy", func() { e.SoftmaxCrossEntropy(y, losses, a, labels, 1) }},
		{"ArgMax", func() { e.ArgMax(idx, a) }},
		{"SquaredDistances", func() { e.SquaredDistances(dist, x, points5) }},
		{"ColumnSums", func() { e.ColumnSums(losses[:20], x, false) }},
		{"Adam", func() { e.Adam(m, a.Data, w, w, co) }},
		{"SumSquares", func() { e.SumSquares(a.Data) }},
		{"Dot", func() { e.Dot(m, w) }},
		{"Exp", func() { e.Exp(m, w) }},
		{"RunStream read", func() { e.RunStream(Read, 1<<18, 2) }},
		{"RunStream write", func() { e.RunStream(Write, 1000, 2) }},
		{"RunStream triad", func() { e.RunStream(Triad, 1<<17, 2) }},
	} {
		// On a busy machine a thread may come to its first task, and to its scratch memory, late.
		n := testing.AllocsPerRun(20, call.f)
		for try := 1; try < 10 && n != 0; try++ {
			n = testing.AllocsPerRun(20, call.f)
		}
		if n != 0 {
			t.Errorf("%s: %v allocations a call", call.name, n)
		}
	}
}

var points5 = points(5, 20)
