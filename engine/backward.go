package engine

import (
	"fmt"
)

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
	rows []int     // of all steps that count, or many (countRows)
	ways []way     // of the rows

	sums          []float32 // -t_i^T D_i (K x D) of precisions A_i^T A_i; see lowSumJob: (K r + K) x D
	squares, ones []float32 // see lowSumJob: K x D, and K r + K column sums
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
// k matrices A_i (d x d; empty for precisions of low rank). tr must come from an Ascend of
// the same mixture, with the same alpha, with backward set; it is used up.
//
// With V = dL/dx_{t+1}, for t = n-1 .. 0:
//
//	U = alpha V              s_i = -rowsum(U * G_i)        t_i = r_i (s_i - sum_j r_j s_j)
//	W_i = -r_i U - t_i/2 D_i                               dP_i += W_i^T D_i
//	N_i = r_i U + t_i D_i                                  dmu_i += colsum(N_i) P_i
//	V -= sum_i N_i P_i       dc_i += sum(t_i)              dalpha += sum(sum_j r_j s_j)/alpha
//
// and dA_i = A_i (dP_i + dP_i^T), of a tied mixture dA = A sum_i (dP_i + dP_i^T); where fewer
// than d/3 rows of all steps have r_i above 0, dP_i is not made: dA_i = (A_i W_i^T) D_i + (A_i
// D_i^T) W_i over these rows. Where component i alone counts for a row in sixteen steps or more at
// the end of its ascent, only some of them are such rows: D_i of the others are combinations of
// theirs, up to 2^-19 of their length, and their W_i go to these with the same coefficients
// (powers.go). (The last term of the second line is sum(V * grad phi), because grad phi = -sum_i
// r_i G_i.)
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
		grow(&grad.sums, tr.K*tr.D)
		clear(grad.sums)
		e.countRows(m, tr, grad)
	}
	switch {
	case m.low != nil:
		e.lowRankBackward(m, alpha, tr, v, grad)
	case tr.sparse:
		e.sparseBackward(m, alpha, tr, v, grad)
	default:
		e.denseBackward(m, alpha, tr, v, grad)
	}
	for t := tr.Steps - 1; t >= 0; t-- {
		grad.Alpha += e.kern.sum(tr.sum[t*tr.Rows : (t+1)*tr.Rows])
	}
	grad.Alpha /= alpha
	if tr.Steps == 0 || tr.Rows == 0 {
		clear(grad.A)
	} else if m.low == nil {
		e.centreGradient(m, grad)
		n := m.D * m.D
		if len(m.p) < m.K && grad.rows[0] == 0 { // dP_0 has not been made
			clear(grad.p[:n])
		}
		for i := len(m.p); i < m.K; i++ { // one P for all: the sum of dP_i in increasing i
			if grad.rows[i] == 0 {
				continue
			}
			e.each(vectorJob{op: opAdd, dst: grad.p[:n], x: grad.p[:n], y: grad.p[i*n : (i+1)*n]}, n)
		}
		e.factorGradient(m, a, tr, grad)
		e.work.FactorFlop = grad.factorFlop(m, tr)
	}
	tr.backward = false
	if target.CS != 1 {
		copyMatrix(target, v)
	}
}

// denseBackward computes all sums of AscendBackward of components with many rows, whatever
// their responsibilities, for precisions A_i^T A_i.
func (e *Engine) denseBackward(m *Mixture, alpha float32, tr *Trajectory, v Matrix, grad *MixtureGradient) {
	flops := ascentFlops(tr.Rows, m.K, m.D, tr.Steps)
	most := maxBlockRows
	if m.D <= longRows {
		most = 64 // so that G of two steps stays in the second-level cache
	}
	pull := &e.pull
	*pull = pullJob{e: e, m: m, alpha: alpha, tr: tr, v: v, blocks: e.pullBlocks(tr.Rows, most, flops)}
	e.run(pull, pull.blocks, flops)
	*pull = pullJob{}

	j := &e.grads
	*j = gradientJob{e: e, m: m, tr: tr, grad: grad}
	j.parts = min(max(2*e.Threads()/m.K, 1), e.kern.panels(m.D))
	j.groups, j.inner = m.K, e.kern.kc
	if m.D <= longRows {
		j.groups, j.inner = min(m.K, 2*e.Threads()), min(nearRows, e.kern.kc)
	}
	e.run(j, j.groups*j.parts, flops)
	*j = gradientJob{}
}

// pullBlocks returns the number of blocks, of up to most rows, of a pullJob.
func (e *Engine) pullBlocks(rows, most int, flops float64) int {
	threads := e.Threads()
	if flops < e.wakeFlop {
		threads = 1
	}
	return rowBlocks(rows, most, threads)
}

// pullJob pulls v back through all steps, a block of rows at a time, and leaves U and t in
// the trajectory.
type pullJob struct {
	e      *Engine
	m      *Mixture
	alpha  float32
	tr     *Trajectory
	v      Matrix
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
		ld       = paddedLD(d)
		v        = j.v.Slice(r0, r1, 0, d)
		pushes   = Matrix{Data: arena.floats(slotW, max(rows, e.kern.smallDRows)*ld), Rows: rows, Cols: d, RS: ld, CS: 1}
		total    = Matrix{Data: arena.floats(slotY, rows*ld), Rows: rows, Cols: d, RS: ld, CS: 1}
		g        = Matrix{Data: arena.floats(slotG, rows*ld), Rows: rows, Cols: d, RS: ld, CS: 1}
		q        = arena.floats(slotQ, rows)
	)
	for t := tr.Steps - 1; t >= 0 && !tr.stopped(); t-- {
		x := tr.XAt(t).Slice(r0, r1, 0, d)
		u := View(tr.u[(t*tr.Rows+r0)*d:(t*tr.Rows+r1)*d], rows, d)
		for b := range rows {
			e.kern.scale(u.Row(b), j.alpha, v.Row(b))
		}
		r := tr.RAt(t).Slice(0, m.K, r0, r1)
		s := Matrix{Data: tr.t[t*m.K*tr.Rows+r0:], Rows: m.K, Cols: rows, RS: tr.Rows, CS: 1}
		for i := range m.K {
			if tr.kept {
				g = tr.gAt(t, i, r0, r1)
			} else {
				e.quadGradNext(worker, g, q, x, m, i, nil, i > 0, i+1)
			}
			e.kern.dotRows(s.Row(i), u.Data, u.RS, g.Data, g.RS, d)
			e.kern.scale(s.Row(i), -1, s.Row(i))
		}
		e.kern.responsibilityBackward(r.Data, s.Data, tr.Rows, tr.sum[t*tr.Rows+r0:t*tr.Rows+r1], m.K)
		for i := range m.K {
			precision := operand{packed: m.precision(i), prefetch: tr.fetchG(t-1, i, r0, r1)}
			if e.kern.isSmallD(d) {
				e.kern.vjpSmallD(total, r.Row(i), u, s.Row(i), x, m.mu(i), precision.packed, i > 0, pushes.Data[:e.kern.smallDRows*d], precision.prefetch)
				e.yield(arena, 2*rows*d*d)
				continue
			}
			e.kern.gradDeltas(pushes.Data, nil, ld, r.Row(i), u.Data, d, s.Row(i), 1, x.Data, d, m.mu(i), nil, nil) // -N_i
			e.multiply(worker, total, pushes, &precision, i > 0)
		}
		for b := range rows {
			e.kern.pullOn(v.Row(b), total.Row(b))
		}
	}
}

// pullOn adds the sum over all components to a row of V. The chains of total end with -0 where
// their products underflow, unless another component adds zeros: that may not show.
func (kern *kernels) pullOn(v, total []float32) {
	kern.add(v, v, total)
	kern.shift(v, 0, v)
	dropFaint(v)
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

// gradientJob computes dP_i, of which a task has some panels of columns, and with the
// first part dc_i and the sums that dmu_i is made of, for a group of components. Where
// features are few, so many rows at a time go to all components of the group that W_i and
// D_i stay in the first-level cache, and x and U of the rows in the second.
type gradientJob struct {
	e             *Engine
	m             *Mixture
	tr            *Trajectory
	grad          *MixtureGradient
	groups, parts int
	inner         int // rows at a time
}

func (j *gradientJob) run(worker, task int) {
	e, tr, m := j.e, j.tr, j.m
	i0, i1 := part(m.K, j.groups, task/j.parts)
	p0, p1 := part(e.kern.panels(m.D), j.parts, task%j.parts)
	// The inner index of W^T D runs over the rows of all steps, last step first; a block
	// of it may hold several steps or a part of one.
	all := tr.Steps * tr.Rows
	nb := (all + j.inner - 1) / j.inner
	for kb := range nb {
		if tr.stopped() {
			return
		}
		k0, k1 := part(all, nb, kb)
		for i := i0; i < i1; i++ {
			if j.grad.rows[i] == many {
				j.product(&e.scratch[worker], i, k0, k1, p0, p1)
			} else if p0 == 0 {
				j.few(&e.scratch[worker], i, k0, k1)
			}
		}
	}
}

// product adds the inner indices [k0, k1) of W_i^T D_i to the panels [p0, p1) of dP_i.
func (j *gradientJob) product(arena *arena, i, k0, k1, p0, p1 int) {
	e, d := j.e, j.m.D
	dp := View(j.grad.p[i*d*d:(i+1)*d*d], d, d)
	w, x := j.operands(arena, i, k0, k1, p0, p1)
	q := product{e: e, arena: arena, c: dp, acc: k0 > 0}
	q.block(&w, &x, p0, p1)
}

// few does without the products, of a component whose rows are too few for dP_i.
func (j *gradientJob) few(arena *arena, i, k0, k1 int) {
	ld := paddedLD(j.m.D)
	ws, xs := arena.floats(slotW, chunkRows*ld), arena.floats(slotCentre, chunkRows*ld)
	for k := k0; k < k1; {
		k += j.rows(arena, ws, xs, ld, i, k, min(k1-k, chunkRows), true)
	}
	j.e.yield(arena, int(elementFlops((k1-k0)*j.m.D)))
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
func (j *gradientJob) operands(arena *arena, i, k0, k1, p0, p1 int) (w blockA, x operand) {
	n, d := k1-k0, j.m.D
	if d <= longRows {
		ld := oddLineLD(d)
		ws, xs := arena.floats(slotA, n*ld), arena.floats(slotCentre, n*ld)
		for k := k0; k < k1; {
			at := (k - k0) * ld
			k += j.rows(arena, ws[at:], xs[at:], ld, i, k, k1-k, p0 == 0)
		}
		return blockA{rows: d, cols: n, rs: 1, cs: ld, data: ws},
			operand{direct: Matrix{Data: xs, Rows: n, Cols: d, RS: ld, CS: 1}}
	}
	e := j.e
	w = e.kern.packedA(arena, slotA, d, n)
	p := &arena.packed
	*p = Packed{kern: e.kern, rows: n, cols: d}
	p.data = arena.floats(slotB, p.size())
	ld := paddedLD(d)
	ws, xs := arena.floats(slotW, chunkRows*ld), arena.floats(slotCentre, chunkRows*ld)
	for k := k0; k < k1; {
		at := k - k0
		rows := j.rows(arena, ws, xs, ld, i, k, min(k1-k, chunkRows), p0 == 0)
		w.setColumns(e.kern, at, Matrix{Data: ws, Rows: rows, Cols: d, RS: ld, CS: 1})
		p.setRows(at, Matrix{Data: xs, Rows: rows, Cols: d, RS: ld, CS: 1}, p0, p1)
		k += rows
	}
	return w, operand{packed: p}
}

// rows computes up to most rows of W_i and D_i from inner index k on, all of one step, and
// returns how many. If so told it counts them in the sums that dmu_i and dc_i are made of.
func (j *gradientJob) rows(arena *arena, ws, xs []float32, ld, i, k, most int, count bool) int {
	e, m, tr, d := j.e, j.m, j.tr, j.m.D
	t, b := tr.Steps-1-k/tr.Rows, k%tr.Rows
	row, at, n := t*tr.Rows+b, (t*m.K+i)*tr.Rows+b, min(tr.Rows-b, most)
	sr, st := j.grad.Mu[i*d:(i+1)*d], j.grad.sums[i*d:(i+1)*d]
	if !count {
		sr, st = arena.floats(slotGrad, d), arena.floats(slotE, d)
	} else if b == 0 {
		j.grad.C[i] += e.kern.sum(tr.t[at : at+tr.Rows])
	}
	e.kern.gradDeltas(ws, xs, ld, tr.R[at:at+n], tr.u[row*d:], d, tr.t[at:at+n], 0.5, tr.X[row*d:], d, m.mu(i), sr, st)
	return n
}

// centreGradient makes dmu_i = colsum(N_i) P_i of -r_i^T U in grad.Mu and -t_i^T D_i in
// grad.sums.
func (e *Engine) centreGradient(m *Mixture, grad *MixtureGradient) {
	j := &e.centre
	*j = centreJob{e: e, m: m, grad: grad}
	e.run(j, m.K, 16*float64(m.K*m.D*m.D)) // one float read is worth 16 flop
	*j = centreJob{}
}

type centreJob struct {
	e    *Engine
	m    *Mixture
	grad *MixtureGradient
}

func (j *centreJob) run(worker, i int) {
	e, d := j.e, j.m.D
	if j.grad.rows[i] == 0 {
		return
	}
	n := View(e.scratch[worker].floats(slotRows, d), 1, d)
	dmu := View(j.grad.Mu[i*d:(i+1)*d], 1, d)
	e.kern.add(n.Data, dmu.Data, j.grad.sums[i*d:(i+1)*d])
	e.kern.scale(n.Data, -1, n.Data)
	e.multiply(worker, dmu, n, &operand{packed: j.m.precision(i)}, false)
}
