package engine

import "fmt"

// MixtureGradient holds the gradient of a loss with respect to the parameters of a
// mixture: of its factors A_i if its precisions are P_i = A_i^T A_i, of its weights w_i and
// factors F_i if they are diag(w_i) + sign F_i^T F_i.
type MixtureGradient struct {
	Mu    []float32 // K x D
	C     []float32 // K
	A     []float32 // K x D x D; D x D of a tied mixture
	W     []float32 // K x D
	F     []float32 // K r x D
	Alpha float32

	p    []float32 // dL/dP_i, K x D x D, of components with many
	rows []int     // of all steps whose responsibility is not 0, or many (countRows)

	sums, squares, ones []float32 // see lowSumJob: (K r + K) x D, K x D, and K r + K column sums
}

// NewMixtureGradient makes room for the gradient of a mixture of k components in d
// dimensions.
func NewMixtureGradient(k, d int) *MixtureGradient {
	return &MixtureGradient{
		Mu: alignedFloats(k * d), C: make([]float32, k),
		A: alignedFloats(k * d * d), p: alignedFloats(k * d * d),
	}
}

// NewTiedGradient is NewMixtureGradient for a tied mixture.
func NewTiedGradient(k, d int) *MixtureGradient {
	return &MixtureGradient{
		Mu: alignedFloats(k * d), C: make([]float32, k),
		A: alignedFloats(d * d), p: alignedFloats(k * d * d),
	}
}

// AscendBackward is the exact backward pass of Ascend (DESIGN 2.2). v (B x d) holds
// dL/dx_n and receives dL/dx_0; grad receives the gradient of the parameters; a holds the
// k matrices A_i (d x d; empty for precisions of low rank). tr must come from an Ascend of the same mixture, with the same
// alpha, with backward set; it is used up.
//
// With V = dL/dx_{t+1}, for t = n-1 .. 0:
//
//	U = alpha V              s_i = -rowsum(U * G_i)        t_i = r_i (s_i - sum_j r_j s_j)
//	W_i = -r_i U - t_i/2 D_i                               dP_i += W_i^T D_i
//	E_i = -r_i (U P_i) - t_i G_i                           dmu_i -= colsum(E_i)
//	V += sum_i E_i           dc_i += sum(t_i)              dalpha += sum(sum_j r_j s_j)/alpha
//
// and dA_i = A_i (dP_i + dP_i^T), of a tied mixture dA = A sum_i (dP_i + dP_i^T); where fewer
// than d/3 rows of all steps have r_i above 0, dP_i is not made: dA_i = (A_i W_i^T) D_i + (A_i
// D_i^T) W_i over these rows. (The last term of the second line is sum(V * grad phi), because
// grad phi = -sum_i r_i G_i.)
//
// Precisions diag(w_i) + S F_i^T F_i (NewLowRankMixture) split dP_i into its diagonal and
// dF_i = S F_i (dP_i + dP_i^T), and never make it:
//
//	Y_i = U F_i^T            s_i = -rowsum(w_i * U * D_i) - S rowsum(Y_i * Z_i)
//	N_i = r_i Y_i + t_i Z_i
//	dF_i  -= S (N_i^T D_i + (r_i Z_i)^T U)
//	dw_i  -= colsum((r_i U + t_i/2 D_i) * D_i)
//	dmu_i += w_i * colsum(r_i U + t_i D_i) + S colsum(N_i) F_i
//	V     -= sum_i (w_i * (r_i U + t_i D_i) + S N_i F_i)
//
// A row of V whose elements are all below 2^-100 after a step is 0 from there on.
//
// There are two passes: one in which a thread takes a block of rows from the last step to
// the first on its own, and one split over the outputs dP_i (or dF_i and dw_i), whose chains
// run over the steps from the last to the first and the rows in increasing order. They go
// over all steps, or in turns over some steps at a time, as many as stay in a cache or in
// memory.
func (e *Engine) AscendBackward(m *Mixture, alpha float32, a []float32, tr *Trajectory, v Matrix, grad *MixtureGradient) {
	if tr.K != m.K || tr.D != m.D {
		panic(fmt.Sprintf("engine: AscendBackward: trajectory of %d components in %d dimensions, mixture of %d in %d",
			tr.K, tr.D, m.K, m.D))
	}
	v.shape("AscendBackward", "v", tr.Rows, m.D)
	m.ready(e, "AscendBackward")
	if !tr.backward {
		panic("engine: AscendBackward: the trajectory was not recorded for the backward pass")
	}
	if m.low != nil {
		length("AscendBackward", "grad.W", len(grad.W), m.K*m.D)
		length("AscendBackward", "grad.F", len(grad.F), m.K*m.low.r*m.D)
	} else {
		length("AscendBackward", "a", len(a), len(m.p)*m.D*m.D)
		length("AscendBackward", "grad.A", len(grad.A), len(m.p)*m.D*m.D)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	target := v
	v = e.dense(slotDense, v)
	clear(grad.Mu)
	clear(grad.C)
	grad.Alpha = 0

	grow(&tr.t, tr.Steps*tr.K*tr.Rows)
	grow(&tr.sum, tr.Steps*tr.Rows)
	if m.low == nil {
		grow(&tr.u, tr.Steps*tr.Rows*tr.D)
		grad.countRows(m, tr)
	}
	switch {
	case m.low != nil:
		e.lowRankBackward(m, alpha, tr, v, grad)
	case tr.sparse:
		e.sparseBackward(m, alpha, tr, v, grad)
	case tr.kept:
		e.pullSteps(m, alpha, tr, v, 0, tr.Steps)
		e.accumulate(m, tr, grad, 0, tr.Steps)
	default: // one step at a time, in the memory of one step
		for t := tr.Steps - 1; t >= 0; t-- {
			e.pullSteps(m, alpha, tr, v, t, t+1)
			e.accumulate(m, tr, grad, t, t+1)
		}
	}
	for t := tr.Steps - 1; t >= 0; t-- {
		grad.Alpha += e.k.sum(tr.sum[t*tr.Rows : (t+1)*tr.Rows])
	}
	grad.Alpha /= alpha
	if tr.Steps == 0 || tr.Rows == 0 {
		clear(grad.A)
	} else if m.low == nil {
		n := m.D * m.D
		if len(m.p) < m.K && grad.rows[0] == 0 { // dP_0 has not been made
			clear(grad.p[:n])
		}
		for i := len(m.p); i < m.K; i++ { // one P for all: the sum of dP_i in increasing i
			if grad.rows[i] == 0 {
				continue
			}
			e.each(sliceJob{op: opAdd, dst: grad.p[:n], x: grad.p[:n], y: grad.p[i*n : (i+1)*n]}, n)
		}
		e.factorGradient(m, a, tr, grad)
	}
	tr.backward = false
	if target.CS != 1 {
		copyMatrix(target, v)
	}
}

// pullSteps pulls v back through the steps [t0, t1), last first, and leaves in the
// trajectory what accumulate needs: U, t and, in place of G, E.
func (e *Engine) pullSteps(m *Mixture, alpha float32, tr *Trajectory, v Matrix, t0, t1 int) {
	flops := ascentFlops(tr.Rows, m.K, m.D, t1-t0)
	j := &e.pull
	*j = pullJob{e: e, m: m, alpha: alpha, tr: tr, v: v, t0: t0, t1: t1}
	most := maxBlockRows
	if m.D <= longRows {
		most = 64 // so that G of two steps stays in the second-level cache
	}
	j.blocks = e.pullBlocks(tr.Rows, most, flops)
	e.run(j, j.blocks, flops)
	*j = pullJob{}
}

// pullBlocks returns the number of blocks, of up to most rows, of a pullJob.
func (e *Engine) pullBlocks(rows, most int, flops float64) int {
	threads := e.Threads()
	if flops < e.smallWork {
		threads = 1
	}
	return rowBlocks(rows, most, threads)
}

type pullJob struct {
	e      *Engine
	m      *Mixture
	alpha  float32
	tr     *Trajectory
	v      Matrix
	t0, t1 int
	blocks int
}

func (j *pullJob) run(worker, task int) {
	r0, r1 := part(j.tr.Rows, j.blocks, task)
	if r0 == r1 {
		return
	}
	var (
		e, m, tr = j.e, j.m, j.tr
		arena    = &e.scratch[worker]
		rows, d  = r1 - r0, m.D
		ld       = leading(d)
		v        = j.v.Slice(r0, r1, 0, d)
		y        = Matrix{Data: arena.floats(slotY, rows*ld), Rows: rows, Cols: d, RS: ld, CS: 1}
		total    = arena.floats(slotE, rows*d)
		q        = arena.floats(slotQ, rows)
	)
	for t := j.t1 - 1; t >= j.t0 && !tr.stopped(); t-- {
		u := View(tr.u[(t*tr.Rows+r0)*d:(t*tr.Rows+r1)*d], rows, d)
		for b := range rows {
			e.k.scale(u.Row(b), j.alpha, v.Row(b))
		}
		r := tr.RAt(t).Slice(0, m.K, r0, r1)
		s := Matrix{Data: tr.t[t*m.K*tr.Rows+r0:], Rows: m.K, Cols: rows, RS: tr.Rows, CS: 1}
		for i := range m.K {
			g := tr.gAt(t, i, r0, r1)
			if !tr.kept {
				e.quadGrad(worker, g, q, tr.XAt(t).Slice(r0, r1, 0, d), m, i, nil)
			}
			e.k.dotRows(s.Row(i), u.Data, u.RS, g.Data, g.RS, d)
			e.k.scale(s.Row(i), -1, s.Row(i))
		}
		e.k.responsibilities(r.Data, s.Data, tr.Rows, tr.sum[t*tr.Rows+r0:t*tr.Rows+r1], m.K)
		clear(total)
		for i := range m.K {
			e.multiply(worker, y, u, &operand{packed: m.precision(i), fetch: tr.fetchG(t-1, i, r0, r1)}, 0, e.k.panels(d), false)
			g := tr.gAt(t, i, r0, r1)
			e.k.pullRows(g.Data, d, r.Row(i), y.Data, ld, s.Row(i), 1, g.Data, d, d)
			e.k.add(total, total, g.Data)
		}
		for b := range rows {
			e.k.add(v.Row(b), v.Row(b), total[b*d:(b+1)*d])
			dropFaint(v.Row(b))
		}
	}
}

// faint is the size below which dL/dx_t counts as 0.
const faint = 0x1p-100

// dropFaint sets a row of V to 0 if no element of it reaches faint. An ascent that arrives
// takes dL/dx_t down by a factor a step, and where that is above 1/2 rounding keeps it from
// ever reaching 0: arithmetic with the subnormal numbers at which it stops is tens of times
// slower, and 2^-100 is far below what an update of Adam can show.
func dropFaint(v []float32) {
	for _, x := range v {
		if !(x > -faint && x < faint) { // NaN, too, stays
			return
		}
	}
	clear(v)
}

// accumulate adds the steps [t0, t1), last first, to the gradient of mu, c and P.
func (e *Engine) accumulate(m *Mixture, tr *Trajectory, grad *MixtureGradient, t0, t1 int) {
	flops := ascentFlops(tr.Rows, m.K, m.D, t1-t0)
	j := &e.grads
	*j = gradientJob{e: e, m: m, tr: tr, grad: grad, t0: t0, t1: t1}
	j.parts = min(max(2*e.Threads()/m.K, 1), e.k.panels(m.D))
	j.groups, j.inner = m.K, e.k.kc
	if m.D <= longRows {
		j.groups, j.inner = min(m.K, 2*e.Threads()), min(nearRows, e.k.kc)
	}
	e.run(j, j.groups*j.parts, flops)
	*j = gradientJob{}
}

// gradientJob computes dP_i, of which a task has some panels of columns, and with the
// first part dmu_i and dc_i, for a group of components. Where features are few, so many
// rows at a time go to all components of the group that W_i and D_i stay in the first-level
// cache, and x and U of the rows in the second.
type gradientJob struct {
	e             *Engine
	m             *Mixture
	tr            *Trajectory
	grad          *MixtureGradient
	t0, t1        int
	groups, parts int
	inner         int // rows at a time
}

func (j *gradientJob) run(worker, task int) {
	e, tr, m := j.e, j.tr, j.m
	i0, i1 := part(m.K, j.groups, task/j.parts)
	p0, p1 := part(e.k.panels(m.D), j.parts, task%j.parts)
	// The inner index of W^T D runs over the rows of all steps, last step first; a block
	// of it may hold several steps or a part of one.
	all := (j.t1 - j.t0) * tr.Rows
	nb := (all + j.inner - 1) / j.inner
	for kb := range nb {
		if tr.stopped() {
			return
		}
		k0, k1 := part(all, nb, kb)
		for i := i0; i < i1; i++ {
			if p0 == 0 {
				j.centre(i, k0, k1)
			}
			var fetch []float32
			if i+1 < i1 {
				fetch = j.block(i+1, k0, k1)
			} else if kb+1 < nb {
				fetch = j.block(i0, k1, k1+k1-k0)
			}
			if j.grad.rows[i] == many {
				j.product(&e.scratch[worker], i, k0, k1, p0, p1, fetch)
			}
		}
	}
}

// block returns what is to be fetched of E_i for the inner indices [k0, k1), if these are of
// one step.
func (j *gradientJob) block(i, k0, k1 int) []float32 {
	b := k0 % j.tr.Rows
	return j.tr.fetchG(j.t1-1-k0/j.tr.Rows, i, b, min(b+k1-k0, j.tr.Rows))
}

// product adds the inner indices [k0, k1) of W_i^T D_i to the panels [p0, p1) of dP_i.
func (j *gradientJob) product(arena *arena, i, k0, k1, p0, p1 int, fetch []float32) {
	e, d := j.e, j.m.D
	dp := View(j.grad.p[i*d*d:(i+1)*d*d], d, d)
	w, x := j.operands(arena, i, k0, k1, p0, p1)
	x.fetch = fetch
	tiles, mb, row := w.tiles(e.k), e.k.rowBlocks(d), 0
	for ib := range mb {
		t0, t1 := part(tiles, mb, ib)
		block := w.sliceTiles(e.k, t0, t1)
		for pn := p0; pn < p1; pn++ {
			e.multiplyPanel(arena, dp, block, &x, row, pn, 0, k1-k0, j.t1 < j.tr.Steps || k0 > 0)
		}
		row += block.rows
	}
}

// longRows is the number of features up to which all of W_i and D_i of a block stay
// near: their rows are then multiplied as they are.
const longRows = 128

// nearRows is how many of such rows a block has.
const nearRows = 128

// chunkRows is how many rows of W_i and D_i go into strips and panels at a time.
const chunkRows = 16

// operands computes W_i^T and D_i, of which the panels [p0, p1) are needed, for the inner
// indices [k0, k1) of W_i^T D_i.
func (j *gradientJob) operands(arena *arena, i, k0, k1, p0, p1 int) (w left, x operand) {
	n, d := k1-k0, j.m.D
	if d <= longRows {
		ld := leading(d)
		ws, xs := arena.floats(slotA, n*ld), arena.floats(slotCentre, n*ld)
		for k := k0; k < k1; {
			at := (k - k0) * ld
			k += j.rows(ws[at:], xs[at:], ld, i, k, k1-k)
		}
		return left{rows: d, cols: n, rs: 1, cs: ld, data: ws},
			operand{direct: Matrix{Data: xs, Rows: n, Cols: d, RS: ld, CS: 1}}
	}
	e := j.e
	w = e.k.strips(arena, slotA, d, n)
	p := &arena.packed
	*p = Packed{k: e.k, rows: n, cols: d}
	p.data = arena.floats(slotB, p.size())
	ld := leading(d)
	ws, xs := arena.floats(slotW, chunkRows*ld), arena.floats(slotCentre, chunkRows*ld)
	for k := k0; k < k1; {
		at := k - k0
		rows := j.rows(ws, xs, ld, i, k, min(k1-k, chunkRows))
		w.setColumns(e.k, at, Matrix{Data: ws, Rows: rows, Cols: d, RS: ld, CS: 1})
		p.setRows(at, Matrix{Data: xs, Rows: rows, Cols: d, RS: ld, CS: 1}, p0, p1)
		k += rows
	}
	return w, operand{packed: p}
}

// rows computes up to most rows of W_i and D_i from inner index k on, all of one step, and
// returns how many.
func (j *gradientJob) rows(ws, xs []float32, ld, i, k, most int) int {
	e, m, tr, d := j.e, j.m, j.tr, j.m.D
	t, b := j.t1-1-k/tr.Rows, k%tr.Rows
	n := min(tr.Rows-b, most)
	at := (t*m.K+i)*tr.Rows + b
	e.k.subRows(xs, ld, tr.X[(t*tr.Rows+b)*d:], d, m.mu(i), 0, n, d)
	e.k.pullRows(ws, ld, tr.R[at:at+n], tr.u[(t*tr.Rows+b)*d:], d, tr.t[at:at+n], 0.5, xs, ld, d)
	return n
}

// centre adds the inner indices [k0, k1) to dmu_i, and the steps that begin there to dc_i.
func (j *gradientJob) centre(i, k0, k1 int) {
	e, m, tr, d := j.e, j.m, j.tr, j.m.D
	dmu := j.grad.Mu[i*d : (i+1)*d]
	for k := k0; k < k1; {
		t, b := j.t1-1-k/tr.Rows, k%tr.Rows
		n := min(tr.Rows-b, k1-k)
		// A row of E with responsibility 0 is +0, which changes nothing.
		e.k.subRows(dmu, 0, dmu, 0, tr.gAt(t, i, b, b+n).Data, d, n, d)
		if b == 0 {
			at := (t*m.K + i) * tr.Rows
			j.grad.C[i] += e.k.sum(tr.t[at : at+tr.Rows])
		}
		k += n
	}
}
