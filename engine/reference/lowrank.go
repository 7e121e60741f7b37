package reference

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
)

// LowRank holds precisions P_i = diag(w_i) + Sign F_i^T F_i of a mixture.
type LowRank struct {
	W    blas64.General // K x D
	F    blas64.General // K r x D, F_1 above F_2 and so on
	Sign float64
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
					p.Data[a*d+b] += l.Sign * f[a] * f[b]
				}
			}
		}
		list[i] = p
	}
	return list
}

// Gradient splits the gradients of all P_i (K x D x D, as Potential.Backward gives them)
// into those of W (K x D) and F (K r x D): dw_i = diag(dP_i), dF_i = Sign F_i (dP_i + dP_i^T).
func (l *LowRank) Gradient(dp []float64) (dw, df []float64) {
	k, d, r := l.W.Rows, l.W.Cols, l.Rank()
	dw, df = make([]float64, k*d), make([]float64, k*r*d)
	for i := range k {
		p := dp[i*d*d : (i+1)*d*d]
		for a := range d {
			dw[i*d+a] = p[a*d+a]
			for row := i * r; row < (i+1)*r; row++ {
				for b := range d {
					df[row*d+b] += l.Sign * l.F.Data[row*l.F.Stride+a] * (p[a*d+b] + p[b*d+a])
				}
			}
		}
	}
	return dw, df
}

// number is a float64 value with a bound on the error of the engine's float32 result, and
// the rules by which such errors go on through sums and products (running error analysis).
type number struct{ v, e float64 }

func exactly(v float64) number { return number{v: v} }

// sum adds numbers up, in any order of that many roundings.
func sum(roundings int, terms ...number) number {
	var s number
	var size float64
	for _, t := range terms {
		s.v += t.v
		s.e += t.e
		size += math.Abs(t.v) + t.e
	}
	s.e += Gamma(roundings) * size
	return s
}

// product multiplies numbers, with a rounding after each.
func product(x number, more ...number) number {
	for _, y := range more {
		e := math.Abs(x.v)*y.e + x.e*math.Abs(y.v) + x.e*y.e
		x = number{x.v * y.v, e}
		x.e += U*(math.Abs(x.v)+e) + tiny
	}
	return x
}

func (x number) negative() number { return number{-x.v, x.e} }

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
	ev := &LowRankEvaluation{Q: newValue(k), R: newValue(k), Phi: newValue(1), Grad: newValue(d), z: make([]number, k*r)}
	el, lv := make([]float64, k), make([]float64, k)
	for i := range k {
		mu, w := p.Mu.Data[i*p.Mu.Stride:], l.W.Data[i*l.W.Stride:]
		var squares []number
		for row := i * r; row < (i+1)*r; row++ {
			var z, size float64
			for j := range d {
				f := l.F.Data[row*l.F.Stride+j]
				z += f * (x[j] - mu[j])
				size += math.Abs(f) * (math.Abs(x[j]) + math.Abs(mu[j]))
			}
			ev.z[row] = number{z, Gamma(d+laneRoundings(d))*size + 2*float64(d)*tiny}
			squares = append(squares, product(ev.z[row], ev.z[row]))
		}
		q, eq := WeightedSquares(x, mu[:d], w[:d])
		s := sum(laneRoundings(r), squares...)
		s.v *= l.Sign
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
				part = append(part, product(res, ev.z[row], exactly(-l.Sign*l.F.Data[row*l.F.Stride+j])))
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

// LowRankGradient is the gradient of a loss with respect to a potential with precisions of
// low rank, with bounds.
type LowRankGradient struct {
	Mu, C, W, F Value // K x D, K, K x D, K r x D
	Alpha       Value // 1
	V           Value // rows x D, with respect to x_0
}

// BackwardLowRank is Backward with the engine's formulas for precisions of low rank.
func (p *Potential) BackwardLowRank(l *LowRank, path []blas64.General, v blas64.General) *LowRankGradient {
	k, d, r, rows, steps := p.K, p.D, l.Rank(), v.Rows, len(path)-1
	w := func(i, j int) number { return exactly(l.W.Data[i*l.W.Stride+j]) }
	f := func(row, j int) number { return exactly(l.F.Data[row*l.F.Stride+j]) }
	sf := func(row, j int) number { return exactly(l.Sign * l.F.Data[row*l.F.Stride+j]) }
	mu := func(i, j int) number { return exactly(p.Mu.Data[i*p.Mu.Stride+j]) }
	// The terms of every sum over steps and rows.
	sums, squares := make([][]number, (k*r+k)*d), make([][]number, k*d)
	ones, dc := make([][]number, k*r+k), make([][]number, k)
	var dalpha []number
	pull := make([]number, rows*d)
	for i := range pull {
		pull[i] = exactly(v.Data[i])
	}
	for t := steps - 1; t >= 0; t-- {
		for b := range rows {
			x := path[t].Data[b*path[t].Stride : b*path[t].Stride+d]
			ev := p.AtLowRank(l, x)
			res := func(i int) number { return number{ev.R.V[i], ev.R.E[i]} }
			u := make([]number, d)
			for j := range d {
				u[j] = product(exactly(p.Alpha), pull[b*d+j])
			}
			y, s := make([]number, k*r), make([]number, k)
			for i := range k {
				var diagonal, rest []number
				for j := range d {
					diagonal = append(diagonal, product(u[j], exactly(x[j]), w(i, j)), product(u[j], w(i, j), mu(i, j)).negative())
				}
				for row := i * r; row < (i+1)*r; row++ {
					var terms []number
					for j := range d {
						terms = append(terms, product(u[j], f(row, j)))
					}
					y[row] = sum(d, terms...)
					rest = append(rest, product(y[row], ev.z[row], exactly(l.Sign)))
				}
				s[i] = sum(1, sum(2*d, diagonal...), sum(laneRoundings(r), rest...)).negative()
			}
			var terms []number
			for i := range k {
				terms = append(terms, product(res(i), s[i]))
			}
			mean := sum(k, terms...)
			dalpha = append(dalpha, product(mean, exactly(1/p.Alpha)))
			ti, n := make([]number, k), make([]number, k*r)
			for i := range k {
				ti[i] = product(res(i), sum(1, s[i], mean.negative()))
				for row := i * r; row < (i+1)*r; row++ {
					n[row] = sum(1, product(res(i), y[row]), product(ti[i], ev.z[row])).negative()
					ones[row] = append(ones[row], n[row])
				}
				ones[k*r+i] = append(ones[k*r+i], ti[i].negative())
				dc[i] = append(dc[i], ti[i])
			}
			for j := range d {
				var back, byU, byX []number
				xj := exactly(x[j])
				for i := range k {
					for row := i * r; row < (i+1)*r; row++ {
						back = append(back, product(n[row], sf(row, j)))
						sums[row*d+j] = append(sums[row*d+j], product(n[row], xj), product(res(i), ev.z[row], u[j]).negative())
					}
					back = append(back, product(ti[i], w(i, j), mu(i, j)))
					byU = append(byU, product(res(i), w(i, j)).negative())
					byX = append(byX, product(ti[i], w(i, j)).negative())
					at := (k*r+i)*d + j
					sums[at] = append(sums[at], product(ti[i], xj).negative(), product(res(i), u[j]).negative())
					squares[i*d+j] = append(squares[i*d+j], product(res(i), u[j], xj).negative(), product(ti[i], xj, xj, exactly(-0.5)))
				}
				total := sum(2, sum(k*r+k, back...), product(sum(k, byU...), u[j]), product(sum(k, byX...), xj))
				pull[b*d+j] = sum(1, pull[b*d+j], total)
			}
		}
	}
	chain := 2 * steps * rows
	g := &LowRankGradient{Mu: newValue(k * d), C: newValue(k), W: newValue(k * d), F: newValue(k * r * d), Alpha: newValue(1), V: newValue(rows * d)}
	put := func(to *Value, at int, n number) { to.V[at], to.E[at] = n.v, n.e+float64(chain)*tiny }
	column := make([]number, k*r+k)
	for i := range column {
		column[i] = sum(chain, ones[i]...)
	}
	for i := range k {
		put(&g.C, i, sum(laneRoundings(rows)+steps, dc[i]...))
		for j := range d {
			at := i*d + j
			total := sum(chain, sums[(k*r+i)*d+j]...)
			one := column[k*r+i]
			half := sum(1, total, product(one, mu(i, j), exactly(-0.5)))
			put(&g.W, at, sum(1, sum(chain, squares[at]...), product(half, mu(i, j)).negative()))
			terms := []number{product(sum(1, total, product(one, mu(i, j)).negative()), w(i, j))}
			for row := i * r; row < (i+1)*r; row++ {
				terms = append(terms, product(column[row], sf(row, j)))
				put(&g.F, row*d+j, product(sum(1, sum(chain, sums[row*d+j]...), product(column[row], mu(i, j)).negative()), exactly(l.Sign)))
			}
			put(&g.Mu, at, sum(r+1, terms...).negative())
		}
	}
	put(&g.Alpha, 0, sum(laneRoundings(rows)+steps+1, dalpha...))
	for i, n := range pull {
		put(&g.V, i, n)
	}
	return g
}
