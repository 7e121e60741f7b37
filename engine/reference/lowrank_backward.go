package reference

import "gonum.org/v1/gonum/blas/blas64"

// LowRankGradient is the gradient of a loss with respect to a potential with precisions of
// low rank, with bounds.
type LowRankGradient struct {
	Mu, C, W, F Value // K x D, K, K x D, K r x D
	Alpha       Value // 1
	V           Value // rows x D, with respect to x_0
}

// BackwardLowRank is Backward with the engine's formulas for precisions of low rank.
//
// With z = F_i (x - mu_i), y = F_i u and n = -(r_i y + t_i z), one for each row of the factors,
// the gradient with respect to x is, besides v itself,
//
//	sum_i (S F_i^T n - r_i w_i u - t_i w_i (x - mu_i)).
//
// The gradients of mu_i, w_i and F_i follow from sums over rows and steps of n, t_i, and of their
// products with x and u; mu_i is subtracted once, at the end.
func (p *Potential) BackwardLowRank(l *LowRank, path []blas64.General, v blas64.General) *LowRankGradient {
	b := newLowRankBackward(p, l, v)
	b.steps = len(path) - 1
	for t := b.steps - 1; t >= 0; t-- {
		for row := range b.rows {
			x := path[t].Data[row*path[t].Stride : row*path[t].Stride+p.D]
			b.step(row, x, p.AtLowRank(l, x))
		}
	}
	return b.finish()
}

// lowRankBackward is a backward pass under way. It keeps the terms of every sum over steps and
// rows.
type lowRankBackward struct {
	p           *Potential
	l           *LowRank
	r           int // the rank
	rows, steps int
	v           []number // rows x D: dL/dx of the step

	// Of each row of the factors, then of each component: x times n and -t_i, less z and r_i
	// times u (products, D each), and n and -t_i alone (ones).
	products, ones [][]number
	squares        [][]number // K x D: terms of dw_i without mu_i
	dc             [][]number // K
	dalpha         []number
}

func newLowRankBackward(p *Potential, l *LowRank, v blas64.General) *lowRankBackward {
	k, d, r := p.K, p.D, l.Rank()
	b := &lowRankBackward{p: p, l: l, r: r, rows: v.Rows, v: make([]number, v.Rows*d),
		products: make([][]number, (k*r+k)*d), ones: make([][]number, k*r+k),
		squares: make([][]number, k*d), dc: make([][]number, k)}
	for i := range b.v {
		b.v[i] = exactly(v.Data[i])
	}
	return b
}

func (b *lowRankBackward) weight(i, j int) number { return exactly(b.l.W.Data[i*b.l.W.Stride+j]) }

func (b *lowRankBackward) factor(row, j int) number { return exactly(b.l.F.Data[row*b.l.F.Stride+j]) }

// signed is the factor times S.
func (b *lowRankBackward) signed(row, j int) number {
	return exactly(b.l.S * b.l.F.Data[row*b.l.F.Stride+j])
}

func (b *lowRankBackward) centre(i, j int) number { return exactly(b.p.Mu.Data[i*b.p.Mu.Stride+j]) }

// lowRankStep is the backward pass of one row through one step.
type lowRankStep struct {
	x []float64
	u []number // D: alpha v
	r []number // K: responsibilities
	z []number // K r: F_i (x - mu_i)
	y []number // K r: F_i u
	s []number // K: -u.G_i
	t []number // K: r_i (s_i - sum_l r_l s_l)
	n []number // K r: -(r_i y + t_i z)
}

// step takes the gradient of a row from behind a step to before it.
func (b *lowRankBackward) step(row int, x []float64, ev *LowRankEvaluation) {
	k, d := b.p.K, b.p.D
	s := &lowRankStep{x: x, u: make([]number, d), r: make([]number, k), z: ev.z, y: make([]number, k*b.r),
		s: make([]number, k), t: make([]number, k), n: make([]number, k*b.r)}
	for j := range d {
		s.u[j] = product(exactly(b.p.Alpha), b.v[row*d+j])
	}
	for i := range k {
		s.r[i] = number{ev.R.V[i], ev.R.E[i]}
		s.s[i] = b.projection(s, i)
	}
	b.shares(s)
	for j := range d {
		at := row*d + j
		b.v[at] = sum(1, b.v[at], b.column(s, j))
	}
}

// projection sets y of component i and returns s_i.
func (b *lowRankBackward) projection(s *lowRankStep, i int) number {
	d := b.p.D
	var diagonal, rest []number
	for j := range d {
		w := b.weight(i, j)
		diagonal = append(diagonal, product(s.u[j], exactly(s.x[j]), w),
			product(s.u[j], w, b.centre(i, j)).negative())
	}
	for row := i * b.r; row < (i+1)*b.r; row++ {
		var terms []number
		for j := range d {
			terms = append(terms, product(s.u[j], b.factor(row, j)))
		}
		s.y[row] = sum(d, terms...)
		rest = append(rest, product(s.y[row], s.z[row], exactly(b.l.S)))
	}
	return sum(1, sum(2*d, diagonal...), sum(laneRoundings(b.r), rest...)).negative()
}

// shares sets t and n and adds them to the sums that need neither x nor u.
func (b *lowRankBackward) shares(s *lowRankStep) {
	k := b.p.K
	var terms []number
	for i := range k {
		terms = append(terms, product(s.r[i], s.s[i]))
	}
	mean := sum(k, terms...)
	b.dalpha = append(b.dalpha, product(mean, exactly(1/b.p.Alpha)))
	for i := range k {
		s.t[i] = product(s.r[i], sum(1, s.s[i], mean.negative()))
		for row := i * b.r; row < (i+1)*b.r; row++ {
			s.n[row] = sum(1, product(s.r[i], s.y[row]), product(s.t[i], s.z[row])).negative()
			b.ones[row] = append(b.ones[row], s.n[row])
		}
		b.ones[k*b.r+i] = append(b.ones[k*b.r+i], s.t[i].negative())
		b.dc[i] = append(b.dc[i], s.t[i])
	}
}

// column adds the terms of column j and returns the change of dL/dx there.
func (b *lowRankBackward) column(s *lowRankStep, j int) number {
	k, d := b.p.K, b.p.D
	var back, byU, byX []number
	x, u := exactly(s.x[j]), s.u[j]
	for i := range k {
		r, t, w := s.r[i], s.t[i], b.weight(i, j)
		for row := i * b.r; row < (i+1)*b.r; row++ {
			back = append(back, product(s.n[row], b.signed(row, j)))
			at := row*d + j
			b.products[at] = append(b.products[at], product(s.n[row], x), product(r, s.z[row], u).negative())
		}
		back = append(back, product(t, w, b.centre(i, j)))
		byU = append(byU, product(r, w).negative())
		byX = append(byX, product(t, w).negative())
		at := (k*b.r+i)*d + j
		b.products[at] = append(b.products[at], product(t, x).negative(), product(r, u).negative())
		b.squares[i*d+j] = append(b.squares[i*d+j],
			product(r, u, x).negative(), product(t, x, x, exactly(-0.5)))
	}
	return sum(2, sum(k*b.r+k, back...), product(sum(k, byU...), u), product(sum(k, byX...), x))
}

// finish adds up the sums and subtracts the centres.
func (b *lowRankBackward) finish() *LowRankGradient {
	k, d, r := b.p.K, b.p.D, b.r
	chain := 2 * b.steps * b.rows
	g := &LowRankGradient{Mu: newValue(k * d), C: newValue(k), W: newValue(k * d), F: newValue(k * r * d),
		Alpha: newValue(1), V: newValue(b.rows * d)}
	put := func(to *Value, at int, n number) { to.V[at], to.E[at] = n.v, n.e+float64(chain)*tiny }
	ones := make([]number, k*r+k)
	for i := range ones {
		ones[i] = sum(chain, b.ones[i]...)
	}
	for i := range k {
		put(&g.C, i, sum(laneRoundings(b.rows)+b.steps, b.dc[i]...))
		one := ones[k*r+i]
		for j := range d {
			at, mu := i*d+j, b.centre(i, j)
			total := sum(chain, b.products[(k*r+i)*d+j]...)
			half := sum(1, total, product(one, mu, exactly(-0.5)))
			put(&g.W, at, sum(1, sum(chain, b.squares[at]...), product(half, mu).negative()))
			whole := sum(1, total, product(one, mu).negative())
			terms := []number{product(whole, b.weight(i, j))}
			for row := i * r; row < (i+1)*r; row++ {
				terms = append(terms, product(ones[row], b.signed(row, j)))
				f := sum(1, sum(chain, b.products[row*d+j]...), product(ones[row], mu).negative())
				put(&g.F, row*d+j, product(f, exactly(b.l.S)))
			}
			put(&g.Mu, at, sum(r+1, terms...).negative())
		}
	}
	put(&g.Alpha, 0, sum(laneRoundings(b.rows)+b.steps+1, b.dalpha...))
	for i, n := range b.v {
		put(&g.V, i, n)
	}
	return g
}
