package ascent

// The gradient of the parameters for precisions of low rank: sums over steps and rows.

import "dpnbench/engine"

// sumGradients sums over the steps [t0, t1), last first, and rows: sums = vjp^T X + scaled^T U, and for the
// weights squares = [-r]^T (U*X) + [-t]^T (X*X)/2. A task has some panels of columns, and some of the column
// sums of vjp.
type sumGradients struct {
	e       *engine.Engine
	l       *lowRank
	tr      *Trajectory
	grad    *Gradient
	pairs   []pair // if byPairs
	byPairs bool
	t0, t1  int
	parts   int
}

// Run sums some columns.
func (j *sumGradients) Run(worker *engine.Worker, task int) {
	tr, k, d, n := j.tr, j.l.m.K, j.l.m.D, j.l.stackedRows()
	lo, hi := engine.Part(n, j.parts, task)
	ones := j.grad.ones[lo:hi]
	for t := j.t1 - 1; t >= j.t0; t-- {
		for b := range tr.Rows {
			at := ((t-j.t0)*tr.Rows + b) * n
			worker.Add(ones, ones, tr.vjp[at+lo:at+hi])
		}
	}
	p0, p1 := engine.Part(j.e.Panels(d), j.parts, task)
	if j.byPairs {
		c0, c1 := p0*j.e.PanelCols(), min(p1*j.e.PanelCols(), d)
		sums := engine.View(j.grad.sums, n, d).Slice(0, n, c0, c1)
		j.addPairs(worker, sums, engine.View(j.grad.squares, k, d).Slice(0, k, c0, c1), c0)
		return
	}
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

// addPairs makes the sums of a range of columns from c0 on, pair by pair.
func (j *sumGradients) addPairs(worker *engine.Worker, sums, squares engine.Matrix, c0 int) {
	for i := range sums.Rows {
		clear(sums.Row(i))
	}
	for i := range squares.Rows {
		clear(squares.Row(i))
	}
	for pairs := j.pairs; len(pairs) > 0 && !j.tr.stopped(); {
		var same int
		for same < len(pairs) && pairs[same].component == pairs[0].component && pairs[same].step == pairs[0].step {
			same++
		}
		j.addSame(worker, pairs[:same], sums, squares, c0)
		pairs = pairs[same:]
	}
}

// addSame adds what the products add to the sums of one component in one step, from row to row: the same chains
// without their zeros. The sums have columns from c0 on.
func (j *sumGradients) addSame(worker *engine.Worker, pairs []pair, sums, squares engine.Matrix, c0 int) {
	tr, r, d, n := j.tr, j.l.r, j.l.m.D, j.l.stackedRows()
	i, kr, c1 := int(pairs[0].component), j.l.m.K*r, c0+sums.Cols
	square := worker.Scratch(slotG, sums.Cols)
	columns := func(of []float32, row int32) []float32 { return of[int(row)*d+c0 : int(row)*d+c1] }
	weights := func(of []float32, row int32) []float32 { return of[int(row)*n : (int(row)+1)*n] }
	for half, by := range [2][]float32{tr.vjp, tr.scaled} {
		for _, p := range pairs {
			x := columns(tr.X, p.row)
			if half == 1 {
				x = columns(tr.u, p.row)
			}
			by := weights(by, p.row)
			for q := i * r; q < (i+1)*r; q++ {
				worker.Axpy(by[q], x, sums.Row(q))
			}
			worker.Axpy(by[kr+i], x, sums.Row(kr+i))
		}
	}
	for half, by := range [2][]float32{tr.scaled, tr.vjp} {
		for _, p := range pairs {
			x := columns(tr.X, p.row)
			if half == 0 {
				worker.Multiply(square, columns(tr.u, p.row), x)
			} else {
				worker.Scale(square, 0.5, x)
				worker.Multiply(square, square, x)
			}
			worker.Axpy(weights(by, p.row)[kr+i], square, squares.Row(i))
		}
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

// finishGradients puts the terms with mu_i into the gradient.
type finishGradients struct {
	l     *lowRank
	grad  *Gradient
	tasks int
}

// Run finishes some components.
func (j *finishGradients) Run(worker *engine.Worker, task int) {
	lo, hi := engine.Part(j.l.m.K, j.tasks, task)
	for i := lo; i < hi; i++ {
		j.component(worker, i)
	}
}

func (j *finishGradients) component(worker *engine.Worker, i int) {
	l, m, grad := j.l, j.l.m, j.grad
	d, r := m.D, l.r
	mu, w, dmu, dw := m.mu(i), l.weightsOf(i), grad.Mu[i*d:(i+1)*d], grad.W[i*d:(i+1)*d]
	last := m.K*r + i
	ones, sum := grad.ones[last], grad.sums[last*d:(last+1)*d] // -sum t, -(sum t X + sum r U)
	copy(dw, sum)
	worker.Axpy(-0.5*ones, mu, dw)
	worker.Multiply(dw, dw, mu)
	worker.Sub(dw, grad.squares[i*d:(i+1)*d], dw)
	copy(dmu, sum)
	worker.Axpy(-ones, mu, dmu)
	worker.Multiply(dmu, dmu, w)
	for row := i * r; row < (i+1)*r; row++ {
		s := grad.sums[row*d : (row+1)*d]
		worker.Axpy(-grad.ones[row], mu, s)
		worker.Scale(grad.F[row*d:(row+1)*d], l.sign, s)
		worker.Axpy(l.sign*grad.ones[row], l.f[row*d:(row+1)*d], dmu)
	}
	worker.Scale(dmu, -1, dmu)
}
