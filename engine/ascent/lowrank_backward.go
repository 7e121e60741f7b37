package ascent

// The backward pass for precisions of low rank. The products run over X and U alone; the terms with mu_i are
// put in at the end, from column sums.

import "dpnbench/engine"

func (l *lowRank) checkGradient(call string, _ []float32, grad *Gradient) {
	m := l.m
	if grad.W != nil {
		engine.CheckLength(call, "grad.W", len(grad.W), m.K*m.D)
	}
	engine.CheckLength(call, "grad.F", len(grad.F), m.K*l.r*m.D)
}

func (l *lowRank) backward(
	e *engine.Engine, alpha float32, _ []float32, tr *Trajectory, v engine.Matrix, grad *Gradient,
) {
	m, n := l.m, l.stackedRows()
	flops := 2 * l.flops(tr.Rows, tr.Steps)
	pairs, byPairs := l.activePairs(&m.threads[0], tr)
	vjp, sum := &tr.jobs.lowRank, &grad.jobs.sum
	*vjp = lowRankVJPJob{e: e, l: l, alpha: alpha, tr: tr, v: v, byPairs: byPairs,
		blocks: vjpBlocks(e, tr.Rows, maxBlockRows, flops)}
	*sum = sumGradients{e: e, l: l, tr: tr, grad: grad, parts: min(2*e.Threads(), e.Panels(m.D))}
	clear(grad.ones)
	each := tr.Steps
	if byPairs {
		engine.Grow(&tr.u, tr.Steps*tr.Rows*m.D)
	} else {
		bytes := 4 * l.sumOperandFloats(e, tr.Rows)
		each = min(max(operandBytes/bytes, 1), tr.Steps)
		engine.Grow(&tr.operands, each*bytes/4)
	}
	engine.Grow(&tr.vjp, each*tr.Rows*n)
	for t1 := tr.Steps; ; t1 -= each {
		t0 := max(t1-each, 0)
		vjp.t0, vjp.t1, sum.t0, sum.t1 = t0, t1, t0, t1
		cost := flops * float64(t1-t0) / float64(max(tr.Steps, 1))
		tr.enter(false)
		e.Run(vjp, vjp.blocks, cost)
		tr.enter(true)
		if !byPairs {
			e.Run(sum, sum.parts, cost)
		}
		if t0 == 0 || tr.stopped() {
			break
		}
	}
	*vjp, *sum = lowRankVJPJob{}, sumGradients{}

	for t := tr.Steps - 1; t >= 0 && !tr.stopped(); t-- {
		for i := range m.K {
			at := (t*m.K + i) * tr.Rows
			grad.C[i] += e.Caller().Sum(tr.t[at : at+tr.Rows])
		}
	}
	cost := 2 * engine.ElementFlops(n*m.D)
	if byPairs {
		cost += flops
	}
	finish := finishGradients{l: l, grad: grad, tasks: e.TasksFor(m.K, cost), byPairs: byPairs, tr: tr, pairs: pairs}
	runIn(e, &grad.jobs.finish, finish, finish.tasks, cost)
}

// lowRankVJPJob takes v back through the steps [t0, t1) and leaves what sumGradients needs in the trajectory:
// [-S N | -t] of each step (vjp), and U if few responsibilities are above 0, otherwise the operands of its
// products, laid out while they are in the cache.
type lowRankVJPJob struct {
	e       *engine.Engine
	l       *lowRank
	alpha   float32
	tr      *Trajectory
	v       engine.Matrix
	byPairs bool // few responsibilities are above 0
	t0, t1  int
	blocks  int
}

// lowRankBlock is a block of rows on its way back.
type lowRankBlock struct {
	y, total, byU, byX, u engine.Matrix
}

// Run takes a block of rows back.
func (j *lowRankVJPJob) Run(worker *engine.Worker, task int) {
	r0, r1 := engine.Part(j.tr.Rows, j.blocks, task)
	if r0 == r1 {
		return
	}
	rows, n, d := r1-r0, j.l.stackedRows(), j.l.m.D
	b := lowRankBlock{
		y:     worker.ScratchRows(slotY, rows, n, engine.PaddedLD(n)),
		total: worker.ScratchRows(slotSum, rows, d, d),
		byU:   worker.ScratchRows(slotG, rows, d, d),
		byX:   worker.ScratchRows(slotDelta, rows, d, d),
	}
	if !j.byPairs {
		b.u = worker.ScratchRows(slotU, rows, d, d)
	}
	for t := j.t1 - 1; t >= j.t0 && !j.tr.stopped(); t-- {
		j.step(worker, &b, t, r0, r1)
	}
}

// step takes the rows [r0, r1) back through step t.
func (j *lowRankVJPJob) step(worker *engine.Worker, block *lowRankBlock, t, r0, r1 int) {
	l, tr, k, d := j.l, j.tr, j.l.m.K, j.l.m.D
	rows, kr, n := r1-r0, k*l.r, l.stackedRows()
	v := j.v.Slice(r0, r1, 0, d)
	y, byX, byU, u := block.y, block.byX, block.byU, block.u
	x := tr.XAt(t).Slice(r0, r1, 0, d)
	vjp := tr.block(tr.vjp, n, t-j.t0, r0, r1)
	if j.byPairs {
		u = tr.block(tr.u, d, t, r0, r1)
	}
	scaleRows(worker, u, j.alpha, v)
	z := tr.block(tr.z, kr, t, r0, r1)
	res := tr.RAt(t).Slice(0, k, r0, r1)
	s := engine.Matrix{Data: tr.t[t*k*tr.Rows+r0:], Rows: k, Cols: rows, RS: tr.Rows, CS: 1}
	sum := tr.sum[t*tr.Rows+r0 : t*tr.Rows+r1]
	scaled, lists := tr.block(tr.scaled, n, t, r0, r1), &l.m.memory(worker).active
	lists.find(res)
	if tr.sparse || l.inLanes() {
		if l.inLanes() {
			l.laneSlopes(worker, s, res, u, x, y, z)
		} else {
			multiplyRows(worker, byX, u, x)
			l.activeSlopes(worker, s, res, u, byX, y, z)
		}
		worker.MixtureVJP(res.Data, s.Data, tr.Rows, sum, k)
		l.scaleActive(worker, vjp, res, s, y, z)
		for b := range rows {
			if _, listed := lists.of(b); !j.byPairs || !listed { // its zeros are read, too
				l.clearInactive(vjp.Row(b), res, b)
				l.clearInactive(scaled.Row(b), res, b)
			}
		}
	} else {
		l.slopes(worker, s, u, x, byX, y, z)
		worker.MixtureVJP(res.Data, s.Data, tr.Rows, sum, k)
		l.scale(worker, vjp, res, y, s, 1, z)
	}
	if !j.byPairs {
		o := l.sumOperands(j.e, tr, t-j.t0)
		o.set(r0, vjp, scaled, x, u)
		if l.combined && !lists.any {
			l.vjpByPanels(worker, &o, r0, vjp, scaled, v)
			return
		}
	}
	l.combine(worker, scaled, lists, engine.Matrix{}, byU)
	l.combine(worker, vjp, lists, block.total, byX)
	for b := range rows { // all of a row at a time, while it is in the cache
		row := func(m engine.Matrix) engine.Matrix { return m.SliceRows(b, b+1) }
		total := block.total.Row(b)
		worker.Multiply(byU.Row(b), byU.Row(b), u.Row(b))
		worker.Add(total, total, byU.Row(b))
		worker.AxpyProducts(row(v), 1, row(block.total), row(byX), row(x))
	}
	flushTiny(v)
}

// vjpByPanels adds to v, panel by panel, so that all of one stays in the first-level cache,
//
//	vjp [F; -w*mu] + (-R W)*U + (-T W)*X
func (l *lowRank) vjpByPanels(worker *engine.Worker, o *sumOperands, r0 int, vjp, scaled, v engine.Matrix) {
	kr, nr := l.m.K*l.r, worker.Engine().PanelCols()
	n, half := v.Rows*nr, o.right.Rows()/2*nr
	all := worker.Scratch(slotPanel, 3*n)
	total, byU, byX := all[:n], all[n:2*n], all[2*n:]
	view := func(panel []float32) engine.Matrix { return engine.View(panel, v.Rows, nr) }
	for p := range o.right.Panels() {
		worker.MatMulPanel(total, vjp, &l.back, p)
		worker.MatMulPanel(byU, scaled.Slice(0, v.Rows, kr, scaled.Cols), &l.weights, p)
		worker.MatMulPanel(byX, vjp.Slice(0, v.Rows, kr, vjp.Cols), &l.weights, p)
		panel := o.right.WholePanel(p)
		x, u := panel[r0*nr:][:n], panel[half+r0*nr:][:n]
		worker.Multiply(byU, byU, u)
		worker.Add(total, total, byU)
		to := v.Slice(0, v.Rows, p*nr, min((p+1)*nr, v.Cols))
		worker.AxpyProducts(to, 1, view(total), view(byX), view(x))
		worker.Yield(2 * n * vjp.Cols)
	}
	flushTiny(v)
}

// slopes sets byX = U*X, y = [U F^T | U (-w*mu)^T + (U*X) w^T] and s_i of all components (k x rows). X, which
// comes from far away, is prefetched during the first product.
func (l *lowRank) slopes(worker *engine.Worker, s, u, x, byX, y, z engine.Matrix) {
	r, kr := l.r, l.m.K*l.r
	last := y.Slice(0, y.Rows, kr, y.Cols)
	worker.MatMulPacked(y.Slice(0, y.Rows, 0, kr), u, &l.project, false, x.Data[:x.Rows*x.Cols])
	worker.MatMulPacked(last, u, &l.centresT, false, nil)
	multiplyRows(worker, byX, u, x)
	worker.MatMulPacked(last, byX, &l.weightsT, true, nil)
	for i := range l.m.K {
		si := s.Row(i)
		if r > 0 {
			worker.RowDots(si, y.Slice(0, y.Rows, i*r, (i+1)*r), z.Slice(0, z.Rows, i*r, (i+1)*r))
		} else {
			clear(si)
		}
		for b := range si {
			si[b] = -(float32(l.s*si[b]) + y.Data[b*y.RS+kr+i])
		}
	}
}

// multiplyRows sets dst = x*y.
func multiplyRows(worker *engine.Worker, dst, x, y engine.Matrix) {
	for b := range dst.Rows {
		worker.Multiply(dst.Row(b), x.Row(b), y.Row(b))
	}
}

// laneSlopes sets y_i = F_i u and s_i for the pairs of a row and a component whose responsibility is not 0, in lanes;
// of the others s is 0.
func (l *lowRank) laneSlopes(worker *engine.Worker, s, res, u, x, y, z engine.Matrix) {
	r, g := l.r, worker.Scratch(slotRowNumbers, l.m.D)
	for i := range l.m.K {
		si := s.Row(i)
		clear(si)
		for b, v := range res.Row(i) {
			if v == 0 {
				continue
			}
			yi := y.Row(b)[i*r : (i+1)*r]
			worker.RowDots(yi, l.factorsOf(i), repeated(u.Row(b), r))
			worker.Sub(g, x.Row(b), l.m.mu(i))
			worker.Multiply(g, g, l.weightsOf(i))
			si[b] = -(float32(l.s*worker.ShortDot(yi, z.Row(b)[i*r:(i+1)*r])) + worker.ShortDot(u.Row(b), g))
		}
	}
}

// activeSlopes is slopes for the pairs of a row and a component whose responsibility is not 0; of the others s
// is 0.
func (l *lowRank) activeSlopes(worker *engine.Worker, s, res, u, byX, y, z engine.Matrix) {
	d, r, room := l.m.D, l.r, worker.Engine().PanelCols()
	rows, rowsX := worker.ScratchRows(slotRows, u.Rows, d, d), worker.ScratchRows(slotPicked, u.Rows, d, d)
	column := engine.View(worker.Scratch(slotColumn, d+room), d, 1)
	last := engine.View(worker.Scratch(slotRowNumbers, u.Rows), u.Rows, 1)
	for i := range l.m.K {
		si, n := s.Row(i), 0
		for b, v := range res.Row(i) {
			if v != 0 {
				copy(rows.Row(n), u.Row(b))
				copy(rowsX.Row(n), byX.Row(b))
				n++
			}
		}
		clear(si)
		if n == 0 {
			continue
		}
		ys, ui, sum := worker.ScratchRows(slotQ, n, r, r), rows.Slice(0, n, 0, d), last.Slice(0, n, 0, 1)
		if r > 0 {
			worker.MatMul(ys, ui, l.factorsOf(i).T(), false)
		}
		copy(column.Data, l.centreOf(i))
		worker.MatMulThin(sum, ui, column, false)
		copy(column.Data, l.weightsOf(i))
		worker.MatMulThin(sum, rowsX.Slice(0, n, 0, d), column, true)
		n = 0
		for b, v := range res.Row(i) {
			if v != 0 {
				yi := y.Row(b)[i*r : (i+1)*r]
				copy(yi, ys.Row(n))
				si[b] = -(float32(l.s*worker.ShortDot(yi, z.Row(b)[i*r:(i+1)*r])) + sum.Data[n])
				n++
			}
		}
	}
}

// clearInactive clears a row of a left operand (k r + k) where responsibilities (k x rows) of row b are 0.
func (l *lowRank) clearInactive(row []float32, res engine.Matrix, b int) {
	for i := range l.m.K {
		if res.At(i, b) == 0 {
			clear(row[i*l.r : (i+1)*l.r])
			row[l.m.K*l.r+i] = 0
		}
	}
}

// scaleActive sets the rows of dst where responsibilities are not 0, as scale does for all, and leaves the rest.
func (l *lowRank) scaleActive(worker *engine.Worker, dst, res, s, y, z engine.Matrix) {
	r, kr, signed := l.r, l.m.K*l.r, worker.Scratch(slotRowNumbers, 1)
	for i := range l.m.K {
		for b, v := range res.Row(i) {
			if v == 0 {
				continue
			}
			row := dst.Row(b)
			if at := i * r; r > 0 {
				signed[0] = l.s * v
				worker.GradRows(asRow(row[at:at+r]), signed, asRow(y.Row(b)[at:at+r]), s.Row(i)[b:b+1], l.s,
					asRow(z.Row(b)[at:at+r]))
			}
			row[kr+i] = 0 - s.At(i, b)
		}
	}
}

// sumOperands are what the sums over the rows of a step multiply (sumGradients): transposed and packed, [vjp;
// scaled] and the last k columns of [scaled; vjp]; in panels, each whole however many rows there are, [X; U].
type sumOperands struct {
	left, last engine.LeftBlock
	right      engine.Packed
}

// operandBytes is what the sumOperands of several steps that are handled together may take: as much as stays
// in the second-level cache.
var operandBytes = int(secondLevelShare())

// sumOperandFloats is how many floats sumOperands take.
func (l *lowRank) sumOperandFloats(e *engine.Engine, rows int) int {
	return e.LeftFloats(l.stackedRows(), 2*rows) + e.LeftFloats(l.m.K, 2*rows) + 2*rows*e.Panels(l.m.D)*e.PanelCols()
}

// sumOperands returns the i-th of those that there is room for.
func (l *lowRank) sumOperands(e *engine.Engine, tr *Trajectory, i int) (o sumOperands) {
	rows := 2 * tr.Rows
	n, left, last := l.sumOperandFloats(e, tr.Rows), e.LeftFloats(l.stackedRows(), rows), e.LeftFloats(l.m.K, rows)
	data := tr.operands[i*n : (i+1)*n]
	o.left = e.LeftIn(data[:left], l.stackedRows(), rows)
	o.last = e.LeftIn(data[left:left+last], l.m.K, rows)
	o.right.InData(e, data[left+last:], rows, l.m.D)
	return o
}

// set sets the rows from r0 on.
func (o *sumOperands) set(r0 int, vjp, scaled, x, u engine.Matrix) {
	rows, kr := o.right.Rows()/2, o.left.Rows()-o.last.Rows()
	o.left.SetColumns(r0, vjp)
	o.left.SetColumns(rows+r0, scaled)
	o.last.SetColumns(r0, scaled.Slice(0, scaled.Rows, kr, scaled.Cols))
	o.last.SetColumns(rows+r0, vjp.Slice(0, vjp.Rows, kr, vjp.Cols))
	o.right.SetRows(r0, x, 0, o.right.Panels())
	o.right.SetRows(rows+r0, u, 0, o.right.Panels())
}
