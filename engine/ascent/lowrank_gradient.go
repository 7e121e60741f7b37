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
	sums := engine.View(j.grad.sums, j.l.stackedRows(), m.D)
	worker.MatMulLeftWhole(sums, &o.left, &o.right, p0, p1, acc)
	if j.grad.W == nil {
		return
	}
	squares := engine.View(j.grad.squares, m.K, m.D)
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

// componentSums are the sums of a component: those of its factors (r x d), which are in grad.F, and of its last column.
type componentSums struct {
	factors       engine.Matrix
	last, squares []float32 // squares: nil without grad.W
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
		s := componentSums{factors: engine.View(j.grad.F[i*r*d:(i+1)*r*d], r, d)}
		if j.grad.W != nil {
			s.squares = j.grad.squares[i*d : (i+1)*d]
		}
		if j.byPairs {
			s.last = worker.Scratch(slotSum, d)
			clear(s.squares)
			pairs = j.addPairs(worker, i, pairs, &s)
		} else {
			copy(s.factors.Data, j.grad.sums[i*r*d:(i+1)*r*d])
			s.last = j.grad.sums[(k*r+i)*d : (k*r+i+1)*d]
		}
		l.finish(worker, i, j.grad, &s)
	}
}

// pairsAtOnce is how many pairs are summed by one product, about: rows that stay in the first-level cache.
const pairsAtOnce = 4

// addPairs makes the sums of component i from its pairs, the first ones, and returns the others: the chains of the
// products of sumGradients without their zeros.
func (j *finishGradients) addPairs(worker *engine.Worker, i int, pairs []pair, s *componentSums) []pair {
	begun := false
	for len(pairs) > 0 && int(pairs[0].component) == i && !j.tr.stopped() {
		end := min(pairsAtOnce, len(pairs))
		for end < len(pairs) && pairs[end].component == pairs[end-1].component && pairs[end].step == pairs[end-1].step {
			end++
		}
		for int(pairs[end-1].component) != i {
			end--
		}
		j.addTogether(worker, pairs[:end], s, begun)
		pairs, begun = pairs[end:], true
	}
	if !begun {
		clear(s.factors.Data)
		clear(s.last)
	}
	return pairs
}

// addTogether adds what some pairs of one component, of whole steps, add to its sums, or begins these with acc unset.
func (j *finishGradients) addTogether(worker *engine.Worker, pairs []pair, s *componentSums, acc bool) {
	tr, r, d, n := j.tr, j.l.r, j.l.m.D, j.l.stackedRows()
	i, kr, inner := int(pairs[0].component), j.l.m.K*r, 2*len(pairs)
	rows, by := worker.ScratchRows(slotRows, inner, d, d), worker.ScratchRows(slotPicked, inner, r+1, r+1)
	row := func(of []float32, row int32, n int) []float32 { return of[int(row)*n : (int(row)+1)*n] }
	at := 0
	for len(pairs) > 0 {
		count := 1
		for count < len(pairs) && pairs[count].step == pairs[0].step {
			count++
		}
		for half, left := range [2][]float32{tr.vjp, tr.scaled} { // times X, then times U
			for _, p := range pairs[:count] {
				from, right := row(left, p.row, n), row(tr.X, p.row, d)
				if half == 0 {
					worker.Add(j.grad.ones[i*r:(i+1)*r], j.grad.ones[i*r:(i+1)*r], from[i*r:(i+1)*r])
					j.grad.ones[kr+i] += from[kr+i]
				} else {
					right = row(tr.u, p.row, d)
				}
				copy(by.Row(at), from[i*r:(i+1)*r])
				by.Set(at, r, from[kr+i])
				copy(rows.Row(at), right)
				at++
			}
		}
		if s.squares != nil {
			j.addSquares(worker, by.Slice(at-2*count, at, r, r+1), rows.Slice(at-2*count, at, 0, d), s.squares)
		}
		pairs = pairs[count:]
	}
	places := j.l.m.memory(worker).placesOf(rows)
	worker.MatMulAt(s.factors, by.Slice(0, inner, 0, r).T(), rows.Data, places, acc)
	worker.MatMulAt(asRow(s.last), by.Slice(0, inner, r, r+1).T(), rows.Data, places, acc)
}

// addSquares adds to squares scaled^T (U*X) + vjp^T (X*X/2), for the last column of [vjp; scaled] and rows [X; U].
func (j *finishGradients) addSquares(worker *engine.Worker, by, rows engine.Matrix, squares []float32) {
	square, n := worker.Scratch(slotG, rows.Cols), rows.Rows/2
	for q := range n {
		worker.Multiply(square, rows.Row(n+q), rows.Row(q))
		worker.Axpy(by.At(n+q, 0), square, squares)
	}
	for q := range n {
		worker.Scale(square, 0.5, rows.Row(q))
		worker.Multiply(square, square, rows.Row(q))
		worker.Axpy(by.At(q, 0), square, squares)
	}
}

// finish puts the terms with mu_i into the gradient of component i.
func (l *lowRank) finish(worker *engine.Worker, i int, grad *Gradient, s *componentSums) {
	m, d, r := l.m, l.m.D, l.r
	mu, w, dmu := m.mu(i), l.weightsOf(i), grad.Mu[i*d:(i+1)*d]
	ones := grad.ones[m.K*r+i] // -sum t; s.last is -(sum t X + sum r U)
	if grad.W != nil {
		dw := grad.W[i*d : (i+1)*d]
		copy(dw, s.last)
		worker.Axpy(-0.5*ones, mu, dw)
		worker.Multiply(dw, dw, mu)
		worker.Sub(dw, s.squares, dw)
	}
	copy(dmu, s.last)
	worker.Axpy(-ones, mu, dmu)
	worker.Multiply(dmu, dmu, w)
	minus, factors := worker.Scratch(slotRowNumbers, r), l.factorsOf(i)
	worker.Scale(minus, -1, grad.ones[i*r:(i+1)*r])
	worker.MatMulAt(s.factors, engine.View(minus, r, 1), mu, l.m.memory(worker).placesOf(asRow(mu)), true)
	for q, v := range grad.ones[i*r : (i+1)*r] {
		worker.Axpy(v, factors.Row(q), dmu)
	}
	worker.Scale(dmu, -1, dmu)
}
