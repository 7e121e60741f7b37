package reference

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
)

// Potential is phi(x) = log sum_i exp(c_i - (x - mu_i)^T P_i (x - mu_i) / 2), the logarithm of a
// mixture of Gaussians, with the step size of its gradient ascent.
type Potential struct {
	K, D  int
	C     []float64        // K
	Mu    blas64.General   // K x D
	P     []blas64.General // K matrices D x D, symmetric
	Alpha float64
}

// Factors returns P_i = A_i^T A_i.
func Factors(a []blas64.General) []blas64.General {
	p := make([]blas64.General, len(a))
	for i := range a {
		p[i], _ = MatMul(Transpose(a[i]), a[i], blas64.General{})
	}
	return p
}

// Evaluation is the potential and its gradient at one point.
type Evaluation struct {
	Delta []float64 // K x D: x - mu_i
	G     Value     // K x D: P_i (x - mu_i)
	Q     Value     // K
	Phi   Value     // 1
	R     Value     // K
	Grad  Value     // D
}

// cutShare bounds what the engine leaves out by setting responsibilities below 2^-30 to
// zero.
const cutShare = 0x1p-30

// At evaluates the potential at x, taken as exact.
func (p *Potential) At(x []float64) *Evaluation {
	k, d := p.K, p.D
	ev := &Evaluation{Delta: make([]float64, k*d), G: newValue(k * d), Q: newValue(k),
		Phi: newValue(1), R: newValue(k), Grad: newValue(d)}
	l, el := make([]float64, k), make([]float64, k)
	for i := range k {
		p.quadForm(i, x, ev)
		l[i] = p.C[i] - ev.Q.V[i]/2
		el[i] = ev.Q.E[i]/2 + U*(math.Abs(l[i])+ev.Q.E[i]/2) + tiny
	}
	logSumExp(l, el, &ev.R, &ev.Phi)
	for j := range d {
		var g, e, size float64
		for i := range k {
			gv, ge := ev.G.V[i*d+j], ev.G.E[i*d+j]
			g -= ev.R.V[i] * gv
			size += ev.R.V[i] * math.Abs(gv)
			e += ev.R.E[i]*(math.Abs(gv)+ge) + ev.R.V[i]*ge
		}
		ev.Grad.V[j], ev.Grad.E[j] = g, e+Gamma(k+1)*(size+e)+float64(k)*tiny
	}
	return ev
}

// quadForm sets D_i = x - mu_i, G_i = P_i D_i and q_i = D_i.G_i of one component.
func (p *Potential) quadForm(i int, x []float64, ev *Evaluation) {
	d := p.D
	delta := ev.Delta[i*d : (i+1)*d]
	for j := range d {
		delta[j] = x[j] - p.Mu.Data[i*p.Mu.Stride+j]
	}
	var size, q, eq float64
	for j := range d {
		var g, a float64
		for c, v := range delta {
			w := p.P[i].Data[c*p.P[i].Stride+j]
			g += v * w
			a += math.Abs(v * w)
		}
		e := Gamma(d+1)*a + float64(d)*tiny
		ev.G.V[i*d+j], ev.G.E[i*d+j] = g, e
		q += g * delta[j]
		eq += e*math.Abs(delta[j]) + U*math.Abs(g*delta[j])
		size += (math.Abs(g) + e) * math.Abs(delta[j])
	}
	ev.Q.V[i], ev.Q.E[i] = q, eq+Gamma(laneRoundings(d))*size+float64(d)*tiny
}

// LogSumExp returns responsibilities and potential of one row from its quadratic forms,
// taken as exact.
func LogSumExp(q, c []float64) (r, phi Value) {
	l, el := make([]float64, len(q)), make([]float64, len(q))
	for i := range q {
		l[i] = c[i] - q[i]/2
		el[i] = U*math.Abs(l[i]) + tiny
	}
	r, phi = newValue(len(q)), newValue(1)
	logSumExp(l, el, &r, &phi)
	return r, phi
}

func logSumExp(l, el []float64, r, phi *Value) {
	k := len(l)
	m, em := math.Inf(-1), 0.0
	for i := range l {
		m, em = max(m, l[i]), max(em, el[i])
	}
	var s, cut float64
	for i := range l {
		r.V[i] = math.Exp(l[i] - m)
		s += r.V[i]
		cut += cutShare
	}
	// The relative error of e_i: that of its argument (both l, and one rounding of a
	// difference no larger than the cut, or e_i is below it) and one ULP of exp.
	rel := func(i int) float64 {
		return math.Expm1(el[i]+em+U*min(m-l[i], 30*math.Ln2)) + 2*U
	}
	worst := 0.0
	for i := range l {
		worst = max(worst, rel(i)*r.V[i]/s)
	}
	sumRel := float64(k)*worst + Gamma(k) + cut/s
	for i := range l {
		r.V[i] /= s
		r.E[i] = r.V[i]*(rel(i)+sumRel+2*U) + cutShare
	}
	phi.V[0] = m + math.Log(s)
	phi.E[0] = em + sumRel + 2*U*math.Log(s) + U*math.Abs(phi.V[0]) + tiny
}

// Step returns x + alpha grad phi(x) for x taken as exact, with its bound.
func (p *Potential) Step(x []float64) Value {
	ev := p.At(x)
	next := newValue(p.D)
	for j := range x {
		next.V[j] = x[j] + p.Alpha*ev.Grad.V[j]
		next.E[j] = p.Alpha*ev.Grad.E[j] + U*(math.Abs(next.V[j])+p.Alpha*ev.Grad.E[j]) + tiny
	}
	return next
}

// Ascend returns x_0 .. x_n for every row of x.
func (p *Potential) Ascend(x blas64.General, n int) []blas64.General {
	path := []blas64.General{x}
	for range n {
		next := New(x.Rows, x.Cols)
		for b := range x.Rows {
			copy(next.Data[b*next.Stride:], p.Step(x.Data[b*x.Stride:b*x.Stride+x.Cols]).V)
		}
		path = append(path, next)
		x = next
	}
	return path
}
