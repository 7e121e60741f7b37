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

// lowPullJob pulls v back through all steps and leaves U and [-N | -t] of each (pull)
// in the trajectory.
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
		e, m, tr   = j.e, j.m, j.tr
		rows, k, d = r1 - r0, m.K, m.D
		kr, n      = k * m.low.r, m.inner()
		arena      = &e.scratch[worker]
		v          = j.v.Slice(r0, r1, 0, d)
		ld         = leading(n)
		y          = Matrix{Data: arena.floats(slotY, rows*ld), Rows: rows, Cols: n, RS: ld, CS: 1}
		total      = Matrix{Data: arena.floats(slotE, rows*d), Rows: rows, Cols: d, RS: d, CS: 1}
		byU        = Matrix{Data: arena.floats(slotG, rows*d), Rows: rows, Cols: d, RS: d, CS: 1}
		byX        = Matrix{Data: arena.floats(slotCentre, rows*d), Rows: rows, Cols: d, RS: d, CS: 1}
	)
	for t := tr.Steps - 1; t >= 0 && !tr.stopped(); t-- {
		u, x := tr.block(tr.u, d, t, r0, r1), tr.XAt(t).Slice(r0, r1, 0, d)
		for b := range rows {
			e.k.scale(u.Row(b), j.alpha, v.Row(b))
		}
		z := tr.block(tr.z, kr, t, r0, r1)
		res := tr.RAt(t).Slice(0, k, r0, r1)
		s := Matrix{Data: tr.t[t*k*tr.Rows+r0:], Rows: k, Cols: rows, RS: tr.Rows, CS: 1}
		pull := tr.block(tr.pull, n, t, r0, r1)
		sum := tr.sum[t*tr.Rows+r0 : t*tr.Rows+r1]
		if tr.sparse {
			e.multiplyRows(byX, u, x)
			j.someSlopes(worker, s, res, u, byX, y, z)
			e.k.responsibilities(res.Data, s.Data, tr.Rows, sum, k)
			j.weighSome(pull, res, s, y, z)
		} else {
			j.allSlopes(worker, s, u, x, byX, y, z)
			e.k.responsibilities(res.Data, s.Data, tr.Rows, sum, k)
			for i := range k {
				e.lowWeigh(m, pull, i, res.Row(i), y, s.Row(i), 1, z)
			}
		}
		e.lowCombine(worker, m, tr.block(tr.push, n, t, r0, r1), res, Matrix{}, byU)
		e.lowCombine(worker, m, pull, res, total, byX)
		for b := range rows { // all of a row at a time, while it is near
			total, v := total.Row(b), v.Row(b)
			e.k.multiply(byU.Row(b), byU.Row(b), u.Row(b))
			e.k.add(total, total, byU.Row(b))
			e.k.multiply(byX.Row(b), byX.Row(b), x.Row(b))
			e.k.add(total, total, byX.Row(b))
			e.k.add(v, v, total)
			dropFaint(v)
		}
	}
}

// allSlopes sets byX = U*X, y = [U F^T | U (-w*mu)^T + (U*X) w^T] and s_i of all components (k
// x rows). X, which comes from far away, is fetched during the first product.
func (j *lowPullJob) allSlopes(worker int, s, u, x, byX, y, z Matrix) {
	e, m, l := j.e, j.m, j.m.low
	r, kr := l.r, m.K*l.r
	e.multiply(worker, y, u, &operand{packed: &l.project, fetch: x.Data[:x.Rows*x.Cols]}, 0, e.k.panels(y.Cols), false)
	e.multiplyRows(byX, u, x)
	e.multiply(worker, y.Slice(0, y.Rows, kr, y.Cols), byX, &operand{packed: &l.weightsT}, 0, e.k.panels(m.K), true)
	for i := range m.K {
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
}

// multiplyRows sets dst = x*y.
func (e *Engine) multiplyRows(dst, x, y Matrix) {
	for b := range dst.Rows {
		e.k.multiply(dst.Row(b), x.Row(b), y.Row(b))
	}
}

// someSlopes is allSlopes for the pairs of a row and a component whose responsibility is not
// 0; of the others s is 0.
func (j *lowPullJob) someSlopes(worker int, s, res, u, byX, y, z Matrix) {
	e, l, d, r := j.e, j.m.low, j.m.D, j.m.low.r
	arena, kr := &e.scratch[worker], j.m.K*j.m.low.r
	some, some2 := arena.floats(slotRows, u.Rows*d), arena.floats(slotPick, u.Rows*d)
	group, one := arena.active[:0], arena.floats(slotS, 1)
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
		e.multiplyColumns(worker, last, us, &l.project, kr+i, false)
		e.multiplyColumns(worker, last, View(some2[:n*d], n, d), &l.weightsT, i, true)
		ys := View(arena.floats(slotGrad, n*r), n, r)
		if r > 0 {
			e.multiplyColumns(worker, ys, us, &l.project, i*r, false)
		}
		for q, b := range group {
			one[0] = 0
			if r > 0 {
				copy(y.Row(b)[i*r:], ys.Row(q))
				e.k.dotRows(one, ys.Row(q), 0, z.Row(b)[i*r:], 0, r)
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
				j.e.k.pullRows(row[at:], r, res.Row(i)[b:b+1], y.Row(b)[at:], r, s.Row(i)[b:b+1], 1, z.Row(b)[at:], r, r)
			}
			row[kr+i] = -s.At(i, b)
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
	*j = lowPullJob{e: e, m: m, alpha: alpha, tr: tr, v: v, blocks: e.pullBlocks(tr.Rows, maxBlockRows, flops)}
	e.run(j, j.blocks, flops)
	*j = lowPullJob{}

	sum := &e.lowSums
	*sum = lowSumJob{e: e, m: m, tr: tr, grad: grad}
	sum.parts = min(2*e.Threads(), e.k.panels(m.D))
	e.run(sum, sum.parts, flops)
	*sum = lowSumJob{}

	clear(grad.ones)
	for t := tr.Steps - 1; t >= 0 && !tr.stopped(); t-- {
		for b := range tr.Rows {
			e.k.add(grad.ones, grad.ones, tr.pull[(t*tr.Rows+b)*n:])
		}
		for i := range m.K {
			at := (t*m.K + i) * tr.Rows
			grad.C[i] += e.k.sum(tr.t[at : at+tr.Rows])
		}
	}
	finish := &e.lowFinish
	cost := 2 * elementFlops(n*m.D)
	*finish = lowFinishJob{k: e.k, m: m, grad: grad, tasks: e.tasksFor(m.K, cost)}
	e.run(finish, finish.tasks, cost)
	*finish = lowFinishJob{}
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
	for i := range n {
		clear(sums.Row(i))
	}
	for i := range k {
		clear(squares.Row(i))
	}
	ld := leading(c1 - c0)
	arena := &e.scratch[worker]
	square := Matrix{Data: arena.floats(slotG, tr.Rows*ld), Rows: tr.Rows, Cols: c1 - c0, RS: ld, CS: 1}
	if pairs, ok := arena.fewPairs(tr, k); ok {
		for len(pairs) > 0 && !tr.stopped() {
			var same int
			for same < len(pairs) && pairs[same].component == pairs[0].component && pairs[same].step == pairs[0].step {
				same++
			}
			j.add(pairs[:same], sums, squares, c0, square.Row(0))
			pairs = pairs[same:]
		}
		return
	}
	for t := tr.Steps - 1; t >= 0 && !tr.stopped(); t-- {
		pull, push := tr.block(tr.pull, n, t, 0, tr.Rows), tr.block(tr.push, n, t, 0, tr.Rows)
		x, u := tr.XAt(t).Slice(0, tr.Rows, c0, c1), tr.block(tr.u, d, t, 0, tr.Rows).Slice(0, tr.Rows, c0, c1)
		j.product(worker, sums, pull, x)
		j.product(worker, sums, push, u)
		for b := range tr.Rows {
			e.k.multiply(square.Row(b), u.Row(b), x.Row(b))
		}
		j.product(worker, squares, push.Slice(0, tr.Rows, kr, n), square)
		for b := range tr.Rows {
			e.k.scale(square.Row(b), 0.5, x.Row(b))
			e.k.multiply(square.Row(b), square.Row(b), x.Row(b))
		}
		j.product(worker, squares, pull.Slice(0, tr.Rows, kr, n), square)
	}
}

// product adds left^T right to sum.
func (j *lowSumJob) product(worker int, sum, left, right Matrix) {
	j.e.multiply(worker, sum, left.T(), &operand{direct: right}, 0, j.e.k.panels(right.Cols), true)
}

// add adds what the products add to the sums of one component in one step, from row to row:
// the same chains without their zeros. The sums have columns from c0 on.
func (j *lowSumJob) add(pairs []stepPair, sums, squares Matrix, c0 int, square []float32) {
	tr, k, r, d, n := j.tr, j.e.k, j.m.low.r, j.m.D, j.m.inner()
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
				k.axpy(by[q], x, sums.Row(q))
			}
			k.axpy(by[kr+i], x, sums.Row(kr+i))
		}
	}
	for half, by := range [2][]float32{tr.push, tr.pull} {
		for _, p := range pairs {
			x := tr.X[p.row*d+c0 : p.row*d+c1]
			if half == 0 {
				k.multiply(square, tr.u[p.row*d+c0:p.row*d+c1], x)
			} else {
				k.scale(square, 0.5, x)
				k.multiply(square, square, x)
			}
			k.axpy(by[p.row*n+kr+i], square, squares.Row(i))
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
	k     *kernels
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
	k, m, grad := j.k, j.m, j.grad
	l, d, r := m.low, m.D, m.low.r
	mu, w, dmu, dw := m.mu(i), l.w[i*d:(i+1)*d], grad.Mu[i*d:(i+1)*d], grad.W[i*d:(i+1)*d]
	last := m.K*r + i
	ones, sum := grad.ones[last], grad.sums[last*d:(last+1)*d] // -sum t, -(sum t X + sum r U)
	copy(dw, sum)
	k.axpy(-0.5*ones, mu, dw)
	k.multiply(dw, dw, mu)
	k.subRows(dw, 0, grad.squares[i*d:(i+1)*d], 0, dw, 0, 1, d)
	copy(dmu, sum)
	k.axpy(-ones, mu, dmu)
	k.multiply(dmu, dmu, w)
	for row := i * r; row < (i+1)*r; row++ {
		s := grad.sums[row*d : (row+1)*d]
		k.axpy(-grad.ones[row], mu, s)
		k.scale(grad.F[row*d:(row+1)*d], l.sign, s)
		k.axpy(l.sign*grad.ones[row], l.f[row*d:(row+1)*d], dmu)
	}
	k.scale(dmu, -1, dmu)
}
