package engine

import "fmt"

// Mixture is the potential of DESIGN 2.1 as the kernels read it: the log of a mixture
// of K Gaussians in D dimensions,
//
//	phi(x) = log sum_i exp(c_i - q_i(x)/2),   q_i(x) = (x - mu_i)^T P_i (x - mu_i)
//
// Mu and C belong to the caller and are read at every call. The precisions P_i are kept
// packed: set them once per update of the parameters (SetFactors or SetPrecisions, and
// SetLowRank for those of NewLowRankMixture). What ascents find out about them is kept, too:
// a mixture serves one engine at a time.
type Mixture struct {
	K, D int
	Mu   []float32 // K x D
	C    []float32 // K, the log weights
	p    []Packed  // K packed D x D matrices, or one for all; symmetric, so they serve the backward pass too
	low  *lowRank  // in place of p: diagonal up to a low rank
	a    []float32 // the A_i of SetFactors

	triangles triangles // of p, once they were needed

	certificates    []certificate // of the precisions as they are, once they were needed
	uncertain       bool          // there are none: certify has failed on these precisions
	apart           [][]float32   // distances of centres, once they were needed (straight.go)
	certificateList []certificate // their memory
	certified       bool          // which is of the precisions as they are
	activity        activity
}

// NewMixture makes a mixture around centres mu (k x d) and log weights c (k). Its
// precisions must be set before use.
func NewMixture(k, d int, mu, c []float32) *Mixture {
	m := newMixture("NewMixture", k, d, mu, c)
	m.p = make([]Packed, k)
	return m
}

// NewTiedMixture makes a mixture whose components share one precision: SetPrecisions takes
// a single matrix P, SetFactors and AscendBackward a single A.
func NewTiedMixture(k, d int, mu, c []float32) *Mixture {
	m := newMixture("NewTiedMixture", k, d, mu, c)
	m.p = make([]Packed, 1)
	return m
}

// precision returns P_i.
func (m *Mixture) precision(i int) *Packed { return &m.p[min(i, len(m.p)-1)] }

// precisions returns P_i of the components [i0, i1), or the one for all.
func (m *Mixture) precisions(i0, i1 int) []Packed {
	if len(m.p) < m.K {
		return m.p
	}
	return m.p[i0:i1]
}

func newMixture(call string, k, d int, mu, c []float32) *Mixture {
	if k < 1 || d < 1 {
		panic(fmt.Sprintf("engine: %s: %d components in %d dimensions, expected at least 1 of each", call, k, d))
	}
	length(call, "mu", len(mu), k*d)
	length(call, "c", len(c), k)
	return &Mixture{K: k, D: d, Mu: mu, C: c}
}

// ready panics unless the precisions were set by an engine of this tier.
func (m *Mixture) ready(e *Engine, call string) {
	if m.packed().kern != e.kern {
		panic(fmt.Sprintf("engine: %s: the precisions have not been set by an engine of tier %v (SetFactors, SetPrecisions, SetLowRank)", call, e.kern.tier))
	}
}

// packed returns one of the packed matrices.
func (m *Mixture) packed() *Packed {
	if m.low != nil {
		return &m.low.project
	}
	return &m.p[0]
}

// dense panics unless the precisions are matrices.
func (m *Mixture) dense(call string) {
	if m.low != nil {
		panic("engine: " + call + ": the precisions of the mixture are of low rank (SetLowRank)")
	}
}

func (m *Mixture) mu(i int) []float32 { return m.Mu[i*m.D : (i+1)*m.D] }

// SetPrecisions sets P_i to the i-th of the k symmetric d x d matrices in p.
func (e *Engine) SetPrecisions(m *Mixture, p []float32) {
	m.dense("SetPrecisions")
	length("SetPrecisions", "p", len(p), len(m.p)*m.D*m.D)
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range m.p {
		m.p[i].reshape(e.kern, m.D, m.D)
		e.packInto(&m.p[i], View(p[i*m.D*m.D:(i+1)*m.D*m.D], m.D, m.D))
	}
	m.renewed(nil)
}

// renewed forgets what was known of the precisions before. The new ones are A_i^T A_i or, without
// a, others.
func (m *Mixture) renewed(a []float32) {
	m.a, m.certified = a, false
	m.certificates, m.uncertain = nil, false
	m.triangles.packed, m.triangles.steps = false, 0
}

// SetFactors sets P_i = A_i^T A_i from the k matrices A_i (d x d, row-major) in a: k
// symmetric updates of k d^2 (d+1) flop in all. Both halves of P_i have the same bits. a is
// kept and must not change before the next call.
func (e *Engine) SetFactors(m *Mixture, a []float32) {
	m.dense("SetFactors")
	n := len(m.p)
	length("SetFactors", "a", len(a), n*m.D*m.D)
	e.mu.Lock()
	defer e.mu.Unlock()
	for i := range m.p {
		m.p[i].reshape(e.kern, m.D, m.D)
	}
	j := &e.precisionJob
	// Split the panels of each component only as far as the threads need it.
	*j = precisionJob{e: e, m: m, parts: min(max(2*e.Threads()/n, 1), e.kern.panels(m.D))}
	// Bounds that were used before will be needed again: make them while A_i and P_i are near.
	j.certify = m.certificates != nil && j.parts == 1
	m.renewed(a)
	m.certified = j.certify
	d := float64(m.D)
	e.run(j, n*j.parts, float64(n)*(d*d*(d+1)+e.goFlops(d*d)))
	*j = precisionJob{}
}

// precisionJob computes P_i = A_i^T A_i of some components. Task (i, part) takes every parts-th
// panel of columns, because the cost of a panel grows with its number: of panel p only the rows
// down to the diagonal are computed, and the rest mirrored.
type precisionJob struct {
	e       *Engine
	m       *Mixture
	parts   int
	certify bool // make the certificates, too, while A_i and P_i are near
}

func (j *precisionJob) run(worker, task int) {
	j.make(worker, task/j.parts, task%j.parts)
}

// make computes a part of P_i.
func (j *precisionJob) make(worker, i, part int) {
	d, e := j.m.D, j.e
	a := &e.scratch[worker].packed
	*a = Packed{kern: e.kern, rows: d, cols: d}
	a.data = e.scratch[worker].floats(slotB, a.size())
	a.fill(View(j.m.a[i*d*d:(i+1)*d*d], d, d), 0, a.panels())
	for pn := part; pn < a.panels(); pn += j.parts {
		j.panel(worker, &j.m.p[i], a, pn)
	}
	if j.certify {
		certificates := certifyJob{e: e, m: j.m, list: j.m.certificateList}
		certificates.dense(worker, i)
	}
}

// panel computes panel pn of P_i, and what it mirrors, from the panels of A_i: the tiles read
// A_i^T from them, too.
func (j *precisionJob) panel(worker int, p, a *Packed, pn int) {
	e, d, nr, nb := j.e, j.m.D, j.e.kern.nr, a.blocks()
	arena, cols := &e.scratch[worker], min(nr, d-pn*nr)
	var c []float32
	if nb == 1 {
		c = p.panel(pn, 0, d)
	} else {
		c = arena.floats(slotG, min((pn+1)*nr, d)*nr)
	}
	if cols < nr {
		clear(c) // the padding
	}
	for kb := range nb {
		k0, k1 := part(d, nb, kb)
		for q := 0; q <= pn; q++ {
			rows := blockA{rows: min(nr, d-q*nr), cols: k1 - k0, rs: 1, cs: nr, data: a.panel(q, k0, k1)}
			b, to := a.panel(pn, k0, k1), c[q*nr*nr:]
			if !e.kern.narrow(&rows, panelB{data: b, rs: nr}, to, nr, cols, kb > 0) {
				e.kern.panel(&rows, panelB{b, nr, nil}, to, nr, kb > 0, 1)
			}
			e.yield(arena, 2*rows.rows*nr*(k1-k0))
		}
	}
	p.setPanel(pn, c)
}

// setPanel stores the rows of c (down to the diagonal, padding and all) as panel pn of a symmetric
// matrix, unless they are there already, and their mirror images as part of the panels before it.
func (p *Packed) setPanel(pn int, c []float32) {
	d, nr, nb := p.cols, p.kern.nr, p.blocks()
	rows := min((pn+1)*nr, d)
	for kb := range nb {
		k0, k1 := part(d, nb, kb)
		if nb > 1 && k0 < rows {
			copy(p.panel(pn, k0, k1), c[k0*nr:min(k1, rows)*nr])
		}
		r0, r1 := max(pn*nr, k0), min(pn*nr+nr, d, k1) // rows in which the mirror images are
		for q := 0; q < pn && r0 < r1; q++ {
			p.kern.transpose(p.panel(q, k0, k1)[(r0-k0)*nr:], nr, c[q*nr*nr+r0-pn*nr:], nr, nr, r1-r0)
		}
	}
}

// LogSumExp turns the quadratic forms q (k x n: row i is component i) into
// responsibilities in place and writes the potential of every row to phi (n):
//
//	l_i = c_i - q_i/2, phi = logsumexp_i l_i, r_i = exp(l_i - phi)
//
// computed as r_i = e_i / sum_j e_j with e_i = exp(l_i - max_j l_j), and r_i = 0 exactly
// where l_i lies more than 30 ln 2 below the largest. The sum over components is a
// chain in increasing i, so a row has the same bits alone and within any batch.
func (e *Engine) LogSumExp(q Matrix, c, phi []float32) {
	q.shape("LogSumExp", "q", len(c), len(phi))
	if len(c) == 0 {
		panic("engine: LogSumExp: no components")
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	target := q
	if q.CS != 1 {
		q = View(e.scratch[0].floats(slotDense, q.Rows*q.Cols), q.Rows, q.Cols)
		copyMatrix(q, target)
	}
	for b := 0; b < q.Cols; b += maxBlockRows { // short calls
		n := min(maxBlockRows, q.Cols-b)
		e.kern.mixture(q.Data[b:], q.RS, c, phi[b:b+n])
	}
	if target.CS != 1 {
		copyMatrix(target, q)
	}
}

// QuadGrad computes, for component i and the rows of x (n x d), G = (x - mu_i) P_i
// (n x d, written to g) and q = rowsum(G * (x - mu_i)) (n).
func (e *Engine) QuadGrad(g Matrix, q []float32, x Matrix, m *Mixture, i int) {
	if i < 0 || i >= m.K {
		panic(fmt.Sprintf("engine: QuadGrad: component %d of %d", i, m.K))
	}
	m.dense("QuadGrad")
	x.shape("QuadGrad", "x", x.Rows, m.D)
	g.shape("QuadGrad", "g", x.Rows, m.D)
	length("QuadGrad", "q", len(q), x.Rows)
	m.ready(e, "QuadGrad")
	e.mu.Lock()
	defer e.mu.Unlock()
	x = e.dense(slotDense, x)
	out := e.denseTarget(g)
	for r0 := 0; r0 < x.Rows; r0 += maxBlockRows {
		r1 := min(r0+maxBlockRows, x.Rows)
		e.quadGrad(0, out.Slice(r0, r1, 0, m.D), q[r0:r1], x.Slice(r0, r1, 0, m.D), m, i, nil)
	}
	if g.CS != 1 {
		copyMatrix(g, out)
	}
}

// dense returns m, or a copy of it whose rows are contiguous.
func (e *Engine) dense(s slot, m Matrix) Matrix {
	if m.CS == 1 {
		return m
	}
	c := View(e.scratch[0].floats(s, m.Rows*m.Cols), m.Rows, m.Cols)
	copyMatrix(c, m)
	return c
}

// denseTarget returns m, or a matrix of its shape whose rows are contiguous.
func (e *Engine) denseTarget(m Matrix) Matrix {
	if m.CS == 1 {
		return m
	}
	return View(e.scratch[0].floats(slotResult, m.Rows*m.Cols), m.Rows, m.Cols)
}

// quadGrad is QuadGrad on one thread, for a block of rows that stays in the cache. fetch is what is
// needed next.
func (e *Engine) quadGrad(worker int, g Matrix, q []float32, x Matrix, m *Mixture, i int, fetch []float32) {
	e.quadGradNext(worker, g, q, x, m, i, fetch, false, m.K)
}

// quadGradNext is quadGrad among those of other components for the same rows. D_i is stored once:
// the tiles stream its rows, and the row dots read it again. Where it is made already, that was done by the
// call before, which was told that component i is next, if there is one: while a few rows of D_i are near
// for their dots, they are replaced (half a hundredth of the product at d = 784). Where features are few
// all of that is done a tile at a time (quadSmallD). G may have columns beyond those of x, to be written at
// will.
func (e *Engine) quadGradNext(worker int, g Matrix, q []float32, x Matrix, m *Mixture, i int, fetch []float32, made bool, next int) {
	arena, rows, ld := &e.scratch[worker], x.Rows, paddedLD(m.D)
	if e.kern.isSmallD(m.D) {
		e.kern.quadSmallD(g.Data, 0, g.RS, q, 0, x, m.mu(i), m.precisions(i, i+1), arena.floats(slotCentre, e.kern.smallDWork(m.D)), fetch)
		e.yield(arena, 2*rows*m.D*m.D)
		return
	}
	d := Matrix{Data: arena.floats(slotCentre, rows*ld), Rows: rows, Cols: m.D, RS: ld, CS: 1}
	if !made {
		e.kern.subRows(d.Data, ld, x.Data, x.RS, m.mu(i), 0, rows, m.D)
	}
	precision := operand{packed: m.precision(i), prefetch: fetch}
	if next < m.K && e.kern.panels(m.D) > 2*lastPanels { // fewer are faster in one call
		precision.prefetchLast = x.Data[:span(rows, x.RS, m.D)]
	}
	e.multiply(worker, g, d, &precision, false)
	few := rows
	if next < m.K {
		few = 4 // rows at a time: there is room for them in the first-level cache
	}
	for r := 0; r < rows; r += few {
		n := min(few, rows-r)
		e.kern.dotRows(q[r:r+n], g.Data[r*g.RS:], g.RS, d.Data[r*ld:], ld, m.D)
		if next < m.K {
			e.kern.subRows(d.Data[r*ld:], ld, x.Data[r*x.RS:], x.RS, m.mu(next), 0, n, m.D)
		}
	}
}

// isSmallD says whether quadSmallD and vjpSmallD are for d features.
func (kern *kernels) isSmallD(d int) bool {
	return kern.smallDRows > 0 && d%kern.smallDCols == 0 && d <= longRows && kern.blocks(d) == 1
}
