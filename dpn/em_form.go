package dpn

import (
	"math"

	"dpnbench/engine"
	"dpnbench/internal/linalg"
)

// The M steps of the forms (Potential.EM). A component without rows keeps its precision.

func (f *denseForm) maximise(m *em) error {
	s, err := m.scatters()
	if err != nil {
		return err
	}
	d := f.d
	if f.tied {
		pooled := make([]float64, d*d)
		for i, v := range s {
			if v != nil {
				linalg.Axpy(m.mass[i]/float64(m.x.Rows), v, pooled)
			}
		}
		s = [][]float64{pooled}
	}
	return forEach(m.ctx, len(s), m.e.Threads(), func(i int) error {
		if s[i] == nil {
			return nil
		}
		if err := raise(s[i], d, m.Ridge); err != nil {
			return err
		}
		if !linalg.Cholesky(s[i], d) {
			return errSingular
		}
		a, column := f.a.Data[i*d*d:(i+1)*d*d], make([]float64, d)
		for j := range d { // A = L^-1: with Sigma = L L^T, P = A^T A
			clear(column)
			column[j] = 1
			linalg.SolveLower(s[i], d, column, j)
			for row, v := range column {
				a[row*d+j] = float32(v)
			}
		}
		return nil
	})
}

// raise lifts the eigenvalues of the positive semidefinite n x n matrix a that are below
// floor. Zeros on the diagonal, such as those of pixels that are the same in all pictures,
// stand for eigenvalues by themselves: their rows are zero, too.
func raise(a []float64, n int, floor float64) error {
	lower := append([]float64(nil), a...)
	for j := range n {
		lower[j*n+j] -= floor
	}
	if linalg.Cholesky(lower, n) {
		return nil
	}
	var varies []int
	for j := range n {
		if a[j*n+j] > 0 {
			varies = append(varies, j)
		} else {
			a[j*n+j] = floor
		}
	}
	m := len(varies)
	part := make([]float64, m*m)
	for i, row := range varies {
		for j, column := range varies {
			part[i*m+j] = a[row*n+column]
		}
	}
	values, vectors, err := linalg.Eigenvectors(part, m)
	if err != nil {
		return err
	}
	for i, v := range values {
		if v >= floor {
			continue
		}
		vector := vectors[i*m : (i+1)*m]
		for j, row := range varies {
			f := (floor - v) * vector[j]
			for l, column := range varies {
				a[row*n+column] += float64(f * vector[l])
			}
		}
	}
	return nil
}

func (f *lowRankForm) maximise(m *em) error {
	if f.factor == nil {
		return f.maximiseDiagonal(m)
	}
	s, err := m.scatters()
	if err != nil {
		return err
	}
	d, kept := f.d, min(f.r, f.d-1) // one variance is left for the other directions
	return forEach(m.ctx, f.k, m.e.Threads(), func(i int) error {
		if s[i] == nil {
			return nil
		}
		values, vectors, err := linalg.Eigenvectors(s[i], d)
		if err != nil {
			return err
		}
		var sum float64
		for _, v := range values[:d-kept] {
			sum += v
		}
		variance := max(sum/float64(d-kept), m.Ridge)
		l := f.l.Data[i*d : (i+1)*d]
		for j := range l {
			l[j] = f.logWeight(variance)
		}
		r := f.factor.Data[i*f.r*d : (i+1)*f.r*d]
		clear(r)
		for t := range kept {
			at := d - 1 - t
			size := math.Sqrt(max(1/max(values[at], m.Ridge)-1/variance, 0)) / float64(f.scale)
			for j, v := range vectors[at*d : (at+1)*d] {
				r[t*d+j] = float32(size * v)
			}
		}
		return nil
	})
}

// logWeight returns the l of a variance: s0^2 exp(2 l) = 1 / variance.
func (f *lowRankForm) logWeight(variance float64) float32 {
	return float32(-logProduct([]float64{variance, float64(f.scale), float64(f.scale)}) / 2)
}

func (f *lowRankForm) maximiseDiagonal(m *em) error {
	d := f.d
	m.e.Parallel(f.k, 0, float64(f.k*m.x.Rows*d), func(w *engine.Worker, lo, hi int) {
		scratch := w.Floats(evalRows * d)
		for i := lo; i < hi && m.ctx.Err() == nil; i++ {
			if m.mass[i] == 0 {
				continue
			}
			variance := make([]float64, d)
			m.blocks(i, scratch, func(y engine.Matrix) {
				for b := range y.Rows {
					for j, v := range y.Row(b) {
						variance[j] += float64(float64(v) * float64(v))
					}
				}
			})
			for j, v := range variance {
				f.l.Data[i*d+j] = f.logWeight(max(v, m.Ridge))
			}
		}
	})
	return m.ctx.Err()
}

// subspaceSteps are made in an M step of the form flat: the space comes from the last
// iteration, and is nearly right.
const subspaceSteps = 3

// maximise makes steps U = orthonormal rows of U (S + delta I), which never lower tr U S U^T:
// that is convex in U, and the new rows are the best for its tangent at the old ones. delta
// keeps the rows apart where S has a lower rank than r.
func (f *flatForm) maximise(m *em) error {
	d := f.d
	y := make([]float32, evalRows*d)
	next, along := engine.NewMatrix(f.r, d), engine.NewMatrix(evalRows, f.r)
	for i := range f.k {
		if m.mass[i] == 0 {
			continue
		}
		u := f.rows(i)
		for range subspaceSteps {
			if err := m.ctx.Err(); err != nil {
				return err
			}
			clear(next.Data)
			var trace float64
			m.blocks(i, y, func(y engine.Matrix) {
				t := part(along, 0, y.Rows)
				m.e.MatMul(t, y, u.T(), false)
				m.e.MatMul(next, t.T(), y, true)
				trace += m.e.SumSquares(t.Data)
			})
			delta := float32(trace / float64(f.r) / 128)
			if trace == 0 {
				delta = 1
			}
			m.e.Axpy(delta, u.Data, next.Data)
			orthonormalise(m.e, next)
			orthonormalise(m.e, next) // the first leaves what rounding made of long rows
			copy(u.Data, next.Data)
		}
	}
	return nil
}
