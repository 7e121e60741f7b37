package ascent

import (
	"dpnbench/engine"
	"fmt"
	"math"
	"testing"

	"dpnbench/engine/num"
)

// TestTrianglesAreOfThesePrecisions changes centres and precisions between ascents of a single row,
// the last time to matrices that are not quite symmetric, and compares with one of several rows.
func TestTrianglesAreOfThesePrecisions(t *testing.T) {
	const k, d, steps = 5, 16, triangleSteps
	rnd := num.NewRand(3, 1)
	for _, tier := range engine.Available() {
		e := newTestEngine(t, engine.WithTier(tier), engine.WithThreads(1))
		l := newFullLandscape(e, k, d, 0.8)
		l.m.Route = DenseRoute
		compare := func(what string) {
			t.Helper()
			x := points(3, d)
			if l.m.Plan(e, 3, steps).SingleRows {
				t.Fatalf("%v: three rows climb one by one, too", tier)
			}
			row := clone(x.Slice(0, 1, 0, d))
			l.m.Ascend(e, l.alpha, steps, x, nil, false)
			l.m.Ascend(e, l.alpha, steps, row, nil, false)
			equalBits(t, fmt.Sprintf("%v, %s", tier, what), row.Data, x.Row(0))
		}
		compare("at first")
		rnd.Normal(l.m.Mu)
		compare("other centres")
		for i := range l.a {
			l.a[i] *= 1.25
		}
		l.m.SetFactors(e, l.a)
		compare("other factors")
		p := make([]float32, k*d*d)
		for i := range p {
			if i/d%d == i%d {
				p[i] = 1 + float32(i%7)
			}
		}
		l.m.SetPrecisions(e, p)
		compare("matrices")
		p[1] = 0.5
		l.m.SetPrecisions(e, p)
		compare("matrices that are not symmetric")
		if want := e.SingleRows() > 0; l.m.precision.(*dense).triangles.packed != want {
			t.Errorf("%v: triangles were made: %t", tier, !want)
		}
	}
}

// TestTrianglesKeepToTheirRow lets a row of NaN, and one that overflows, climb before another one in
// the same block, after memory of lanes without a component has held NaN, and compares with pure Go.
func TestTrianglesKeepToTheirRow(t *testing.T) {
	const d, steps = 16, triangleSteps
	generic := newTestEngine(t, engine.WithTier(engine.Generic), engine.WithThreads(1))
	for _, tier := range engine.Available() {
		e := newTestEngine(t, engine.WithTier(tier), engine.WithThreads(1))
		before := newFullLandscape(e, 24, d, 0.8)
		before.m.Route = DenseRoute
		for i := range before.m.Mu {
			before.m.Mu[i] = float32(math.NaN())
		}
		for k := 4; k <= 20; k++ {
			l, same := newFullLandscape(e, k, d, 0.8), newFullLandscape(generic, k, d, 0.8)
			before.m.Ascend(e, before.alpha, steps, points(1, d), nil, false)
			l.m.precision.(*dense).triangles.data = make([]float32, 24*d*(d+1)/2)
			for i := range l.m.precision.(*dense).triangles.data { // as a mixture of more lanes has left it
				l.m.precision.(*dense).triangles.data[i] = float32(math.NaN())
			}
			x := points(2, d)
			want := clone(x.Slice(1, 2, 0, d))
			same.m.Ascend(generic, same.alpha, steps, want, nil, false)
			for _, v := range []float32{float32(math.NaN()), float32(math.Inf(1)), 3e38} {
				y := clone(x)
				for i := range y.Row(0) {
					y.Row(0)[i] = v
				}
				l.m.Ascend(e, l.alpha, steps, y, nil, false)
				equalBits(t, fmt.Sprintf("%v, %d components, after a row of %v", tier, k, v), y.Row(1), want.Row(0))
			}
		}
	}
}

// TestTrianglesInTurns compares a single row, with enough features for several calls a group, with the
// same row among others.
func TestTrianglesInTurns(t *testing.T) {
	if testing.Short() {
		t.Skip("left out by -short: a minute under emulation")
	}
	const k, d, steps = 20, 512, triangleSteps
	for _, tier := range engine.Available() {
		e := newTestEngine(t, engine.WithTier(tier), engine.WithThreads(1))
		if e.SingleRows() == 0 {
			continue
		}
		l := newFullLandscape(e, k, d, 0.3)
		l.m.Route = DenseRoute
		x := points(3, d)
		row := clone(x.Slice(0, 1, 0, d))
		if !l.m.Plan(e, 1, steps).SingleRows {
			t.Fatalf("%v: this row does not climb by triangles", tier)
		}
		l.m.Ascend(e, l.alpha, steps, x, nil, false)
		l.m.Ascend(e, l.alpha, steps, row, nil, false)
		equalBits(t, tier.String(), row.Data, x.Row(0))
	}
}
