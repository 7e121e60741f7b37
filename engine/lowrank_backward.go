package engine

// NewLowRankGradient makes room for the gradient of a mixture of k components in d
// dimensions with precisions diag(w_i) + sign F_i^T F_i of rank r.
func NewLowRankGradient(k, d, r int) *MixtureGradient {
	return &MixtureGradient{
		Mu: alignedFloats(k * d), C: make([]float32, k),
		W: alignedFloats(k * d), F: alignedFloats(k * r * d),
		sums: alignedFloats((k*r + k) * d), squares: alignedFloats(k * d), ones: make([]float32, k*r+k),
	}
}

// lowPullJob pulls v back through the steps [t0, t1) and leaves what lowSumJob needs in the
// trajectory: [-N | -t] of each step (pull), and U where few responsibilities are above 0,
// otherwise the operands of its products, laid out while they are near.
type lowPullJob struct {
	e      *Engine
	m      *Mixture
	alpha  float32
	tr     *Trajectory
	v      Matrix
	few    bool
	t0, t1 int
	blocks int
}

func (j *lowPullJob) run(worker, task int) {
	r0, r1 := part(j.tr.Rows, j.blocks, task)
	if r0 == r1 {
		return
	}
	var (
		e, m, tr   = j.e, j.m, j.tr
		rows, k, d = r1 - r0, m.K, m.D
		kr, n      = k * m.low.r, m.inner()
		arena      = &e.scratch[worker]
		v          = j.v.Slice(r0, r1, 0, d)
		ld         = paddedLD(n)
		y          = Matrix{Data: arena.floats(slotY, rows*ld), Rows: rows, Cols: n, RS: ld, CS: 1}
		total      = Matrix{Data: arena.floats(slotE, rows*d), Rows: rows, Cols: d, RS: d, CS: 1}
		byU        = Matrix{Data: arena.floats(slotG, rows*d), Rows: rows, Cols: d, RS: d, CS: 1}
		byX        = Matrix{Data: arena.floats(slotCentre, rows*d), Rows: rows, Cols: d, RS: d, CS: 1}
		u          Matrix
	)
	if !j.few {
		u = View(arena.floats(slotU, rows*d), rows, d)
	}
	for t := j.t1 - 1; t >= j.t0 && !tr.stopped(); t-- {
		x := tr.XAt(t).Slice(r0, r1, 0, d)
		pull := tr.block(tr.pull, n, t-j.t0, r0, r1)
		if j.few {
			u = tr.block(tr.u, d, t, r0, r1)
		}
		for b := range rows {
			e.kern.scale(u.Row(b), j.alpha, v.Row(b))
		}
		z := tr.block(tr.z, kr, t, r0, r1)
		res := tr.RAt(t).Slice(0, k, r0, r1)
		s := Matrix{Data: tr.t[t*k*tr.Rows+r0:], Rows: k, Cols: rows, RS: tr.Rows, CS: 1}
		sum := tr.sum[t*tr.Rows+r0 : t*tr.Rows+r1]
		if tr.sparse {
			e.multiplyRows(byX, u, x)
			j.someSlopes(worker, s, res, u, byX, y, z)
			e.kern.responsibilityBackward(res.Data, s.Data, tr.Rows, sum, k)
			j.weighSome(pull, res, s, y, z)
		} else {
			j.allSlopes(worker, s, u, x, byX, y, z)
			e.kern.responsibilityBackward(res.Data, s.Data, tr.Rows, sum, k)
			for i := range k {
				e.lowWeigh(m, pull, i, res.Row(i), y, s.Row(i), 1, z)
			}
		}
		push := tr.block(tr.push, n, t, r0, r1)
		if !j.few {
			o := tr.sumOperands(e.kern, m, t-j.t0)
			o.set(e.kern, r0, pull, push, x, u)
			if m.low.combined && !arena.anyFew(res) {
				j.moveByPanels(worker, &o, r0, pull, push, v)
				continue
			}
		}
		e.lowCombine(worker, m, push, res, Matrix{}, byU)
		e.lowCombine(worker, m, pull, res, total, byX)
		for b := range rows { // all of a row at a time, while it is near
			total, v := total.Row(b), v.Row(b)
			e.kern.multiply(byU.Row(b), byU.Row(b), u.Row(b))
			e.kern.add(total, total, byU.Row(b))
			e.kern.multiply(byX.Row(b), byX.Row(b), x.Row(b))
			e.kern.add(total, total, byX.Row(b))
			e.kern.add(v, v, total)
			dropFaint(v)
		}
	}
}

// moveByPanels adds to v, panel by panel, so that all of one stays in the first-level cache,
//
//	pull [S F; -w*mu] + (-R W)*U + (-T W)*X
func (j *lowPullJob) moveByPanels(worker int, o *sumOperands, r0 int, pull, push, v Matrix) {
	e, l, kr, nr := j.e, j.m.low, j.m.K*j.m.low.r, j.e.kern.nr
	arena, n, half := &e.scratch[worker], v.Rows*nr, o.right.rows/2*nr
	all := arena.floats(slotC, 3*n)
	total, byU, byX := all[:n], all[n:2*n], all[2*n:]
	for p := range o.right.panels() {
		e.panelProduct(total, pull, &l.back, p)
		e.panelProduct(byU, push.Slice(0, v.Rows, kr, push.Cols), &l.weights, p)
		e.panelProduct(byX, pull.Slice(0, v.Rows, kr, pull.Cols), &l.weights, p)
		panel := o.right.panel(p, 0, o.right.rows)
		x, u := panel[r0*nr:][:n], panel[half+r0*nr:][:n]
		e.kern.multiply(byU, byU, u)
		e.kern.add(total, total, byU)
		e.kern.multiply(byX, byX, x)
		e.kern.add(total, total, byX)
		e.kern.scale(total, -1, total)
		to := v.Data[p*nr:]
		e.kern.subRows(to, v.RS, to, v.RS, total, nr, v.Rows, min(nr, v.Cols-p*nr))
		e.yield(arena, 2*n*pull.Cols)
	}
	for b := range v.Rows {
		dropFaint(v.Row(b))
	}
}

// allSlopes sets byX = U*X, y = [U F^T | U (-w*mu)^T + (U*X) w^T] and s_i of all components (k
// x rows). X, which comes from far away, is fetched during the first product.
func (j *lowPullJob) allSlopes(worker int, s, u, x, byX, y, z Matrix) {
	e, m, l := j.e, j.m, j.m.low
	r, kr := l.r, m.K*l.r
	e.multiply(worker, y, u, &operand{packed: &l.project, prefetch: x.Data[:x.Rows*x.Cols]}, false)
	e.multiplyRows(byX, u, x)
	e.multiply(worker, y.Slice(0, y.Rows, kr, y.Cols), byX, &operand{packed: &l.weightsT}, true)
	for i := range m.K {
		si := s.Row(i)
		if r > 0 {
			e.kern.dotRows(si, y.Data[i*r:], y.RS, z.Data[i*r:], z.RS, r)
		} else {
			clear(si)
		}
		for b := range si {
			si[b] = -(float32(l.sign*si[b]) + y.Data[b*y.RS+kr+i])
		}
	}
}

// multiplyRows sets dst = x*y.
func (e *Engine) multiplyRows(dst, x, y Matrix) {
	for b := range dst.Rows {
		e.kern.multiply(dst.Row(b), x.Row(b), y.Row(b))
	}
}

// someSlopes is allSlopes for the pairs of a row and a component whose responsibility is not
// 0; of the others s is 0.
func (j *lowPullJob) someSlopes(worker int, s, res, u, byX, y, z Matrix) {
	e, l, d, r := j.e, j.m.low, j.m.D, j.m.low.r
	arena, kr := &e.scratch[worker], j.m.K*j.m.low.r
	some, some2 := arena.floats(slotRows, u.Rows*d), arena.floats(slotPick, u.Rows*d)
	group, one, weights := arena.active[:0], arena.floats(slotS, 1), arena.floats(slotColumn, d+e.kern.nr)
	for i := range j.m.K {
		clear(s.Row(i))
		group = group[:0]
		for b, v := range res.Row(i) {
			if v != 0 {
				copy(some[len(group)*d:], u.Row(b))
				copy(some2[len(group)*d:], byX.Row(b))
				group = append(group, b)
			}
		}
		n := len(group)
		if n == 0 {
			continue
		}
		us, last := View(some[:n*d], n, d), View(arena.floats(slotQ, n), n, 1)
		e.multiplyThin(worker, last, us, l.stack[(kr+i)*d:], false, nil)
		copy(weights, l.w[i*d:(i+1)*d])
		e.multiplyThin(worker, last, View(some2[:n*d], n, d), weights, true, nil)
		ys := View(arena.floats(slotGrad, n*r), n, r)
		if r > 0 {
			e.multiplyThin(worker, ys, us, l.columnsOf(e.kern, i, d), false, nil)
		}
		for q, b := range group {
			one[0] = 0
			if r > 0 {
				copy(y.Row(b)[i*r:], ys.Row(q))
				e.kern.dotRows(one, ys.Row(q), 0, z.Row(b)[i*r:], 0, r)
			}
			s.Set(i, b, -(float32(l.sign*one[0]) + last.Data[q]))
		}
	}
	arena.active = group
}

// weighSome sets the rows of pull where responsibilities are not 0, as lowWeigh does for all.
func (j *lowPullJob) weighSome(pull, res, s, y, z Matrix) {
	r, kr := j.m.low.r, j.m.K*j.m.low.r
	for b := range pull.Rows {
		clear(pull.Row(b))
	}
	for i := range j.m.K {
		for b, v := range res.Row(i) {
			if v == 0 {
				continue
			}
			row := pull.Row(b)
			if at := i * r; r > 0 {
				j.e.kern.gradRows(row[at:], r, res.Row(i)[b:b+1], y.Row(b)[at:], r, s.Row(i)[b:b+1], 1, z.Row(b)[at:], r, r)
			}
			row[kr+i] = 0 - s.At(i, b)
		}
	}
}

// lowRankBackward is AscendBackward for precisions of low rank. The products run over X
// and U alone; the terms with mu_i are put in at the end, from column sums.
func (e *Engine) lowRankBackward(m *Mixture, alpha float32, tr *Trajectory, v Matrix, grad *MixtureGradient) {
	l, n := m.low, m.inner()
	flops := 2 * lowRankFlops(tr.Rows, m.K, m.D, l.r, tr.Steps)
	pairs, few := e.scratch[0].fewPairs(tr, m.K)
	pull, sum := &e.lowPull, &e.lowSums
	*pull = lowPullJob{e: e, m: m, alpha: alpha, tr: tr, v: v, few: few, blocks: e.pullBlocks(tr.Rows, maxBlockRows, flops)}
	*sum = lowSumJob{e: e, m: m, tr: tr, grad: grad, parts: min(2*e.Threads(), e.kern.panels(m.D)), few: few, pairs: pairs}
	clear(grad.ones)
	each := tr.Steps
	if few {
		grow(&tr.u, tr.Steps*tr.Rows*m.D)
	} else {
		bytes := 4 * e.kern.sumOperandFloats(m, tr.Rows)
		each = min(max(operandBytes/bytes, 1), tr.Steps)
		grow(&tr.operands, each*bytes/4)
	}
	grow(&tr.pull, each*tr.Rows*n)
	for t1 := tr.Steps; ; t1 -= each {
		t0 := max(t1-each, 0)
		pull.t0, pull.t1, sum.t0, sum.t1 = t0, t1, t0, t1
		cost := flops * float64(t1-t0) / float64(max(tr.Steps, 1))
		e.run(pull, pull.blocks, cost)
		e.run(sum, sum.parts, cost)
		if t0 == 0 || tr.stopped() {
			break
		}
	}
	*pull, *sum = lowPullJob{}, lowSumJob{}

	for t := tr.Steps - 1; t >= 0 && !tr.stopped(); t-- {
		for i := range m.K {
			at := (t*m.K + i) * tr.Rows
			grad.C[i] += e.kern.sum(tr.t[at : at+tr.Rows])
		}
	}
	finish := &e.lowFinish
	cost := 2 * elementFlops(n*m.D)
	*finish = lowFinishJob{kern: e.kern, m: m, grad: grad, tasks: e.tasksFor(m.K, cost)}
	e.run(finish, finish.tasks, cost)
	*finish = lowFinishJob{}
}

// sumOperands are what the sums over the rows of a step multiply (lowSumJob): transposed
// and in strips, [pull; push] and the last k columns of [push; pull]; in panels, each whole
// however many rows there are, [X; U].
type sumOperands struct {
	left, last blockA
	right      Packed
}

// operandBytes is what the sumOperands of several steps that are pulled back and summed
// together may take: as much as stays in the second-level cache.
var operandBytes = int(secondLevelShare())

// sumOperandFloats is how many floats sumOperands take.
func (kern *kernels) sumOperandFloats(m *Mixture, rows int) int {
	return kern.packedAFloats(m.inner(), 2*rows) + kern.packedAFloats(m.K, 2*rows) + 2*rows*kern.panels(m.D)*kern.nr
}

// sumOperands returns the i-th of those that there is room for.
func (tr *Trajectory) sumOperands(kern *kernels, m *Mixture, i int) sumOperands {
	n, left, last := kern.sumOperandFloats(m, tr.Rows), kern.packedAFloats(m.inner(), 2*tr.Rows), kern.packedAFloats(m.K, 2*tr.Rows)
	data := tr.operands[i*n : (i+1)*n]
	return sumOperands{
		left:  kern.packedAIn(data[:left], m.inner(), 2*tr.Rows),
		last:  kern.packedAIn(data[left:left+last], m.K, 2*tr.Rows),
		right: Packed{kern: kern, rows: 2 * tr.Rows, cols: m.D, data: data[left+last:]},
	}
}

// set sets the rows from r0 on.
func (o *sumOperands) set(kern *kernels, r0 int, pull, push, x, u Matrix) {
	rows, kr := o.right.rows/2, o.left.rows-o.last.rows
	o.left.setColumns(kern, r0, pull)
	o.left.setColumns(kern, rows+r0, push)
	o.last.setColumns(kern, r0, push.Slice(0, push.Rows, kr, push.Cols))
	o.last.setColumns(kern, rows+r0, pull.Slice(0, pull.Rows, kr, pull.Cols))
	o.right.setRows(r0, x, 0, o.right.panels())
	o.right.setRows(rows+r0, u, 0, o.right.panels())
}

// lowSumJob sums over the steps [t0, t1), last first, and rows: sums = pull^T X + push^T U,
// and for the weights squares = [-r]^T (U*X) + [-t]^T (X*X)/2. A task has some panels of
// columns, and some of the column sums of pull.
type lowSumJob struct {
	e      *Engine
	m      *Mixture
	tr     *Trajectory
	grad   *MixtureGradient
	pairs  []stepPair // if few
	few    bool
	t0, t1 int
	parts  int
}

func (j *lowSumJob) run(worker, task int) {
	e, m, tr := j.e, j.m, j.tr
	k, d, n := m.K, m.D, m.inner()
	lo, hi := part(n, j.parts, task)
	ones := j.grad.ones[lo:hi]
	for t := j.t1 - 1; t >= j.t0; t-- {
		for b := range tr.Rows {
			at := ((t-j.t0)*tr.Rows + b) * n
			e.kern.add(ones, ones, tr.pull[at+lo:at+hi])
		}
	}
	p0, p1 := part(e.kern.panels(d), j.parts, task)
	if j.few {
		c0, c1 := p0*e.kern.nr, min(p1*e.kern.nr, d)
		j.addPairs(View(j.grad.sums, n, d).Slice(0, n, c0, c1), View(j.grad.squares, k, d).Slice(0, k, c0, c1), c0, worker)
		return
	}
	for t := j.t1 - 1; t >= j.t0 && !tr.stopped(); t-- {
		o := tr.sumOperands(e.kern, m, t-j.t0)
		j.addProducts(worker, &o, p0, p1, t < tr.Steps-1)
	}
}

// addProducts adds those of a step to the panels [p0, p1), or, with acc unset, begins with
// them.
func (j *lowSumJob) addProducts(worker int, o *sumOperands, p0, p1 int, acc bool) {
	e, kern, nr := j.e, j.e.kern, j.e.kern.nr
	arena, inner, half := &e.scratch[worker], o.right.rows, o.right.rows/2*nr
	sums, squares := View(j.grad.sums, j.m.inner(), j.m.D), View(j.grad.squares, j.m.K, j.m.D)
	weighted := product{e: e, arena: arena, c: sums, acc: acc}
	weighted.packed(&o.left, &o.right, p0, p1)
	products := Packed{kern: kern, rows: inner, cols: nr, data: arena.floats(slotG, 2*half)} // U*X above X*X/2
	byU, byX := products.data[:half], products.data[half:]
	for p := p0; p < p1; p++ {
		panel := o.right.panel(p, 0, inner)
		x, u := panel[:half], panel[half:]
		kern.multiply(byU, u, x)
		kern.scale(byX, 0.5, x)
		kern.multiply(byX, byX, x)
		c := squares.Slice(0, squares.Rows, p*nr, min((p+1)*nr, j.m.D))
		squared := product{e: e, arena: arena, c: c, acc: acc}
		squared.packed(&o.last, &products, 0, 1)
	}
}

// addPairs makes the sums of a range of columns from c0 on, pair by pair.
func (j *lowSumJob) addPairs(sums, squares Matrix, c0, worker int) {
	for i := range sums.Rows {
		clear(sums.Row(i))
	}
	for i := range squares.Rows {
		clear(squares.Row(i))
	}
	square := j.e.scratch[worker].floats(slotG, sums.Cols)
	for pairs := j.pairs; len(pairs) > 0 && !j.tr.stopped(); {
		var same int
		for same < len(pairs) && pairs[same].component == pairs[0].component && pairs[same].step == pairs[0].step {
			same++
		}
		j.addSame(pairs[:same], sums, squares, c0, square)
		pairs = pairs[same:]
	}
}

// addSame adds what the products add to the sums of one component in one step, from row to row:
// the same chains without their zeros. The sums have columns from c0 on.
func (j *lowSumJob) addSame(pairs []stepPair, sums, squares Matrix, c0 int, square []float32) {
	tr, kern, r, d, n := j.tr, j.e.kern, j.m.low.r, j.m.D, j.m.inner()
	i, kr := pairs[0].component, j.m.K*r
	c1 := c0 + sums.Cols
	for half, by := range [2][]float32{tr.pull, tr.push} {
		for _, p := range pairs {
			x := tr.X[p.row*d+c0 : p.row*d+c1]
			if half == 1 {
				x = tr.u[p.row*d+c0 : p.row*d+c1]
			}
			by := by[p.row*n : (p.row+1)*n]
			for q := i * r; q < (i+1)*r; q++ {
				kern.axpy(by[q], x, sums.Row(q))
			}
			kern.axpy(by[kr+i], x, sums.Row(kr+i))
		}
	}
	for half, by := range [2][]float32{tr.push, tr.pull} {
		for _, p := range pairs {
			x := tr.X[p.row*d+c0 : p.row*d+c1]
			if half == 0 {
				kern.multiply(square, tr.u[p.row*d+c0:p.row*d+c1], x)
			} else {
				kern.scale(square, 0.5, x)
				kern.multiply(square, square, x)
			}
			kern.axpy(by[p.row*n+kr+i], square, squares.Row(i))
		}
	}
}

// stepPair is a row of a step, counted through all steps, and a component of which its
// responsibility is not 0.
type stepPair struct{ component, step, row int }

// fewPairs lists the pairs of a trajectory, component by component and the last step first,
// unless they are more than a share of 1/sparseShare.
func (a *arena) fewPairs(tr *Trajectory, k int) (list []stepPair, ok bool) {
	most := k * tr.Rows * tr.Steps / sparseShare
	list, ok = a.pairs[:0], true
	for i := 0; i < k && ok; i++ {
		for t := tr.Steps - 1; t >= 0 && ok; t-- {
			for b, r := range tr.R[(t*k+i)*tr.Rows:][:tr.Rows] {
				if r == 0 {
					continue
				}
				if ok = len(list) < most; !ok {
					break
				}
				list = append(list, stepPair{i, t, t*tr.Rows + b})
			}
		}
	}
	a.pairs = list
	return list, ok
}

// lowFinishJob puts the terms with mu_i into the gradient.
type lowFinishJob struct {
	kern  *kernels
	m     *Mixture
	grad  *MixtureGradient
	tasks int
}

func (j *lowFinishJob) run(_, task int) {
	lo, hi := part(j.m.K, j.tasks, task)
	for i := lo; i < hi; i++ {
		j.component(i)
	}
}

func (j *lowFinishJob) component(i int) {
	kern, m, grad := j.kern, j.m, j.grad
	l, d, r := m.low, m.D, m.low.r
	mu, w, dmu, dw := m.mu(i), l.w[i*d:(i+1)*d], grad.Mu[i*d:(i+1)*d], grad.W[i*d:(i+1)*d]
	last := m.K*r + i
	ones, sum := grad.ones[last], grad.sums[last*d:(last+1)*d] // -sum t, -(sum t X + sum r U)
	copy(dw, sum)
	kern.axpy(-0.5*ones, mu, dw)
	kern.multiply(dw, dw, mu)
	kern.subRows(dw, 0, grad.squares[i*d:(i+1)*d], 0, dw, 0, 1, d)
	copy(dmu, sum)
	kern.axpy(-ones, mu, dmu)
	kern.multiply(dmu, dmu, w)
	for row := i * r; row < (i+1)*r; row++ {
		s := grad.sums[row*d : (row+1)*d]
		kern.axpy(-grad.ones[row], mu, s)
		kern.scale(grad.F[row*d:(row+1)*d], l.sign, s)
		kern.axpy(l.sign*grad.ones[row], l.f[row*d:(row+1)*d], dmu)
	}
	kern.scale(dmu, -1, dmu)
}
