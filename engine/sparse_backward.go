package engine

import (
	"cmp"
	"slices"

	"dpnbench/engine/num"
)

// blockRecord is what a block of rows keeps of its way on the sparse route for precisions
// A_i^T A_i: G_i of the active pairs, step by step, in increasing component and row.
type blockRecord struct {
	rows  []int32 // of the batch, increasing
	pairs []pair  // row of the batch, component
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

// recordOf returns the record of a block, with what the dense first step has found, or nil
// if none is kept.
func (j *sparseJob) recordOf(task int, rows []int32) *blockRecord {
	tr := j.tr
	if tr == nil || !tr.backward || j.m.low != nil {
		return nil
	}
	rec := &tr.records[j.record+task]
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
				rec.pairs = append(rec.pairs, pair{j.row0 + int(b), i})
				rec.g = append(rec.g, f.gAt(0, i, int(b), int(b)+1).Data...)
			}
		}
	}
	rec.steps = append(rec.steps, int32(len(rec.pairs)))
	return rec
}

// add appends the active pairs of a step.
func (rec *blockRecord) add(w *party, rows []int32, row0, d int) {
	ld := paddedLD(d)
	for _, v := range w.pairs {
		if v.q != 0 {
			at := int(v.slot) * ld
			rec.pairs = append(rec.pairs, pair{row0 + int(rows[v.row]), int(v.comp)})
			rec.g = append(rec.g, w.values[at:at+d]...)
		}
	}
	rec.steps = append(rec.steps, int32(len(rec.pairs)))
}

// at returns the pairs of step t and the number of the first of them.
func (rec *blockRecord) at(t int) ([]pair, int) {
	lo, hi := rec.steps[t], rec.steps[t+1]
	return rec.pairs[lo:hi], int(lo)
}

// sparseBackward is AscendBackward after a sparse ascent, for precisions A_i^T A_i: the same
// sums without the terms that are 0.
func (e *Engine) sparseBackward(m *Mixture, alpha float32, tr *Trajectory, v Matrix, grad *MixtureGradient) {
	for i := range tr.records {
		if len(tr.records[i].steps) != tr.Steps+1 { // the ascent was given up
			return
		}
	}
	pairs := 0
	for i := range tr.records {
		pairs += len(tr.records[i].pairs)
	}
	flops := 2 * float64(pairs) * float64(m.D) * float64(m.D)
	j := &e.backs
	*j = sparsePullJob{e: e, m: m, alpha: alpha, tr: tr, v: v}
	e.run(j, len(tr.records), flops)
	*j = sparsePullJob{}

	s := &e.back
	*s = sparseGradientJob{e: e, m: m, tr: tr, grad: grad}
	s.parts = min(max(2*e.Threads()/m.K, 1), e.kern.panels(m.D))
	e.run(s, m.K*s.parts, flops)
	*s = sparseGradientJob{}
}

// sparsePullJob pulls v back through all steps, a block of rows at a time, and leaves in the
// trajectory U and t of active pairs.
type sparsePullJob struct {
	e     *Engine
	m     *Mixture
	alpha float32
	tr    *Trajectory
	v     Matrix
}

func (j *sparsePullJob) run(worker, task int) {
	e, m, tr, d := j.e, j.m, j.tr, j.m.D
	rec, arena := &tr.records[task], &e.scratch[worker]
	n := len(rec.rows)
	v, total := View(arena.floats(slotRows, n*d), n, d), View(arena.floats(slotE, n*d), n, d)
	for p, b := range rec.rows {
		copy(v.Row(p), j.v.Row(int(b)))
	}
	growSlice(&arena.begun, n)
	place := func(b int) int { p, _ := slices.BinarySearch(rec.rows, int32(b)); return p }
	for t := tr.Steps - 1; t >= 0 && !tr.stopped(); t-- {
		for p, b := range rec.rows {
			e.kern.scale(j.u(t, int(b)), j.alpha, v.Row(p))
		}
		pairs, first := rec.at(t)
		j.slopes(arena, rec, t, pairs, first)
		clear(total.Data)
		clear(arena.begun)
		for lo := 0; lo < len(pairs); {
			hi := lo + 1
			for hi < len(pairs) && pairs[hi].component == pairs[lo].component {
				hi++
			}
			i, k := pairs[lo].component, hi-lo
			ld := paddedLD(d)
			pushes := Matrix{Data: arena.floats(slotW, k*ld), Rows: k, Cols: d, RS: ld, CS: 1} // -N_i
			for q, p := range pairs[lo:hi] {
				at := (t*m.K+i)*tr.Rows + p.row
				e.kern.gradDeltas(pushes.Row(q), nil, 0, tr.R[at:at+1], j.u(t, p.row), 0, tr.t[at:at+1], 1, tr.XAt(t).Row(p.row), 0, m.mu(i), nil, nil)
			}
			if diagonal := m.diagonal(i); diagonal != nil && e.allFinite(pushes) {
				for q, p := range pairs[lo:hi] {
					to := place(p.row)
					e.addDiagonal(arena, total.Row(to), pushes.Row(q), diagonal, arena.begun[to])
					arena.begun[to] = true
				}
				lo = hi
				continue
			}
			sums := Matrix{Data: arena.floats(slotY, k*ld), Rows: k, Cols: d, RS: ld, CS: 1}
			for q, p := range pairs[lo:hi] {
				copy(sums.Row(q), total.Row(place(p.row)))
			}
			e.multiplyPrecision(worker, sums, pushes, m, i, true)
			for q, p := range pairs[lo:hi] {
				to := place(p.row)
				copy(total.Row(to), sums.Row(q))
				arena.begun[to] = true
			}
			lo = hi
		}
		for p := range n {
			e.kern.pullOn(v.Row(p), total.Row(p))
		}
	}
	for p, b := range rec.rows {
		copy(j.v.Row(int(b)), v.Row(p))
	}
}

// addDiagonal goes on with the chains of a row of total by push P_i, of a diagonal P_i: by one
// multiply-add each, because the others add zeros. Chains that have not begun are at +0.
func (e *Engine) addDiagonal(arena *arena, total, push, diagonal []float32, begun bool) {
	if begun {
		for j, v := range total {
			total[j] = num.FMA32(push[j], diagonal[j], v)
		}
		return
	}
	y := arena.floats(slotGrad, len(total))
	e.kern.multiply(y, push, diagonal)
	e.kern.add(total, total, y)
}

// u returns the row of U of step t.
func (j *sparsePullJob) u(t, b int) []float32 {
	at := (t*j.tr.Rows + b) * j.tr.D
	return j.tr.u[at : at+j.tr.D]
}

// slopes computes t_i of all pairs of a step, and the sums of r_i s_i.
func (j *sparsePullJob) slopes(arena *arena, rec *blockRecord, t int, pairs []pair, first int) {
	e, m, tr, d := j.e, j.m, j.tr, j.m.D
	for q, p := range pairs {
		s := arena.dot(e.kern, j.u(t, p.row), rec.g[(first+q)*d:(first+q+1)*d])
		tr.t[(t*m.K+p.component)*tr.Rows+p.row] = -float32(s)
	}
	// The chains over the components of a row take their places in the column of r and t;
	// those of other components are 0 in both.
	by := arena.floats(slotGrad, 2*m.K)
	sorted := append(arena.byRow[:0], pairs...)
	arena.byRow = sorted
	slices.SortFunc(sorted, func(a, b pair) int {
		if c := cmp.Compare(a.row, b.row); c != 0 {
			return c
		}
		return cmp.Compare(a.component, b.component)
	})
	for lo := 0; lo < len(sorted); {
		hi := lo
		for hi < len(sorted) && sorted[hi].row == sorted[lo].row {
			hi++
		}
		n, row := hi-lo, sorted[lo].row
		r, s := by[:n], by[m.K:m.K+n]
		for k, p := range sorted[lo:hi] {
			r[k], s[k] = tr.RAt(t).At(p.component, row), tr.t[(t*m.K+p.component)*tr.Rows+row]
		}
		e.kern.responsibilityBackward(r, s, 1, tr.sum[t*tr.Rows+row:t*tr.Rows+row+1], n)
		for k, p := range sorted[lo:hi] {
			tr.t[(t*m.K+p.component)*tr.Rows+row] = s[k]
		}
		lo = hi
	}
}

// sparseGradientJob is gradientJob over active pairs.
type sparseGradientJob struct {
	e     *Engine
	m     *Mixture
	tr    *Trajectory
	grad  *MixtureGradient
	parts int
}

// activePair is a row of which a component is active at a step.
type activePair struct{ t, row int32 }

func (j *sparseGradientJob) run(worker, task int) {
	e, tr, d := j.e, j.tr, j.m.D
	i, pt := task/j.parts, task%j.parts
	arena := &e.scratch[worker]
	few := j.grad.rows[i] != many
	if pt > 0 && few {
		return
	}
	list := j.list(arena, i)
	if pt == 0 {
		j.weight(arena, i, list)
	}
	if few {
		for k := 0; k < len(list); k += chunkRows {
			j.rows(arena, i, list[k:min(k+chunkRows, len(list))], true)
		}
		return
	}
	dp := View(j.grad.p[i*d*d:(i+1)*d*d], d, d)
	p0, p1 := part(e.kern.panels(d), j.parts, pt)
	nb := e.kern.blocks(len(list))
	for kb := range nb {
		if tr.stopped() {
			return
		}
		k0, k1 := part(len(list), nb, kb)
		w, x := j.operands(arena, i, list[k0:k1], p0, p1, pt == 0)
		q := product{e: e, arena: arena, c: dp, acc: kb > 0}
		q.block(&w, &x, p0, p1)
	}
}

// list returns the active pairs of component i, the last step first and the rows of each in
// increasing order.
func (j *sparseGradientJob) list(arena *arena, i int) []activePair {
	list := arena.list[:0]
	for t := j.tr.Steps - 1; t >= 0; t-- {
		begin := len(list)
		for r := range j.tr.records {
			pairs, _ := j.tr.records[r].at(t)
			lo, _ := slices.BinarySearchFunc(pairs, i, func(p pair, i int) int { return cmp.Compare(p.component, i) })
			for k := lo; k < len(pairs) && pairs[k].component == i; k++ {
				list = append(list, activePair{int32(t), int32(pairs[k].row)})
			}
		}
		slices.SortFunc(list[begin:], func(a, b activePair) int { return cmp.Compare(a.row, b.row) })
	}
	arena.list = list
	return list
}

// operands computes W_i^T and D_i, of which the panels [p0, p1) are needed, of some pairs.
func (j *sparseGradientJob) operands(arena *arena, i int, list []activePair, p0, p1 int, count bool) (w blockA, x operand) {
	e, d := j.e, j.m.D
	w = e.kern.packedA(arena, slotA, d, len(list))
	p := &arena.packed
	*p = Packed{kern: e.kern, rows: len(list), cols: d}
	p.data = arena.floats(slotB, p.size())
	for k := 0; k < len(list); k += chunkRows {
		ws, xs := j.rows(arena, i, list[k:min(k+chunkRows, len(list))], count)
		w.setColumns(e.kern, k, ws)
		p.setRows(k, xs, p0, p1)
	}
	return w, operand{packed: p}
}

// rows computes W_i and D_i of up to chunkRows pairs. If so told it counts them in the sums
// that dmu_i is made of.
func (j *sparseGradientJob) rows(arena *arena, i int, list []activePair, count bool) (ws, xs Matrix) {
	e, m, tr, d, n := j.e, j.m, j.tr, j.m.D, len(list)
	ld := paddedLD(d)
	ws = Matrix{Data: arena.floats(slotW, n*ld), Rows: n, Cols: d, RS: ld, CS: 1}
	xs = Matrix{Data: arena.floats(slotCentre, n*ld), Rows: n, Cols: d, RS: ld, CS: 1}
	sr, st := j.grad.Mu[i*d:(i+1)*d], j.grad.sums[i*d:(i+1)*d]
	if !count {
		sr, st = arena.floats(slotGrad, d), arena.floats(slotE, d)
	}
	for k, a := range list {
		row := int(a.t)*tr.Rows + int(a.row)
		at := (int(a.t)*m.K+i)*tr.Rows + int(a.row)
		e.kern.gradDeltas(ws.Row(k), xs.Row(k), ld, tr.R[at:at+1], tr.u[row*d:], d, tr.t[at:at+1], 0.5, tr.X[row*d:], d, m.mu(i), sr, st)
	}
	return ws, xs
}

// weight computes dc_i.
func (j *sparseGradientJob) weight(arena *arena, i int, list []activePair) {
	tr := j.tr
	slopes := arena.floats(slotQ, tr.Rows)
	for lo := 0; lo < len(list); {
		clear(slopes)
		t := list[lo].t
		for ; lo < len(list) && list[lo].t == t; lo++ {
			slopes[list[lo].row] = tr.t[(int(t)*j.m.K+i)*tr.Rows+int(list[lo].row)]
		}
		j.grad.C[i] += j.e.kern.sum(slopes)
	}
}

// pair is a row and a component of which its responsibility is not 0.
type pair struct{ row, component int }
