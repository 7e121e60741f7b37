package potential

import (
	"fmt"

	"dpnbench/dpn/layer"
	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
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
//	dL/dmu_i = - mean_b (r_ib G_ib) / d                            G, D, r: ascent.Mixture.Backward
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

// Likelihood is the negative log-likelihood as a loss, with the memory that its gradient needs.
type Likelihood struct {
	p      *Potential
	x, r   engine.Matrix // n x d and k x n: features and their responsibilities
	mu     []float32     // k x d
	mass   []float32     // k
	z      float64       // log Z, without the term in d
	known  int           // Potential.prepared of mass and z: all pieces of a minibatch share them
	whole  float32       // weight of the loss, over d
	weight float32       // of the rows x: their share of it

	delta, left  []float32 // members: D_i and what is multiplied with it
	by, sum, row []float32
	phi          []float32
}

// NewLikelihood makes room for up to n rows at a time; weight is that of the loss.
func NewLikelihood(p *Potential, n int, weight float64) *Likelihood {
	return &Likelihood{p: p, mu: p.mu.Data, mass: make([]float32, p.K), whole: float32(weight / float64(p.D)),
		r: engine.NewMatrix(p.K, n), delta: make([]float32, n*p.D), left: make([]float32, n*p.D),
		by: make([]float32, n), sum: make([]float32, p.D), row: make([]float32, p.D), phi: make([]float32, n)}
}

// checkBatch panics unless x holds 1 to most rows of features without gaps, and there is a gradient to add to.
func (p *Potential) checkBatch(call string, x engine.Matrix, most int) {
	x.CheckShape(call, "x", x.Rows, p.D)
	if x.Rows < 1 || x.Rows > most || len(x.Data) != x.Rows*x.Cols {
		panic(fmt.Sprintf("potential: %s: %d numbers in %d rows, expected 1 to %d rows without gaps", call, len(x.Data),
			x.Rows, most))
	}
	if p.grad == nil {
		panic("potential: " + call + ": no gradient, expected a call of PrepareGradient before")
	}
}

// members returns D_i of the rows with r_i > 0, and weight r_i / n of each.
func (l *Likelihood) members(i int) (delta engine.Matrix, by []float32) {
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

// Loss returns the share that the features x, a piece of a minibatch, have in the negative log-likelihood for each
// feature, and adds its gradient times the weight to that of the potential.
func (l *Likelihood) Loss(e *engine.Engine, x engine.Matrix, at layer.Piece) float64 {
	p := l.p
	p.checkBatch("Likelihood.Loss", x, len(l.phi))
	l.x, l.r = x, engine.View(l.r.Data[:p.K*x.Rows], p.K, x.Rows)
	l.weight = float32(l.whole * (float32(x.Rows) / float32(at.Of)))
	phi := l.phi[:x.Rows]
	p.mixture.Potential(e, x, phi, l.r)
	var mean float64
	for _, v := range phi {
		mean += float64(v)
	}
	mean /= float64(x.Rows)

	if l.known != p.prepared {
		p.form.logDets(e, l.mass)
		e.LogSumExp(engine.View(l.mass, p.K, 1), p.c.Data, l.row[:1]) // of c - log|P|/2
		l.z, l.known = float64(l.row[0]), p.prepared
	}
	for i, m := range l.mass {
		p.grad.C[i] += float32(l.weight * (m - e.Sum(l.r.Row(i))/float32(x.Rows)))
	}
	p.form.addLikelihood(e, p.grad, l)
	all := (l.z-mean)/float64(p.D) + logTwoPi/2
	return float64(all * (float64(x.Rows) / float64(at.Of)))
}

// weigh multiplies the rows of y by numbers.
func (l *Likelihood) weigh(e *engine.Engine, y engine.Matrix, by []float32) {
	for b, v := range by {
		e.Scale(y.Row(b), v, y.Row(b))
	}
}

// addLowRank adds what comes from phi, for a component with the precision diag(w) + s
// F^T F, F r x d: with Z = D F^T
//
//	dw = weight/2 mean (r D * D),   dF = weight s mean (r Z)^T D
func (l *Likelihood) addLowRank(e *engine.Engine, g *ascent.Gradient, i int, w []float32,
	f engine.Matrix, s float32) {
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
		e.Scale(z.Data, s, z.Data)
		e.MatMul(engine.View(g.F[i*r*d:(i+1)*r*d], r, d), z.T(), delta, true)
		e.ColumnSums(l.sum[:r], z, false)
		e.MatMul(engine.View(l.row, 1, d), engine.View(l.sum[:r], 1, r), f, false)
		e.Axpy(-1, l.row, dmu)
	}
	weighted := engine.View(l.left[:m*d], m, d)
	copy(weighted.Data, delta.Data)
	l.weigh(e, weighted, by)
	e.ColumnSums(l.sum, weighted, false)
	e.Multiply(l.row, w, l.sum)
	e.Axpy(-1, l.row, dmu)
	if g.W == nil {
		return
	}
	e.Multiply(weighted.Data, weighted.Data, delta.Data)
	e.ColumnSums(l.sum, weighted, false)
	e.Axpy(0.5, l.sum, g.W[i*d:(i+1)*d])
}

// ScoreMatching is denoising score matching as a loss, with the memory that it needs.
type ScoreMatching struct {
	Stop func() bool // as in ascent.Trajectory

	p      *Potential
	weight float64
	sigma  float32
	seed   uint64

	noisy engine.Matrix
	step  ascent.Trajectory // of one step
	grad  *ascent.Gradient
}

// NewScoreMatching makes room for up to n rows at a time. weight is that of the loss,
// sigma the standard deviation of the noise, whose numbers seed decides.
func NewScoreMatching(p *Potential, n int, weight, sigma float64, seed uint64) *ScoreMatching {
	return &ScoreMatching{p: p, weight: weight, sigma: float32(sigma), seed: seed,
		noisy: engine.NewMatrix(n, p.D), grad: p.form.newGradient()}
}

// Loss returns the share that the features x, a piece of a minibatch, have in the loss of score matching with the
// noise of an update, and adds its gradient times the weight to that of the potential; alpha gets none.
func (s *ScoreMatching) Loss(e *engine.Engine, x engine.Matrix, update int, at layer.Piece) float64 {
	p, sigma := s.p, s.sigma
	p.checkBatch("ScoreMatching.Loss", x, s.noisy.Rows)
	y := engine.View(s.noisy.Data[:len(x.Data)], x.Rows, p.D)
	r := num.NewRand(s.seed, uint64(update))
	r.Skip(uint64(at.First * p.D)) // the numbers that the rows before use
	r.Normal(y.Data)
	for j, v := range x.Data {
		y.Data[j] = v + float32(sigma*y.Data[j])
	}
	alpha := sigma * sigma
	s.step.Stop = s.Stop
	p.mixture.Ascend(e, alpha, 1, y, &s.step, true)
	share := 1 / (float64(at.Of*p.D) * float64(alpha))
	slope, sum := float32(2*s.weight*share), 0.0
	for j, v := range x.Data {
		d := y.Data[j] - v
		sum += float64(float64(d) * float64(d))
		y.Data[j] = slope * d
	}
	g := s.grad
	p.mixture.Backward(e, alpha, p.form.factors(), &s.step, y, g)
	to := p.grad
	for _, t := range [][2][]float32{{to.Mu, g.Mu}, {to.C, g.C}, {to.A, g.A}, {to.W, g.W}, {to.F, g.F}} {
		e.Add(t[0], t[0], t[1])
	}
	return sum * share
}
