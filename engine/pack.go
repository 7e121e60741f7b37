package engine

// Packed is the right operand of a product in the order in which the kernels of a tier read it:
// blocks of the inner index, each as panels of columns. Pack a matrix once if it is used in many
// products.
type Packed struct {
	rows, cols int
	kern       *kernels // the tier, which decides the layout
	data       []float32
}

// Rows returns the inner size.
func (p *Packed) Rows() int { return p.rows }

// Cols returns the number of columns.
func (p *Packed) Cols() int { return p.cols }

// Panels returns the number of panels.
func (p *Packed) Panels() int { return p.kern.panels(p.cols) }

// panels is the number of panels of n columns.
func (kern *kernels) panels(n int) int { return (n + kern.nr - 1) / kern.nr }

// blocks is the number of blocks of the inner index.
func (p *Packed) blocks() int { return p.kern.blocks(p.rows) }

// panel returns panel j of the block [k0, k1).
func (p *Packed) panel(j, k0, k1 int) []float32 { return p.panelsFrom(j, 1, k0, k1) }

// panelsFrom returns the n panels from panel j on in the block [k0, k1).
func (p *Packed) panelsFrom(j, n, k0, k1 int) []float32 {
	nr := p.kern.nr
	at := nr * (p.Panels()*k0 + j*(k1-k0))
	return p.data[at : at+n*nr*(k1-k0)]
}

// reshape makes room for a matrix in the layout of the tier. The content becomes undefined.
func (p *Packed) reshape(kern *kernels, rows, cols int) {
	p.kern, p.rows, p.cols = kern, rows, cols
	Grow(&p.data, p.size())
}

// size is the length of data.
func (p *Packed) size() int { return p.rows * p.Panels() * p.kern.nr }

// SetRows sets the rows from row r on in the panels [p0, p1), whose panels are then stored whole,
// as if the matrix were a single block of the inner index.
func (p *Packed) SetRows(r int, rows Matrix, p0, p1 int) {
	nr := p.kern.nr
	for pn := p0; pn < p1; pn++ {
		at := nr * (pn*p.rows + r)
		p.kern.packPanel(p.data[at:at+rows.Rows*nr], rows, 0, rows.Rows, pn*nr)
	}
}

// Reshape makes room for a rows x cols matrix in the layout of the engine. The content becomes
// undefined.
func (p *Packed) Reshape(e *Engine, rows, cols int) { p.reshape(e.kern, rows, cols) }

// In makes p a rows x cols matrix in scratch memory of the worker, with undefined content.
func (p *Packed) In(w *Worker, slot, rows, cols int) {
	*p = Packed{kern: w.e.kern, rows: rows, cols: cols}
	p.data = w.Scratch(slot, p.size())
}

// InData makes p a rows x cols matrix in data, which has rows*Panels(cols)*PanelCols floats.
func (p *Packed) InData(e *Engine, data []float32, rows, cols int) {
	*p = Packed{kern: e.kern, rows: rows, cols: cols, data: data}
	length("Packed.InData", "data", len(data), p.size())
}

// PackedBy reports whether p has been packed for the tier of e.
func (p *Packed) PackedBy(e *Engine) bool { return p.kern == e.kern }

// WholePanel returns panel j of a matrix whose panels are stored whole: Rows x PanelCols.
func (p *Packed) WholePanel(j int) []float32 { return p.panel(j, 0, p.rows) }

// Data returns the numbers in the order of the tier, with zeros as padding.
func (p *Packed) Data() []float32 { return p.data }

// Fill packs b.
func (p *Packed) Fill(b Matrix) { p.fill(b, 0, p.Panels()) }

// Diagonal returns element (r, r) of a square matrix.
func (p *Packed) Diagonal(r int) float32 {
	d, nr, nb := p.cols, p.kern.nr, p.blocks()
	kb := 0
	for _, k1 := Part(d, nb, kb); r >= k1; _, k1 = Part(d, nb, kb) {
		kb++
	}
	k0, k1 := Part(d, nb, kb)
	return p.panel(r/nr, k0, k1)[(r-k0)*nr+r%nr]
}

// Pack packs b (inner size x columns) into p and returns p. It reuses the memory of p if that is
// large enough; a nil p makes a new one.
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
	p.reshape(e.kern, b.Rows, b.Cols)
	e.packInto(p, b)
}

func (e *Engine) packInto(p *Packed, b Matrix) {
	cost := ElementFlops(b.Rows * b.Cols)
	if b.transposed() {
		cost *= 2
	}
	n := e.TasksFor(p.Panels(), cost)
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
	lo, hi := Part(j.p.Panels(), j.tasks, task)
	j.p.fill(j.b, lo, hi)
}

// Pad makes p the n x n matrix that is q with zeros behind its rows and columns. Both have a single block of as many
// panels.
func (p *Packed) Pad(q *Packed, n int) {
	p.reshape(q.kern, n, n)
	for j := range p.Panels() {
		panel := p.panel(j, 0, n)
		clear(panel[copy(panel, q.panel(j, 0, q.rows)):])
	}
}

// fill packs the panels [p0, p1) of b.
func (p *Packed) fill(b Matrix, p0, p1 int) {
	rows := 16          // at a time, so that all panels read the same pages of b
	if b.transposed() { // a panel reads few rows of memory, from end to end
		rows = max(b.Rows, 1)
	}
	nr, nb := p.kern.nr, p.blocks()
	for kb := range nb {
		k0, k1 := Part(b.Rows, nb, kb)
		for r0 := k0; r0 < k1; r0 += rows {
			r1 := min(r0+rows, k1)
			for pn := p0; pn < p1; pn++ {
				p.kern.packPanel(p.panel(pn, k0, k1)[(r0-k0)*nr:(r1-k0)*nr], b, r0, r1, pn*nr)
			}
		}
	}
}

// transposed reports whether columns, not rows, are contiguous.
func (m Matrix) transposed() bool { return m.RS == 1 && m.CS != 1 }

// packPanel copies the rows [k0, k1) of the nr columns from column j0 on. Columns past the edge
// become zeros.
func (kern *kernels) packPanel(dst []float32, b Matrix, k0, k1, j0 int) {
	nr := kern.nr
	n := min(nr, b.Cols-j0)
	if n < nr {
		clear(dst[:(k1-k0)*nr])
	}
	switch {
	case k0 == k1:
		return
	case b.CS == 1:
		kern.copyRows(dst, nr, b.Data[k0*b.RS+j0:], b.RS, k1-k0, n)
		return
	case b.RS == 1: // a transposed matrix
		kern.transpose(dst, nr, b.Data[j0*b.CS+k0:], b.CS, n, k1-k0)
		return
	}
	for p := k0; p < k1; p++ {
		for j := range n {
			dst[(p-k0)*nr+j] = b.Data[p*b.RS+(j0+j)*b.CS]
		}
	}
}

// blockA is a block of A as the tiles read it: element (i, p) is data[i*rs+p*cs]. If tileStride is
// not 0, A is packed: the rows of each tile begin tileStride floats after those of the tile before.
type blockA struct {
	rows, cols int
	rs, cs     int
	tileStride int
	data       []float32
	k0         int // the inner index of its first column, which finds the block of B
}

// packAPanels is the least number of panels for which packing a block of A with contiguous columns
// is faster than reading it in place.
const packAPanels = 4

// prepareA returns the block a of A as the tiles read it for a product with the given number of
// panels: in place if they can stream it, otherwise as a copy. (With contiguous columns, a tile
// would read only one or two cache lines of each.)
func (e *Engine) prepareA(arena *arena, a Matrix, panels int) blockA {
	switch {
	case a.CS == 1 && !e.kern.tileConflicts(a.RS), a.RS == 1 && !conflicts(a.CS) && panels < packAPanels:
		return blockA{rows: a.Rows, cols: a.Cols, rs: a.RS, cs: a.CS, data: a.Data}
	case a.RS == 1:
		const some = 16 // rows of A^T at a time, so that all tiles read the same pages
		s := e.kern.packedA(arena, slotA, a.Rows, a.Cols)
		for p := 0; p < a.Cols; p += some {
			s.setColumns(e.kern, p, a.T().Slice(p, min(p+some, a.Cols), 0, a.Rows))
		}
		return s
	}
	c := Matrix{Rows: a.Rows, Cols: a.Cols, RS: PaddedLD(a.Cols), CS: 1}
	c.Data = arena.floats(slotA, a.Rows*c.RS)
	CopyMatrix(c, a)
	return blockA{rows: c.Rows, cols: c.Cols, rs: c.RS, cs: 1, data: c.Data}
}

// packedA makes room for a packed block of A in scratch memory.
func (kern *kernels) packedA(arena *arena, s slot, rows, cols int) blockA {
	return kern.packedAIn(arena.floats(s, kern.packedAFloats(rows, cols)), rows, cols)
}

// packedAFloats is the number of floats of a packed block of A.
func (kern *kernels) packedAFloats(rows, cols int) int {
	tiles, _, _ := kern.tiling(rows)
	return tiles * kern.packedAWidth() * cols
}

// packedAWidth is the number of floats of a column of a tile in a packed block of A.
func (kern *kernels) packedAWidth() int { return (kern.mr + 7) / 8 * 8 }

// packedAIn returns a packed block of A that lies in data.
func (kern *kernels) packedAIn(data []float32, rows, cols int) blockA {
	width := kern.packedAWidth()
	return blockA{rows: rows, cols: cols, rs: 1, cs: width, tileStride: width * cols, data: data}
}

// tiles is the number of tiles of a block.
func (a *blockA) tiles(kern *kernels) int {
	tiles, _, _ := kern.tiling(a.rows)
	return tiles
}

// sliceTiles returns the tiles [t0, t1) of a block. The slice has the same tiles, because tall ones
// come first.
func (a *blockA) sliceTiles(kern *kernels, t0, t1 int) blockA {
	_, rows, tall := kern.tiling(a.rows)
	s := *a
	s.rows = (t1-t0)*rows + min(t1, tall) - min(t0, tall)
	if a.tileStride > 0 {
		s.data = a.data[t0*a.tileStride : t1*a.tileStride]
	} else {
		s.data = a.data[(t0*rows+min(t0, tall))*a.rs:]
	}
	return s
}

// sliceCols returns the columns [p0, p1) of a packed block.
func (a *blockA) sliceCols(p0, p1 int) blockA {
	s := *a
	s.cols, s.data = p1-p0, a.data[p0*a.cs:]
	return s
}

// setColumns sets the columns of a packed block, from column p on, to the rows of cols.
func (a *blockA) setColumns(kern *kernels, p int, cols Matrix) {
	tiles, rows, tall := kern.tiling(a.rows)
	at, first := p*a.cs, 0
	for t := range tiles {
		// Copying the whole width is faster, even if it includes rows of the next tile.
		kern.copyRows(a.data[at:], a.cs, cols.Data[first:], cols.RS, cols.Rows, min(a.cs, a.rows-first))
		if first += rows; t < tall {
			first++
		}
		at += a.tileStride
	}
}

// LeftBlock is a left operand as the tiles read it.
type LeftBlock struct {
	kern *kernels
	a    blockA
}

// LeftFloats returns the memory of a packed left operand.
func (e *Engine) LeftFloats(rows, cols int) int { return e.kern.packedAFloats(rows, cols) }

// LeftIn returns a packed left operand in data, of LeftFloats. Its columns are to be set.
func (e *Engine) LeftIn(data []float32, rows, cols int) LeftBlock {
	return LeftBlock{e.kern, e.kern.packedAIn(data, rows, cols)}
}

// LeftOf returns m as a left operand that is read where it lies.
func (e *Engine) LeftOf(m Matrix) LeftBlock {
	return LeftBlock{e.kern, blockA{rows: m.Rows, cols: m.Cols, rs: m.RS, cs: m.CS, data: m.Data}}
}

// Rows returns the number of rows.
func (l *LeftBlock) Rows() int { return l.a.rows }

// SetColumns sets the columns from column p on to the rows of cols.
func (l *LeftBlock) SetColumns(p int, cols Matrix) { l.a.setColumns(l.kern, p, cols) }

// PanelCols returns the number of columns of a panel.
func (e *Engine) PanelCols() int { return e.kern.nr }

// TileRows returns the largest number of rows of a tile.
func (e *Engine) TileRows() int { return e.kern.mr }

// InnerBlock returns the largest number of inner indices of a block.
func (e *Engine) InnerBlock() int { return e.kern.kc }

// InnerBlocks returns the number of blocks of an inner size.
func (e *Engine) InnerBlocks(inner int) int { return e.kern.blocks(inner) }

// Panels returns the number of panels of n columns.
func (e *Engine) Panels(n int) int { return e.kern.panels(n) }

// CallBudget returns how many units of flops each one call of a kernel may take.
func (e *Engine) CallBudget(flops int) int { return e.kern.callBudget(flops) }
