package engine

// Packed is the right operand of a product in the order in which the kernels of a tier
// read it: blocks of the inner index, in them panels of columns. Pack a matrix once that
// serves many products.
type Packed struct {
	rows, cols int
	k          *kernels // the tier, which decides the layout
	data       []float32
}

// Rows returns the inner size.
func (p *Packed) Rows() int { return p.rows }

// Cols returns the number of columns.
func (p *Packed) Cols() int { return p.cols }

// panels is the number of panels.
func (p *Packed) panels() int { return p.k.panels(p.cols) }

// panels is the number of panels of n columns.
func (k *kernels) panels(n int) int { return (n + k.nr - 1) / k.nr }

// blocks is the number of blocks of the inner index.
func (p *Packed) blocks() int { return p.k.blocks(p.rows) }

// panel returns panel j of the block [k0, k1).
func (p *Packed) panel(j, k0, k1 int) []float32 { return p.panelsFrom(j, 1, k0, k1) }

// panelsFrom returns n panels from panel j on, of the block [k0, k1).
func (p *Packed) panelsFrom(j, n, k0, k1 int) []float32 {
	nr := p.k.nr
	at := nr * (p.panels()*k0 + j*(k1-k0))
	return p.data[at : at+n*nr*(k1-k0)]
}

// reshape gives p room for a matrix in the layout of k, without keeping its content.
func (p *Packed) reshape(k *kernels, rows, cols int) {
	p.k, p.rows, p.cols = k, rows, cols
	grow(&p.data, p.size())
}

// size is the length of data.
func (p *Packed) size() int { return p.rows * p.panels() * p.k.nr }

// setRows sets the rows from r on in the panels [p0, p1). The matrix must be a single block.
func (p *Packed) setRows(r int, rows Matrix, p0, p1 int) {
	nr := p.k.nr
	for pn := p0; pn < p1; pn++ {
		at := nr * (pn*p.rows + r)
		p.k.packPanel(p.data[at:at+rows.Rows*nr], rows, 0, rows.Rows, pn*nr)
	}
}

// Pack packs b (inner size x columns) into p, whose memory is used again where it is
// large enough. A nil p makes a new one.
func (e *Engine) Pack(p *Packed, b Matrix) *Packed {
	b.check("Pack", "b")
	e.mu.Lock()
	defer e.mu.Unlock()
	if p == nil {
		p = &Packed{}
	}
	e.repack(p, b)
	return p
}

func (e *Engine) repack(p *Packed, b Matrix) {
	p.reshape(e.k, b.Rows, b.Cols)
	e.packInto(p, b)
}

func (e *Engine) packInto(p *Packed, b Matrix) {
	cost := elementFlops(b.Rows * b.Cols)
	n := e.tasksFor(p.panels(), cost)
	e.pack = packJob{p: p, b: b, tasks: n}
	e.run(&e.pack, n, cost)
	e.pack = packJob{}
}

type packJob struct {
	p     *Packed
	b     Matrix
	tasks int
}

func (j *packJob) run(_, task int) {
	lo, hi := part(j.p.panels(), j.tasks, task)
	j.p.fill(j.b, lo, hi)
}

// fill packs the panels [p0, p1) of b.
func (p *Packed) fill(b Matrix, p0, p1 int) {
	const rows = 16 // at a time, so that the panels share pages of b
	nr, nb := p.k.nr, p.blocks()
	for kb := range nb {
		k0, k1 := part(b.Rows, nb, kb)
		for r0 := k0; r0 < k1; r0 += rows {
			r1 := min(r0+rows, k1)
			for pn := p0; pn < p1; pn++ {
				p.k.packPanel(p.panel(pn, k0, k1)[(r0-k0)*nr:(r1-k0)*nr], b, r0, r1, pn*nr)
			}
		}
	}
}

// packPanel copies rows [k0, k1) and the nr columns from j0 on; columns past the edge
// become zeros.
func (k *kernels) packPanel(dst []float32, b Matrix, k0, k1, j0 int) {
	nr := k.nr
	n := min(nr, b.Cols-j0)
	if n < nr {
		clear(dst[:(k1-k0)*nr])
	}
	switch {
	case k0 == k1:
		return
	case b.CS == 1:
		k.copyRows(dst, nr, b.Data[k0*b.RS+j0:], b.RS, k1-k0, n)
		return
	case b.RS == 1: // a transposed matrix
		k.transpose(dst, nr, b.Data[j0*b.CS+k0:], b.CS, n, k1-k0)
		return
	}
	for p := k0; p < k1; p++ {
		for j := range n {
			dst[(p-k0)*nr+j] = b.Data[p*b.RS+(j0+j)*b.CS]
		}
	}
}

// left is a block of A as the tiles read it: element (i, p) at data[i*rs+p*cs]. Where
// strip is not 0, the rows of each tile are stored apart, strip floats after those of the
// tile before.
type left struct {
	rows, cols int
	rs, cs     int
	strip      int
	data       []float32
}

// stripPanels is the number of panels from which on it pays to store a block of A whose
// columns are contiguous in strips.
const stripPanels = 4

// leftBlock returns the block a of A, which will be multiplied with so many panels: in place where
// the tiles can stream it, and otherwise as a copy. Of contiguous columns a tile would read a line
// or two each.
func (e *Engine) leftBlock(arena *arena, a Matrix, panels int) left {
	switch {
	case a.CS == 1 && !e.k.crowded(a.RS), a.RS == 1 && !aliased(a.CS) && panels < stripPanels:
		return left{rows: a.Rows, cols: a.Cols, rs: a.RS, cs: a.CS, data: a.Data}
	case a.RS == 1:
		const some = 16 // rows of A^T at a time, so that the strips share pages of it
		s := e.k.strips(arena, slotA, a.Rows, a.Cols)
		for p := 0; p < a.Cols; p += some {
			s.setColumns(e.k, p, a.T().Slice(p, min(p+some, a.Cols), 0, a.Rows))
		}
		return s
	}
	c := Matrix{Rows: a.Rows, Cols: a.Cols, RS: leading(a.Cols), CS: 1}
	c.Data = arena.floats(slotA, a.Rows*c.RS)
	copyMatrix(c, a)
	return left{rows: c.Rows, cols: c.Cols, rs: c.RS, cs: 1, data: c.Data}
}

// strips makes room for a block of A in strips.
func (k *kernels) strips(arena *arena, s slot, rows, cols int) left {
	return k.stripsIn(arena.floats(s, k.stripFloats(rows, cols)), rows, cols)
}

// stripFloats is how many floats a block of A takes in strips.
func (k *kernels) stripFloats(rows, cols int) int {
	tiles, _, _ := k.tiling(rows)
	return tiles * k.stripWidth() * cols
}

// stripWidth is the number of floats that a column takes in a strip.
func (k *kernels) stripWidth() int { return (k.mr + 7) / 8 * 8 }

// stripsIn is a block of A in strips in data.
func (k *kernels) stripsIn(data []float32, rows, cols int) left {
	width := k.stripWidth()
	return left{rows: rows, cols: cols, rs: 1, cs: width, strip: width * cols, data: data}
}

// tiles is the number of tiles of a block.
func (l *left) tiles(k *kernels) int {
	tiles, _, _ := k.tiling(l.rows)
	return tiles
}

// sliceTiles returns the tiles [t0, t1) of a block. They are tiled as before,
// because longer tiles come first.
func (l *left) sliceTiles(k *kernels, t0, t1 int) left {
	_, rows, longer := k.tiling(l.rows)
	s := *l
	s.rows = (t1-t0)*rows + min(t1, longer) - min(t0, longer)
	if l.strip > 0 {
		s.data = l.data[t0*l.strip : t1*l.strip]
	} else {
		s.data = l.data[(t0*rows+min(t0, longer))*l.rs:]
	}
	return s
}

// sliceCols returns the columns [p0, p1) of a block in strips.
func (l *left) sliceCols(p0, p1 int) left {
	s := *l
	s.cols, s.data = p1-p0, l.data[p0*l.cs:]
	return s
}

// setColumns sets the columns of a block in strips, from column p on, to the rows of cols.
func (l *left) setColumns(k *kernels, p int, cols Matrix) {
	tiles, rows, longer := k.tiling(l.rows)
	at, first := p*l.cs, 0
	for t := range tiles {
		// The whole width is faster, even with columns of the next tile.
		k.copyRows(l.data[at:], l.cs, cols.Data[first:], cols.RS, cols.Rows, min(l.cs, l.rows-first))
		if first += rows; t < longer {
			first++
		}
		at += l.strip
	}
}
