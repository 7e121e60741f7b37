package engine

import (
	"cmp"
	"slices"
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
	ld := leading(d)
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
	s.parts = min(max(2*e.Threads()/m.K, 1), e.k.panels(m.D))
	e.run(s, m.K*s.parts, flops)
	*s = sparseGradientJob{}
}

// sparsePullJob pulls v back through all steps, a block of rows at a time, and leaves in the
// trajectory U, t of active pairs and, in place of G, E.
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
	place := func(b int) int { p, _ := slices.BinarySearch(rec.rows, int32(b)); return p }
	for t := tr.Steps - 1; t >= 0 && !tr.stopped(); t-- {
		for p, b := range rec.rows {
			e.k.scale(j.u(t, int(b)), j.alpha, v.Row(p))
		}
		pairs, first := rec.at(t)
		j.slopes(arena, rec, t, pairs, first)
		clear(total.Data)
		for lo := 0; lo < len(pairs); {
			hi := lo + 1
			for hi < len(pairs) && pairs[hi].component == pairs[lo].component {
				hi++
			}
			i, k := pairs[lo].component, hi-lo
			ld := leading(d)
			u := Matrix{Data: arena.floats(slotCentre, k*ld), Rows: k, Cols: d, RS: ld, CS: 1}
			y := Matrix{Data: arena.floats(slotY, k*ld), Rows: k, Cols: d, RS: ld, CS: 1}
			r, s := arena.floats(slotQ, k), arena.floats(slotS, k)
			for q, p := range pairs[lo:hi] {
				copy(u.Row(q), j.u(t, p.row))
				r[q], s[q] = tr.RAt(t).At(i, p.row), tr.t[(t*m.K+i)*tr.Rows+p.row]
			}
			e.multiplyPrecision(worker, y, u, m, i)
			g := rec.g[(first+lo)*d : (first+hi)*d]
			e.k.pullRows(g, d, r, y.Data, ld, s, 1, g, d, d)
			for q, p := range pairs[lo:hi] {
				sum := total.Row(place(p.row))
				e.k.add(sum, sum, g[q*d:(q+1)*d])
			}
			lo = hi
		}
		for p := range n {
			e.k.add(v.Row(p), v.Row(p), total.Row(p))
			dropFaint(v.Row(p))
		}
	}
	for p, b := range rec.rows {
		copy(j.v.Row(int(b)), v.Row(p))
	}
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
		s := arena.dot(e.k, j.u(t, p.row), rec.g[(first+q)*d:(first+q+1)*d])
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
		e.k.responsibilities(r, s, 1, tr.sum[t*tr.Rows+row:t*tr.Rows+row+1], n)
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

// activePair is a pair at a step, and its place in a record.
type activePair struct {
	t, row     int32
	record, at int32
}

func (j *sparseGradientJob) run(worker, task int) {
	e, tr, d := j.e, j.tr, j.m.D
	i, pt := task/j.parts, task%j.parts
	arena := &e.scratch[worker]
	if pt > 0 && j.grad.rows[i] != many {
		return
	}
	list := j.list(arena, i)
	if pt == 0 {
		j.centre(arena, i, list)
	}
	if j.grad.rows[i] != many {
		return
	}
	dp := View(j.grad.p[i*d*d:(i+1)*d*d], d, d)
	p0, p1 := part(e.k.panels(d), j.parts, pt)
	nb, mb := e.k.blocks(len(list)), e.k.rowBlocks(d)
	for kb := range nb {
		if tr.stopped() {
			return
		}
		k0, k1 := part(len(list), nb, kb)
		w, x := j.operands(arena, i, list[k0:k1], p0, p1)
		tiles, row := w.tiles(e.k), 0
		for ib := range mb {
			t0, t1 := part(tiles, mb, ib)
			block := w.sliceTiles(e.k, t0, t1)
			for pn := p0; pn < p1; pn++ {
				e.multiplyPanel(arena, dp, block, &x, row, pn, 0, k1-k0, kb > 0)
			}
			row += block.rows
		}
	}
}

// list returns the active pairs of component i, the last step first and the rows of each in
// increasing order.
func (j *sparseGradientJob) list(arena *arena, i int) []activePair {
	list := arena.list[:0]
	for t := j.tr.Steps - 1; t >= 0; t-- {
		begin := len(list)
		for r := range j.tr.records {
			pairs, first := j.tr.records[r].at(t)
			lo, _ := slices.BinarySearchFunc(pairs, i, func(p pair, i int) int { return cmp.Compare(p.component, i) })
			for k := lo; k < len(pairs) && pairs[k].component == i; k++ {
				list = append(list, activePair{int32(t), int32(pairs[k].row), int32(r), int32(first + k)})
			}
		}
		slices.SortFunc(list[begin:], func(a, b activePair) int { return cmp.Compare(a.row, b.row) })
	}
	arena.list = list
	return list
}

// operands computes W_i^T and D_i, of which the panels [p0, p1) are needed, of some pairs.
func (j *sparseGradientJob) operands(arena *arena, i int, list []activePair, p0, p1 int) (w left, x operand) {
	e, m, tr, d := j.e, j.m, j.tr, j.m.D
	w = e.k.strips(arena, slotA, d, len(list))
	p := &arena.packed
	*p = Packed{k: e.k, rows: len(list), cols: d}
	p.data = arena.floats(slotB, p.size())
	ld := leading(d)
	ws := Matrix{Data: arena.floats(slotW, chunkRows*ld), Cols: d, RS: ld, CS: 1}
	xs := Matrix{Data: arena.floats(slotCentre, chunkRows*ld), Cols: d, RS: ld, CS: 1}
	for done := 0; done < len(list); done += ws.Rows {
		ws.Rows = min(len(list)-done, chunkRows)
		xs.Rows = ws.Rows
		for k, a := range list[done : done+ws.Rows] {
			row := int(a.t)*tr.Rows + int(a.row)
			at := (int(a.t)*m.K+i)*tr.Rows + int(a.row)
			e.k.subRows(xs.Row(k), 0, tr.X[row*d:], 0, m.mu(i), 0, 1, d)
			e.k.pullRows(ws.Row(k), 0, tr.R[at:at+1], tr.u[row*d:], 0, tr.t[at:at+1], 0.5, xs.Row(k), 0, d)
		}
		w.setColumns(e.k, done, ws)
		p.setRows(done, xs, p0, p1)
	}
	return w, operand{packed: p}
}

// centre computes dmu_i and dc_i.
func (j *sparseGradientJob) centre(arena *arena, i int, list []activePair) {
	e, tr, d := j.e, j.tr, j.m.D
	dmu := j.grad.Mu[i*d : (i+1)*d]
	slopes := arena.floats(slotQ, tr.Rows)
	for lo := 0; lo < len(list); {
		clear(slopes)
		t := list[lo].t
		for ; lo < len(list) && list[lo].t == t; lo++ {
			a := list[lo]
			e.k.subRows(dmu, 0, dmu, 0, tr.records[a.record].g[int(a.at)*d:], 0, 1, d)
			slopes[a.row] = tr.t[(int(t)*j.m.K+i)*tr.Rows+int(a.row)]
		}
		j.grad.C[i] += e.k.sum(slopes)
	}
}

// pair is a row and a component of which its responsibility is not 0.
type pair struct{ row, component int }
