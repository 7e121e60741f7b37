package ascent

// The backward pass after an ascent by the sparse route, for precisions that are matrices: the same sums without
// the terms that are 0.

import (
	"slices"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// blockRecord is what a block of rows keeps of its way on the sparse route for matrices P_i: G_i of the active
// pairs, step by step, in increasing component and row.
type blockRecord struct {
	rows  []int32 // of the batch, increasing
	pairs []pair  // rows of the batch
	steps []int32 // where each step begins in pairs, and where the last one ends
	g     []float32
}

// reserve makes room for n records.
func (tr *Trajectory) reserve(n int) {
	for len(tr.records) < n {
		if len(tr.records) < cap(tr.records) {
			tr.records = tr.records[:len(tr.records)+1] // with the memory of an earlier ascent
		} else {
			tr.records = append(tr.records, blockRecord{})
		}
	}
}

// recordOf returns the record of a block, with what the dense first step has found, or nil if none is kept.
func (j *sparseJob) recordOf(task int, rows []int32) *blockRecord {
	if !j.records() {
		return nil
	}
	rec := &j.tr.records[j.record+task]
	rec.rows, rec.pairs, rec.steps, rec.g = rec.rows[:0], rec.pairs[:0], append(rec.steps[:0], 0), rec.g[:0]
	for _, b := range rows {
		rec.rows = append(rec.rows, int32(j.row0)+b)
	}
	if j.from == 0 {
		return rec
	}
	f := &j.first
	for i := range j.m.K {
		for _, b := range rows {
			if f.R[i*f.Rows+int(b)] != 0 {
				rec.pairs = append(rec.pairs, pair{component: int32(i), row: int32(j.row0) + b})
				rec.g = append(rec.g, f.gRow(0, i, int(b))...)
			}
		}
	}
	rec.steps = append(rec.steps, int32(len(rec.pairs)))
	return rec
}

// add appends the active pairs of a step.
func (rec *blockRecord) add(work *blockWork, row0, d int) {
	ld := engine.PaddedLD(d)
	for _, v := range work.pairs {
		if v.q != 0 {
			at := int(v.slot) * ld
			rec.pairs = append(rec.pairs, pair{component: v.component, row: int32(row0) + work.rows[v.row]})
			rec.g = append(rec.g, work.values[at:at+d]...)
		}
	}
	rec.steps = append(rec.steps, int32(len(rec.pairs)))
}

// at returns the pairs of step t and the number of the first of them.
func (rec *blockRecord) at(t int) ([]pair, int) {
	lo, hi := rec.steps[t], rec.steps[t+1]
	return rec.pairs[lo:hi], int(lo)
}

// sparseBack takes v back over active pairs.
func (p *dense) sparseBack(e *engine.Engine, alpha float32, tr *Trajectory, v engine.Matrix) {
	pairs := 0
	for i := range tr.records {
		if len(tr.records[i].steps) != tr.Steps+1 { // the ascent was given up
			return
		}
		pairs += len(tr.records[i].pairs)
	}
	runIn(e, &tr.jobs.sparseVJP, sparseVJPJob{p: p, alpha: alpha, tr: tr, v: v}, len(tr.records),
		2*float64(pairs)*float64(p.m.D)*float64(p.m.D))
}

// sparseSums computes the sums over active pairs.
func (p *dense) sparseSums(e *engine.Engine, tr *Trajectory, grad *Gradient) {
	m, pairs := p.m, 0
	for i := range m.K {
		pairs += tr.active(i)
	}
	parts := min(max(2*e.Threads()/m.K, 1), e.Panels(m.D))
	runIn(e, &grad.jobs.sparse, sparseGradientJob{e: e, m: m, tr: tr, grad: grad, parts: parts}, m.K*parts,
		2*float64(pairs)*float64(m.D)*float64(m.D))
}

// sparseVJPJob takes v back through all steps, a block of rows at a time, and leaves in the trajectory U and t of
// active pairs.
type sparseVJPJob struct {
	p     *dense
	alpha float32
	tr    *Trajectory
	v     engine.Matrix
}

// Run takes a block of rows back.
func (j *sparseVJPJob) Run(worker *engine.Worker, task int) {
	m, tr, d := j.p.m, j.tr, j.p.m.D
	rec, memory := &tr.records[task], m.memory(worker)
	n := len(rec.rows)
	v, total := worker.ScratchRows(slotRows, n, d, d), worker.ScratchRows(slotSum, n, d, d)
	for p, b := range rec.rows {
		copy(v.Row(p), j.v.Row(int(b)))
	}
	engine.Grow(&memory.begun, n)
	for t := tr.Steps - 1; t >= 0 && !tr.stopped(); t-- {
		for p, b := range rec.rows {
			worker.Scale(tr.uAt(t, int(b)), j.alpha, v.Row(p))
		}
		pairs, first := rec.at(t)
		j.slopes(worker, rec, t, pairs, first)
		clear(total.Data)
		clear(memory.begun)
		for lo := 0; lo < len(pairs); {
			hi := lo + 1
			for hi < len(pairs) && pairs[hi].component == pairs[lo].component {
				hi++
			}
			j.addGroup(worker, rec, t, pairs[lo:hi], total)
			lo = hi
		}
		addVJP(worker, v, total)
		flushTiny(v)
	}
	for p, b := range rec.rows {
		copy(j.v.Row(int(b)), v.Row(p))
	}
}

// place returns the place of a row of the batch in the block.
func (rec *blockRecord) place(row int32) int {
	p, _ := slices.BinarySearch(rec.rows, row)
	return p
}

// addGroup adds -N_i P_i of some rows for one component to total.
func (j *sparseVJPJob) addGroup(worker *engine.Worker, rec *blockRecord, t int, pairs []pair, total engine.Matrix) {
	m, tr, d, i := j.p.m, j.tr, j.p.m.D, int(pairs[0].component)
	begun, ld := m.memory(worker).begun, engine.PaddedLD(d)
	n := worker.ScratchRows(slotW, len(pairs), d, ld) // -N_i
	for q, p := range pairs {
		row := int(p.row)
		at := (t*m.K+i)*tr.Rows + row
		in := engine.Deltas{
			R: tr.R[at : at+1], T: tr.t[at : at+1], Mu: m.mu(i), H: 1,
			U: tr.block(tr.u, d, t, row, row+1), X: tr.block(tr.X, d, t, row, row+1),
		}
		worker.MinusN(n.Slice(q, q+1, 0, d), &in)
	}
	if diagonal := j.p.diagonal(i); diagonal != nil && allFinite(n) {
		for q, p := range pairs {
			to := rec.place(p.row)
			addDiagonal(worker, total.Row(to), n.Row(q), diagonal, begun[to])
			begun[to] = true
		}
		return
	}
	sums := worker.ScratchRows(slotY, len(pairs), d, ld)
	for q, p := range pairs {
		copy(sums.Row(q), total.Row(rec.place(p.row)))
	}
	j.p.multiply(worker, sums, n, i, true)
	for q, p := range pairs {
		to := rec.place(p.row)
		copy(total.Row(to), sums.Row(q))
		begun[to] = true
	}
}

// addDiagonal goes on with the chains of a row of total by n P_i, of a diagonal P_i: by one multiply-add each,
// because the others add zeros. Chains that have not begun are at +0.
func addDiagonal(worker *engine.Worker, total, n, diagonal []float32, begun bool) {
	if begun {
		for j, v := range total {
			total[j] = num.FMA32(n[j], diagonal[j], v)
		}
		return
	}
	y := worker.Scratch(slotGradient, len(total))
	worker.Multiply(y, n, diagonal)
	worker.Add(total, total, y)
}

// slopes computes t_i of all pairs of a step, and the sums of r_i s_i.
func (j *sparseVJPJob) slopes(worker *engine.Worker, rec *blockRecord, t int, pairs []pair, first int) {
	m, tr, d := j.p.m, j.tr, j.p.m.D
	for q, p := range pairs {
		s := worker.ShortDot(tr.uAt(t, int(p.row)), rec.g[(first+q)*d:(first+q+1)*d])
		tr.t[(t*m.K+int(p.component))*tr.Rows+int(p.row)] = -s
	}
	// The chains over the components of a row need no others, whose r and t are 0.
	by := worker.Scratch(slotGradient, 2*m.K)
	memory := m.memory(worker)
	sorted, next := engine.Grow(&memory.sorted, len(pairs)), engine.Grow(&memory.next, len(rec.rows)+1)
	clear(next)
	for _, p := range pairs { // in increasing component
		next[rec.place(p.row)+1]++
	}
	for i := range rec.rows {
		next[i+1] += next[i]
	}
	for _, p := range pairs {
		at := rec.place(p.row)
		sorted[next[at]] = p
		next[at]++
	}
	for lo := 0; lo < len(sorted); {
		hi := lo
		for hi < len(sorted) && sorted[hi].row == sorted[lo].row {
			hi++
		}
		n, row := hi-lo, int(sorted[lo].row)
		r, s := by[:n], by[m.K:m.K+n]
		for q, p := range sorted[lo:hi] {
			at := (t*m.K+int(p.component))*tr.Rows + row
			r[q], s[q] = tr.R[at], tr.t[at]
		}
		worker.MixtureVJP(r, s, 1, tr.sum[t*tr.Rows+row:t*tr.Rows+row+1], n)
		for q, p := range sorted[lo:hi] {
			tr.t[(t*m.K+int(p.component))*tr.Rows+row] = s[q]
		}
		lo = hi
	}
}

// sparseGradientJob is gradientJob over active pairs.
type sparseGradientJob struct {
	e     *engine.Engine
	m     *Mixture
	tr    *Trajectory
	grad  *Gradient
	parts int
}

// Run computes some panels of a component.
func (j *sparseGradientJob) Run(worker *engine.Worker, task int) {
	e, tr, d := j.e, j.tr, j.m.D
	i, pt := task/j.parts, task%j.parts
	sumsOnly := j.grad.rows[i] != viaPrecision
	if pt > 0 && sumsOnly {
		return
	}
	list := j.list(worker, i)
	if pt == 0 {
		j.weight(worker, i, list)
	}
	if sumsOnly {
		for n := 0; n < len(list); n += chunkRows {
			j.rows(worker, i, list[n:min(n+chunkRows, len(list))], true)
		}
		return
	}
	dp := engine.View(j.grad.p[i*d*d:(i+1)*d*d], d, d)
	p0, p1 := engine.Part(e.Panels(d), j.parts, pt)
	nb := e.InnerBlocks(len(list))
	right := &j.m.memory(worker).packed
	for kb := range nb {
		if tr.stopped() {
			return
		}
		k0, k1 := engine.Part(len(list), nb, kb)
		n := k1 - k0
		left := e.LeftIn(worker.Scratch(slotLeft, e.LeftFloats(d, n)), d, n)
		right.In(worker, slotRight, n, d)
		for at := 0; at < n; at += chunkRows {
			ws, xs := j.rows(worker, i, list[k0+at:min(k0+at+chunkRows, k1)], pt == 0)
			left.SetColumns(at, ws)
			right.SetRows(at, xs, p0, p1)
		}
		worker.MatMulLeftPacked(dp, &left, right, p0, p1, kb > 0)
	}
}

// list returns the active pairs of component i, the last step first and the rows of each in increasing order.
func (j *sparseGradientJob) list(worker *engine.Worker, i int) []pair {
	memory := j.m.memory(worker)
	list := memory.pairs[:0]
	for t := j.tr.Steps - 1; t >= 0; t-- {
		for b, r := range j.tr.RAt(t).Row(i) {
			if r != 0 {
				list = append(list, pair{component: int32(i), row: int32(b), step: int32(t)})
			}
		}
	}
	memory.pairs = list
	return list
}

// rows computes W_i and D_i of up to chunkRows pairs. With count it adds them to the sums that dmu_i is made of.
func (j *sparseGradientJob) rows(worker *engine.Worker, i int, list []pair, count bool) (ws, xs engine.Matrix) {
	d := j.m.D
	ws, xs = chunkOf(worker, d)
	for n, a := range list {
		in := j.grad.deltas(worker, j.m, j.tr, i, int(a.step), int(a.row), int(a.row)+1, count)
		worker.GradDeltas(ws.Slice(n, n+1, 0, d), xs.Slice(n, n+1, 0, d), &in)
	}
	return ws.Slice(0, len(list), 0, d), xs.Slice(0, len(list), 0, d)
}

// weight computes dc_i.
func (j *sparseGradientJob) weight(worker *engine.Worker, i int, list []pair) {
	tr := j.tr
	slopes := worker.Scratch(slotQ, tr.Rows)
	for lo := 0; lo < len(list); {
		clear(slopes)
		t := list[lo].step
		for ; lo < len(list) && list[lo].step == t; lo++ {
			slopes[list[lo].row] = tr.tAt(int(t), i)[list[lo].row]
		}
		j.grad.C[i] += worker.Sum(slopes)
	}
}
