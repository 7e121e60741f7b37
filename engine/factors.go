package engine

// many stands for d/3 rows or more, with which dP_i is made.
const many = -1

// countRows finds out how many rows of all steps count for each component of a mixture, where
// those of a way count as the few that its combinations keep (powers.go). Of fewer than d/3, four
// products with A_i and the rows take less than two with dP_i. The choice is a matter of bits, so
// it is the same on every route. A tied mixture has one dP.
func (e *Engine) countRows(m *Mixture, tr *Trajectory, g *MixtureGradient) {
	tied := len(m.p) < m.K
	g.findWays(tr, !tied)
	g.count(tr, tied)
	n, d := 0.0, float64(m.D)
	for _, w := range g.ways {
		if w.component >= 0 && g.rows[w.component] != many {
			n += float64(w.to - w.from)
		}
	}
	if n == 0 {
		return
	}
	j := &e.ways
	*j = wayJob{e: e, m: m, tr: tr, grad: g, blocks: min(4*e.Threads(), tr.Rows)}
	e.run(j, j.blocks, 2*n*fewPowers*d+e.goFlops(n*d))
	*j = wayJob{}
	g.count(tr, tied) // some may have ended earlier
}

// count sets rows, given the ways.
func (g *MixtureGradient) count(tr *Trajectory, tied bool) {
	growSlice(&g.rows, tr.K)
	clear(g.rows)
	for _, w := range g.ways {
		if w.component >= 0 {
			w.pieces(func(_, steps int) bool {
				g.rows[w.component] += len(powersOf(steps).kept)
				return true
			})
		}
	}
	for i, n := range g.rows {
		for t := tr.Steps - 1; t >= 0 && n != many; t-- {
			for b, r := range tr.RAt(t).Row(i) {
				if r == 0 || g.ways[b].has(i, t) {
					continue
				}
				if n++; 3*n >= tr.D || tied {
					n = many
					break
				}
			}
		}
		if 3*n >= tr.D {
			n = many
		}
		g.rows[i] = n
	}
}

// factorFlop counts the operations of the products of dA_i, and of dP_i where it is made.
func (g *MixtureGradient) factorFlop(m *Mixture, tr *Trajectory) float64 {
	square := float64(m.D) * float64(m.D)
	flop := 0.0
	for i, rows := range g.rows {
		if rows != many {
			flop += 8 * float64(rows) * square
			continue
		}
		pairs := tr.Steps * tr.Rows
		if tr.sparse {
			pairs = 0
			for t := range tr.Steps {
				for _, r := range tr.RAt(t).Row(i) {
					if r != 0 {
						pairs++
					}
				}
			}
		}
		flop += 2 * float64(pairs) * square
		if len(m.p) == m.K {
			flop += 2 * float64(m.D) * square
		}
	}
	if len(m.p) < m.K { // one P for all
		flop += 2 * float64(m.D) * square
	}
	return flop
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
	*s = Packed{kern: j.e.kern, rows: d, cols: d}
	s.data = arena.floats(slotB, s.size())
	s.setSymmetricSum(arena, j.grad.p[i*d*d:(i+1)*d*d])
	j.e.multiply(worker, da, ai, &operand{packed: s}, false)
}

// byRows computes rows of dA_i = (A_i W^T) D + (A_i D^T) W, of W_i and D_i the n rows that
// count: the last step first, and the rows of each in increasing order; then those of ways.
func (j *factorJob) byRows(worker, i, n int, da, ai Matrix) {
	if n == 0 {
		clear(da.Data[:da.Rows*da.Cols])
		return
	}
	e, m, tr, d := j.e, j.m, j.tr, j.m.D
	arena, ld := &e.scratch[worker], paddedLD(d)
	all := Matrix{Data: arena.floats(slotRows, 3*n*ld), Rows: 3 * n, Cols: d, RS: ld, CS: 1} // D, W, and D again
	x, w := all.Slice(0, n, 0, d), all.Slice(n, 2*n, 0, d)
	sr, st := arena.floats(slotGrad, d), arena.floats(slotE, d) // not wanted again
	k := 0
	for t := tr.Steps - 1; t >= 0; t-- {
		first := (t*m.K + i) * tr.Rows
		for b, r := range tr.R[first : first+tr.Rows] {
			if r == 0 || j.grad.ways[b].has(i, t) {
				continue
			}
			row, at := t*tr.Rows+b, first+b
			e.kern.gradDeltas(w.Row(k), x.Row(k), 0, tr.R[at:at+1], tr.u[row*d:], 0, tr.t[at:at+1], 0.5, tr.X[row*d:], 0, m.mu(i), sr, st)
			k++
		}
	}
	for b, way := range j.grad.ways {
		if int(way.component) != i {
			continue
		}
		way.pieces(func(a, steps int) bool {
			p := powersOf(steps)
			us := Matrix{Data: tr.u[(a*tr.Rows+b)*d:], Rows: steps, Cols: d, RS: tr.Rows * d, CS: 1}
			e.multiply(worker, w.Slice(k, k+len(p.kept), 0, d), View(p.back, len(p.kept), steps), &operand{direct: us}, false)
			for _, t := range p.kept {
				e.kern.subRows(x.Row(k), 0, tr.XAt(a+t).Row(b), 0, m.mu(i), 0, 1, d)
				k++
			}
			return true
		})
	}
	for k := range n {
		copy(all.Row(2*n+k), x.Row(k))
	}
	p := &arena.packed
	*p = Packed{kern: e.kern, rows: d, cols: 2 * n}
	p.data = arena.floats(slotB, p.size())
	p.fill(all.Slice(n, 3*n, 0, d).T(), 0, p.panels())
	ly := paddedLD(2 * n)
	y := Matrix{Data: arena.floats(slotY, da.Rows*ly), Rows: da.Rows, Cols: 2 * n, RS: ly, CS: 1}
	e.multiply(worker, y, ai, &operand{packed: p}, false)
	*p = Packed{kern: e.kern, rows: 2 * n, cols: d}
	p.data = arena.floats(slotB, p.size())
	p.fill(all.Slice(0, 2*n, 0, d), 0, p.panels())
	e.multiply(worker, da, y, &operand{packed: p}, false)
}

// setSymmetricSum packs p + p^T of a row-major square matrix, a square at a time, so that
// reading down the columns stays within the cache.
func (p *Packed) setSymmetricSum(arena *arena, a []float32) {
	const side = 32 // of a tile, and the most columns of a panel
	tile := arena.floats(slotTile, side*side)
	d, nr, nb := p.cols, p.kern.nr, p.blocks()
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
				p.kern.transpose(tile, side, a[j0*d+r0:], d, n, rows)
				for r := range rows {
					p.kern.add(dst[(r0-k0+r)*nr:][:n], a[(r0+r)*d+j0:], tile[r*side:])
				}
			}
		}
	}
}
