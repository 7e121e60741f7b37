package engine

import (
	"fmt"
	"slices"
	"sync"
)

// lowRank holds precisions of NewLowRankMixture in the layouts in which the products read
// them.
type lowRank struct {
	r    int
	sign float32
	w    []float32 // k x d
	f    []float32 // k r x d, F_1 above F_2 and so on

	offset   []float32 // k r: -F_i mu_i
	columns  []float32 // F_i^T of the components in use (columnsOf)
	laid     []columnsState
	stack    []float32 // (k r + k) x d: all F_i, with the sign before them, above all -w_i*mu_i
	project  Packed    // stack^T without the sign
	weightsT Packed    // all w_i, d x k

	// For the dense route, where wanted (packCombined): stack, and all w_i.
	combined      bool
	back, weights Packed
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
// No array of B x k x d numbers appears, and a step takes k d (2 r + 3) multiply-adds a row,
// or k d (r + 1) where few responsibilities are above 0.
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
// It takes a copy and up to three packings of about k r d numbers each, and two of k d.
// Whether P_i is positive definite is for the caller to know.
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
	m.renewed(nil)
	m.forget()
	grow(&l.stack, (kr+k)*d+e.kern.nr) // multiplyThin reads beyond a row
	grow(&l.offset, kr)
	grow(&l.columns, k*(l.r*d+e.kern.nr))
	growSlice(&l.laid, k)
	for i := range l.laid {
		l.laid[i].known = false
	}
	j := &e.lowStack
	cost := elementFlops((kr + k) * d)
	*j = lowStackJob{kern: e.kern, m: m, tasks: e.tasksFor(k, cost)}
	e.run(j, j.tasks, cost)
	stack := View(l.stack, kr+k, d)
	e.repack(&l.project, stack.T())
	j.signed = true
	e.run(j, j.tasks, cost)
	*j = lowStackJob{}
	e.repack(&l.weightsT, View(w, k, d).T())
	l.combined = false
}

// columnsState says whether F_i^T is known since SetLowRank.
type columnsState struct {
	sync.Mutex
	known bool
}

// columnsOf returns F_i^T (d x r, row-major), with what multiplyThin reads beyond it. It is
// laid out when it is first asked for: few rows are multiplied by few components.
func (l *lowRank) columnsOf(kern *kernels, i, d int) []float32 {
	const some = 16 // rows a call, which is short
	state, n := &l.laid[i], l.r*d
	columns := l.columns[i*(n+kern.nr) : (i+1)*(n+kern.nr)]
	state.Lock()
	defer state.Unlock()
	if !state.known {
		for q := 0; q < l.r; q += some {
			kern.transpose(columns[q:], l.r, l.f[i*n+q*d:], d, min(some, l.r-q), d)
		}
		state.known = true
	}
	return columns
}

// packCombined packs what lowCombine and moveByPanels multiply with, once after SetLowRank.
// The sparse route does without: it seldom multiplies, and then with the matrices as they
// lie.
func (e *Engine) packCombined(m *Mixture) {
	if l := m.low; !l.combined {
		e.repack(&l.back, View(l.stack, m.inner(), m.D))
		e.repack(&l.weights, View(l.w, m.K, m.D))
		l.combined = true
	}
}

// combineWith returns the operands of lowCombine.
func (m *Mixture) combineWith() (back, weights operand) {
	l := m.low
	if l.combined {
		return operand{packed: &l.back}, operand{packed: &l.weights}
	}
	return operand{direct: View(l.stack, m.inner(), m.D)}, operand{direct: View(l.w, m.K, m.D)}
}

// lowStackJob lays out the factors F_i, one component after the other, with -w_i mu_i below
// them all, and the offsets -F_i mu_i; when signed it gives the factors their sign.
type lowStackJob struct {
	kern   *kernels
	m      *Mixture
	tasks  int
	signed bool
}

func (j *lowStackJob) run(_, task int) {
	l, k, d := j.m.low, j.m.K, j.m.D
	lo, hi := part(k, j.tasks, task)
	for i := lo; i < hi; i++ {
		f := l.stack[i*l.r*d : (i+1)*l.r*d]
		if j.signed {
			j.kern.scale(f, l.sign, f)
			continue
		}
		copy(f, l.f[i*l.r*d:])
		row := l.stack[(k*l.r+i)*d : (k*l.r+i+1)*d]
		j.kern.multiply(row, l.w[i*d:(i+1)*d], j.m.mu(i))
		j.kern.scale(row, -1, row)
		offset := l.offset[i*l.r : (i+1)*l.r]
		j.kern.dotRows(offset, f, d, j.m.mu(i), 0, d)
		j.kern.scale(offset, -1, offset)
	}
}

// inner is k r + k, the inner size of the product that makes the gradient.
func (m *Mixture) inner() int { return m.K*m.low.r + m.K }

// lowRankFlops counts the products of steps of ascent of rows, and the diagonal parts.
func lowRankFlops(rows, k, d, r, steps int) float64 {
	return 2 * float64(rows) * float64(d) * float64(k) * float64(2*r+3) * float64(steps)
}

// lowQuads computes Z and q_i (row i of q, whose rows are qs apart) of the rows of x.
func (e *Engine) lowQuads(worker int, z Matrix, q []float32, qs int, x Matrix, m *Mixture) {
	l, d, r := m.low, m.D, m.low.r
	for b := range x.Rows {
		copy(z.Row(b), l.offset)
	}
	e.multiply(worker, z, x, &operand{packed: &l.project}, true)
	const some = 8 // rows, which stay in the first-level cache
	for b0 := 0; b0 < x.Rows; b0 += some {
		b1 := min(b0+some, x.Rows)
		for i := range m.K {
			e.kern.quadRows(q[i*qs+b0:i*qs+b1], x.Data[b0*x.RS:], x.RS, m.mu(i), l.w[i*d:(i+1)*d])
		}
	}
	squares := e.scratch[worker].floats(slotGrad, x.Rows)
	for i := 0; i < m.K && r > 0; i++ {
		zi := z.Data[i*r:]
		e.kern.dotRows(squares, zi, z.RS, zi, z.RS, r)
		e.kern.axpy(l.sign, squares, q[i*qs:i*qs+x.Rows])
	}
}

// lowStep computes responsibilities, potential and, unless only these are asked for, the
// movement of a block of rows.
func (j *ascentJob) lowStep(worker, t int, b *ascentBlock) {
	e, m, l := j.e, j.m, j.m.low
	rows, k, d := b.x.Rows, m.K, m.D
	arena := &e.scratch[worker]
	z := j.project(arena, t, b)
	e.lowQuads(worker, z, b.q, b.qs, b.x, m)
	j.keep(b, 0, rows)
	e.kern.mixture(b.q, b.qs, m.C, b.phi)
	if j.phi != nil {
		j.report(b, 0, rows)
		return
	}
	push := j.push(arena, t, b)
	for i := range k {
		ri := b.q[i*b.qs : i*b.qs+rows]
		e.lowWeigh(m, push, i, ri, z, ri, 0, z)
	}
	res := Matrix{Data: b.q, Rows: k, Cols: rows, RS: b.qs, CS: 1}
	if l.combined && !arena.anyFew(res) {
		j.moveByPanels(worker, push, b.x)
		return
	}
	grad := Matrix{Data: arena.floats(slotG, rows*d), Rows: rows, Cols: d, RS: d, CS: 1}
	diagonal := Matrix{Data: arena.floats(slotE, rows*d), Rows: rows, Cols: d, RS: d, CS: 1}
	e.lowCombine(worker, m, push, res, grad, diagonal)
	for i := range rows {
		x, g, s := b.x.Row(i), grad.Row(i), diagonal.Row(i)
		e.kern.multiply(s, s, x)
		e.kern.add(g, g, s)
		e.kern.axpy(j.alpha, g, x)
	}
}

// moveByPanels moves the rows of x uphill, panel by panel, so that all of one stays in the
// first-level cache.
func (j *ascentJob) moveByPanels(worker int, push, x Matrix) {
	e, l, kr, nr := j.e, j.m.low, j.m.K*j.m.low.r, j.e.kern.nr
	arena, n := &e.scratch[worker], x.Rows*nr
	all := arena.floats(slotC, 3*n)
	grad, diagonal, panel := all[:n], all[n:2*n], all[2*n:]
	for p := range l.back.panels() {
		e.panelProduct(grad, push, &l.back, p)
		e.panelProduct(diagonal, push.Slice(0, x.Rows, kr, push.Cols), &l.weights, p)
		from, cols := x.Data[p*nr:], min(nr, x.Cols-p*nr)
		e.kern.copyRows(panel, nr, from, x.RS, x.Rows, cols)
		e.kern.multiply(diagonal, diagonal, panel)
		e.kern.add(grad, grad, diagonal)
		e.kern.axpy(j.alpha, grad, panel)
		e.kern.copyRows(from, x.RS, panel, nr, x.Rows, cols)
		e.yield(arena, 2*n*push.Cols)
	}
}

// lowWeigh sets the r columns of component i of dst (rows x (k r + k)) to -(r_i Z_i + h t_i
// Y_i), and its single one behind those of all components to -t_i. Rows with r_i = 0
// become +0, as where they are left out; their t_i must be 0.
func (e *Engine) lowWeigh(m *Mixture, dst Matrix, i int, ri []float32, z Matrix, ti []float32, h float32, y Matrix) {
	r := m.low.r
	if at := i * r; r > 0 {
		e.kern.gradRows(dst.Data[at:], dst.RS, ri, z.Data[at:], z.RS, ti, h, y.Data[at:], y.RS, r)
	}
	for b, v := range ti {
		dst.Set(b, m.K*r+i, 0-v)
	}
}

// sparseShare: rows in which at most a share of 1/sparseShare of the components have a
// responsibility above 0 are combined component by component, by Axpy, and others by a
// product. That costs the same at about a quarter. It changes no bit, because a chain of
// multiply-adds does not see zeros.
var sparseShare = 8

// few lists the components whose responsibility of row b is not 0 (r is k x rows), unless
// they are more than the share above.
func (a *arena) few(r Matrix, b int) (list []int, ok bool) {
	if cap(a.active) < r.Rows {
		a.active = make([]int, r.Rows)
	}
	list = a.active[:0]
	for i := range r.Rows {
		if r.At(i, b) == 0 {
			continue
		}
		if (len(list)+1)*sparseShare > r.Rows {
			return nil, false
		}
		list = append(list, i)
	}
	return list, true
}

// anyFew says whether any row of r (k x rows) has so few.
func (a *arena) anyFew(r Matrix) bool {
	for b := range r.Cols {
		if _, ok := a.few(r, b); ok {
			return true
		}
	}
	return false
}

// lowCombine multiplies rows of left (rows x (k r + k)), which are 0 where r (k x rows) is:
// with the stacked factors into sum, unless it is empty, and its last k columns with all
// w_i into weights (both rows x d).
func (e *Engine) lowCombine(worker int, m *Mixture, left, r, sum, weights Matrix) {
	l, arena, d, kr := m.low, &e.scratch[worker], m.D, m.K*m.low.r
	stack := View(l.stack, m.inner(), d)
	for b := 0; b < left.Rows; {
		if list, ok := arena.few(r, b); ok {
			by, w := left.Row(b), weights.Row(b)
			clear(w)
			for _, i := range list {
				e.kern.axpy(by[kr+i], l.w[i*d:(i+1)*d], w)
			}
			if sum.Data != nil {
				s := sum.Row(b)
				for n, i := range list {
					e.addFactors(arena, s, by[i*l.r:(i+1)*l.r], l.stack[i*l.r*d:], n == 0)
				}
				if len(list) == 0 {
					clear(s)
				}
				for _, i := range list {
					e.kern.axpy(by[kr+i], stack.Row(kr+i), s)
				}
			}
			b++
			continue
		}
		end := b + 1
		for end < left.Rows {
			if _, ok := arena.few(r, end); ok {
				break
			}
			end++
		}
		part := left.Slice(b, end, 0, left.Cols)
		back, byWeights := m.combineWith()
		if sum.Data != nil {
			e.multiply(worker, sum.Slice(b, end, 0, d), part, &back, false)
		}
		e.multiply(worker, weights.Slice(b, end, 0, d), part.Slice(0, end-b, kr, left.Cols), &byWeights, false)
		b = end
	}
}

// addFactors adds to sum the rows of factors, one after the other, times the numbers by. Begun
// by the first of them, and without zeros, which would be left out, the chains stay in
// registers.
func (e *Engine) addFactors(arena *arena, sum, by, factors []float32, begin bool) {
	d := len(sum)
	if begin {
		if len(by) > 0 && !slices.Contains(by, 0) {
			minus := arena.floats(slotS, len(by))
			e.kern.scale(minus, -1, by)
			e.kern.gradient(sum, minus, 1, factors, d, len(by))
			return
		}
		clear(sum)
	}
	for q, v := range by {
		e.kern.axpy(v, factors[q*d:(q+1)*d], sum)
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
	ld := paddedLD(n)
	return Matrix{Data: arena.floats(slotY, rows*ld), Rows: rows, Cols: n, RS: ld, CS: 1}
}

func (j *ascentJob) push(arena *arena, t int, b *ascentBlock) Matrix {
	rows, n := b.x.Rows, j.m.inner()
	if j.tr != nil && j.tr.backward {
		return j.tr.block(j.tr.push, n, t, b.r0, b.r0+rows)
	}
	ld := paddedLD(n)
	return Matrix{Data: arena.floats(slotW, rows*ld), Rows: rows, Cols: n, RS: ld, CS: 1}
}

// block returns rows [r0, r1) of step t of a record with n numbers a row.
func (tr *Trajectory) block(record []float32, n, t, r0, r1 int) Matrix {
	at := t * tr.Rows
	return Matrix{Data: record[(at+r0)*n : (at+r1)*n], Rows: r1 - r0, Cols: n, RS: n, CS: 1}
}
