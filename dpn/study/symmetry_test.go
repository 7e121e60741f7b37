package study

import (
	"context"
	"math"
	"testing"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// TestSymmetry checks that the ascent field of any potential has a symmetric Jacobian to
// rounding, with the same bits on one thread, and that asymmetry finds the rotation of a field
// omega (-y, x) - stretch (x, y), whose Jacobian is known.
func TestSymmetry(t *testing.T) {
	ctx := context.Background()
	for _, d := range []int{3, 12, 48} {
		p := randomPotential(4, d, 7)
		x := engine.NewMatrix(6, d)
		num.NewRand(9, 0).Normal(x.Data)
		s, err := MeasureSymmetry(ctx, p, x, 2)
		if err != nil {
			t.Fatal(err)
		}
		if !(s.AsymmetryLargest <= 1e-8) || s.Asymmetry > s.AsymmetryLargest || s.Points != 6 ||
			s.Directions != min(d, 16) {
			t.Errorf("d %d: %+v, expected an asymmetry of at most 1e-8", d, *s)
		}
		if again, err := MeasureSymmetry(ctx, p, x, 1); err != nil || *again != *s {
			t.Errorf("d %d: %+v on one thread, %+v on two (%v)", d, again, s, err)
		}
	}
	for _, c := range []struct{ omega, stretch, want float64 }{{0, 1, 0}, {3, 0, 2}, {1, 1, 2 / math.Sqrt2},
		{0, 0, 0}} {
		const h = 0.01
		v := directions(2, 2, nil)
		var g []float64
		for a := range 2 {
			for _, f := range []float64{h, -h, 2 * h, -2 * h} {
				x, y := 0.3+f*v[2*a], -0.7+f*v[2*a+1]
				g = append(g, -c.omega*y-c.stretch*x, c.omega*x-c.stretch*y)
			}
		}
		if got := asymmetry(g, v, 2, h); !(math.Abs(got-c.want) <= 1e-12) {
			t.Errorf("omega %v, stretch %v: asymmetry %v, expected %v", c.omega, c.stretch, got, c.want)
		}
	}
}
