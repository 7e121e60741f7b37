package reference

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
)

// Gradient is the gradient of a loss with respect to the potential, with bounds.
type Gradient struct {
	Mu    Value // K x D
	C     Value // K
	P     Value // K x D x D, of the matrices P_i as if their elements were free
	Alpha Value // 1
	V     Value // rows x D, with respect to x_0
}

// In a run of combinedSteps steps or more with a single active component the engine may take few products of
// combinations of the rows -u_t and D_t for sum_t -u_t^T D_t (package ascent). What they leave out of a row is at most
// combinedError of its length, and of the sum of n steps at most combinedKernel n max|u_t| max|D_t|. The roundings of
// the combinations of either side are relative to its largest elements and to the longest rows of the other side,
// combinedSize times as large as those of a sum.
const (
	combinedSteps  = 16
	combinedError  = 0x1p-19
	combinedKernel = 0x1p-24
	combinedSize   = 2
)

// Backward is the exact backward pass along path = x_0 .. x_n (each rows x D, taken as exact)
// for v = dL/dx_n, in the engine's order: the last step first, rows in increasing order.
//
// A step x' = x + alpha grad phi(x) turns the gradient v with respect to x' into one with respect
// to x: with u = alpha v, s_i = -u.G_i and t_i = r_i (s_i - sum_l r_l s_l),
//
//	dphi_i(x) = -r_i P_i u - t_i G_i,   v + sum_i dphi_i(x)
//
// and adds -dphi_i(x) to dmu_i, t_i to dc_i, (-r_i u - t_i/2 D_i) D_i^T to dP_i and
// sum_i r_i s_i / alpha to dalpha.
func (p *Potential) Backward(path []blas64.General, v blas64.General) *Gradient {
	b := newBackward(p, path, v)
	for t := b.steps - 1; t >= 0; t-- {
		for row := range b.rows {
			x := path[t].Data[row*path[t].Stride : row*path[t].Stride+p.D]
			b.step(row, p.At(x))
		}
	}
	return b.finish()
}

// backward is a backward pass under way. The sizes are sums of absolute values, which the
// rounding errors of sums over rows and steps are in proportion to.
type backward struct {
	p           *Potential
	rows, steps int
	g           *Gradient

	sizeMu, sizeC, sizeP []float64
	sizeAlpha            float64

	d, w         *largest  // of D_i along the path, and of W_i so far; nil if nothing is combined
	sizeCombined []float64 // K x D x D: the error of dP by combinations
}

func newBackward(p *Potential, path []blas64.General, v blas64.General) *backward {
	k, d, rows := p.K, p.D, v.Rows
	b := &backward{p: p, rows: rows, steps: len(path) - 1,
		g: &Gradient{Mu: newValue(k * d), C: newValue(k), P: newValue(k * d * d),
			Alpha: newValue(1), V: newValue(rows * d)},
		sizeMu: make([]float64, k*d), sizeC: make([]float64, k), sizeP: make([]float64, k*d*d),
		sizeCombined: make([]float64, k*d*d)}
	if b.steps >= combinedSteps {
		b.d, b.w = p.largestD(path, rows), newLargest(rows*k, d)
	}
	copy(b.g.V.V, v.Data)
	return b
}

// rowStep is the backward pass of one row through one step.
type rowStep struct {
	row         int
	ev          *Evaluation
	u           Value     // D: alpha v
	s           Value     // K
	mean, eMean float64   // sum_i r_i s_i
	total, eSum []float64 // D: sum_i dphi_i(x)
	absTotal    []float64 // D: sum_i of the absolute values
}

// step takes the gradient of a row from behind a step to before it.
func (b *backward) step(row int, ev *Evaluation) {
	k, d := b.p.K, b.p.D
	s := &rowStep{row: row, ev: ev, u: newValue(d), s: newValue(k),
		total: make([]float64, d), eSum: make([]float64, d), absTotal: make([]float64, d)}
	b.scale(s)
	b.projections(s)
	for i := range k {
		b.component(s, i)
	}
	v := &b.g.V
	for j := range d {
		at := row*d + j
		size := math.Abs(v.V[at]) + v.E[at] + s.absTotal[j]
		v.V[at] += s.total[j]
		v.E[at] += s.eSum[j] + Gamma(k+2)*size
	}
}

// scale sets u = alpha v.
func (b *backward) scale(s *rowStep) {
	alpha, d := b.p.Alpha, b.p.D
	for j := range d {
		v, e := b.g.V.V[s.row*d+j], b.g.V.E[s.row*d+j]
		s.u.V[j] = alpha * v
		s.u.E[j] = alpha*e + U*(math.Abs(s.u.V[j])+alpha*e) + tiny
	}
}

// projections sets s_i and their mean, and adds to dalpha.
func (b *backward) projections(s *rowStep) {
	k, d, ev := b.p.K, b.p.D, s.ev
	abs := math.Abs
	size := 0.0
	for i := range k {
		var a, e float64
		for j := range d {
			gv, ge := ev.G.V[i*d+j], ev.G.E[i*d+j]
			s.s.V[i] -= s.u.V[j] * gv
			a += (abs(s.u.V[j]) + s.u.E[j]) * (abs(gv) + ge)
			e += s.u.E[j]*(abs(gv)+ge) + abs(s.u.V[j])*ge
		}
		s.s.E[i] = e + Gamma(laneRoundings(d))*a + float64(d)*tiny
		s.mean += ev.R.V[i] * s.s.V[i]
		s.eMean += ev.R.E[i]*(abs(s.s.V[i])+s.s.E[i]) + ev.R.V[i]*s.s.E[i]
		size += ev.R.V[i] * abs(s.s.V[i])
	}
	s.eMean += Gamma(k+1) * (size + s.eMean)
	b.g.Alpha.V[0] += s.mean / b.p.Alpha
	b.g.Alpha.E[0] += s.eMean / b.p.Alpha
	b.sizeAlpha += abs(s.mean) / b.p.Alpha
}

// component adds the terms of component i.
func (b *backward) component(s *rowStep, i int) {
	d, abs := b.p.D, math.Abs
	si, esi := s.s.V[i], s.s.E[i]
	r, er := s.ev.R.V[i], s.ev.R.E[i]
	t := r * (si - s.mean)
	et := er*(abs(si-s.mean)+esi+s.eMean) + r*(esi+s.eMean) +
		Gamma(3)*r*(abs(si)+abs(s.mean)+esi+s.eMean) + tiny
	b.g.C.V[i] += t
	b.g.C.E[i] += et
	b.sizeC[i] += abs(t)

	w := newValue(d) // -r_i u - t_i/2 D_i
	for j := range d {
		y, ey := b.precisionTimes(s, i, j)
		gv, ge := s.ev.G.V[i*d+j], s.ev.G.E[i*d+j]
		v := -r*y - t*gv
		e := er*(abs(y)+ey) + r*ey + et*(abs(gv)+ge) + abs(t)*ge
		e += Gamma(3)*(r*abs(y)+abs(t*gv)+e) + 3*tiny
		s.total[j] += v
		s.eSum[j] += e
		s.absTotal[j] += abs(v) + e
		b.g.Mu.V[i*d+j] -= v
		b.g.Mu.E[i*d+j] += e
		b.sizeMu[i*d+j] += abs(v) + e

		u, eu := s.u.V[j], s.u.E[j]
		delta := s.ev.Delta[i*d+j]
		w.V[j] = -r*u - t/2*delta
		w.E[j] = er*(abs(u)+eu) + r*eu + et/2*abs(delta)
		w.E[j] += Gamma(4)*(r*abs(u)+abs(t*delta)/2+w.E[j]) + 3*tiny
	}
	b.outerProduct(s, i, w)
}

// precisionTimes returns element j of P_i u with its bound.
func (b *backward) precisionTimes(s *rowStep, i, j int) (y, ey float64) {
	d, pi, abs := b.p.D, b.p.P[i], math.Abs
	var size float64
	for c := range d {
		w := pi.Data[c*pi.Stride+j]
		y += s.u.V[c] * w
		ey += s.u.E[c] * abs(w)
		size += (abs(s.u.V[c]) + s.u.E[c]) * abs(w)
	}
	return y, ey + Gamma(d+1)*size + float64(d)*tiny
}

// outerProduct adds w D_i^T to dP_i.
func (b *backward) outerProduct(s *rowStep, i int, w Value) {
	d, abs := b.p.D, math.Abs
	n := s.row*b.p.K + i
	if b.w != nil {
		b.w.add(n, func(a int) float64 { return abs(w.V[a]) + w.E[a] })
	}
	for a := range d {
		size := abs(w.V[a]) + w.E[a]
		for c := range d {
			delta := s.ev.Delta[i*d+c]
			at := (i*d+a)*d + c
			b.g.P.V[at] += w.V[a] * delta
			b.g.P.E[at] += (w.E[a] + U*size) * abs(delta)
			b.sizeP[at] += size * abs(delta)
			if b.w != nil {
				ld, lw := b.d.length[n], b.w.length[n]
				b.sizeCombined[at] += combinedError*(size*ld+lw*abs(delta)) + combinedKernel*ld*lw +
					combinedSize*Gamma(b.steps+1)*(b.w.element[n*d+a]*ld+lw*b.d.element[n*d+c])
			}
		}
	}
}

// finish adds the rounding errors of the sums over rows and steps.
func (b *backward) finish() *Gradient {
	g, n := b.g, b.steps*b.rows
	for i := range g.Mu.E {
		g.Mu.E[i] += Gamma(n+1) * b.sizeMu[i]
	}
	for i := range g.C.E {
		g.C.E[i] += Gamma(laneRoundings(b.rows)+b.steps) * (b.sizeC[i] + g.C.E[i])
	}
	for i := range g.P.E {
		g.P.E[i] += Gamma(n+1)*b.sizeP[i] + float64(n)*tiny + b.sizeCombined[i]
	}
	g.Alpha.E[0] += Gamma(laneRoundings(b.rows)+b.steps+1) * (b.sizeAlpha + g.Alpha.E[0])
	return g
}

// largest holds the greatest lengths of vectors of d elements, and of each element the greatest size.
type largest struct {
	d               int
	length, element []float64
}

func newLargest(n, d int) *largest {
	return &largest{d: d, length: make([]float64, n), element: make([]float64, n*d)}
}

// add takes a vector into account for place n.
func (l *largest) add(n int, size func(j int) float64) {
	var length float64
	for j := range l.d {
		v := size(j)
		length = math.Hypot(length, v)
		l.element[n*l.d+j] = max(l.element[n*l.d+j], v)
	}
	l.length[n] = max(l.length[n], length)
}

// largestD returns the largest of D_i along the path, rows x K.
func (p *Potential) largestD(path []blas64.General, rows int) *largest {
	l := newLargest(rows*p.K, p.D)
	for _, x := range path {
		for b := range rows {
			for i := range p.K {
				l.add(b*p.K+i, func(j int) float64 {
					return math.Abs(x.Data[b*x.Stride+j] - p.Mu.Data[i*p.Mu.Stride+j])
				})
			}
		}
	}
	return l
}

// SumOver adds up k gradients of matrices, one chain for each element: that of a matrix
// which all components share.
func SumOver(k int, dp Value) Value {
	n := len(dp.V) / k
	s, size := newValue(n), make([]float64, n)
	for i, v := range dp.V {
		s.V[i%n] += v
		s.E[i%n] += dp.E[i]
		size[i%n] += math.Abs(v) + dp.E[i]
	}
	for i := range size {
		s.E[i] += Gamma(k) * size[i]
	}
	return s
}

// FactorGradient returns dA_i = A_i (dP_i + dP_i^T) with its bound, for gradients of all
// P_i as Backward gives them (k x d x d).
func FactorGradient(a []blas64.General, dp Value) Value {
	da := newValue(len(dp.V))
	for i := range a {
		d := a[i].Rows
		s, es := New(d, d), New(d, d)
		for r := range d {
			for c := range d {
				x, y := (i*d+r)*d+c, (i*d+c)*d+r
				s.Data[r*d+c] = dp.V[x] + dp.V[y]
				es.Data[r*d+c] = dp.E[x] + dp.E[y] + U*(math.Abs(dp.V[x])+math.Abs(dp.V[y])+dp.E[x]+dp.E[y])
			}
		}
		v, e := MatMul(a[i], s, blas64.General{})
		prop, _ := MatMul(Abs(a[i]), es, blas64.General{})
		copy(da.V[i*d*d:], v.Data)
		for j := range e.Data {
			da.E[i*d*d+j] = e.Data[j] + (1+Gamma(d+1))*prop.Data[j]
		}
	}
	return da
}
