package dataset

import (
	"math"
	"testing"
)

func near(a, b point, tolerance float64) bool {
	return math.Abs(a.x-b.x) <= tolerance && math.Abs(a.y-b.y) <= tolerance
}

func TestCurvePassesThroughItsKnots(t *testing.T) {
	r := newStream(1, 1)
	for n := 2; n < 12; n++ {
		knots, sharp := make([]point, n), make([]bool, n)
		for i := range knots {
			knots[i] = point{r.uniform(-1, 1), r.uniform(-1, 1)}
			sharp[i] = r.intn(3) == 0
		}
		line := curve(nil, knots, sharp)
		if len(line) != (n-1)*segmentsPerSpan+1 {
			t.Fatalf("%d knots: %d points", n, len(line))
		}
		for i, k := range knots {
			if p := line[i*segmentsPerSpan]; !near(p, k, 1e-15) {
				t.Errorf("%d knots: knot %d is at %v, the curve at %v", n, i, k, p)
			}
		}
	}
}

func TestCurveTurnsSharplyOnlyAtCorners(t *testing.T) {
	knots := []point{{0, 0}, {1, 0}, {1, 1}}
	at := segmentsPerSpan // the middle knot
	// cosine of the angle between the pieces before and after the middle knot
	cosine := func(line []point) float64 {
		a := point{line[at].x - line[at-1].x, line[at].y - line[at-1].y}
		b := point{line[at+1].x - line[at].x, line[at+1].y - line[at].y}
		return (a.x*b.x + a.y*b.y) / (length(a) * length(b))
	}
	if c := cosine(curve(nil, knots, []bool{false, true, false})); !(math.Abs(c) <= 1e-12) {
		t.Errorf("at a corner of 90 degrees the cosine is %g, want 0", c)
	}
	if c := cosine(curve(nil, knots, []bool{false, false, false})); !(c >= 0.7) {
		t.Errorf("at a smooth knot the cosine is %g, want near 1", c)
	}
}

func TestAffine(t *testing.T) {
	for _, half := range []float64{-0.3, 0, 0.1, 0.5} {
		m := newAffine(1, 1, 0, half)
		angle := 2 * math.Atan(half)
		want := point{math.Cos(angle), math.Sin(angle)}
		if got := m.apply(point{1, 0}); !near(got, want, 1e-14) {
			t.Errorf("half-angle tangent %g turns (1, 0) to %v, want %v", half, got, want)
		}
		if got := m.apply(point{0, 1}); !near(got, point{-want.y, want.x}, 1e-14) {
			t.Errorf("half-angle tangent %g turns (0, 1) to %v, want %v", half, got, point{-want.y, want.x})
		}
	}
	m := newAffine(2, 3, 0.5, 0)
	if got, want := m.apply(point{1, -1}), (point{2 + 0.5*3, -3}); !near(got, want, 1e-14) {
		t.Errorf("stretched and slanted: %v, want %v", got, want)
	}
	if m := newAffine(1.3, 0.8, 0.4, 0.2); !(math.Abs(m.a*m.d-m.b*m.c-1.3*0.8) <= 1e-14) {
		t.Errorf("determinant %g, want %g", m.a*m.d-m.b*m.c, 1.3*0.8)
	}
}

func TestBendLeavesTheMiddleAlone(t *testing.T) {
	b := newBend(newStream(1, 0), 1)
	if p := b.apply(point{}); p != (point{}) {
		t.Errorf("the middle moves to %v", p)
	}
	// Near the middle the deformation is of second order.
	if p := b.apply(point{1e-4, -1e-4}); !near(p, point{1e-4, -1e-4}, 1e-7) || p == (point{1e-4, -1e-4}) {
		t.Errorf("a point near the middle moves to %v", p)
	}
}
