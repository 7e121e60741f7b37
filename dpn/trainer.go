package dpn

import (
	"math"

	"dpnbench/dataset"
	"dpnbench/engine"
)

// Trainer makes one update after another: it holds the memory of a minibatch and the
// optimiser's state. Fit is the loop around it; use a Trainer for a loop of your own.
type Trainer struct {
	m      *Model
	e      *engine.Engine
	params []*Param // those that learn
	table  [256]float32

	x, f, y engine.Matrix // pixels, features and then x_n, logits
	dy, v   engine.Matrix // dL/dlogits, dL/dx_n and then dL/dx_0 and dL/dfeatures
	rstd    []float32
	labels  []byte
	path    engine.Trajectory

	tally tally                   // of an Update
	adam  engine.AdamCoefficients // of a parameter; here because kernels take its address

	beta1t, beta2t float64 // beta1^t and beta2^t of the next update
}

const (
	beta1   = 0.9
	beta2   = 0.999
	adamEps = 1e-8
)

// NewTrainer makes room for gradients and moments, which are zero. The model's centres
// must have been placed (Init).
func NewTrainer(m *Model, e *engine.Engine) *Trainer {
	s := &Trainer{m: m, e: e, table: m.Norm.Table(), beta1t: beta1, beta2t: beta2}
	s.params = []*Param{m.head.bias, m.head.weight}
	if m.Config.Gradient == "exact" {
		s.params = m.Params()
		p := m.potential
		p.grad = p.form.newGradient()
		p.mu.grad, p.c.grad = p.grad.Mu, p.grad.C
	}
	for _, p := range s.params {
		if p.grad == nil {
			p.grad = make([]float32, len(p.Data))
		}
		p.m, p.v = make([]float32, len(p.Data)), make([]float32, len(p.Data))
	}
	b, d := m.Config.Batch, m.Dim()
	s.x = engine.NewMatrix(b, m.Rows*m.Cols)
	s.f, s.v = engine.NewMatrix(b, d), engine.NewMatrix(b, d)
	s.y, s.dy = engine.NewMatrix(b, m.Classes), engine.NewMatrix(b, m.Classes)
	s.rstd, s.labels = make([]float32, b), make([]byte, b)
	return s
}

// Update makes one update of every parameter on the pictures at[0], at[1], ... of set, at
// most Config.Batch of them, with the factor rate on the learning rates. It returns the
// mean loss before the update, and changes nothing when that or the gradient is not
// finite. With the setting "detached" only the classifier learns.
func (s *Trainer) Update(set *dataset.Set, at []int32, rate float64) (loss float64, err error) {
	s.tally.n, s.tally.right, s.tally.loss = 0, 0, 0
	if m := s.m; m.Config.Gradient == "detached" { // Fit does these ascents once for all epochs
		x, f := first(s.x, len(at)), first(s.f, len(at))
		pixels(x, set, at, &s.table)
		m.features(s.e, f, x, s.rstd[:len(at)])
		m.Ascend(s.e, f, m.Config.Steps)
		loss = s.classify(f, engine.Matrix{}, set, at, &s.tally)
	} else {
		loss = s.exact(set, at, &s.tally)
	}
	norm, what := s.check(loss)
	if what != "" {
		return loss, &NotFiniteError{What: what}
	}
	s.update(rate, norm)
	return loss, nil
}

// check returns the norm of the gradient, and what is not finite if anything is.
func (s *Trainer) check(loss float64) (norm float64, what string) {
	if loss-loss != 0 {
		return 0, "loss"
	}
	norm = s.norm()
	if norm-norm == 0 {
		return norm, ""
	}
	if name := s.spoiled(); name != "" {
		return norm, "gradient of " + name
	}
	return norm, "norm of the gradient"
}

// first returns the first n rows of a matrix of the Trainer.
func first(m engine.Matrix, n int) engine.Matrix {
	return engine.View(m.Data[:n*m.Cols], n, m.Cols)
}

// exact computes loss and gradients for the pictures at of set, through the classifier,
// all ascent steps and the extractor. It returns the mean loss.
func (s *Trainer) exact(set *dataset.Set, at []int32, t *tally) float64 {
	m, e, n := s.m, s.e, len(at)
	p := m.potential
	x, f, v := first(s.x, n), first(s.f, n), first(s.v, n)
	pixels(x, set, at, &s.table)
	m.features(e, f, x, s.rstd[:n])
	m.prepare(e)
	e.Ascend(p.mixture, p.Alpha(), m.Config.Steps, f, &s.path, true)

	loss := s.classify(f, v, set, at, t)

	e.AscendBackward(p.mixture, p.Alpha(), p.form.factors(), &s.path, v, p.grad)
	p.form.gradient(e, p.grad)
	p.alpha.grad[0] = p.grad.Alpha * softplusSlope(p.Alpha())
	if m.extractor != nil {
		if m.Config.LayerNorm {
			e.LayerNormBackward(v, s.path.XAt(0), s.rstd[:n], v)
		}
		m.extractor.backward(e, engine.Matrix{}, x, v)
	}
	return loss
}

// detached computes loss and gradients of the classifier alone from denoised features.
func (s *Trainer) detached(denoised engine.Matrix, set *dataset.Set, at []int32, t *tally) float64 {
	f := first(s.f, len(at))
	for b, i := range at {
		copy(f.Row(b), denoised.Row(int(i)))
	}
	return s.classify(f, engine.Matrix{}, set, at, t)
}

// classify runs the classifier on x_n = f forward and backward; v, unless empty,
// receives dL/dx_n. The loss is the mean over the minibatch.
func (s *Trainer) classify(f, v engine.Matrix, set *dataset.Set, at []int32, t *tally) float64 {
	n := f.Rows
	y, dy, labels := first(s.y, n), first(s.dy, n), s.labels[:n]
	for b, i := range at {
		labels[b] = set.Labels[i]
	}
	s.m.head.forward(s.e, y, f)
	sum := t.add(s.e, y, labels, dy, 1/float32(n))
	s.m.head.backward(s.e, v, f, dy)
	return sum / float64(n)
}

// norm returns the Euclidean norm of the whole gradient.
func (s *Trainer) norm() float64 {
	var sum float64
	for _, p := range s.params {
		sum += s.e.SumSquares(p.grad)
	}
	return math.Sqrt(sum)
}

// spoiled names the tensor whose gradient is not finite, or returns "".
func (s *Trainer) spoiled() string {
	for _, p := range s.params {
		for _, g := range p.grad {
			if g-g != 0 {
				return p.Name
			}
		}
	}
	return ""
}

// update makes one step of Adam with the factor rate on the learning rates, the
// gradient scaled down where its norm is above the limit.
func (s *Trainer) update(rate, norm float64) {
	c := s.m.Config
	clip := 1.0
	if c.Clip > 0 && norm > c.Clip {
		clip = c.Clip / norm
	}
	for _, p := range s.params {
		lr := c.LR
		if p.potential {
			lr = c.PotentialLR
		}
		s.adam = engine.AdamCoefficients{
			Clip:  float32(clip),
			Beta1: beta1, OneMinusBeta1: 1 - beta1, Beta2: beta2, OneMinusBeta2: 1 - beta2,
			Step: float32(lr * rate / (1 - s.beta1t)),
			RBC2: float32(1 / math.Sqrt(1-s.beta2t)),
			Eps:  adamEps,
		}
		data := p.Data
		if p == s.m.potential.alpha {
			data = s.m.potential.raw
		}
		s.e.Adam(data, p.grad, p.m, p.v, &s.adam)
	}
	s.beta1t = float64(s.beta1t * beta1) // rounded here, so that 1 - beta1t above is never fused
	s.beta2t = float64(s.beta2t * beta2)
	if c.Gradient == "exact" {
		s.m.potential.alpha.Data[0] = softplus(s.m.potential.raw[0])
		s.m.potential.form.retract(s.e)
		s.m.stale = true
	}
}
