package dpn

import (
	"context"
	"fmt"
	"math"

	"dpnbench/dpn/separation"
	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
)

// Rotation is how far a vector field is from being the gradient of anything, by two
// measures that share no evaluation of the field. Both are 0 for a gradient field, up to
// rounding.
//
// By derivatives: at each point the field's Jacobian J is measured along m orthonormal
// directions V (d x m: the axes where m = d, otherwise random ones), B = V^T J V, by
// central differences of order 4 with the step h = Step (1 + |x|):
//
//	(8 (g(x + h v) - g(x - h v)) - (g(x + 2 h v) - g(x - 2 h v))) / (12 h)
//
// Asymmetry = |B - B^T|_F / |B|_F is 0 for a gradient field, near sqrt(2) for a matrix of
// random elements and 2 for a pure rotation. Curl = |B - B^T|_F / sqrt(2), in 1 over the
// unit of the step number, is the length of the curl vector where d is 2 or 3. Both are
// those of J itself where m = d.
//
// By circulation: the work of the field along squares around the point, with corners x +-
// h u +- h v for pairs u, v of the directions, by Gauss-Legendre quadrature of 4 nodes a
// side. Circulation = |closed integral of (g - g(x)) . dl| / integral of |(g - g(x)) . dl|
// is between 0 (a gradient field) and 1 (a pure rotation). LoopCurl = |closed integral of
// g . dl| / area is by Stokes' theorem the component of the curl in the square's plane.
//
// Where a field bends within h, B is no Jacobian and its asymmetry no curl; in float64 h
// is 5e-6 of 1 + |x|, in float32 0.004.
type Rotation struct {
	Field      string  `json:"field"`
	Dim        int     `json:"dim"`        // d
	Points     int     `json:"points"`     // at which it was measured
	Directions int     `json:"directions"` // m
	Loops      int     `json:"loops"`      // squares at each point
	Step       float64 `json:"step"`       // h over 1 + |x|: the cube root of the roundoff u

	// Over the points: the median and the largest.
	Asymmetry          separation.Float `json:"asymmetry"`
	AsymmetryLargest   separation.Float `json:"asymmetry_largest"`
	Curl               separation.Float `json:"curl"`
	CurlLargest        separation.Float `json:"curl_largest"`
	Circulation        separation.Float `json:"circulation"`
	CirculationLargest separation.Float `json:"circulation_largest"`
	LoopCurl           separation.Float `json:"loop_curl"`
	LoopCurlLargest    separation.Float `json:"loop_curl_largest"`

	// RoundingFloor is the median of u (|g| + Carried |x|) / (h |B|_F): what rounding
	// alone may make of Asymmetry, up to a small factor.
	RoundingFloor separation.Float `json:"rounding_floor"`

	At []PointRotation `json:"at"` // point by point
}

// PointRotation is the rotation at one point; that of its loops is the mean over them. It
// is 0 where the field does not change, and null where it is not finite.
type PointRotation struct {
	Asymmetry     separation.Float `json:"asymmetry"`
	Curl          separation.Float `json:"curl"`
	Circulation   separation.Float `json:"circulation"`
	LoopCurl      separation.Float `json:"loop_curl"`
	RoundingFloor separation.Float `json:"rounding_floor"`
}

// RotationOptions say how Rotation is measured. The zero value is ready to use.
type RotationOptions struct {
	Directions int    // m, at most d; 0: 16
	Loops      int    // at each point, at most m/2; 0: 4
	Seed       uint64 // of the directions
}

// rotationBlock is the number of points whose surroundings are evaluated together.
const rotationBlock = 64

// The nodes and weights of Gauss-Legendre quadrature on [-1, 1] with 4 nodes.
var (
	gaussNodes   = [4]float64{-0.8611363115940526, -0.3399810435848563, 0.3399810435848563, 0.8611363115940526}
	gaussWeights = [4]float64{0.3478548451374538, 0.6521451548625461, 0.6521451548625461, 0.3478548451374538}
)

// The points around one point: 4 a direction, 16 a loop, and itself.
const (
	stencil = 4
	around  = 4 * len(gaussNodes)
)

// MeasureRotation measures the rotation of a field at the rows of x (n x d).
func MeasureRotation(ctx context.Context, f VectorField, x []float64, opt RotationOptions) (*Rotation, error) {
	d := f.Dim
	if opt.Directions < 0 || opt.Loops < 0 {
		return nil, fmt.Errorf("rotation along %d directions and %d loops, expected none below 0", opt.Directions, opt.Loops)
	}
	if d < 1 || len(x) == 0 || len(x)%d != 0 {
		return nil, fmt.Errorf("rotation of a field of %d dimensions at %d numbers, expected one point or more", d, len(x))
	}
	for i, v := range x {
		if v-v != 0 {
			return nil, fmt.Errorf("rotation: feature %d of point %d is %v, expected a finite number", i%d, i/d, v)
		}
	}
	if opt.Directions == 0 {
		opt.Directions = 16
	}
	if opt.Loops == 0 {
		opt.Loops = 4
	}
	n, m := len(x)/d, min(opt.Directions, d)
	loops := min(opt.Loops, m/2)
	s := &Rotation{Field: f.Name, Dim: d, Points: n, Directions: m, Loops: loops, Step: math.Cbrt(f.Rounding)}
	each := stencil*m + around*loops + 1
	for lo := 0; lo < n; lo += rotationBlock {
		hi := min(lo+rotationBlock, n)
		at, g := make([]float64, (hi-lo)*each*d), make([]float64, (hi-lo)*each*d)
		v := make([][]float64, hi-lo)
		for b := range v {
			p := x[(lo+b)*d : (lo+b+1)*d]
			v[b] = directions(d, m, num.NewRand(opt.Seed, uint64(lo+b)))
			s.surround(at[b*each*d:(b+1)*each*d], p, v[b], s.Step*(1+linalg.Norm(p)))
		}
		if err := f.Eval(ctx, g, at); err != nil {
			return nil, err
		}
		for b := range v {
			p := x[(lo+b)*d : (lo+b+1)*d]
			s.At = append(s.At, s.point(g[b*each*d:(b+1)*each*d], v[b], s.Step*(1+linalg.Norm(p)), f.Rounding, float64(f.Carried*linalg.Norm(p))))
		}
	}
	for _, c := range []struct {
		of            func(p PointRotation) separation.Float
		mean, largest *separation.Float
	}{
		{func(p PointRotation) separation.Float { return p.Asymmetry }, &s.Asymmetry, &s.AsymmetryLargest},
		{func(p PointRotation) separation.Float { return p.Curl }, &s.Curl, &s.CurlLargest},
		{func(p PointRotation) separation.Float { return p.Circulation }, &s.Circulation, &s.CirculationLargest},
		{func(p PointRotation) separation.Float { return p.LoopCurl }, &s.LoopCurl, &s.LoopCurlLargest},
		{func(p PointRotation) separation.Float { return p.RoundingFloor }, &s.RoundingFloor, nil},
	} {
		list, most := make([]float64, n), 0.0
		for i, p := range s.At {
			list[i] = float64(c.of(p))
			most = max(most, list[i]) // NaN if any is
		}
		*c.mean = separation.Float(median(list))
		if most-most != 0 {
			*c.mean = separation.Float(math.NaN())
		}
		if c.largest != nil {
			*c.largest = separation.Float(most)
		}
	}
	return s, nil
}

// directions returns m orthonormal vectors of d numbers: the axes where m = d, otherwise
// random ones, made orthogonal to those before them twice, because once leaves rounding.
func directions(d, m int, r *num.Rand) []float64 {
	v := make([]float64, m*d)
	if m == d {
		for a := range m {
			v[a*d+a] = 1
		}
		return v
	}
	draw := make([]float32, d)
	for a := range m {
		u := v[a*d : (a+1)*d]
		r.Normal(draw)
		for j, z := range draw {
			u[j] = float64(z)
		}
		for range 2 {
			for c := range a {
				w := v[c*d : (c+1)*d]
				linalg.Axpy(-linalg.Dot(u, w), w, u)
			}
			l := linalg.Norm(u)
			for j := range u {
				u[j] /= l
			}
		}
	}
	return v
}

// surround writes the points around x at which the field is needed: x, then x + h v, x - h
// v, x + 2 h v, x - 2 h v for each direction, then the nodes of each loop side by side.
func (s *Rotation) surround(at, x, v []float64, h float64) {
	d := s.Dim
	next := func() []float64 {
		to := at[:d]
		at = at[d:]
		copy(to, x)
		return to
	}
	next()
	for a := range s.Directions {
		for _, f := range [stencil]float64{h, -h, 2 * h, -2 * h} {
			linalg.Axpy(f, v[a*d:(a+1)*d], next())
		}
	}
	for a := range s.Loops {
		for side := range 4 {
			for _, z := range gaussNodes {
				to := next()
				cu, cv, _, _ := square(side, z)
				linalg.Axpy(h*cu, v[2*a*d:(2*a+1)*d], to)
				linalg.Axpy(h*cv, v[(2*a+1)*d:(2*a+2)*d], to)
			}
		}
	}
}

// square returns where z in [-1, 1] lies on a side of the square of half side 1, in the
// coordinates of its plane, and the direction of travel there, counter-clockwise.
func square(side int, z float64) (u, v, du, dv float64) {
	switch side {
	case 0:
		return z, -1, 1, 0
	case 1:
		return 1, z, 0, 1
	case 2:
		return -z, 1, -1, 0
	}
	return -1, -z, 0, -1
}

// point sums up the field around one point, given in the order of surround. Numbers of
// the size carried are rounded on the way to it.
func (s *Rotation) point(g, v []float64, h, rounding, carried float64) PointRotation {
	d, m := s.Dim, s.Directions
	centre, g := g[:d], g[d:]
	b := make([]float64, m*m)
	column := make([]float64, d)
	for c := range m { // column c of B is V^T J v_c
		up, down, up2, down2 := g[:d], g[d:2*d], g[2*d:3*d], g[3*d:4*d]
		for j := range column {
			column[j] = (float64(8*(up[j]-down[j])) - (up2[j] - down2[j])) / (12 * h)
		}
		for a := range m {
			b[a*m+c] = linalg.Dot(v[a*d:(a+1)*d], column)
		}
		g = g[stencil*d:]
	}
	var odd float64
	for a := range m {
		for c := range m {
			e := b[a*m+c] - b[c*m+a]
			odd += float64(e * e)
		}
	}
	size := linalg.Norm(b)
	p := PointRotation{Curl: separation.Float(math.Sqrt(odd / 2)),
		Asymmetry:     share(math.Sqrt(odd), size),
		RoundingFloor: share(rounding*(linalg.Norm(centre)+carried), float64(h*size))}

	diff := make([]float64, d)
	for a := range s.Loops {
		var whole, work, sum float64 // of g . dl, of (g - g(x)) . dl and of its absolute value
		u, w := v[2*a*d:(2*a+1)*d], v[(2*a+1)*d:(2*a+2)*d]
		for side := range 4 {
			for i, z := range gaussNodes {
				for j := range diff {
					diff[j] = g[j] - centre[j]
				}
				_, _, du, dv := square(side, z)
				f := gaussWeights[i] * h
				along := float64(du*linalg.Dot(u, diff)) + float64(dv*linalg.Dot(w, diff))
				whole += float64(f * (float64(du*linalg.Dot(u, g[:d])) + float64(dv*linalg.Dot(w, g[:d]))))
				work += float64(f * along)
				sum += float64(f * math.Abs(along))
				g = g[d:]
			}
		}
		p.Circulation += share(math.Abs(work), sum) / separation.Float(s.Loops)
		p.LoopCurl += separation.Float(math.Abs(whole) / (4 * h * h) / float64(s.Loops))
	}
	return p
}

// share returns a/b, and 0 where both are 0.
func share(a, b float64) separation.Float {
	if a == 0 && b == 0 {
		return 0
	}
	return separation.Float(a / b)
}

// FieldComparison holds the ascent field of a model against free fields of the same size,
// at the same points.
type FieldComparison struct {
	// Fields are, in order: the potential in float64; the potential as the engine runs it;
	// a free network with random weights; the same one, its last layer fitted to the
	// potential's field at the points of FitPoints.
	Fields []Rotation `json:"fields"`

	Hidden    int     `json:"hidden"`     // units of the free network
	FitPoints int     `json:"fit_points"` // that it was fitted to
	FitR2     float64 `json:"fit_r2"`     // share of the variance of grad phi there that the fit explains
}

// FieldOptions say how fields are compared. The zero value is ready to use.
type FieldOptions struct {
	RotationOptions
	Points int // rows of x at which the rotation is measured, from the first; 0: 16
	Hidden int // units of the free network; 0: 256
}

// CompareFields measures the rotation of the model's ascent field, and of free fields, at
// the first rows of the features x (n x d). All rows serve to fit the free field.
func (m *Model) CompareFields(ctx context.Context, e *engine.Engine, x engine.Matrix, opt FieldOptions) (*FieldComparison, error) {
	d, threads := m.Dim(), e.Threads()
	if x.Cols != d || x.Rows < 2 || x.CS != 1 || x.RS != d {
		return nil, fmt.Errorf("features of %d x %d, expected 2 rows or more of %d without gaps", x.Rows, x.Cols, d)
	}
	if opt.Points == 0 {
		opt.Points = 16
	}
	if opt.Hidden == 0 {
		opt.Hidden = 256
	}
	if opt.Points < 0 {
		return nil, fmt.Errorf("fields at %d points, expected at least 1", opt.Points)
	}
	free, err := NewFreeField(d, opt.Hidden, opt.Seed)
	if err != nil {
		return nil, err
	}
	all := linalg.Widen(x.Data[:x.Rows*d])
	at := all[:min(opt.Points, x.Rows)*d]
	c := &FieldComparison{Hidden: opt.Hidden, FitPoints: x.Rows}
	measure := func(f VectorField) error {
		r, err := MeasureRotation(ctx, f, at, opt.RotationOptions)
		if err != nil {
			return fmt.Errorf("%s: %w", f.Name, err)
		}
		c.Fields = append(c.Fields, *r)
		return nil
	}
	for _, f := range []VectorField{m.potential.Field(threads), m.Field(e), free.Field("free network, random", threads)} {
		if err := measure(f); err != nil {
			return nil, err
		}
	}
	ev, err := m.potential.Evaluate(ctx, all, threads)
	if err != nil {
		return nil, err
	}
	if c.FitR2, err = free.Fit(ctx, all, ev.Gradient, ridge, threads); err != nil {
		return nil, err
	}
	return c, measure(free.Field("free network, fitted", threads))
}

// ridge is the penalty of the fitted free field, for hidden units of order 1.
const ridge = 1e-4
