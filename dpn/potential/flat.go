package potential

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
)

// flatForm is "flat", P_i = s0^2 (I - (1-eps) U_i^T U_i) with orthonormal rows U_i (r x d):
// eigenvalue eps s0^2 along them, s0^2 across. The factors of the engine are U_i, and its S is
// -s0^2 (1-eps). The gradient is that of U as if its elements were free. After
// each update the rows are made orthonormal again, in order, by the modified method of
// Gram and Schmidt, which takes out what the update did to lengths and angles; P_i only
// depends on the space that the rows span. eps and s0 do not learn.
type flatForm struct {
	k, d, r    int
	scale, eps float64
	u          *Param    // k x r x d
	w          []float32 // s0^2, d times
	retraction func(w *engine.Worker, lo, hi int)
}

func newFlatForm(c Settings, d int, list []*Param) form {
	u := list[0]
	f := &flatForm{k: c.Components, d: d, r: c.Rank, scale: c.Scale, eps: c.Eps, u: u,
		w: make([]float32, d)}
	for i := range f.w {
		f.w[i] = float32(c.Scale * c.Scale)
	}
	return f
}

func (f *flatForm) params() []*Param { return []*Param{f.u} }

func (f *flatForm) count() int { return f.k }

// s is the S of the engine.
func (f *flatForm) s() float32 { return float32(-f.scale * f.scale * (1 - f.eps)) }

// rows returns U_i.
func (f *flatForm) rows(i int) engine.Matrix {
	n := f.r * f.d
	return engine.View(f.u.Data[i*n:(i+1)*n], f.r, f.d)
}

// start sets U_i to the first r unit vectors. Init puts principal components there.
func (f *flatForm) start(*num.Rand) {
	clear(f.u.Data)
	for i := range f.k {
		u := f.rows(i)
		for j := range f.r {
			u.Set(j, j, 1)
		}
	}
}

// orthonormalise makes the rows of u orthonormal, in order: each row is taken out of all rows below it as
// soon as it is known, whose products with it are then computed side by side. A row in the span of those
// above it becomes NaN or lacks direction, which definite then finds.
func orthonormalise(w *engine.Worker, u engine.Matrix) {
	dots := w.Floats(u.Rows)
	for a := range u.Rows {
		row := u.Row(a)
		w.Scale(row, 1/float32(math.Sqrt(float64(w.ShortDot(row, row)))), row)
		below := u.SliceRows(a+1, u.Rows)
		w.RowDots(dots[:below.Rows], below, engine.Matrix{Data: row, Rows: below.Rows, Cols: u.Cols, CS: 1})
		for b := range below.Rows {
			w.Axpy(-dots[b], row, below.Row(b))
		}
	}
}

// mixture chooses sums in lanes where responsibilities are nearly one-hot: with many features that are hardly scaled
// down, rows are far from all centres but one.
func (f *flatForm) mixture(mu, c []float32) *ascent.Mixture {
	m := ascent.NewLowRankMixture(f.k, f.d, f.r, mu, c)
	m.Lanes = f.d >= 256 && f.scale >= 0.5
	return m
}

func (f *flatForm) prepare(e *engine.Engine, m *ascent.Mixture) {
	m.SetLowRank(e, f.w, f.u.Data, f.s())
}

func (f *flatForm) factors() []float32 { return nil }

func (f *flatForm) newGradient() *ascent.Gradient {
	return ascent.NewLowRankGradient(f.k, f.d, f.r, false)
}

func (f *flatForm) bind(g *ascent.Gradient) { f.u.Grad = g.F }

func (f *flatForm) gradient(*engine.Engine) {}

func (f *flatForm) retract(e *engine.Engine) {
	if f.retraction == nil { // made once: a step allocates nothing
		f.retraction = func(w *engine.Worker, lo, hi int) {
			for i := lo; i < hi; i++ {
				orthonormalise(w, f.rows(i))
			}
		}
	}
	e.Parallel(f.k, 2*float64(f.k*f.r*(f.r+1)*f.d), 0, f.retraction)
}

// definite finds rows that are not orthonormal. P_i is positive definite while the largest
// eigenvalue of U_i U_i^T lies below 1/(1-eps), so certainly while its elements are those
// of the identity up to eps/r.
func (f *flatForm) definite(*engine.Engine) (tensor, problem string) {
	tolerance := min(1e-3, f.eps/float64(2*f.r))
	for i := range f.k {
		u := f.rows(i)
		for a := range f.r {
			for b := range a + 1 {
				var dot, want float64
				for j, v := range u.Row(a) {
					dot += float64(float64(v) * float64(u.At(b, j)))
				}
				if a == b {
					want = 1
				}
				if !(math.Abs(dot-want) < tolerance) {
					return f.u.Name, fmt.Sprintf("rows %d and %d of component %d have the product %.6g, expected %v", b,
						a, i, dot, want)
				}
			}
		}
	}
	return "", ""
}

// logDets is the same for all components, and does not change: d log s0^2 + r log eps.
func (f *flatForm) logDets(_ *engine.Engine, v []float32) {
	eigenvalues := make([]float64, f.d)
	for j := range eigenvalues {
		eigenvalues[j] = f.scale * f.scale
		if j < f.r {
			eigenvalues[j] *= f.eps
		}
	}
	log := float32(linalg.LogProduct(eigenvalues))
	for i := range v {
		v[i] = log
	}
}

func (f *flatForm) addLikelihood(e *engine.Engine, g *ascent.Gradient, l *Likelihood) {
	for i := range f.k {
		l.addLowRank(e, g, i, f.w, f.rows(i), f.s())
	}
}

// subspaceSteps are made in an M step of the form flat: the space comes from the last
// iteration, and is nearly right.
const subspaceSteps = 3

// maximise makes steps U = orthonormal rows of U (S + delta I), which never lower tr U S U^T:
// that is convex in U, and the new rows are the best for its tangent at the old ones. delta
// keeps the rows apart where S has a lower rank than r.
func (f *flatForm) maximise(m *em) error {
	d := f.d
	y := make([]float32, BlockRows*d)
	next, along, product := engine.NewMatrix(f.r, d), engine.NewMatrix(BlockRows, f.r), engine.NewMatrix(f.r, d)
	sum := make([]float64, f.r*d) // of the products of all blocks
	first, end := m.by.Own(f.k)
	for i := first; i < end; i++ {
		if m.mass[i] == 0 {
			continue
		}
		u := f.rows(i)
		for range subspaceSteps {
			if err := m.ctx.Err(); err != nil {
				return err
			}
			clear(sum)
			var trace float64
			m.blocks(i, y, func(y engine.Matrix) {
				t := along.SliceRows(0, y.Rows)
				m.e.MatMul(t, y, u.T(), false)
				m.e.MatMul(product, t.T(), y, false)
				for j, v := range product.Data {
					sum[j] += float64(v)
				}
				trace += m.e.SumSquares(t.Data)
			})
			for j, v := range sum {
				next.Data[j] = float32(v)
			}
			delta := float32(trace / float64(f.r) / 128)
			if trace == 0 {
				delta = 1
			}
			m.e.Axpy(delta, u.Data, next.Data)
			m.e.Parallel(1, 0, 0, func(w *engine.Worker, _, _ int) {
				orthonormalise(w, next)
				orthonormalise(w, next) // the first leaves what rounding made of long rows
			})
			copy(u.Data, next.Data)
		}
	}
	return nil
}

func (f *flatForm) largest(int) (float64, error) {
	if f.r == f.d {
		return f.eps * f.scale * f.scale, nil
	}
	return f.scale * f.scale, nil
}

func (f *flatForm) precision(_ context.Context, i int) []float64 {
	d, s := f.d, float64(f.scale*f.scale)
	p := make([]float64, d*d)
	u := f.rows(i)
	for row := range f.r {
		addOuter(p, -s*(1-f.eps), u.Row(row))
	}
	mirror(p, d)
	for j := range d {
		p[j*d+j] += s
	}
	return p
}

// spectrum returns the eigenvalues of P_i, largest first, and the diagonal of its inverse. As
// the rows of U_i are orthonormal only to float32, it takes the eigenvalues g_j and vectors
// w_j of U_i U_i^T. With q_j = U_i^T w_j, of which |q_j|^2 = g_j,
//
//	P_i    = s0^2 (I - (1-eps) sum_j q_j q_j^T)   eigenvalues s0^2 (1 - (1-eps) g_j), s0^2 (d-r times)
//	P_i^-1 = s0^-2 (I + sum_j (1-eps) / (1 - (1-eps) g_j) q_j q_j^T)        (Sherman and Morrison)
func (f *flatForm) spectrum(_ context.Context, i int) (values, variances []float64, err error) {
	s, c := f.scale*f.scale, 1-f.eps
	u := linalg.Widen(f.rows(i).Data)
	row := func(a int) []float64 { return u[a*f.d : (a+1)*f.d] }
	gram := make([]float64, f.r*f.r)
	for a := range f.r {
		for b := range f.r {
			gram[a*f.r+b] = linalg.Dot(row(a), row(b))
		}
	}
	g, w, err := linalg.Eigenvectors(gram, f.r)
	if err != nil {
		return nil, nil, err
	}
	variances = make([]float64, f.d)
	for j := range variances {
		variances[j] = 1 / s
	}
	q := make([]float64, f.d)
	for j, v := range g {
		left := 1 - float64(c*v)
		values = append(values, float64(s*left))
		clear(q)
		for a := range f.r {
			linalg.Axpy(w[j*f.r+a], row(a), q)
		}
		for n, v := range q {
			variances[n] += float64(float64(c*v)*v) / (s * left)
		}
	}
	for range f.d - f.r {
		values = append(values, s)
	}
	slices.Sort(values)
	slices.Reverse(values)
	if Singular(values) {
		variances = nil
	}
	return values, variances, nil
}

func (f *flatForm) gaussian(_ context.Context, i int) (gaussian, error) {
	root := make([]float64, f.d)
	for j := range root {
		root[j] = f.scale
	}
	b := linalg.Widen(f.rows(i).Data)
	for j := range b {
		b[j] *= math.Sqrt(1 - f.eps)
	}
	return newLowRankGaussian(root, b, -1)
}
