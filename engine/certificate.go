package engine

import (
	"math"
	"slices"
)

// Certificates prove, before l_i of a row is computed, that it would fall under the cut of
// responsibilities (ResponsibilityCut), so that component i adds exact zeros and can be left
// out. They bound the l_i that the kernels *would compute*, so every bound carries the
// roundings of q_i (Higham, Accuracy and Stability of Numerical Algorithms, section 3.1:
// gamma_n = n u / (1 - n u), u = 2^-24). Everything here is float64 and decides what is
// computed, never what comes out.
//
// With q_i(x) = |A_i (x - mu_i)|^2 there are four:
//
//   - distance: q_i is at least the smallest eigenvalue of P_i times |x - mu_i|^2;
//   - movement: sqrt(q_i) is a norm, so it changes by at most |A_i|_2 |x' - x|;
//   - support: where G_i and q_i are known at some y, sqrt(q_i(x)) is at least
//     (x - mu_i) G_i(y) / sqrt(q_i(y)), by the inequality of Cauchy and Schwarz;
//   - straight ways: on its way to mu_a a row need not be watched (straight.go).
type certificate struct {
	norm     float64   // at least |A_i|_2
	least    float64   // at most the smallest eigenvalue of P_i; 0 where nothing is known
	mu       float64   // at least |mu_i|
	diagonal []float32 // of P_i = A_i^T A_i, if it has no other elements
	even     float64   // p where P_i is p I, plus or less factors of low rank if it has any, or 0

	// q_i as computed differs from q_i by at most
	// byFar |x-mu|^2 + byBoth |x-mu| (|x|+|mu|) + bySum (|x|+|mu|)^2
	byFar, byBoth, bySum float64

	// G_i as computed differs from P_i (x - mu_i) by at most gradient |x-mu|; of precisions
	// A_i^T A_i.
	gradient float64
}

const (
	unit      = 0x1p-24       // of float32 rounding
	nearCut   = 30 * math.Ln2 // -ResponsibilityCut
	cutGuard  = 1 + 0x1p-20   // for the rounding of l_i - m, and of the cut itself
	guard     = 1 + 0x1p-30   // for the float64 arithmetic of a bound
	hugeSize  = 1e30          // beyond it q_i may leave the range of float32: nothing is certain
	leastSum  = 1e-30         // covers what underflows
	leastRoot = 1e-15         // its root
	lanesSum  = 10            // roundings in a sum over 16 lanes of n numbers, beyond n/16
)

// gamma is n u / (1 - n u).
func gamma(n int) float64 { return float64(n) * unit / (1 - float64(n)*unit) }

// laneRoundings is the number of roundings that a number meets in a sum in lanes.
func laneRoundings(n int) int { return n/16 + lanesSum }

// roundings bounds the error of q_i as computed, of a row at most far from mu_i, with |x| +
// |mu_i| at most sum.
func (c *certificate) roundings(far, sum float64) float64 {
	return (c.byFar*far*far+c.byBoth*far*sum+c.bySum*sum*sum)*guard + leastSum
}

// certify makes the certificates of a mixture whose precisions have been set, and says
// whether it can: those of SetPrecisions need not be positive semidefinite.
func (e *Engine) certify(m *Mixture) bool {
	if m.certificates != nil {
		e.centreNorms(m)
		return true
	}
	if !m.certifiable() {
		return false
	}
	if m.certificateList == nil {
		m.certificateList = make([]certificate, m.K)
	}
	list := m.certificateList
	if !m.certified {
		j := &e.certifying
		*j = certifyJob{e: e, m: m, list: list}
		d := float64(m.D)
		n, cost := len(m.p), float64(len(m.p))*d*d // about a nanosecond an element
		if m.low != nil {
			n, cost = m.K, float64(m.K*(1+m.low.r*m.low.r/4))*d/4
		}
		e.run(j, n, cost*e.kern.flopPerMicrosecond/1e3)
		*j = certifyJob{}
	}
	for i := len(m.p); m.low == nil && i < m.K; i++ { // one P for all
		list[i] = list[0]
	}
	for i := range list {
		if c := &list[i]; !(c.norm > 0 && c.norm < math.Sqrt(hugeSize)) {
			m.uncertain = true
			return false
		}
	}
	m.certificates = list
	e.centreNorms(m)
	return true
}

// centreNorms brings |mu_i| up to date: the centres belong to the caller.
func (e *Engine) centreNorms(m *Mixture) {
	for i := range m.certificates {
		m.certificates[i].mu = e.scratch[0].upperNorm(e.kern, m.mu(i))
	}
}

// upperNorm returns a number that is at least |x|, or NaN.
func (a *arena) upperNorm(kern *kernels, x []float32) float64 {
	return math.Sqrt(a.dot(kern, x, x)*(1+2*gamma(laneRoundings(len(x))))+leastSum) * guard
}

// dot returns the dot product of x and y.
func (a *arena) dot(kern *kernels, x, y []float32) float64 {
	kern.dotRows(a.one[:], x, 0, y, 0, len(x))
	return float64(a.one[0])
}

// distance returns a number that is at least |x - y|, or NaN.
func (a *arena) distance(kern *kernels, x, y []float32) float64 {
	kern.sqdistRows(a.one[:], x, 0, y)
	return math.Sqrt(float64(a.one[0])*(1+2*gamma(laneRoundings(len(x))+4))+leastSum) * guard
}

type certifyJob struct {
	e    *Engine
	m    *Mixture
	list []certificate
}

func (j *certifyJob) run(worker, i int) {
	switch {
	case j.m.low != nil:
		j.low(worker, i)
	default:
		j.dense(worker, i)
	}
}

// dense bounds P_i = A_i^T A_i. Its entries, chains of products, are off by at most gamma_d
// |A_i|^T |A_i|, whose norm is at most the square of that of |A_i|: the largest element of
// the diagonal and the root of the squares of the others. All squares are the trace of P_i, whose
// chains add up what is not negative. The norm of P_i itself is often bounded better by its
// distance from a multiple of the identity.
func (j *certifyJob) dense(worker, i int) {
	m, d, arena := j.m, j.m.D, &j.e.scratch[worker]
	a, p := View(m.a[i*d*d:(i+1)*d*d], d, d), &m.p[i]
	diagonal := a.diagonal()
	var trace, own, squares, most float64
	least := math.Inf(1)
	for r := range d {
		w := math.Abs(float64(a.Row(r)[r]))
		least, most = min(least, w), max(most, w)
		own += w * w
		trace += float64(p.onDiagonal(r))
	}
	if !diagonal {
		squares = max(trace*(1+2*gamma(d))*guard-own/guard, 0) + leastSum
	}
	c := certificate{}
	root := most + math.Sqrt(squares)*guard
	size := root * root * guard
	square := min(size, j.deviation(arena, p)+gamma(d+4)*size)
	if diagonal {
		c.diagonal = j.list[i].diagonal
		growSlice(&c.diagonal, d)
		for r := range d {
			c.diagonal[r] = p.onDiagonal(r)
		}
		c.least, square = least*least*(1-4*unit), most*most*(1+4*unit)
		if slices.Min(c.diagonal) == slices.Max(c.diagonal) {
			c.even = float64(c.diagonal[0])
		}
	}
	c.norm = math.Sqrt(square) * guard
	c.computed(d, size)
	j.list[i] = c
}

// computed sets the roundings of P D, where size is at least the square of the norm of |A|.
func (c *certificate) computed(d int, size float64) {
	c.byFar = gamma(2*d+laneRoundings(d)+8) * size * 1.01
	c.gradient = gamma(2*d+8) * size * 1.01
}

// diagonal says whether all elements beside the diagonal are 0.
func (m Matrix) diagonal() bool {
	for r := range m.Rows {
		for k, v := range m.Row(r) {
			if v != 0 && k != r {
				return false
			}
		}
	}
	return true
}

// deviation bounds the norm of a packed symmetric matrix P by t + |P - t I|_F, with t the
// mean of its diagonal.
func (j *certifyJob) deviation(arena *arena, p *Packed) float64 {
	const run, runs = 1024, 64 // numbers of a sum, and sums of a call
	var squares, trace float64
	sums := arena.floats(slotS, runs)
	for x := p.data; len(x) > 0; { // padding holds zeros if P is finite
		length := min(run, len(x))
		n := min(len(x)/length, runs)
		j.e.kern.dotRows(sums[:n], x, length, x, length, length)
		for _, v := range sums[:n] {
			squares += float64(v)
		}
		x = x[n*length:]
	}
	for r := range p.cols {
		trace += float64(p.onDiagonal(r))
	}
	squares = squares*(1+2*gamma(laneRoundings(run))) + leastSum
	mean := trace / float64(p.cols)
	return mean + math.Sqrt(max(squares-mean*trace, 0)+squares*0x1p-40)*guard
}

// onDiagonal returns element (r, r) of a square matrix.
func (p *Packed) onDiagonal(r int) float32 {
	d, nr, nb := p.cols, p.kern.nr, p.blocks()
	kb := 0
	for _, k1 := part(d, nb, kb); r >= k1; _, k1 = part(d, nb, kb) {
		kb++
	}
	k0, k1 := part(d, nb, kb)
	return p.panel(r/nr, k0, k1)[(r-k0)*nr+r%nr]
}

// low bounds P_i = diag(w_i) + S F_i^T F_i. Where S is -1 it proves that P_i is positive
// definite, by the largest sum of a row of |F_i F_i^T|; otherwise its norm is NaN.
func (j *certifyJob) low(worker, i int) {
	l, d := j.m.low, j.m.D
	w, f := l.w[i*d:(i+1)*d], l.f[i*l.r*d:(i+1)*l.r*d]
	low, high, number := w[0], w[0], true
	for _, v := range w {
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
		number = number && v == v
	}
	least, most := float64(low), float64(high)
	if !number {
		least = math.NaN()
	}
	dots := j.e.scratch[worker].floats(slotS, max(l.r, 1))[:l.r]
	var squares, gram float64
	for p := range l.r {
		row := f[p*d : (p+1)*d]
		if l.sign > 0 {
			j.e.kern.dotRows(dots[p:p+1], row, 0, row, 0, d)
		} else {
			var sum float64
			j.e.kern.dotRows(dots, f, d, row, 0, d)
			for _, v := range dots {
				sum += math.Abs(float64(v))
			}
			gram = max(gram, sum)
		}
		squares += float64(dots[p])
	}
	slack := 1 + 2*gamma(laneRoundings(d))
	squares = squares*slack + leastSum
	c := certificate{least: max(least, 0), norm: math.Sqrt(most+squares) * guard}
	if l.sign < 0 {
		// Each dot is off by at most gamma |F_p| |F_q|, and r of them make a row.
		gram = gram*slack + float64(l.r)*gamma(laneRoundings(d))*squares
		c.least, c.norm = least-gram, math.Sqrt(most)*guard
		if !(c.least > 0) {
			c.norm = math.NaN()
		}
	} else if !(least > 0) {
		c.norm = math.NaN()
	}
	if least == most {
		c.even = least
	}
	long := gamma(d+laneRoundings(d)+8) * 1.01
	c.byFar = gamma(laneRoundings(d)+16) * (most + squares) * 1.01
	c.byBoth = 2 * long * squares
	c.bySum = long * long * squares
	j.list[i] = c
}
