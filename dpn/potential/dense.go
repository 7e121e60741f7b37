package potential

import (
	"context"
	"fmt"
	"slices"

	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
	"dpnbench/internal/linalg/lu"
	"dpnbench/internal/parallel"
)

// denseForm is "full", P_i = A_i^T A_i, and "tied", with one A for all components.
type denseForm struct {
	k, d  int
	tied  bool
	scale float32 // of A at first: A = scale I
	a     *Param

	inverse   []float32     // of logDets: all A_i^-1
	inverters []lu.Inverter // of the threads
}

func newDenseForm(c Settings, d int, list []*Param) form {
	return &denseForm{k: c.Components, d: d, tied: c.Form == FormTied, scale: float32(c.Scale), a: list[0]}
}

func (f *denseForm) params() []*Param { return []*Param{f.a} }

func (f *denseForm) count() int {
	if f.tied {
		return 1
	}
	return f.k
}

func (f *denseForm) start(*num.Rand) {
	clear(f.a.Data)
	for at := 0; at < len(f.a.Data); at += f.d * f.d {
		for j := range f.d {
			f.a.Data[at+j*f.d+j] = f.scale
		}
	}
}

func (f *denseForm) fitClusters(context.Context, *engine.Engine, Division, engine.Matrix,
	[]int32) ([]SmallCluster, error) {
	return nil, nil
}

func (f *denseForm) mixture(mu, c []float32) *ascent.Mixture {
	if f.tied {
		return ascent.NewTiedMixture(f.k, f.d, mu, c)
	}
	return ascent.NewMixture(f.k, f.d, mu, c)
}

func (f *denseForm) prepare(e *engine.Engine, m *ascent.Mixture) { m.SetFactors(e, f.a.Data) }

func (f *denseForm) factors() []float32 { return f.a.Data }

func (f *denseForm) newGradient() *ascent.Gradient {
	g := ascent.NewGradient(f.k, f.d)
	if f.tied {
		g = ascent.NewTiedGradient(f.k, f.d)
	}
	return g
}

// bind: A is a parameter of the engine.
func (f *denseForm) bind(g *ascent.Gradient) { f.a.Grad = g.A }

func (f *denseForm) gradient(*engine.Engine) {}

func (f *denseForm) retract(*engine.Engine) {}

// definite finds factors that are singular to the precision of float32: A^T A is positive
// semidefinite whatever A is.
func (f *denseForm) definite(e *engine.Engine) (tensor, problem string) {
	n := f.d * f.d
	singular := make([]bool, f.count())
	f.each(e, func(on lu.Multiplier, with *lu.Inverter, i int) {
		singular[i] = with.Singular(on, engine.View(f.a.Data[i*n:(i+1)*n], f.d, f.d))
	})
	if i := slices.Index(singular, true); i >= 0 {
		return f.a.Name, fmt.Sprintf("matrix %d is singular", i)
	}
	return "", ""
}

// each calls do for every A_i, on several threads or with an engine of several.
func (f *denseForm) each(e *engine.Engine, do func(on lu.Multiplier, with *lu.Inverter, i int)) {
	n, many := f.d*f.d, f.count()
	if f.inverters == nil {
		f.inverters = make([]lu.Inverter, min(e.Threads(), many))
	}
	if many < e.Threads() { // they share each matrix
		for i := range many {
			do(e, &f.inverters[0], i)
		}
		return
	}
	shares := len(f.inverters)
	e.Parallel(shares, 2*float64(many*n*f.d), float64(10*many*n), func(w *engine.Worker, lo, hi int) {
		for s := lo; s < hi; s++ {
			for i := many * s / shares; i < many*(s+1)/shares; i++ {
				do(w, &f.inverters[s], i)
			}
		}
	})
}

// logDets inverts all A_i, too.
func (f *denseForm) logDets(e *engine.Engine, v []float32) {
	n := f.d * f.d
	if f.inverse == nil {
		f.inverse = make([]float32, len(f.a.Data))
	}
	f.each(e, func(on lu.Multiplier, with *lu.Inverter, i int) {
		part := func(x []float32) engine.Matrix { return engine.View(x[i*n:(i+1)*n], f.d, f.d) }
		v[i] = float32(2 * with.Invert(on, part(f.inverse), part(f.a.Data)))
	})
	for i := f.count(); i < f.k; i++ {
		v[i] = v[0]
	}
}

// addLikelihood uses that with Y_i = D_i A_i^T the gradient by A_i is weight (mean r Y_i^T
// D_i - mass A_i^-T).
func (f *denseForm) addLikelihood(e *engine.Engine, g *ascent.Gradient, l *Likelihood) {
	d, n := f.d, f.d*f.d
	for i := range f.k {
		at, mass := i*n, l.mass[i]
		if f.tied {
			at, mass = 0, 1 // the sum of all
		}
		a, ga := engine.View(f.a.Data[at:at+n], d, d), engine.View(g.A[at:at+n], d, d)
		if delta, by := l.members(i); len(by) > 0 {
			y := engine.View(l.left[:len(delta.Data)], delta.Rows, d)
			e.MatMul(y, delta, a.T(), false)
			l.weigh(e, y, by)
			e.MatMul(ga, y.T(), delta, true)
			e.ColumnSums(l.sum, y, false)
			e.MatMul(engine.View(l.row, 1, d), engine.View(l.sum, 1, d), a, false)
			e.Axpy(-1, l.row, g.Mu[i*d:(i+1)*d])
		}
		if i == 0 || !f.tied {
			inverse, share := f.inverse[at:at+n], l.weight*mass
			for r := range d {
				for c, v := range ga.Row(r) {
					ga.Data[r*d+c] = v - float32(share*inverse[c*d+r])
				}
			}
		}
	}
}

func (f *denseForm) maximise(m *em) error {
	s, err := m.scatters()
	d := f.d
	if f.tied {
		var pooled []float64
		pooled, err = m.by.Sum(m.ctx, err, f.k, d*d, func(_, lo, hi int, pooled []float64) {
			for i := lo; i < hi; i++ {
				if s[i] != nil {
					linalg.Axpy(m.mass[i]/float64(m.x.Rows), s[i], pooled)
				}
			}
		})
		s = [][]float64{pooled}
	}
	if err != nil {
		return err
	}
	return parallel.ForEach(m.ctx, len(s), m.e.Threads(), func(i int) error {
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
// floor. Zeros on the diagonal, such as those of pixels that are the same in all images,
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

func (f *denseForm) largest(i int) (float64, error) {
	n := f.d * f.d
	a := linalg.Widen(f.a.Data[i*n : (i+1)*n])
	return lanczos(f.d, func(y, x []float64) {
		for at := 0; at < n; at += f.d { // A^T (A x)
			row := a[at : at+f.d]
			linalg.Axpy(linalg.Dot(row, x), row, y)
		}
	})
}

func (f *denseForm) spectrum(ctx context.Context, i int) (values, variances []float64, err error) {
	return denseSpectrum(ctx, f.precision(ctx, i), f.d)
}

// precision takes d^3/2 multiply-adds.
func (f *denseForm) precision(ctx context.Context, i int) []float64 {
	d := f.d
	if f.tied {
		i = 0
	}
	a := f.a.Data[i*d*d : (i+1)*d*d]
	p := make([]float64, d*d)
	for row := 0; row < len(a) && ctx.Err() == nil; row += d {
		addOuter(p, 1, a[row:row+d])
	}
	mirror(p, d)
	return p
}

func (f *denseForm) gaussian(ctx context.Context, i int) (gaussian, error) {
	p := f.precision(ctx, i)
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return newDenseGaussian(p, f.d)
}

// denseGaussian has a precision without structure, P = L L^T: M = L^-T. A draw takes d^2/2
// multiply-adds, the factor d^3/6 once.
type denseGaussian struct {
	d int
	l []float64 // L in the lower half, d x d
}

// newDenseGaussian overwrites p, d x d.
func newDenseGaussian(p []float64, d int) (*denseGaussian, error) {
	if !invertible(p, d) {
		return nil, errSingular
	}
	return &denseGaussian{d, p}, nil
}

func (g *denseGaussian) logDet() float64 { return 2 * logDiagonal(g.l, g.d) }

func (g *denseGaussian) draw(x, z []float64) {
	copy(x, z)
	linalg.SolveLowerT(g.l, g.d, x)
}

func (g *denseGaussian) multiply(y, x []float64) {
	clear(y)
	for i, v := range x { // L^T x
		linalg.Axpy(v, g.l[i*g.d:i*g.d+i+1], y[:i+1])
	}
	for i := g.d - 1; i >= 0; i-- { // L times that, in place
		y[i] = linalg.Dot(g.l[i*g.d:i*g.d+i+1], y[:i+1])
	}
}
