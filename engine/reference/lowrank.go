package reference

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
)

// LowRank holds precisions P_i = diag(w_i) + S F_i^T F_i of a mixture.
type LowRank struct {
	W blas64.General // K x D
	F blas64.General // K r x D, F_1 above F_2 and so on
	S float64

	// Origin, if set, is subtracted from x and mu_i (D) before F_i multiplies them: only the bounds depend on it.
	Origin []float64
}

// Rank returns r.
func (l *LowRank) Rank() int { return l.F.Rows / l.W.Rows }

// Precisions returns all P_i in full.
func (l *LowRank) Precisions() []blas64.General {
	d, r := l.W.Cols, l.Rank()
	list := make([]blas64.General, l.W.Rows)
	for i := range list {
		p := New(d, d)
		for a := range d {
			p.Data[a*d+a] = l.W.Data[i*l.W.Stride+a]
			for b := range d {
				for row := i * r; row < (i+1)*r; row++ {
					f := l.F.Data[row*l.F.Stride : row*l.F.Stride+d]
					p.Data[a*d+b] += l.S * f[a] * f[b]
				}
			}
		}
		list[i] = p
	}
	return list
}

// Gradient splits the gradients of all P_i (K x D x D, as Potential.Backward gives them)
// into those of W (K x D) and F (K r x D): dw_i = diag(dP_i), dF_i = S F_i (dP_i + dP_i^T).
func (l *LowRank) Gradient(dp []float64) (dw, df []float64) {
	k, d, r := l.W.Rows, l.W.Cols, l.Rank()
	dw, df = make([]float64, k*d), make([]float64, k*r*d)
	for i := range k {
		p := dp[i*d*d : (i+1)*d*d]
		for a := range d {
			dw[i*d+a] = p[a*d+a]
			for row := i * r; row < (i+1)*r; row++ {
				for b := range d {
					df[row*d+b] += l.S * l.F.Data[row*l.F.Stride+a] * (p[a*d+b] + p[b*d+a])
				}
			}
		}
	}
	return dw, df
}

// LowRankEvaluation is the potential with precisions of low rank at one point.
type LowRankEvaluation struct {
	Q, R, Phi Value // K, K, 1
	Grad      Value // D

	z []number // K r
}

// AtLowRank evaluates p at x, taken as exact, with the engine's formulas for precisions of
// low rank and the bounds that they have; p.P is not used.
func (p *Potential) AtLowRank(l *LowRank, x []float64) *LowRankEvaluation {
	k, d, r := p.K, p.D, l.Rank()
	ev := &LowRankEvaluation{Q: newValue(k), R: newValue(k), Phi: newValue(1), Grad: newValue(d),
		z: make([]number, k*r)}
	el, lv := make([]float64, k), make([]float64, k)
	for i := range k {
		mu, w := p.Mu.Data[i*p.Mu.Stride:], l.W.Data[i*l.W.Stride:]
		var squares []number
		for row := i * r; row < (i+1)*r; row++ {
			var z, size, o float64
			roundings := d + laneRoundings(d)
			if l.Origin != nil {
				roundings++
			}
			for j := range d {
				if l.Origin != nil {
					o = l.Origin[j]
				}
				f := l.F.Data[row*l.F.Stride+j]
				z += f * (x[j] - mu[j])
				size += math.Abs(f) * (math.Abs(x[j]-o) + math.Abs(mu[j]-o))
			}
			ev.z[row] = number{z, Gamma(roundings)*size + 2*float64(d)*tiny}
			squares = append(squares, product(ev.z[row], ev.z[row]))
		}
		q, eq := WeightedSquares(x, mu[:d], w[:d])
		s := sum(laneRoundings(r), squares...)
		s.v *= l.S
		whole := sum(1, number{q, eq}, s)
		ev.Q.V[i], ev.Q.E[i] = whole.v, whole.e
		lv[i] = p.C[i] - whole.v/2
		el[i] = whole.e/2 + U*(math.Abs(lv[i])+whole.e/2) + tiny
	}
	logSumExp(lv, el, &ev.R, &ev.Phi)
	for j := range d {
		var part, weight []number
		for i := range k {
			res, w := number{ev.R.V[i], ev.R.E[i]}, exactly(l.W.Data[i*l.W.Stride+j])
			for row := i * r; row < (i+1)*r; row++ {
				part = append(part, product(res, ev.z[row], exactly(-l.S*l.F.Data[row*l.F.Stride+j])))
			}
			part = append(part, product(res, w, exactly(p.Mu.Data[i*p.Mu.Stride+j])))
			weight = append(weight, product(res, w).negative())
		}
		g := sum(1, sum(k*r+k, part...), product(sum(k, weight...), exactly(x[j])))
		ev.Grad.V[j], ev.Grad.E[j] = g.v, g.e
	}
	return ev
}

// StepLowRank returns x + alpha grad phi(x) for x taken as exact, with its bound.
func (p *Potential) StepLowRank(l *LowRank, x []float64) Value {
	ev := p.AtLowRank(l, x)
	next := newValue(p.D)
	for j := range x {
		n := sum(1, exactly(x[j]), product(number{ev.Grad.V[j], ev.Grad.E[j]}, exactly(p.Alpha)))
		next.V[j], next.E[j] = n.v, n.e
	}
	return next
}
