package engine

import "fmt"

// lowRank holds precisions of NewLowRankMixture in the layouts in which the products read
// them.
type lowRank struct {
	r    int
	sign float32
	w    []float32 // k x d
	f    []float32 // k r x d, F_1 above F_2 and so on

	offset   []float32 // k r: -F_i mu_i
	stack    []float32 // (k r + k) x d: all F_i above all -w_i*mu_i
	project  Packed    // stack^T
	back     Packed    // stack with the sign before its F_i
	weights  Packed    // all w_i, k x d
	weightsT Packed    // d x k
}

// NewLowRankMixture makes a mixture whose precisions are diagonal up to r dimensions,
//
//	P_i = diag(w_i) + S F_i^T F_i,   w_i of d positive weights, F_i r x d, S = 1 or -1
//
// (r may be 0). They must be set (SetLowRank) before use. With Z_i = (X - mu_i) F_i^T (B x r),
// in the symbols of Mixture and Ascend, and w_i and mu_i multiplying column by column:
//
//	q_i      = rowsum(w_i * (X - mu_i)^2) + S rowsum(Z_i^2)
//	grad phi = - sum_i r_i (w_i * (X - mu_i) + S Z_i F_i)
//
// No array of B x k x d numbers appears, and a step takes k d (2 r + 3) multiply-adds a row.
// One product gives all Z_i: its chains start from -F_i mu_i and add X F_i^T. Another, of
// inner size k r + k, gives
//
//	[-r_1 Z_1 .. -r_k Z_k | -r_1 .. -r_k] [S F_1; ..; S F_k; -w_1*mu_1; ..; -w_k*mu_k]
//
// and a small one X * ([-r_1 .. -r_k] [w_1; ..; w_k]); the sum is grad phi, as precise as
// the rounding of x. q has to be more precise than that, because responsibilities depend
// on its differences: its diagonal part, where it is large, is a sum of positive terms in
// lanes, from x - mu_i and not from products of squares. Where q is 1200 at d = 784 it is
// off by some 2e-4.
func NewLowRankMixture(k, d, r int, mu, c []float32) *Mixture {
	if r < 0 || r > d {
		panic(fmt.Sprintf("engine: NewLowRankMixture: rank %d in %d dimensions", r, d))
	}
	m := newMixture("NewLowRankMixture", k, d, mu, c)
	m.low = &lowRank{r: r}
	return m
}

// SetLowRank sets P_i = diag(w_i) + sign F_i^T F_i from the weights w (k x d), the factors f
// (k r x d, F_1 first) and sign 1 or -1. It reads the centres, too: call it once per
// update of any of them. w and f are kept and must not change before the next call.
// It takes a copy and four packings of about k r d numbers each. Whether P_i is positive
// definite is for the caller to know.
func (e *Engine) SetLowRank(m *Mixture, w, f []float32, sign float32) {
	if m.low == nil {
		panic("engine: SetLowRank: the mixture was made for other precisions (NewLowRankMixture)")
	}
	l, k, d := m.low, m.K, m.D
	kr := k * l.r
	length("SetLowRank", "w", len(w), k*d)
	length("SetLowRank", "f", len(f), kr*d)
	if sign != 1 && sign != -1 {
		panic(fmt.Sprintf("engine: SetLowRank: sign %v, expected 1 or -1", sign))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	l.w, l.f, l.sign = w, f, sign
	grow(&l.stack, (kr+k)*d)
	grow(&l.offset, kr)
	copy(l.stack, f)
	for i := range k {
		row := l.stack[(kr+i)*d : (kr+i+1)*d]
		e.k.multiply(row, w[i*d:(i+1)*d], m.mu(i))
		e.k.scale(row, -1, row)
		e.k.dotRows(l.offset[i*l.r:(i+1)*l.r], f[i*l.r*d:(i+1)*l.r*d], d, m.mu(i), 0, d)
	}
	e.k.scale(l.offset, -1, l.offset)
	stack := View(l.stack, kr+k, d)
	pack := func(p *Packed, b Matrix) {
		p.reshape(e.k, b.Rows, b.Cols)
		e.packInto(p, b)
	}
	pack(&l.project, stack.T())
	for i := range kr {
		e.k.scale(stack.Row(i), sign, stack.Row(i))
	}
	pack(&l.back, stack)
	pack(&l.weights, View(w, k, d))
	pack(&l.weightsT, View(w, k, d).T())
}

// inner is k r + k, the inner size of the product that makes the gradient.
func (m *Mixture) inner() int { return m.K*m.low.r + m.K }

// lowRankFlops counts the products of steps of ascent of rows, and the diagonal parts.
func lowRankFlops(rows, k, d, r, steps int) float64 {
	return 2 * float64(rows) * float64(d) * float64(k) * float64(2*r+3) * float64(steps)
}

// lowStep computes responsibilities, potential and, unless only these are asked for, the
// movement of a block of rows.
func (j *ascentJob) lowStep(worker, t int, b *ascentBlock) {
	e, m, l := j.e, j.m, j.m.low
	rows, k, d, r := b.x.Rows, m.K, m.D, l.r
	arena := &e.scratch[worker]
	z := j.project(arena, t, b)
	for i := range rows {
		copy(z.Row(i), l.offset)
	}
	e.multiply(worker, z, b.x, &operand{packed: &l.project}, 0, e.k.panels(z.Cols), true)
	squares := arena.floats(slotS, rows)
	for i := range k {
		q := b.q[i*b.qs : i*b.qs+rows]
		e.k.quadRows(q, b.x.Data, b.x.RS, m.mu(i), l.w[i*d:(i+1)*d])
		if r > 0 {
			zi := z.Data[i*r:]
			e.k.dotRows(squares, zi, z.RS, zi, z.RS, r)
			e.k.axpy(l.sign, squares, q)
		}
	}
	e.k.mixture(b.q, b.qs, m.C, b.phi)
	if j.phi != nil {
		j.report(b, 0, rows)
		return
	}
	push := j.push(arena, t, b)
	for i := range k {
		ri := b.q[i*b.qs : i*b.qs+rows]
		e.lowWeigh(push, i, r, ri, z, ri, 0, z)
	}
	grad := Matrix{Data: arena.floats(slotG, rows*d), Rows: rows, Cols: d, RS: d, CS: 1}
	diagonal := Matrix{Data: arena.floats(slotE, rows*d), Rows: rows, Cols: d, RS: d, CS: 1}
	e.multiply(worker, grad, push, &operand{packed: &l.back}, 0, e.k.panels(d), false)
	e.multiply(worker, diagonal, push.Slice(0, rows, k*r, k*r+k), &operand{packed: &l.weights}, 0, e.k.panels(d), false)
	for i := range rows {
		x, g, s := b.x.Row(i), grad.Row(i), diagonal.Row(i)
		e.k.multiply(s, s, x)
		e.k.add(g, g, s)
		e.k.axpy(j.alpha, g, x)
	}
}

// lowWeigh sets the columns of component i of dst (rows x (k r + k)) to -(r Z_i + h t Y_i)
// and its single one at k r + i to -r, or to -t where h is not 0; rows with r = 0 become 0.
func (e *Engine) lowWeigh(dst Matrix, i, rank int, r []float32, z Matrix, t []float32, h float32, y Matrix) {
	at := i * rank
	if rank > 0 {
		e.k.pullRows(dst.Data[at:], dst.RS, r, z.Data[at:], z.RS, t, h, y.Data[at:], y.RS, rank)
	}
	last := dst.Cols - dst.Cols/(rank+1) + i
	for b, v := range t {
		dst.Data[b*dst.RS+last] = -v
	}
}

// project returns where Z of all components goes (rows x k r), and push where the left
// operand of the gradient does (rows x (k r + k)): into the trajectory if the backward
// pass needs them.
func (j *ascentJob) project(arena *arena, t int, b *ascentBlock) Matrix {
	rows, n := b.x.Rows, j.m.K*j.m.low.r
	if j.tr != nil && j.tr.backward {
		return j.tr.block(j.tr.z, n, t, b.r0, b.r0+rows)
	}
	ld := leading(n)
	return Matrix{Data: arena.floats(slotY, rows*ld), Rows: rows, Cols: n, RS: ld, CS: 1}
}

func (j *ascentJob) push(arena *arena, t int, b *ascentBlock) Matrix {
	rows, n := b.x.Rows, j.m.inner()
	if j.tr != nil && j.tr.backward {
		return j.tr.block(j.tr.push, n, t, b.r0, b.r0+rows)
	}
	ld := leading(n)
	return Matrix{Data: arena.floats(slotW, rows*ld), Rows: rows, Cols: n, RS: ld, CS: 1}
}

// block returns rows [r0, r1) of step t of a record with n numbers a row.
func (tr *Trajectory) block(record []float32, n, t, r0, r1 int) Matrix {
	at := t * tr.Rows
	return Matrix{Data: record[(at+r0)*n : (at+r1)*n], Rows: r1 - r0, Cols: n, RS: n, CS: 1}
}

// NewLowRankGradient makes room for the gradient of a mixture of k components in d
// dimensions with precisions diag(w_i) + sign F_i^T F_i of rank r.
func NewLowRankGradient(k, d, r int) *MixtureGradient {
	return &MixtureGradient{
		Mu: alignedFloats(k * d), C: make([]float32, k),
		W: alignedFloats(k * d), F: alignedFloats(k * r * d),
		sums: alignedFloats((k*r + k) * d), squares: alignedFloats(k * d), ones: make([]float32, k*r+k),
	}
}

// lowPull pulls v back through all steps and leaves L_t (pull) and U_t in the trajectory.
type lowPullJob struct {
	e      *Engine
	m      *Mixture
	alpha  float32
	tr     *Trajectory
	v      Matrix
	blocks int
}

func (j *lowPullJob) run(worker, task int) {
	r0, r1 := part(j.tr.Rows, j.blocks, task)
	if r0 == r1 {
		return
	}
	var (
		e, m, l, tr   = j.e, j.m, j.m.low, j.tr
		rows, k, d, r = r1 - r0, m.K, m.D, m.low.r
		kr, n         = k * r, m.inner()
		arena         = &e.scratch[worker]
		v             = j.v.Slice(r0, r1, 0, d)
		ld            = leading(n)
		y             = Matrix{Data: arena.floats(slotY, rows*ld), Rows: rows, Cols: n, RS: ld, CS: 1}
		total         = Matrix{Data: arena.floats(slotE, rows*d), Rows: rows, Cols: d, RS: d, CS: 1}
		term          = Matrix{Data: arena.floats(slotG, rows*d), Rows: rows, Cols: d, RS: d, CS: 1}
	)
	for t := tr.Steps - 1; t >= 0; t-- {
		u, x := tr.block(tr.u, d, t, r0, r1), tr.XAt(t).Slice(r0, r1, 0, d)
		for b := range rows {
			e.k.scale(u.Row(b), j.alpha, v.Row(b))
			e.k.multiply(term.Row(b), u.Row(b), x.Row(b))
		}
		e.multiply(worker, y, u, &operand{packed: &l.project}, 0, e.k.panels(n), false)
		e.multiply(worker, y.Slice(0, rows, kr, n), term, &operand{packed: &l.weightsT}, 0, e.k.panels(k), true)
		z := tr.block(tr.z, kr, t, r0, r1)
		res := tr.RAt(t).Slice(0, k, r0, r1)
		s := Matrix{Data: tr.t[t*k*tr.Rows+r0:], Rows: k, Cols: rows, RS: tr.Rows, CS: 1}
		for i := range k {
			si := s.Row(i)
			if r > 0 {
				e.k.dotRows(si, y.Data[i*r:], y.RS, z.Data[i*r:], z.RS, r)
			} else {
				clear(si)
			}
			for b := range si {
				si[b] = -(float32(l.sign*si[b]) + y.Data[b*y.RS+kr+i])
			}
		}
		e.k.responsibilities(res.Data, s.Data, tr.Rows, tr.sum[t*tr.Rows+r0:t*tr.Rows+r1], k)
		pull := tr.block(tr.pull, n, t, r0, r1)
		for i := range k {
			e.lowWeigh(pull, i, r, res.Row(i), y, s.Row(i), 1, z)
		}
		e.multiply(worker, total, pull, &operand{packed: &l.back}, 0, e.k.panels(d), false)
		for _, side := range []struct {
			left  Matrix
			right Matrix
		}{{tr.block(tr.push, n, t, r0, r1), u}, {pull, x}} {
			e.multiply(worker, term, side.left.Slice(0, rows, kr, n), &operand{packed: &l.weights}, 0, e.k.panels(d), false)
			for b := range rows {
				e.k.multiply(term.Row(b), term.Row(b), side.right.Row(b))
				e.k.add(total.Row(b), total.Row(b), term.Row(b))
			}
		}
		for b := range rows {
			e.k.add(v.Row(b), v.Row(b), total.Row(b))
		}
	}
}

// lowRankBackward is AscendBackward for precisions of low rank. The products run over X
// and U alone; the terms with mu_i are put in at the end, from column sums.
func (e *Engine) lowRankBackward(m *Mixture, alpha float32, tr *Trajectory, v Matrix, grad *MixtureGradient) {
	l, n := m.low, m.inner()
	flops := 2 * lowRankFlops(tr.Rows, m.K, m.D, l.r, tr.Steps)
	grow(&tr.pull, tr.Steps*tr.Rows*n)
	j := &e.lowPull
	*j = lowPullJob{e: e, m: m, alpha: alpha, tr: tr, v: v, blocks: e.pullBlocks(tr.Rows, m.D, flops)}
	e.run(j, j.blocks, flops)
	*j = lowPullJob{}

	clear(grad.sums)
	clear(grad.squares)
	sum := &e.lowSums
	*sum = lowSumJob{e: e, m: m, tr: tr, grad: grad}
	sum.parts = min(2*e.Threads(), e.k.panels(m.D))
	e.run(sum, sum.parts, flops)
	*sum = lowSumJob{}

	clear(grad.ones)
	for t := tr.Steps - 1; t >= 0; t-- {
		for b := range tr.Rows {
			e.k.add(grad.ones, grad.ones, tr.pull[(t*tr.Rows+b)*n:])
		}
		for i := range m.K {
			at := (t*m.K + i) * tr.Rows
			grad.C[i] += e.k.sum(tr.t[at : at+tr.Rows])
		}
	}
	for i := range m.K {
		e.lowFinish(m, i, grad)
	}
}

// lowSumJob sums over steps, last first, and rows: sums = pull^T X + push^T U, and for the
// weights squares = [-r]^T (U*X) + [-t]^T (X*X)/2. A task has some panels of columns.
type lowSumJob struct {
	e     *Engine
	m     *Mixture
	tr    *Trajectory
	grad  *MixtureGradient
	parts int
}

func (j *lowSumJob) run(worker, task int) {
	e, m, tr := j.e, j.m, j.tr
	k, d, kr, n := m.K, m.D, m.K*m.low.r, m.inner()
	p0, p1 := part(e.k.panels(d), j.parts, task)
	c0, c1 := p0*e.k.nr, min(p1*e.k.nr, d)
	sums, squares := View(j.grad.sums, n, d).Slice(0, n, c0, c1), View(j.grad.squares, k, d).Slice(0, k, c0, c1)
	ld := leading(c1 - c0)
	square := Matrix{Data: e.scratch[worker].floats(slotG, tr.Rows*ld), Rows: tr.Rows, Cols: c1 - c0, RS: ld, CS: 1}
	for t := tr.Steps - 1; t >= 0; t-- {
		pull, push := tr.block(tr.pull, n, t, 0, tr.Rows), tr.block(tr.push, n, t, 0, tr.Rows)
		x, u := tr.XAt(t).Slice(0, tr.Rows, c0, c1), tr.block(tr.u, d, t, 0, tr.Rows).Slice(0, tr.Rows, c0, c1)
		e.multiply(worker, sums, pull.T(), &operand{direct: x}, 0, p1-p0, true)
		e.multiply(worker, sums, push.T(), &operand{direct: u}, 0, p1-p0, true)
		for b := range tr.Rows {
			e.k.multiply(square.Row(b), u.Row(b), x.Row(b))
		}
		e.multiply(worker, squares, push.Slice(0, tr.Rows, kr, n).T(), &operand{direct: square}, 0, p1-p0, true)
		for b := range tr.Rows {
			e.k.scale(square.Row(b), 0.5, x.Row(b))
			e.k.multiply(square.Row(b), square.Row(b), x.Row(b))
		}
		e.multiply(worker, squares, pull.Slice(0, tr.Rows, kr, n).T(), &operand{direct: square}, 0, p1-p0, true)
	}
}

// lowFinish puts the terms with mu_i into the gradient of component i.
func (e *Engine) lowFinish(m *Mixture, i int, grad *MixtureGradient) {
	l, d, r := m.low, m.D, m.low.r
	mu, w, dmu, dw := m.mu(i), l.w[i*d:(i+1)*d], grad.Mu[i*d:(i+1)*d], grad.W[i*d:(i+1)*d]
	last := m.K*r + i
	ones, sum := grad.ones[last], grad.sums[last*d:(last+1)*d] // -sum t, -(sum t X + sum r U)
	copy(dw, sum)
	e.k.axpy(-0.5*ones, mu, dw)
	e.k.multiply(dw, dw, mu)
	e.k.subRows(dw, 0, grad.squares[i*d:(i+1)*d], 0, dw, 0, 1, d)
	copy(dmu, sum)
	e.k.axpy(-ones, mu, dmu)
	e.k.multiply(dmu, dmu, w)
	for row := i * r; row < (i+1)*r; row++ {
		df := grad.F[row*d : (row+1)*d]
		copy(df, grad.sums[row*d:(row+1)*d])
		e.k.axpy(-grad.ones[row], mu, df)
		e.k.scale(df, l.sign, df)
		e.k.axpy(l.sign*grad.ones[row], l.f[row*d:(row+1)*d], dmu)
	}
	e.k.scale(dmu, -1, dmu)
}
