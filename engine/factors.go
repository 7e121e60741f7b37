package engine

// many stands for d/3 rows or more, with which dP_i is made.
const many = -1

// countRows finds out how many rows of all steps count for each component of a mixture. Of
// fewer than d/3, four products with A_i and the rows take less than two with dP_i. The
// choice is a matter of bits, so it is the same on every route. A tied mixture has one dP.
func (g *MixtureGradient) countRows(m *Mixture, tr *Trajectory) {
	growSlice(&g.rows, m.K)
	for i := range g.rows {
		n := 0
		for t := tr.Steps - 1; t >= 0 && n != many; t-- {
			for _, r := range tr.R[(t*m.K+i)*tr.Rows:][:tr.Rows] {
				if r == 0 {
					continue
				}
				if n++; 3*n >= m.D || len(m.p) < m.K {
					n = many
					break
				}
			}
		}
		g.rows[i] = n
	}
}

// factorGradient sets dA_i, with parts of the rows of A_i as tasks.
func (e *Engine) factorGradient(m *Mixture, a []float32, tr *Trajectory, grad *MixtureGradient) {
	d := float64(m.D)
	n := len(m.p)
	flops := 0.0
	for i := range n {
		if rows := grad.rows[i]; rows == many || n < m.K {
			flops += 2*d*d*d + e.goFlops(d*d)
		} else {
			flops += 8 * float64(rows) * d * d
		}
	}
	j := &e.factors
	*j = factorJob{e: e, m: m, a: a, tr: tr, grad: grad}
	j.parts = min(max(2*e.Threads()/n, 1), m.D)
	e.run(j, n*j.parts, flops)
	*j = factorJob{}
}

type factorJob struct {
	e     *Engine
	m     *Mixture
	a     []float32
	tr    *Trajectory
	grad  *MixtureGradient
	parts int
}

func (j *factorJob) run(worker, task int) {
	d := j.m.D
	i := task / j.parts
	r0, r1 := part(d, j.parts, task%j.parts)
	da := View(j.grad.A[i*d*d:(i+1)*d*d], d, d).Slice(r0, r1, 0, d)
	ai := View(j.a[i*d*d:(i+1)*d*d], d, d).Slice(r0, r1, 0, d)
	if rows := j.grad.rows[i]; rows == many || len(j.m.p) < j.m.K {
		j.byPrecision(worker, i, da, ai)
	} else if r0 < r1 {
		j.byRows(worker, i, rows, da, ai)
	}
}

// byPrecision computes rows of dA_i = A_i (dP_i + dP_i^T).
func (j *factorJob) byPrecision(worker, i int, da, ai Matrix) {
	d, arena := j.m.D, &j.e.scratch[worker]
	s := &arena.packed
	*s = Packed{k: j.e.k, rows: d, cols: d}
	s.data = arena.floats(slotB, s.size())
	s.setSymmetricSum(arena, j.grad.p[i*d*d:(i+1)*d*d])
	j.e.multiply(worker, da, ai, &operand{packed: s}, 0, s.panels(), false)
}

// byRows computes rows of dA_i = (A_i W^T) D + (A_i D^T) W, of W_i and D_i the n rows that
// count: the last step first, and the rows of each in increasing order.
func (j *factorJob) byRows(worker, i, n int, da, ai Matrix) {
	if n == 0 {
		clear(da.Data[:da.Rows*da.Cols])
		return
	}
	e, m, tr, d := j.e, j.m, j.tr, j.m.D
	arena, ld := &e.scratch[worker], leading(d)
	all := Matrix{Data: arena.floats(slotRows, 3*n*ld), Rows: 3 * n, Cols: d, RS: ld, CS: 1} // D, W, and D again
	x, w := all.Slice(0, n, 0, d), all.Slice(n, 2*n, 0, d)
	sr, st := arena.floats(slotGrad, d), arena.floats(slotE, d) // not wanted again
	k := 0
	for t := tr.Steps - 1; t >= 0; t-- {
		first := (t*m.K + i) * tr.Rows
		for b, r := range tr.R[first : first+tr.Rows] {
			if r == 0 {
				continue
			}
			row, at := t*tr.Rows+b, first+b
			e.k.pullDeltas(w.Row(k), x.Row(k), 0, tr.R[at:at+1], tr.u[row*d:], 0, tr.t[at:at+1], 0.5, tr.X[row*d:], 0, m.mu(i), sr, st)
			copy(all.Row(2*n+k), x.Row(k))
			k++
		}
	}
	p := &arena.packed
	*p = Packed{k: e.k, rows: d, cols: 2 * n}
	p.data = arena.floats(slotB, p.size())
	p.fill(all.Slice(n, 3*n, 0, d).T(), 0, p.panels())
	ly := leading(2 * n)
	y := Matrix{Data: arena.floats(slotY, da.Rows*ly), Rows: da.Rows, Cols: 2 * n, RS: ly, CS: 1}
	e.multiply(worker, y, ai, &operand{packed: p}, 0, p.panels(), false)
	*p = Packed{k: e.k, rows: 2 * n, cols: d}
	p.data = arena.floats(slotB, p.size())
	p.fill(all.Slice(0, 2*n, 0, d), 0, p.panels())
	e.multiply(worker, da, y, &operand{packed: p}, 0, p.panels(), false)
}

// setSymmetricSum packs p + p^T of a row-major square matrix, a square at a time, so that
// reading down the columns stays within the cache.
func (p *Packed) setSymmetricSum(arena *arena, a []float32) {
	const side = 32 // of a tile, and the most columns of a panel
	tile := arena.floats(slotTile, side*side)
	d, nr, nb := p.cols, p.k.nr, p.blocks()
	for kb := range nb {
		k0, k1 := part(d, nb, kb)
		for pn := range p.panels() {
			dst := p.panel(pn, k0, k1)
			j0 := pn * nr
			n := min(nr, d-j0)
			if n < nr {
				clear(dst)
			}
			for r0 := k0; r0 < k1; r0 += side {
				rows := min(side, k1-r0)
				p.k.transpose(tile, side, a[j0*d+r0:], d, n, rows)
				for r := range rows {
					p.k.add(dst[(r0-k0+r)*nr:][:n], a[(r0+r)*d+j0:], tile[r*side:])
				}
			}
		}
	}
}
