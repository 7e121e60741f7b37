package reference

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
)

// Potential is the log of a mixture of Gaussians (DESIGN 2.1) with its step size.
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

// Value is a number with a bound on the error of the engine's float32 result.
type Value struct {
	V []float64
	E []float64
}

func newValue(n int) Value { return Value{make([]float64, n), make([]float64, n)} }

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
	ev := &Evaluation{Delta: make([]float64, k*d), G: newValue(k * d), Q: newValue(k), Phi: newValue(1), R: newValue(k), Grad: newValue(d)}
	l, el := make([]float64, k), make([]float64, k)
	for i := range k {
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
		eq += Gamma(laneRoundings(d))*size + float64(d)*tiny
		ev.Q.V[i], ev.Q.E[i] = q, eq
		l[i] = p.C[i] - q/2
		el[i] = eq/2 + U*(math.Abs(l[i])+eq/2) + tiny
	}
	logSumExp(l, el, &ev.R, &ev.Phi)
	for j := range d {
		var g, e, size float64
		for i := range k {
			g -= ev.R.V[i] * ev.G.V[i*d+j]
			size += ev.R.V[i] * math.Abs(ev.G.V[i*d+j])
			e += ev.R.E[i]*(math.Abs(ev.G.V[i*d+j])+ev.G.E[i*d+j]) + ev.R.V[i]*ev.G.E[i*d+j]
		}
		ev.Grad.V[j], ev.Grad.E[j] = g, e+Gamma(k+1)*(size+e)+float64(k)*tiny
	}
	return ev
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

// Gradient is the gradient of a loss with respect to the potential, with bounds.
type Gradient struct {
	Mu    Value // K x D
	C     Value // K
	P     Value // K x D x D, of the matrices P_i as if their elements were free
	Alpha Value // 1
	V     Value // rows x D, with respect to x_0
}

// Of a way of waySteps steps or more with one component the engine may take combinations of a few
// D_i for all (its powers.go): each is off by at most wayError times its length. Their
// coefficients add up to less than waySize, and so do the roundings of sums with them.
const (
	waySteps = 16
	wayError = 0x1p-19
	waySize  = 8
)

// Backward is the exact backward pass (DESIGN 2.2) along path = x_0 .. x_n (each rows x
// D, taken as exact) for v = dL/dx_n, in the engine's order: the last step first, rows
// in increasing order.
func (p *Potential) Backward(path []blas64.General, v blas64.General) *Gradient {
	k, d, rows, steps := p.K, p.D, v.Rows, len(path)-1
	g := &Gradient{Mu: newValue(k * d), C: newValue(k), P: newValue(k * d * d), Alpha: newValue(1), V: newValue(rows * d)}
	copy(g.V.V, v.Data)
	sizeMu, sizeC, sizeP, sizeAlpha := make([]float64, k*d), make([]float64, k), make([]float64, k*d*d), 0.0
	abs := math.Abs
	way := p.wayDistances(path, rows)
	sizeWay := make([]float64, k*d*d)
	for t := steps - 1; t >= 0; t-- {
		for b := range rows {
			ev := p.At(path[t].Data[b*path[t].Stride : b*path[t].Stride+d])
			u := newValue(d)
			for j := range d {
				u.V[j] = p.Alpha * g.V.V[b*d+j]
				u.E[j] = p.Alpha*g.V.E[b*d+j] + U*(abs(u.V[j])+p.Alpha*g.V.E[b*d+j]) + tiny
			}
			s := newValue(k)
			sr, esr, size := 0.0, 0.0, 0.0
			for i := range k {
				var a, e float64
				for j := range d {
					gv, ge := ev.G.V[i*d+j], ev.G.E[i*d+j]
					s.V[i] -= u.V[j] * gv
					a += (abs(u.V[j]) + u.E[j]) * (abs(gv) + ge)
					e += u.E[j]*(abs(gv)+ge) + abs(u.V[j])*ge
				}
				s.E[i] = e + Gamma(laneRoundings(d))*a + float64(d)*tiny
				sr += ev.R.V[i] * s.V[i]
				esr += ev.R.E[i]*(abs(s.V[i])+s.E[i]) + ev.R.V[i]*s.E[i]
				size += ev.R.V[i] * abs(s.V[i])
			}
			esr += Gamma(k+1) * (size + esr)
			g.Alpha.V[0] += sr / p.Alpha
			g.Alpha.E[0] += esr / p.Alpha
			sizeAlpha += abs(sr) / p.Alpha

			total, etotal, stotal := make([]float64, d), make([]float64, d), make([]float64, d)
			for i := range k {
				r, er := ev.R.V[i], ev.R.E[i]
				ti := r * (s.V[i] - sr)
				eti := er*(abs(s.V[i]-sr)+s.E[i]+esr) + r*(s.E[i]+esr) + Gamma(3)*r*(abs(s.V[i])+abs(sr)+s.E[i]+esr) + tiny
				g.C.V[i] += ti
				g.C.E[i] += eti
				sizeC[i] += abs(ti)
				pi := p.P[i]
				w, ew := make([]float64, d), make([]float64, d)
				for j := range d {
					var y, ey, sy float64
					for c := range d {
						y += u.V[c] * pi.Data[c*pi.Stride+j]
						ey += u.E[c] * abs(pi.Data[c*pi.Stride+j])
						sy += (abs(u.V[c]) + u.E[c]) * abs(pi.Data[c*pi.Stride+j])
					}
					ey += Gamma(d+1)*sy + float64(d)*tiny
					gv, ge := ev.G.V[i*d+j], ev.G.E[i*d+j]
					e := -r*y - ti*gv
					ee := er*(abs(y)+ey) + r*ey + eti*(abs(gv)+ge) + abs(ti)*ge
					ee += Gamma(3)*(r*abs(y)+abs(ti*gv)+ee) + 3*tiny
					total[j] += e
					etotal[j] += ee
					stotal[j] += abs(e) + ee
					g.Mu.V[i*d+j] -= e
					g.Mu.E[i*d+j] += ee
					sizeMu[i*d+j] += abs(e) + ee
					delta := ev.Delta[i*d+j]
					w[j] = -r*u.V[j] - ti/2*delta
					ew[j] = er*(abs(u.V[j])+u.E[j]) + r*u.E[j] + eti/2*abs(delta)
					ew[j] += Gamma(4)*(r*abs(u.V[j])+abs(ti*delta)/2+ew[j]) + 3*tiny
				}
				for a := range d {
					for c := range d {
						delta := ev.Delta[i*d+c]
						at := (i*d+a)*d + c
						g.P.V[at] += w[a] * delta
						g.P.E[at] += (ew[a] + U*(abs(w[a])+ew[a])) * abs(delta)
						sizeP[at] += (abs(w[a]) + ew[a]) * abs(delta)
						sizeWay[at] += (abs(w[a]) + ew[a]) * way[b*k+i]
					}
				}
			}
			for j := range d {
				size := abs(g.V.V[b*d+j]) + g.V.E[b*d+j] + stotal[j]
				g.V.V[b*d+j] += total[j]
				g.V.E[b*d+j] += etotal[j] + Gamma(k+2)*size
			}
		}
	}
	n := steps * rows
	for i := range g.Mu.E {
		g.Mu.E[i] += Gamma(n+1) * sizeMu[i]
	}
	for i := range g.C.E {
		g.C.E[i] += Gamma(laneRoundings(rows)+steps) * (sizeC[i] + g.C.E[i])
	}
	for i := range g.P.E {
		g.P.E[i] += Gamma(n+1)*sizeP[i] + float64(n)*tiny + sizeWay[i]
	}
	g.Alpha.E[0] += Gamma(laneRoundings(rows)+steps+1) * (sizeAlpha + g.Alpha.E[0])
	return g
}

// wayDistances returns how far the D_i that Backward's engine may take for another are off at most,
// rows x k.
func (p *Potential) wayDistances(path []blas64.General, rows int) []float64 {
	off := make([]float64, rows*p.K)
	if len(path) <= waySteps {
		return off
	}
	for _, x := range path {
		for b := range rows {
			for i := range p.K {
				var length float64
				for j := range p.D {
					length = math.Hypot(length, x.Data[b*x.Stride+j]-p.Mu.Data[i*p.Mu.Stride+j])
				}
				off[b*p.K+i] = max(off[b*p.K+i], length*(wayError+waySize*Gamma(len(path)+1)))
			}
		}
	}
	return off
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
