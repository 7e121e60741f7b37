package dpn

import (
	"math"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
)

// Losses that make the potential the log of the density of the features. Both end at x_0:
// the features of a learned extractor get no gradient of them, because features that are
// all the same would be best.
//
// The density that belongs to phi is exp(phi)/Z, with
//
//	log Z = logsumexp_i (c_i - log|P_i| / 2) + d/2 log(2 pi)
//	mass_i = exp(c_i) |P_i|^(-1/2) / sum_j exp(c_j) |P_j|^(-1/2)
//
// so that of L = (log Z - mean_b phi(x_b)) / d, the negative log-likelihood for each feature,
//
//	dL/dc_i  = (mass_i - mean_b r_ib) / d
//	dL/dmu_i = - mean_b (r_ib G_ib) / d                            G, D, r: DESIGN 2.1
//	dL/dP_i  = (mean_b (r_ib D_ib^T D_ib) - mass_i P_i^-1) / (2 d)
//
// Score matching needs no Z (Vincent, Neural Computation 23, 2011): with x~ = x + sigma eps,
//
//	L = mean over rows and features of (sigma grad phi(x~) + eps)^2
//
// which is 1 for a constant potential. One ascent step of size sigma^2 from x~ arrives at
// x' = x~ + sigma^2 grad phi(x~), and L = mean (x' - x)^2 / sigma^2: what is left of the
// noise, in its own units. So the exact backward pass of that step gives the gradient.

const logTwoPi = 1.8378770664093454836 // log(2 pi)

// likelihood is what the gradient of the negative log-likelihood is made of.
type likelihood struct {
	x, r   engine.Matrix // n x d and k x n: features and their responsibilities
	mu     []float32     // k x d
	mass   []float32     // k
	weight float32       // of the loss, over d

	delta, left  []float32 // members: D_i and what is multiplied with it
	by, sum, row []float32
	phi          []float32
}

// newLikelihood makes room for minibatches of up to n rows.
func newLikelihood(p *Potential, n int, weight float64) *likelihood {
	return &likelihood{mu: p.mu.Data, mass: make([]float32, p.K), weight: float32(weight / float64(p.D)),
		r: engine.NewMatrix(p.K, n), delta: make([]float32, n*p.D), left: make([]float32, n*p.D),
		by: make([]float32, n), sum: make([]float32, p.D), row: make([]float32, p.D), phi: make([]float32, n)}
}

// members returns D_i of the rows with r_i > 0, and weight r_i / n of each.
func (l *likelihood) members(i int) (delta engine.Matrix, by []float32) {
	d, share := l.x.Cols, l.weight/float32(l.x.Rows)
	mu := l.mu[i*d : (i+1)*d]
	by = l.by[:0]
	for b, r := range l.r.Row(i) {
		if r == 0 {
			continue
		}
		row := l.delta[len(by)*d : (len(by)+1)*d]
		for j, v := range l.x.Row(b) {
			row[j] = v - mu[j]
		}
		by = append(by, share*r)
	}
	return engine.View(l.delta[:len(by)*d], len(by), d), by
}

// likelihood returns the negative log-likelihood of the features x for each feature, and
// adds Config.NLL times its gradient to that of the potential.
func (s *Trainer) likelihood(x engine.Matrix) float64 {
	l, p, e := s.density, s.m.potential, s.e
	l.x, l.r = x, engine.View(l.r.Data[:p.K*x.Rows], p.K, x.Rows)
	phi := l.phi[:x.Rows]
	e.Potential(p.mixture, x, phi, l.r)
	var mean float64
	for _, v := range phi {
		mean += float64(v)
	}
	mean /= float64(x.Rows)

	p.form.logDets(e, l.mass)
	e.LogSumExp(engine.View(l.mass, p.K, 1), p.c.Data, l.row[:1]) // of c - log|P|/2
	z := float64(l.row[0])
	for i, m := range l.mass {
		p.grad.C[i] += float32(l.weight * (m - e.Sum(l.r.Row(i))/float32(x.Rows)))
	}
	p.form.addLikelihood(e, p.grad, l)
	return (z-mean)/float64(p.D) + logTwoPi/2
}

// scoreMatching returns the loss of score matching at the features x, and adds
// Config.Score times its gradient to that of the potential; alpha gets none.
func (s *Trainer) scoreMatching(x engine.Matrix) float64 {
	p, e, sigma := s.m.potential, s.e, float32(s.m.Config.ScoreSigma)
	y := part(s.noisy, 0, x.Rows)
	num.NewRand(s.scoreSeed, uint64(s.updates)).Normal(y.Data)
	for j, v := range x.Data {
		y.Data[j] = v + float32(sigma*y.Data[j])
	}
	step := sigma * sigma
	e.Ascend(p.mixture, step, 1, y, &s.one, true)
	share := 1 / (float64(len(x.Data)) * float64(step))
	slope, sum := float32(2*s.m.Config.Score*share), 0.0
	for j, v := range x.Data {
		d := y.Data[j] - v
		sum += float64(float64(d) * float64(d))
		y.Data[j] = slope * d
	}
	g := s.scoreGrad
	e.AscendBackward(p.mixture, step, p.form.factors(), &s.one, y, g)
	for _, t := range [][2][]float32{{p.grad.Mu, g.Mu}, {p.grad.C, g.C}, {p.grad.A, g.A}, {p.grad.W, g.W}, {p.grad.F, g.F}} {
		e.Add(t[0], t[0], t[1])
	}
	return sum * share
}

// logDets inverts all A_i, too.
func (f *denseForm) logDets(e *engine.Engine, v []float32) {
	n := f.d * f.d
	if f.inverse == nil {
		f.inverse = make([]float32, len(f.a.Data))
	}
	f.each(e, func(on multiplier, with *inverter, i int) {
		part := func(x []float32) engine.Matrix { return engine.View(x[i*n:(i+1)*n], f.d, f.d) }
		v[i] = float32(2 * with.invert(on, part(f.inverse), part(f.a.Data)))
	})
	for i := f.own(); i < f.k; i++ {
		v[i] = v[0]
	}
}

// addLikelihood uses that with Y_i = D_i A_i^T the gradient by A_i is weight (mean r Y_i^T
// D_i - mass A_i^-T).
func (f *denseForm) addLikelihood(e *engine.Engine, g *engine.MixtureGradient, l *likelihood) {
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

// weigh multiplies the rows of y by numbers.
func (l *likelihood) weigh(e *engine.Engine, y engine.Matrix, by []float32) {
	for b, v := range by {
		e.Scale(y.Row(b), v, y.Row(b))
	}
}

// logDets keeps the factors of the precisions for addLikelihood, too.
func (f *lowRankForm) logDets(_ *engine.Engine, v []float32) {
	f.kept = f.kept[:0]
	for i := range f.k {
		g, err := f.gaussian(i)
		if err != nil { // out of the range of float32: so the loss is not finite
			v[i] = float32(math.NaN())
			f.kept = append(f.kept, nil)
			continue
		}
		v[i] = float32(g.logDet())
		f.kept = append(f.kept, g.(*lowRankGaussian))
	}
}

func (f *lowRankForm) addLikelihood(e *engine.Engine, g *engine.MixtureGradient, l *likelihood) {
	n := f.r * f.d
	for i := range f.k {
		l.addLowRank(e, g, i, f.w, engine.View(f.f[i*n:(i+1)*n], f.r, f.d), 1)
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

// addLowRank adds what comes from phi, for a component with the precision diag(w_i) + sign
// F^T F, F r x d: with Z = D F^T
//
//	dw = weight/2 mean (r D * D),   dF = weight sign mean (r Z)^T D
func (l *likelihood) addLowRank(e *engine.Engine, g *engine.MixtureGradient, i int, w []float32, f engine.Matrix, sign float32) {
	delta, by := l.members(i)
	d, r, m := delta.Cols, f.Rows, len(by)
	if m == 0 {
		return
	}
	dmu := g.Mu[i*d : (i+1)*d]
	if r > 0 {
		z := engine.View(l.left[:m*r], m, r)
		e.MatMul(z, delta, f.T(), false)
		l.weigh(e, z, by)
		e.Scale(z.Data, sign, z.Data)
		e.MatMul(engine.View(g.F[i*r*d:(i+1)*r*d], r, d), z.T(), delta, true)
		e.ColumnSums(l.sum[:r], z, false)
		e.MatMul(engine.View(l.row, 1, d), engine.View(l.sum[:r], 1, r), f, false)
		e.Axpy(-1, l.row, dmu)
	}
	weighted := engine.View(l.left[:m*d], m, d)
	copy(weighted.Data, delta.Data)
	l.weigh(e, weighted, by)
	e.ColumnSums(l.sum, weighted, false)
	e.Multiply(l.row, w[i*d:(i+1)*d], l.sum)
	e.Axpy(-1, l.row, dmu)
	e.Multiply(weighted.Data, weighted.Data, delta.Data)
	e.ColumnSums(l.sum, weighted, false)
	e.Axpy(0.5, l.sum, g.W[i*d:(i+1)*d])
}

// inverse returns the diagonal of P^-1 (d) and F P^-1 (r x d), where F = B W^(1/2): with
// V = L^-1 B W^(-1/2) these are 1/w - colsum(V * V) and L^-T V.
func (g *lowRankGaussian) inverse() (diagonal, product []float64) {
	d, r := g.d, g.r
	diagonal, v := make([]float64, d), make([]float64, r*d)
	for j, w := range g.root {
		diagonal[j] = 1 / (w * w)
	}
	for a := range r {
		row := v[a*d : (a+1)*d]
		for j, b := range g.row(a) {
			row[j] = b / g.root[j]
		}
		for c := range a {
			linalg.Axpy(-g.l[a*r+c], v[c*d:(c+1)*d], row)
		}
		linalg.Scale(1/g.l[a*r+a], row)
		for j, x := range row {
			diagonal[j] -= float64(x * x)
		}
	}
	for a := r - 1; a >= 0; a-- {
		row := v[a*d : (a+1)*d]
		for c := a + 1; c < r; c++ {
			linalg.Axpy(-g.l[c*r+a], v[c*d:(c+1)*d], row)
		}
		linalg.Scale(1/g.l[a*r+a], row)
	}
	return diagonal, v
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
	log := float32(logProduct(eigenvalues))
	for i := range v {
		v[i] = log
	}
}

func (f *flatForm) addLikelihood(e *engine.Engine, g *engine.MixtureGradient, l *likelihood) {
	n := f.r * f.d
	for i := range f.k {
		l.addLowRank(e, g, i, f.w, engine.View(f.f[i*n:(i+1)*n], f.r, f.d), -1)
	}
}
