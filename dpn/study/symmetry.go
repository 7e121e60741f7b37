package study

import (
	"context"
	"fmt"
	"math"

	"dpnbench/dpn/potential"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
	"dpnbench/internal/stat"
)

// Symmetry says how far the Jacobian of the ascent field grad phi is from symmetric, as the
// field is computed: a field is conservative (the gradient of some function) if and only if
// its Jacobian is symmetric everywhere. For grad phi the Jacobian is the Hessian of phi.
//
// At each point the Jacobian J is measured along m orthonormal directions V (d x m: the axes
// if m = d, otherwise random ones), B = V^T J V, by central differences of order 4 of the
// gradient in float64, with the step h = Step (1 + |x|):
//
//	(8 (g(x + h v) - g(x - h v)) - (g(x + 2 h v) - g(x - 2 h v))) / (12 h)
//
// The asymmetry is |B - B^T|_F / |B|_F: 0 for a gradient field up to rounding, near sqrt(2)
// for a matrix of random elements, 2 for a pure rotation.
type Symmetry struct {
	Points     int     `json:"points"`
	Directions int     `json:"directions"` // m
	Step       float64 `json:"step"`       // h over 1 + |x|: the cube root of 2^-53

	Asymmetry        separation.Float `json:"asymmetry"`         // median over the points
	AsymmetryLargest separation.Float `json:"asymmetry_largest"` // over the points
}

// symmetryDirections is the number of directions of MeasureSymmetry.
const symmetryDirections = 16

// MeasureSymmetry measures the symmetry of the Hessian of phi at the rows of x (n x d) along
// at most 16 directions, on the given number of threads.
func MeasureSymmetry(ctx context.Context, p *potential.Potential, x engine.Matrix, threads int) (*Symmetry, error) {
	d := p.D
	if x.Cols != d || x.Rows < 1 {
		return nil, fmt.Errorf("symmetry at %d points of %d features, expected at least one of %d", x.Rows, x.Cols, d)
	}
	s := &Symmetry{Points: x.Rows, Directions: min(symmetryDirections, d), Step: math.Cbrt(0x1p-53)}
	list := make([]float64, x.Rows)
	for b := range list {
		at := linalg.Widen(x.Row(b))
		v := directions(d, s.Directions, num.NewRand(0, uint64(b)))
		h := s.Step * (1 + linalg.Norm(at))
		var around []float64 // the four points of each direction
		for a := range s.Directions {
			for _, f := range []float64{h, -h, 2 * h, -2 * h} {
				around = append(around, at...)
				linalg.Axpy(f, v[a*d:(a+1)*d], around[len(around)-d:])
			}
		}
		ev, err := p.Evaluate64(ctx, around, threads)
		if err != nil {
			return nil, err
		}
		list[b] = asymmetry(ev.Gradient, v, d, h)
	}
	most := 0.0
	for _, v := range list {
		most = max(most, v) // NaN if any is
	}
	s.Asymmetry, s.AsymmetryLargest = separation.Float(stat.Median(list)), separation.Float(most)
	return s, nil
}

// asymmetry returns |B - B^T| / |B| from the field g at x + h v, x - h v, x + 2 h v and
// x - 2 h v of each direction, and 0 if B = 0.
func asymmetry(g, v []float64, d int, h float64) float64 {
	m := len(v) / d
	b, column := make([]float64, m*m), make([]float64, d)
	for c := range m { // column c of B is V^T J v_c
		up, down, up2, down2 := g[:d], g[d:2*d], g[2*d:3*d], g[3*d:4*d]
		for j := range column {
			column[j] = (float64(8*(up[j]-down[j])) - (up2[j] - down2[j])) / (12 * h)
		}
		for a := range m {
			b[a*m+c] = linalg.Dot(v[a*d:(a+1)*d], column)
		}
		g = g[4*d:]
	}
	var odd float64
	for a := range m {
		for c := range m {
			e := b[a*m+c] - b[c*m+a]
			odd += float64(e * e)
		}
	}
	if odd == 0 {
		return 0
	}
	return math.Sqrt(odd) / linalg.Norm(b)
}

// directions returns m orthonormal vectors of d numbers: the axes if m = d, otherwise random
// ones.
func directions(d, m int, r *num.Rand) []float64 {
	v := make([]float64, m*d)
	draw := make([]float32, d)
	for a := range m {
		u := v[a*d : (a+1)*d]
		if m == d {
			u[a] = 1
			continue
		}
		r.Normal(draw)
		copy(u, linalg.Widen(draw))
		linalg.Orthonormalise(u, v[:a*d])
	}
	return v
}
