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
	"dpnbench/internal/parallel"
)

// lowRankForm is "lowrank", P_i = s0^2 (diag(exp(2 l_i)) + R_i^T R_i), and "diag", without
// R. The exponential keeps it positive definite whatever l and R become. With w_i = s0^2
// exp(2 l_i) and F_i = s0 R_i the gradients are dl = 2 w * dw and dR = s0 dF.
type lowRankForm struct {
	k, d, r int
	scale   float32 // s0
	l       *Param  // k x d
	factor  *Param  // R, k x r x d; nil for "diag"
	w, f    []float32

	kept []*lowRankGaussian // of logDets
}

func newLowRankForm(c Settings, d int, list []*Param) form {
	l := list[0]
	f := &lowRankForm{k: c.Components, d: d, scale: float32(c.Scale), l: l, w: make([]float32, len(l.Data))}
	if len(list) > 1 {
		f.factor = list[1]
		f.r, f.f = c.Rank, make([]float32, len(f.factor.Data))
	}
	return f
}

func (f *lowRankForm) params() []*Param {
	if f.factor == nil {
		return []*Param{f.l}
	}
	return []*Param{f.l, f.factor}
}

func (f *lowRankForm) count() int { return f.k }

// start sets l to 0 and draws the rows of R with a length of about 1: at R = 0 they would
// have no gradient.
func (f *lowRankForm) start(r *num.Rand) {
	clear(f.l.Data)
	if f.factor != nil {
		r.Normal(f.factor.Data)
		s := 1 / float32(math.Sqrt(float64(f.d)))
		for i := range f.factor.Data {
			f.factor.Data[i] *= s
		}
	}
}

func (f *lowRankForm) fitClusters(context.Context, *engine.Engine, Division, engine.Matrix,
	[]int32) ([]SmallCluster, error) {
	return nil, nil
}

func (f *lowRankForm) mixture(mu, c []float32) *ascent.Mixture {
	return ascent.NewLowRankMixture(f.k, f.d, f.r, mu, c)
}

func (f *lowRankForm) prepare(e *engine.Engine, m *ascent.Mixture) {
	e.Scale(f.w, 2, f.l.Data)
	e.Exp(f.w, f.w)
	e.Scale(f.w, f.scale*f.scale, f.w)
	if f.factor != nil {
		e.Scale(f.f, f.scale, f.factor.Data)
	}
	m.SetLowRank(e, f.w, f.f, 1)
}

func (f *lowRankForm) factors() []float32 { return nil }

func (f *lowRankForm) newGradient() *ascent.Gradient {
	return ascent.NewLowRankGradient(f.k, f.d, f.r, true)
}

func (f *lowRankForm) bind(g *ascent.Gradient) {
	f.l.Grad = g.W
	if f.factor != nil {
		f.factor.Grad = g.F
	}
}

func (f *lowRankForm) gradient(e *engine.Engine) {
	e.Multiply(f.l.Grad, f.w, f.l.Grad)
	e.Scale(f.l.Grad, 2, f.l.Grad)
	if f.factor != nil {
		e.Scale(f.factor.Grad, f.scale, f.factor.Grad)
	}
}

func (f *lowRankForm) retract(*engine.Engine) {}

// definite finds weights that have left the range of float32.
func (f *lowRankForm) definite(*engine.Engine) (tensor, problem string) {
	for i, l := range f.l.Data {
		if w := f.scale * f.scale * num.Exp32(2*l); !(w > 0 && w <= math.MaxFloat32) {
			return f.l.Name, fmt.Sprintf("number %d of component %d is %v, whose exponential is no positive float32",
				i%f.d, i/f.d, l)
		}
	}
	return "", ""
}

// logDets keeps the factors of the precisions for addLikelihood, too.
func (f *lowRankForm) logDets(_ *engine.Engine, v []float32) {
	f.kept = f.kept[:0]
	for i := range f.k {
		g, err := f.gaussian(context.Background(), i)
		if err != nil { // out of the range of float32: so the loss is not finite
			v[i] = float32(math.NaN())
			f.kept = append(f.kept, nil)
			continue
		}
		v[i] = float32(g.logDet())
		f.kept = append(f.kept, g.(*lowRankGaussian))
	}
}

func (f *lowRankForm) addLikelihood(e *engine.Engine, g *ascent.Gradient, l *Likelihood) {
	n := f.r * f.d
	for i := range f.k {
		l.addLowRank(e, g, i, f.w[i*f.d:(i+1)*f.d], engine.View(f.f[i*n:(i+1)*n], f.r, f.d), 1)
		if f.kept[i] == nil {
			continue
		}
		diagonal, product := f.kept[i].inverse()
		share := float64(l.weight * l.mass[i])
		for j, v := range diagonal {
			g.W[i*f.d+j] -= float32(share * v / 2)
		}
		for j, v := range product {
			g.F[i*n+j] -= float32(share * v)
		}
	}
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
	return parallel.ForEach(m.ctx, f.k, m.e.Threads(), func(i int) error {
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
	return float32(-linalg.LogProduct([]float64{variance, float64(f.scale), float64(f.scale)}) / 2)
}

func (f *lowRankForm) maximiseDiagonal(m *em) error {
	d := f.d
	first, end := m.by.Own(f.k)
	m.e.Parallel(end-first, 0, float64((end-first)*m.x.Rows*d), func(w *engine.Worker, lo, hi int) {
		scratch := w.Floats(BlockRows * d)
		for i := first + lo; i < first+hi && m.ctx.Err() == nil; i++ {
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

func (f *lowRankForm) largest(i int) (float64, error) {
	w := make([]float64, f.d)
	for j, l := range f.l.Data[i*f.d : (i+1)*f.d] {
		w[j] = float64(f.scale) * float64(f.scale) * float64(num.Exp32(2*l))
	}
	if f.factor == nil {
		return slices.Max(w), nil
	}
	r := linalg.Widen(f.factor.Data[i*f.r*f.d : (i+1)*f.r*f.d])
	linalg.Scale(float64(f.scale), r)
	return lanczos(f.d, func(y, x []float64) {
		for j, v := range x {
			y[j] = w[j] * v
		}
		for at := 0; at < len(r); at += f.d {
			row := r[at : at+f.d]
			linalg.Axpy(linalg.Dot(row, x), row, y)
		}
	})
}

func (f *lowRankForm) spectrum(ctx context.Context, i int) (values, variances []float64, err error) {
	return denseSpectrum(ctx, f.precision(ctx, i), f.d)
}

func (f *lowRankForm) precision(_ context.Context, i int) []float64 {
	d, s := f.d, float64(f.scale)*float64(f.scale)
	p := make([]float64, d*d)
	for row := i * f.r; row < (i+1)*f.r; row++ {
		addOuter(p, s, f.factor.Data[row*d:(row+1)*d])
	}
	mirror(p, d)
	for j, l := range f.l.Data[i*d : (i+1)*d] {
		p[j*d+j] += float64(s * float64(num.Exp32(2*l)))
	}
	return p
}

func (f *lowRankForm) gaussian(_ context.Context, i int) (gaussian, error) {
	d, s := f.d, float64(f.scale)
	root := make([]float64, d)
	for j, l := range f.l.Data[i*d : (i+1)*d] {
		root[j] = s * math.Sqrt(float64(num.Exp32(2*l)))
	}
	var b []float64
	if f.factor != nil {
		b = linalg.Widen(f.factor.Data[i*f.r*d : (i+1)*f.r*d])
		for j := range b {
			b[j] = s * b[j] / root[j%d]
		}
	}
	return newLowRankGaussian(root, b, 1)
}
