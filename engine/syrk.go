package engine

// Gram sets the panels part, part+parts, part+2 parts ... of the square matrix P = A^T A, which has been
// reshaped, and what they mirror. Of a panel only the rows down to the diagonal are computed, so that its
// cost grows with its number. All parts together set all of P, with the same bits in both halves. The slot
// has room for A and a panel.
func (w *Worker) Gram(p *Packed, a Matrix, slot, part, parts int) {
	d := a.Cols
	packed := &w.e.scratch[w.index].packed
	*packed = Packed{kern: w.e.kern, rows: a.Rows, cols: d}
	size := packed.size()
	memory := w.Scratch(slot, size+(d+w.e.kern.nr)*w.e.kern.nr)
	packed.data = memory[:size]
	packed.fill(a, 0, packed.Panels())
	for pn := part; pn < packed.Panels(); pn += parts {
		w.gramPanel(p, packed, pn, memory[size:])
	}
}

// gramPanel computes panel pn of P, and what it mirrors, from the panels of A: the tiles read A^T from
// them, too.
func (w *Worker) gramPanel(p, a *Packed, pn int, memory []float32) {
	e, d, nr, nb := w.e, a.cols, w.e.kern.nr, a.blocks()
	cols := min(nr, d-pn*nr)
	c := memory[:min((pn+1)*nr, d)*nr]
	if nb == 1 {
		c = p.panel(pn, 0, d)
	}
	if cols < nr {
		clear(c) // the padding
	}
	for kb := range nb {
		k0, k1 := Part(a.rows, nb, kb)
		for q := 0; q <= pn; q++ {
			rows := blockA{rows: min(nr, d-q*nr), cols: k1 - k0, rs: 1, cs: nr, data: a.panel(q, k0, k1)}
			b, to := a.panel(pn, k0, k1), c[q*nr*nr:]
			if !e.kern.narrow(&rows, panelB{data: b, rs: nr}, to, nr, cols, kb > 0) {
				e.kern.panel(&rows, panelB{b, nr, nil}, to, nr, kb > 0, 1)
			}
			w.Yield(2 * rows.rows * nr * (k1 - k0))
		}
	}
	p.setPanel(pn, c)
}

// setPanel stores the rows of c (down to the diagonal, padding and all) as panel pn of a symmetric
// matrix, unless they are there already, and their mirror images as part of the panels before it.
func (p *Packed) setPanel(pn int, c []float32) {
	d, nr, nb := p.cols, p.kern.nr, p.blocks()
	rows := min((pn+1)*nr, d)
	for kb := range nb {
		k0, k1 := Part(d, nb, kb)
		if nb > 1 && k0 < rows {
			copy(p.panel(pn, k0, k1), c[k0*nr:min(k1, rows)*nr])
		}
		r0, r1 := max(pn*nr, k0), min(pn*nr+nr, d, k1) // rows in which the mirror images are
		for q := 0; q < pn && r0 < r1; q++ {
			p.kern.transpose(p.panel(q, k0, k1)[(r0-k0)*nr:], nr, c[q*nr*nr+r0-pn*nr:], nr, nr, r1-r0)
		}
	}
}

// SetSymmetricSum packs a + a^T of a row-major square matrix, a square at a time, so that reading down
// the columns stays within the cache.
func (p *Packed) SetSymmetricSum(w *Worker, slot int, a []float32) {
	const side = 32 // of a tile, and the most columns of a panel
	tile := w.Scratch(slot, side*side)
	d, nr, nb := p.cols, p.kern.nr, p.blocks()
	for kb := range nb {
		k0, k1 := Part(d, nb, kb)
		for pn := range p.Panels() {
			dst := p.panel(pn, k0, k1)
			j0 := pn * nr
			n := min(nr, d-j0)
			if n < nr {
				clear(dst)
			}
			for r0 := k0; r0 < k1; r0 += side {
				rows := min(side, k1-r0)
				minus := tile[:rows*n] // a kernel subtracts rows, none adds them; x - (-y) has the bits of x + y
				p.kern.transpose(minus, n, a[j0*d+r0:], d, n, rows)
				p.kern.scale(minus, -1, minus)
				p.kern.subRows(&subRowsArgs{dst: dst[(r0-k0)*nr:], ds: nr, x: a[r0*d+j0:], xs: d, y: minus, ys: n,
					rows: rows, n: n})
			}
		}
	}
}
