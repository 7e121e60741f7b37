package ascent

// The backward pass: it takes the gradient of a loss from x_n back to x_0.

import (
	"fmt"

	"dpnbench/engine"
)

// Backward is the exact backward pass of Ascend. v (B x d) holds dL/dx_n and receives dL/dx_0; grad receives
// the gradient of the parameters; a holds the k matrices A_i (d x d; empty for precisions of low rank). tr must
// come from an Ascend of the same mixture, with the same alpha, with backward set; it is used up.
//
// With V = dL/dx_{t+1}, for t = n-1 .. 0:
//
//	U = alpha V              s_i = -rowsum(U * G_i)        t_i = r_i (s_i - sum_j r_j s_j)
//	W_i = -r_i U - t_i/2 D_i                               dP_i += W_i^T D_i
//	N_i = r_i U + t_i D_i                                  dmu_i += colsum(N_i) P_i
//	V -= sum_i N_i P_i       dc_i += sum(t_i)              dalpha += sum(sum_j r_j s_j)/alpha
//
// and dA_i = A_i (dP_i + dP_i^T), of a tied mixture dA = A sum_i (dP_i + dP_i^T). (The sum in dalpha is
// sum(V * grad phi), because grad phi = -sum_i r_i G_i. With alpha 0 it is NaN.) If fewer than d/3 rows of all steps
// have r_i above 0, dP_i is not made: dA_i = (A_i W_i^T) D_i + (A_i D_i^T) W_i over these rows.
//
// The gradient is exact up to float32 rounding, with one approximation within it: if component i alone counts
// for a row in the last sixteen steps or more of its ascent, the sum of W_i^T D_i over these steps is made of
// seven products of combinations of the rows for each 64 steps. It is off by at most 2^-17 |W_i| |D_i|, with
// Frobenius norms over these steps (single_component.go). In practice it is rounding: in TestSingleRuns dA_i is off
// by at most 8.1e-7 of its length.
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
// The sums over rows that dmu_i is made of are float32 chains, as those of dP_i are. With n the number of rows
// of all steps with r_i above 0 (at most n = steps times rows of the minibatch), colsum(N_i) is off by at most
// n+2 roundings, (n+2) 2^-24 of colsum(|r_i U| + |t_i D_i|) but for terms in 2^-48: 10 steps of 128 rows, 7.7e-5.
// Of low rank the sums are of r_i U, t_i X and t_i, in one chain, and t_i mu_i comes off at the end: (2n+4) 2^-24
// of colsum(|r_i U| + |t_i X| + |t_i mu_i|).
//
// A row of V whose elements are all below 2^-100 after a step is 0 from there on.
//
// A thread takes a block of rows from the last step to the first on its own; the sums dP_i (or dF_i and dw_i)
// are split over their elements, whose chains run over the steps from the last to the first and the rows in
// increasing order.
func (m *Mixture) Backward(
	e *engine.Engine, alpha float32, a []float32, tr *Trajectory, v engine.Matrix, grad *Gradient,
) {
	const call = "Backward"
	m.checkBack(e, call, alpha, tr, v)
	m.checkGradient(call, a, grad)
	m.lock(e)
	defer e.Unlock()
	grad.reset()
	target := v
	v = e.Caller().Contiguous(slotDense, v)
	engine.Grow(&tr.t, tr.Steps*tr.K*tr.Rows)
	engine.Grow(&tr.sum, tr.Steps*tr.Rows)
	tr.enter(false)
	m.precision.backward(e, alpha, a, tr, v, grad)
	grad.addAlpha(e, alpha, tr)
	tr.backward = false
	if target.CS != 1 {
		engine.CopyMatrix(target, v)
	}
}

// BackwardRows is the part of Backward that takes v back from x_n to x_0. Sums is the other part. Precisions must be
// matrices.
func (m *Mixture) BackwardRows(e *engine.Engine, alpha float32, tr *Trajectory, v engine.Matrix) {
	const call = "BackwardRows"
	m.checkBack(e, call, alpha, tr, v)
	p := m.matrices(call)
	if v.CS != 1 {
		panic("ascent: BackwardRows: v has gaps")
	}
	m.lock(e)
	defer e.Unlock()
	engine.Grow(&tr.t, tr.Steps*tr.K*tr.Rows)
	engine.Grow(&tr.sum, tr.Steps*tr.Rows)
	tr.enter(false)
	p.takeBack(e, alpha, tr, v)
	tr.backward, tr.back = false, true
}

// Sums sets grad to the gradient of the parameters by the rows [lo, hi) of a trajectory that BackwardRows has taken
// back: the bits of a Backward of these rows alone.
func (m *Mixture) Sums(
	e *engine.Engine, alpha float32, a []float32, tr *Trajectory, lo, hi int, grad *Gradient,
) {
	const call = "Sums"
	p := m.checkSums(e, call, alpha, a, tr, grad)
	if lo < 0 || hi < lo || hi > tr.Rows {
		panic(fmt.Sprintf("ascent: Sums: rows %d to %d of %d", lo, hi, tr.Rows))
	}
	m.lock(e)
	defer e.Unlock()
	grad.reset()
	part := &grad.part
	tr.rows(part, lo, hi)
	part.enter(true)
	p.sumUp(e, a, part, grad)
	grad.addAlpha(e, alpha, part)
	*part = Trajectory{}
}

// checkSums panics unless there is a gradient along tr.
func (m *Mixture) checkSums(
	e *engine.Engine, call string, alpha float32, a []float32, tr *Trajectory, grad *Gradient,
) *dense {
	m.ready(e, call)
	p := m.matrices(call)
	if !tr.back {
		panic("ascent: " + call + ": expected a trajectory that BackwardRows has taken back")
	}
	tr.check(call, m, alpha)
	m.checkGradient(call, a, grad)
	return p
}

// checkBack panics unless v can be taken back along tr.
func (m *Mixture) checkBack(e *engine.Engine, call string, alpha float32, tr *Trajectory, v engine.Matrix) {
	if tr.K != m.K || tr.D != m.D {
		panic(fmt.Sprintf("ascent: %s: trajectory of %d components in %d dimensions, mixture of %d in %d", call,
			tr.K, tr.D, m.K, m.D))
	}
	v.CheckShape(call, "v", tr.Rows, m.D)
	m.ready(e, call)
	if !tr.backward {
		panic("ascent: " + call + ": the trajectory was not recorded for the backward pass")
	}
	tr.check(call, m, alpha)
	engine.CheckDisjoint(call, "v", v, "Mu", engine.View(m.Mu, m.K, m.D))
}

// checkGradient panics unless a and grad have the lengths of the parameters.
func (m *Mixture) checkGradient(call string, a []float32, grad *Gradient) {
	engine.CheckLength(call, "grad.Mu", len(grad.Mu), m.K*m.D)
	engine.CheckLength(call, "grad.C", len(grad.C), m.K)
	m.precision.checkGradient(call, a, grad)
}

// reset clears what the sums are added to.
func (g *Gradient) reset() {
	clear(g.Mu)
	clear(g.C)
	g.Alpha = 0
}

// addAlpha adds dalpha.
func (g *Gradient) addAlpha(e *engine.Engine, alpha float32, tr *Trajectory) {
	for t := tr.Steps - 1; t >= 0; t-- {
		g.Alpha += e.Caller().Sum(tr.sum[tr.row(t):][:tr.Rows])
	}
	g.Alpha /= alpha
}

func (p *dense) checkGradient(call string, a []float32, grad *Gradient) {
	n := len(p.p) * p.m.D * p.m.D
	engine.CheckLength(call, "a", len(a), n)
	engine.CheckLength(call, "grad.A", len(grad.A), n)
	if p.a != nil && &p.a[0] != &a[0] {
		panic("ascent: " + call + ": a is not the memory that SetFactors was given")
	}
}

func (p *dense) backward(
	e *engine.Engine, alpha float32, a []float32, tr *Trajectory, v engine.Matrix, grad *Gradient,
) {
	p.takeBack(e, alpha, tr, v)
	tr.enter(true)
	p.sumUp(e, a, tr, grad)
}

// takeBack takes v back through all steps.
func (p *dense) takeBack(e *engine.Engine, alpha float32, tr *Trajectory, v engine.Matrix) {
	engine.Grow(&tr.u, tr.Steps*tr.Rows*tr.D)
	if tr.sparse {
		p.sparseBack(e, alpha, tr, v)
	} else {
		p.denseBack(e, alpha, tr, v)
	}
}

// sumUp computes all sums over rows, and dA_i.
func (p *dense) sumUp(e *engine.Engine, a []float32, tr *Trajectory, grad *Gradient) {
	m := p.m
	engine.Grow(&grad.sums, tr.K*tr.D)
	clear(grad.sums)
	p.countRows(e, tr, grad)
	if tr.sparse {
		p.sparseSums(e, tr, grad)
	} else {
		p.denseSums(e, tr, grad)
	}
	if tr.Steps == 0 || tr.Rows == 0 {
		clear(grad.A)
		return
	}
	floats := float64(m.K * m.D * m.D) // read, each of which is worth 16 flop
	runIn(e, &grad.jobs.centre, centreJob{p: p, grad: grad}, m.K, 16*floats)
	n := m.D * m.D
	if p.tied() && grad.rows[0] == 0 { // dP_0 has not been made
		clear(grad.p[:n])
	}
	for i := len(p.p); i < m.K; i++ { // one P for all: the sum of dP_i in increasing i
		if grad.rows[i] != 0 {
			e.AddLocked(grad.p[:n], grad.p[:n], grad.p[i*n:(i+1)*n])
		}
	}
	p.factorGradient(e, a, tr, grad)
	m.work.FactorFlop += p.factorFlop(tr, grad)
}

// denseBack takes v back with all components, whatever their responsibilities.
func (p *dense) denseBack(e *engine.Engine, alpha float32, tr *Trajectory, v engine.Matrix) {
	m := p.m
	flops := ascentFlops(tr.Rows, m.K, m.D, tr.Steps)
	most := maxBlockRows
	if m.D <= longRows {
		most = 64 // so that G of two steps stays in the second-level cache
	}
	p.pad()
	blocks := vjpBlocks(e, tr.Rows, most, flops)
	runIn(e, &tr.jobs.vjp, vjpJob{p: p, alpha: alpha, tr: tr, v: v, blocks: blocks}, blocks, flops)
}

// denseSums computes the sums over rows, whatever their responsibilities.
func (p *dense) denseSums(e *engine.Engine, tr *Trajectory, grad *Gradient) {
	m := p.m
	j := gradientJob{e: e, m: m, tr: tr, grad: grad, groups: m.K, inner: p.inner(e)}
	j.parts = min(max(2*e.Threads()/m.K, 1), e.Panels(m.D))
	if m.D <= longRows {
		j.groups = min(m.K, 2*e.Threads())
	}
	runIn(e, &grad.jobs.gradient, j, j.groups*j.parts, ascentFlops(tr.Rows, m.K, m.D, tr.Steps))
}

// inner returns how many rows of W_i and D_i go into dP_i at a time.
func (p *dense) inner(e *engine.Engine) int {
	if p.m.D <= longRows {
		return min(blockInner, e.InnerBlock())
	}
	return e.InnerBlock()
}

// vjpBlocks returns the number of blocks, of up to most rows, of a backward pass.
func vjpBlocks(e *engine.Engine, rows, most int, flops float64) int {
	threads := e.Threads()
	if flops < e.WakeFlops() {
		threads = 1
	}
	return rowBlocks(rows, most, threads)
}

// vjpJob takes v back through all steps, a block of rows at a time, and leaves U and t in the trajectory.
type vjpJob struct {
	p      *dense
	alpha  float32
	tr     *Trajectory
	v      engine.Matrix
	blocks int
}

// Run takes a block of rows back.
func (j *vjpJob) Run(worker *engine.Worker, task int) {
	r0, r1 := engine.Part(j.tr.Rows, j.blocks, task)
	if r0 == r1 {
		return
	}
	rows, d := r1-r0, j.p.m.D
	ld := engine.PaddedLD(d)
	total, g := worker.ScratchRows(slotY, rows, d, ld), worker.ScratchRows(slotG, rows, d, ld)
	for t := j.tr.Steps - 1; t >= 0 && !j.tr.stopped(); t-- {
		j.step(worker, t, r0, r1, total, g)
	}
}

// step takes the rows [r0, r1) back through step t. total and g are memory.
func (j *vjpJob) step(worker *engine.Worker, t, r0, r1 int, total, g engine.Matrix) {
	p, m, tr := j.p, j.p.m, j.tr
	rows, d := r1-r0, m.D
	v, u := j.v.Slice(r0, r1, 0, d), tr.block(tr.u, d, t, r0, r1)
	scaleRows(worker, u, j.alpha, v)
	x := p.block(worker, slotPadded, tr.XAt(t).Slice(r0, r1, 0, d))
	r := tr.RAt(t).Slice(0, m.K, r0, r1)
	s := engine.Matrix{Data: tr.t[tr.pair(t, 0)+r0:], Rows: m.K, Cols: rows, RS: tr.stride, CS: 1}
	q := worker.Scratch(slotQ, rows)
	for i := range m.K {
		if r1 <= tr.kept {
			g = tr.gAt(t, i, r0, r1)
		} else {
			f := p.quadFormAmong(i, x.Cols)
			g.Cols = x.Cols
			worker.QuadForm(slotDelta, g, q, x, &f)
		}
		worker.RowDots(s.Row(i), u, g)
		worker.Scale(s.Row(i), -1, s.Row(i))
	}
	sum := tr.sum[t*tr.Rows+r0 : t*tr.Rows+r1]
	worker.MixtureVJP(r.Data, s.Data, tr.Rows, sum, m.K)
	if allBelow(mostPaddedSum, sum) {
		u = p.block(worker, slotU, u)
	} else {
		x = x.Slice(0, rows, 0, d)
	}
	total.Cols = u.Cols
	for i := range m.K {
		f := p.quadFormAmong(i, u.Cols)
		in := engine.Deltas{R: r.Row(i), T: s.Row(i), U: u, X: x, Mu: f.Mu, H: 1}
		worker.QuadFormVJP(slotW, total, &in, f.P, i > 0, tr.prefetchG(t-1, i, r0, r1))
	}
	total.Cols = d
	addVJP(worker, v, total)
	flushTiny(v)
}

// addVJP adds the sum over all components to V. The chains of total end with -0 if their products underflow, unless
// another component adds zeros: that may not show.
func addVJP(worker *engine.Worker, v, total engine.Matrix) {
	v, total = oneRow(v, total)
	for b := range v.Rows {
		row := v.Row(b)
		worker.Add(row, row, total.Row(b))
		for n := 0; n < len(row); n += len(zeros) {
			some := row[n:min(n+len(zeros), len(row))]
			worker.Add(some, some, zeros[:len(some)])
		}
	}
}

// zeros makes -0 +0 where it is added.
var zeros [4 << 10]float32

// scaleRows sets dst = a*x.
func scaleRows(worker *engine.Worker, dst engine.Matrix, a float32, x engine.Matrix) {
	dst, x = oneRow(dst, x)
	for b := range dst.Rows {
		worker.Scale(dst.Row(b), a, x.Row(b))
	}
}

// oneRow returns x and y as matrices of one row, for fewer calls, if the rows of both follow one another and both
// stay in the first-level cache.
func oneRow(x, y engine.Matrix) (engine.Matrix, engine.Matrix) {
	const most = 4 << 10
	if n := x.Rows * x.Cols; n <= most && x.RS == x.Cols && y.RS == y.Cols {
		return asRow(x.Data[:n]), asRow(y.Data[:n])
	}
	return x, y
}

// flushBelow is the size below which dL/dx_t counts as 0.
const flushBelow = 0x1p-100

// flushTiny sets rows of V to 0 if no element of them reaches flushBelow. Near a fixed point dL/dx_t shrinks by a
// factor a step. If that is above 1/2, rounding keeps it from ever reaching 0, and arithmetic with the subnormal
// numbers at which it stops is tens of times slower. 2^-100 is far below what an update of Adam can show.
func flushTiny(v engine.Matrix) {
	for b := range v.Rows {
		if row := v.Row(b); allBelow(flushBelow, row) { // NaN stays
			clear(row)
		}
	}
}
