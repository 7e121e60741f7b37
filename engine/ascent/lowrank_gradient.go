package ascent

// The gradient of the parameters for precisions of low rank: sums over steps and rows.

import "dpnbench/engine"

// sumGradients sums over the steps [t0, t1), last first, and rows: sums = vjp^T X + scaled^T U, and for the
// weights squares = [-r]^T (U*X) + [-t]^T (X*X)/2. A task has some panels of columns, and some of the column
// sums of vjp.
type sumGradients struct {
	e      *engine.Engine
	l      *lowRank
	tr     *Trajectory
	grad   *Gradient
	t0, t1 int
	parts  int
}

// Run sums some columns.
func (j *sumGradients) Run(worker *engine.Worker, task int) {
	tr, n := j.tr, j.l.stackedRows()
	lo, hi := engine.Part(n, j.parts, task)
	ones := j.grad.ones[lo:hi]
	for t := j.t1 - 1; t >= j.t0; t-- {
		for b := range tr.Rows {
			at := ((t-j.t0)*tr.Rows + b) * n
			worker.Add(ones, ones, tr.vjp[at+lo:at+hi])
		}
	}
	p0, p1 := engine.Part(j.e.Panels(j.l.m.D), j.parts, task)
	for t := j.t1 - 1; t >= j.t0 && !tr.stopped(); t-- {
		o := j.l.sumOperands(j.e, tr, t-j.t0)
		j.addProducts(worker, &o, p0, p1, t < tr.Steps-1)
	}
}

// addProducts adds those of a step to the panels [p0, p1), or, with acc unset, begins with them.
func (j *sumGradients) addProducts(worker *engine.Worker, o *sumOperands, p0, p1 int, acc bool) {
	m, nr := j.l.m, j.e.PanelCols()
	inner, half := o.right.Rows(), o.right.Rows()/2*nr
	sums, squares := engine.View(j.grad.sums, j.l.stackedRows(), m.D), engine.View(j.grad.squares, m.K, m.D)
	worker.MatMulLeftWhole(sums, &o.left, &o.right, p0, p1, acc)
	var products engine.Packed // U*X above X*X/2
	data := worker.Scratch(slotG, 2*half)
	products.InData(j.e, data, inner, nr)
	byU, byX := data[:half], data[half:]
	for p := p0; p < p1; p++ {
		panel := o.right.WholePanel(p)
		x, u := panel[:half], panel[half:]
		worker.Multiply(byU, u, x)
		worker.Scale(byX, 0.5, x)
		worker.Multiply(byX, byX, x)
		c := squares.Slice(0, squares.Rows, p*nr, min((p+1)*nr, m.D))
		worker.MatMulLeftWhole(c, &o.last, &products, 0, 1, acc)
	}
}

// activePairs lists the pairs of a trajectory whose responsibility is not 0, component by component and the last
// step first, unless they are more than a share of 1/sparseShare. Rows count through all steps.
func (l *lowRank) activePairs(memory *threadMemory, tr *Trajectory) (list []pair, ok bool) {
	k := tr.K
	most := k * tr.Rows * tr.Steps / sparseShare
	list, ok = memory.pairs[:0], true
	for i := 0; i < k && ok; i++ {
		for t := tr.Steps - 1; t >= 0 && ok; t-- {
			for b, r := range tr.R[(t*k+i)*tr.Rows:][:tr.Rows] {
				if r == 0 {
					continue
				}
				if ok = len(list) < most; !ok {
					break
				}
				list = append(list, pair{component: int32(i), step: int32(t), row: int32(t*tr.Rows + b)})
			}
		}
	}
	memory.pairs = list
	return list, ok
}

// finishGradients puts the terms with mu_i into the gradient. If few responsibilities are above 0 it makes the sums
// of sumGradients, too, of a component at a time, which stay in the cache.
type finishGradients struct {
	l       *lowRank
	grad    *Gradient
	tasks   int
	byPairs bool
	tr      *Trajectory // if byPairs
	pairs   []pair
}

// componentSums are the sums of a component: those of its factors (r x d), and of its last column.
type componentSums struct {
	factors       engine.Matrix
	last, squares []float32
}

// Run finishes some components.
func (j *finishGradients) Run(worker *engine.Worker, task int) {
	l, k, d, r := j.l, j.l.m.K, j.l.m.D, j.l.r
	lo, hi := engine.Part(k, j.tasks, task)
	pairs := j.pairs
	for len(pairs) > 0 && int(pairs[0].component) < lo {
		pairs = pairs[1:]
	}
	for i := lo; i < hi; i++ {
		s := componentSums{squares: j.grad.squares[i*d : (i+1)*d]}
		if j.byPairs {
			all := worker.ScratchRows(slotSum, r+1, d, d)
			clear(all.Data[:(r+1)*d])
			clear(s.squares)
			s.factors, s.last = all.Slice(0, r, 0, d), all.Row(r)
			pairs = j.addPairs(worker, i, pairs, &s)
		} else {
			s.factors = engine.View(j.grad.sums[i*r*d:(i+1)*r*d], r, d)
			s.last = j.grad.sums[(k*r+i)*d : (k*r+i+1)*d]
		}
		l.finish(worker, i, j.grad, &s)
	}
}

// addPairs makes the sums of component i from its pairs, the first ones, and returns the others.
func (j *finishGradients) addPairs(worker *engine.Worker, i int, pairs []pair, s *componentSums) []pair {
	n, r, kr := j.l.stackedRows(), j.l.r, j.l.m.K*j.l.r
	for len(pairs) > 0 && int(pairs[0].component) == i && !j.tr.stopped() {
		var same int
		for same < len(pairs) && pairs[same].component == pairs[0].component && pairs[same].step == pairs[0].step {
			vjp := j.tr.vjp[int(pairs[same].row)*n:]
			ones := j.grad.ones[i*r : (i+1)*r]
			worker.Add(ones, ones, vjp[i*r:(i+1)*r])
			j.grad.ones[kr+i] += vjp[kr+i]
			same++
		}
		j.addSame(worker, pairs[:same], s)
		pairs = pairs[same:]
	}
	return pairs
}

// addSame adds what the products add to the sums of one component in one step, from row to row: the same chains
// without their zeros.
func (j *finishGradients) addSame(worker *engine.Worker, pairs []pair, s *componentSums) {
	tr, r, d, n := j.tr, j.l.r, j.l.m.D, j.l.stackedRows()
	i, kr := int(pairs[0].component), j.l.m.K*r
	square := worker.Scratch(slotG, d)
	row := func(of []float32, row int32, n int) []float32 { return of[int(row)*n : (int(row)+1)*n] }
	for half, by := range [2][]float32{tr.vjp, tr.scaled} {
		for _, p := range pairs {
			x := row(tr.X, p.row, d)
			if half == 1 {
				x = row(tr.u, p.row, d)
			}
			by := row(by, p.row, n)
			for q := range r {
				worker.Axpy(by[i*r+q], x, s.factors.Row(q))
			}
			worker.Axpy(by[kr+i], x, s.last)
		}
	}
	for half, by := range [2][]float32{tr.scaled, tr.vjp} {
		for _, p := range pairs {
			x := row(tr.X, p.row, d)
			if half == 0 {
				worker.Multiply(square, row(tr.u, p.row, d), x)
			} else {
				worker.Scale(square, 0.5, x)
				worker.Multiply(square, square, x)
			}
			worker.Axpy(row(by, p.row, n)[kr+i], square, s.squares)
		}
	}
}

// finish puts the terms with mu_i into the gradient of component i.
func (l *lowRank) finish(worker *engine.Worker, i int, grad *Gradient, s *componentSums) {
	m, d, r := l.m, l.m.D, l.r
	mu, w, dmu, dw := m.mu(i), l.weightsOf(i), grad.Mu[i*d:(i+1)*d], grad.W[i*d:(i+1)*d]
	ones := grad.ones[m.K*r+i] // -sum t; s.last is -(sum t X + sum r U)
	copy(dw, s.last)
	worker.Axpy(-0.5*ones, mu, dw)
	worker.Multiply(dw, dw, mu)
	worker.Sub(dw, s.squares, dw)
	copy(dmu, s.last)
	worker.Axpy(-ones, mu, dmu)
	worker.Multiply(dmu, dmu, w)
	for q := range r {
		row, at := i*r+q, s.factors.Row(q)
		worker.Axpy(-grad.ones[row], mu, at)
		worker.Scale(grad.F[row*d:(row+1)*d], l.sign, at)
		worker.Axpy(l.sign*grad.ones[row], l.f[row*d:(row+1)*d], dmu)
	}
	worker.Scale(dmu, -1, dmu)
}
