package ascent

import (
	"testing"

	"dpnbench/engine"
	"dpnbench/internal/alloctest"
)

// TestNoAllocations checks that the methods used in training do not allocate once their scratch
// memory has grown.
func TestNoAllocations(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: slow under emulation and the race detector, which do not change allocations")
	}
	e := newTestEngine(t, engine.WithThreads(2), engine.WithEagerThreads())
	l := newFullLandscape(e, 3, 20, 0.8)
	x, v := points(24, 20), points(24, 20)
	var tr Trajectory
	grad := NewGradient(3, 20)
	long := runLandscapes()[0]
	runs, grad2 := long.mixture(e), long.gradient()
	x2, v2 := clone(long.x), clone(long.x)
	few := newLandscape("many components", 20, 40, -1, 0, 4, 1, 6)
	sparse, grad3, x3, v3 := few.by(e, SparseRoute), few.gradient(), clone(few.x), clone(few.x)
	phi := make([]float32, 24)
	for _, call := range []struct {
		name string
		f    func()
	}{
		{"SetFactors", func() { l.m.SetFactors(e, l.a) }},
		{"Ascend", func() { l.m.Ascend(e, l.alpha, 3, x, nil, false) }},
		{"Ascend and back", func() {
			l.m.Ascend(e, l.alpha, 3, x, &tr, true)
			l.m.Backward(e, l.alpha, l.a, &tr, v, grad)
		}},
		{"Ascend and back with runs", func() {
			copy(x2.Data, long.x.Data) // from where there are runs
			copy(v2.Data, long.x.Data)
			runs.Ascend(e, 0.1, leastRun, x2, &tr, true)
			runs.Backward(e, 0.1, long.a, &tr, v2, grad2)
		}},
		{"Ascend and back by the sparse route", func() {
			copy(x3.Data, few.x.Data)
			sparse.SetFactors(e, few.a)
			sparse.Ascend(e, few.alpha, 6, x3, &tr, true)
			sparse.Backward(e, few.alpha, few.a, &tr, v3, grad3)
		}},
		{"Potential", func() { l.m.Potential(e, x, phi, engine.Matrix{}) }},
	} {
		if n := alloctest.PerCall(20, call.f); n != 0 {
			t.Errorf("%s: %v allocations a call", call.name, n)
		}
	}
}
