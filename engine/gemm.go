package engine

import (
	"fmt"
)

const (
	directRows = 12      // up to here, packing B costs more than it saves
	packFloats = 4 << 20 // B is packed in blocks of columns of about this size
)

// MatMul sets C = A B, or C = C + A B when acc is set. Every element is one chain of
// float32 fused multiply-adds in increasing inner index, starting from +0 or from the
// old value. Transposed operands are given as views (Matrix.T), so this is all four
// forms. C must not overlap A or B. Shapes: A m x k, B k x n, C m x n.
func (e *Engine) MatMul(c, a, b Matrix, acc bool) {
	c.shape("MatMul", "C", a.Rows, b.Cols)
	a.check("MatMul", "A")
	b.shape("MatMul", "B", a.Cols, b.Cols)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.matMul(c, a, b, acc)
}

// MatMulPacked is MatMul with a packed B.
func (e *Engine) MatMulPacked(c, a Matrix, b *Packed, acc bool) {
	if a.Cols != b.rows {
		panic(fmt.Sprintf("engine: MatMulPacked: A has %d columns, packed B %d rows", a.Cols, b.rows))
	}
	c.shape("MatMulPacked", "C", a.Rows, b.cols)
	a.check("MatMulPacked", "A")
	if b.kern != e.kern {
		panic(fmt.Sprintf("engine: MatMulPacked: B has not been packed by an engine of tier %v", e.kern.tier))
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.matMulOperand(c, a, operand{packed: b}, acc)
}

func (e *Engine) matMul(c, a, b Matrix, acc bool) {
	if c.CS != 1 && c.RS == 1 && c.Cols > 1 {
		c, a, b = c.T(), b.T(), a.T() // the same chains: a product of two numbers commutes
	}
	if c.Rows == 0 || c.Cols == 0 {
		return
	}
	if b.CS == 1 && c.Rows <= directRows {
		e.matMulOperand(c, a, operand{direct: b}, acc)
		return
	}
	if c.Rows <= e.kern.mc && a.Cols > 0 { // every panel serves once: the thread that needs it packs it
		e.matMulOperand(c, a, operand{direct: b, pack: true}, acc)
		return
	}
	cols := max(packFloats/max(b.Rows, 1), 64) / e.kern.nr * e.kern.nr
	p := &e.gemm.packed
	for j := 0; j < b.Cols; j += cols {
		end := min(j+cols, b.Cols)
		bj := b.Slice(0, b.Rows, j, end)
		*p = Packed{kern: e.kern, rows: bj.Rows, cols: bj.Cols}
		p.data = e.scratch[0].floats(slotB, p.size())
		e.packInto(p, bj)
		e.matMulOperand(c.Slice(0, c.Rows, j, end), a, operand{packed: p}, acc)
	}
}

// operand is a right operand: packed, or read where it lies (CS 1), or to be packed by
// the thread that reads it.
type operand struct {
	packed *Packed
	direct Matrix
	pack   bool

	// fetch is what will be needed after the product, in place of a panel: it is fetched
	// into the second-level cache meanwhile. Only its address counts.
	prefetch []float32

	// after is the same for products of many panels: the last ones fetch it beside their own.
	prefetchLast []float32
}

// lastPanels is how many panels of a product fetch what is needed after it: few enough that it
// is still there, and enough that nobody waits for it.
const lastPanels = 4

// prefetchPart returns what panel p of the panels up to p1 fetches of what is needed after them.
func prefetchPart(after []float32, p, p1 int) []float32 {
	if p < p1-lastPanels || len(after) == 0 {
		return nil
	}
	f0, f1 := part(len(after), lastPanels, p-(p1-lastPanels))
	return after[f0:f1]
}

func (b *operand) cols() int {
	if b.packed != nil {
		return b.packed.cols
	}
	return b.direct.Cols
}

func (e *Engine) matMulOperand(c, a Matrix, b operand, acc bool) {
	if c.Rows == 0 || c.Cols == 0 {
		return
	}
	target := c
	if c.CS != 1 && c.Cols > 1 { // the kernels write rows: go through a dense result
		c = View(e.scratch[0].floats(slotResult, c.Rows*c.Cols), c.Rows, c.Cols)
		if acc {
			copyMatrix(c, target)
		}
	}
	flops := 2 * float64(c.Rows) * float64(c.Cols) * float64(a.Cols)
	if n := e.tasksFor(maxTasks, flops); n > 1 || b.pack {
		e.shareProduct(c, a, b, acc, n, flops)
	} else {
		e.multiply(0, c, a, &b, 0, e.kern.panels(c.Cols), acc)
	}
	if target.CS != 1 && target.Cols > 1 {
		copyMatrix(target, c)
	}
}

// shareProduct splits a product into about n tasks: along the longer side, so that what the
// threads share is the smaller operand, and along the other one, too, where panels are few and no
// multiple of the threads.
func (e *Engine) shareProduct(c, a Matrix, b operand, acc bool, n int, flops float64) {
	j := &e.gemm
	j.e, j.c, j.a, j.b, j.acc = e, c, a, b, acc
	j.rowTasks, j.colTasks, j.unit = 1, 1, 1
	if (b.pack || b.packed != nil) && e.kern.blocks(a.Cols) == 1 && e.kern.prefersPairs(a) {
		j.unit = 2
	}
	most := (e.kern.panels(c.Cols) + j.unit - 1) / j.unit
	if strips := (c.Rows + e.kern.mr - 1) / e.kern.mr; b.pack {
		j.colTasks = min(n, most)
	} else if c.Rows >= c.Cols {
		j.rowTasks = min(n, strips)
		j.colTasks = min((n+j.rowTasks-1)/j.rowTasks, most)
	} else {
		j.colTasks = min(n, most)
		j.rowTasks = min((n+j.colTasks-1)/j.colTasks, strips)
		if j.rowTasks == 1 && strips >= minTilesToHalve && e.imbalanced(most, flops) {
			j.rowTasks, j.colTasks = 2, (j.colTasks+1)/2
		}
	}
	e.run(j, j.rowTasks*j.colTasks, flops)
	j.c, j.a, j.b = Matrix{}, Matrix{}, operand{}
}

// minTilesToHalve is how many tiles of rows a product has whose rows are split in two: of few, shorter
// tiles lose what even shares gain.
const minTilesToHalve = 8

// uneven says whether one more panel for some threads loses more than two halves of the rows do: a
// fortieth of the product, of panels that take so long that a second call is nothing (25 panels of
// 784 inner indices on two threads: 428 to 412 us with AVX2; of 128 inner indices it is slower).
func (e *Engine) imbalanced(panels int, flops float64) bool {
	const least = 30 // microseconds a panel
	threads := e.Threads()
	left := (threads - panels%threads) % threads
	return 40*left > panels && flops >= least*e.kern.flopPerMicrosecond*float64(panels)
}

type gemmJob struct {
	e                  *Engine
	c, a               Matrix
	b                  operand
	acc                bool
	rowTasks, colTasks int
	unit               int    // panels that stay together: two where pairs are multiplied
	packed             Packed // B of the running call, in scratch memory
}

func (j *gemmJob) run(worker, task int) {
	r0, r1 := part(j.c.Rows, j.rowTasks, task/j.colTasks)
	panels := j.e.kern.panels(j.c.Cols)
	p0, p1 := part((panels+j.unit-1)/j.unit, j.colTasks, task%j.colTasks)
	p0, p1 = p0*j.unit, min(p1*j.unit, panels)
	if r0 == r1 || p0 == p1 {
		return
	}
	if j.b.pack {
		j.packAndMultiply(worker, p0, p1)
		return
	}
	c := j.c.Slice(r0, r1, 0, j.c.Cols)
	j.e.multiply(worker, c, j.a.Slice(r0, r1, 0, j.a.Cols), &j.b, p0, p1, j.acc)
}

// packAndMultiply packs some panels of B at a time, so that it reads long pieces of rows,
// and multiplies with them while they are near.
func (j *gemmJob) packAndMultiply(worker, p0, p1 int) {
	const together = 4
	e, c, a, b := j.e, j.c, j.a, j.b.direct
	arena := &e.scratch[worker]
	packedB := operand{packed: &arena.packed}
	nr, nb := e.kern.nr, e.kern.blocks(a.Cols)
	for kb := range nb {
		k0, k1 := part(a.Cols, nb, kb)
		inPairs, panels := nb == 1 && e.kern.prefersPairs(a), p1-p0
		if inPairs {
			panels = 1 // or two, of all that are left
		}
		var ab blockA // for panels that are not in pairs
		for p := p0; p < p1; p += together {
			j0, j1 := p*nr, min(min(p+together, p1)*nr, b.Cols)
			*packedB.packed = Packed{kern: e.kern, rows: k1 - k0, cols: j1 - j0}
			packedB.packed.data = arena.floats(slotB, packedB.packed.size())
			packedB.packed.fill(b.Slice(k0, k1, j0, j1), 0, packedB.packed.panels())
			i, cj := 0, c.Slice(0, c.Rows, j0, j1)
			if inPairs {
				i = e.multiplyPairs(arena, cj, a, &packedB, 0, packedB.packed.panels(), j.acc)
			}
			if i == packedB.packed.panels() {
				continue
			}
			if ab.rows == 0 {
				ab = e.prepareA(arena, a.Slice(0, a.Rows, k0, k1), panels)
			}
			e.multiplyPanels(arena, cj, ab, &packedB, nil, 0, i, packedB.packed.panels(), 0, k1-k0, j.acc || kb > 0)
		}
	}
}

// multiply computes panels [p0, p1) of C = A B on one thread. C has column stride 1.
func (e *Engine) multiply(worker int, c, a Matrix, b *operand, p0, p1 int, acc bool) {
	if a.Cols == 0 {
		if !acc {
			for i := range c.Rows {
				clear(c.Data[i*c.RS+p0*e.kern.nr : i*c.RS+min(p1*e.kern.nr, c.Cols)])
			}
		}
		return
	}
	arena := &e.scratch[worker]
	nb, mb := e.kern.blocks(a.Cols), e.kern.rowBlocks(c.Rows, a.Cols)
	if b.packed != nil && nb == 1 && e.kern.prefersPairs(a) {
		p0 = e.multiplyPairs(arena, c, a, b, p0, p1, acc)
	}
	if p0 == p1 {
		return
	}
	for kb := range nb {
		k0, k1 := part(a.Cols, nb, kb)
		for ib := range mb {
			i0, i1 := part(c.Rows, mb, ib)
			block := a
			if nb > 1 || mb > 1 {
				block = a.Slice(i0, i1, k0, k1)
			}
			ab := e.prepareA(arena, block, p1-p0)
			after := b.prefetchLast
			if ib+1 < mb && nb == 1 && a.CS == 1 { // the next rows of A
				n0, n1 := part(c.Rows, mb, ib+1)
				after = a.Data[n0*a.RS : span(n1, a.RS, a.Cols)]
			}
			e.multiplyPanels(arena, c, ab, b, after, i0, p0, p1, k0, k1, acc || kb > 0)
		}
	}
}

// prefersPairs says whether pairs of panels are faster, as measured: those of up to 160 inner
// indices, which a first-level cache of 48 KiB holds, and of somewhat more where rows are too few
// for a tile of a panel to keep the units busy.
func (kern *kernels) prefersPairs(a Matrix) bool {
	return kern.pairRows > 0 && a.CS == 1 && !conflicts(a.RS) && a.Cols >= pairInner &&
		(a.Cols <= 160 || a.Cols <= 256 && a.Rows <= kern.pairRows)
}

// multiplyPairs computes the pairs of whole panels from p0 on, of a packed B of a single block,
// and returns the first panel that is left.
func (e *Engine) multiplyPairs(arena *arena, c, a Matrix, b *operand, p0, p1 int, acc bool) int {
	nr, mb := e.kern.nr, e.kern.rowBlocks(c.Rows, a.Cols)
	whole := min(p1, c.Cols/nr) - p0 // c may end within the last one
	if whole < 2 {
		return p0
	}
	end := p0 + whole/2*2
	size := nr * a.Cols // of a panel
	for ib := range mb {
		i0, i1 := part(c.Rows, mb, ib)
		block := a
		if mb > 1 {
			block = a.Slice(i0, i1, 0, a.Cols)
		}
		flops := 4 * (i1 - i0) * nr * a.Cols
		for p := p0; p < end; {
			pairs := min(max(e.kern.callBudget(flops), 1), (end-p)/2)
			next := b.packed.data[(p+2)*size : min(p+4, b.packed.panels())*size]
			if n := len(b.prefetch); n > 0 {
				f0, f1 := part(n, e.kern.panels(b.cols())/2, p/2)
				next, pairs = b.prefetch[f0:f1], 1
			}
			e.kern.pair(block, b.packed.data[p*size:], c.Data[i0*c.RS+p*nr:], c.RS, acc, next, pairs)
			e.yield(arena, pairs*flops)
			p += 2 * pairs
		}
	}
	return end
}

// multiplyBlockA is multiply for a left operand that is laid out already, and of a single block of
// inner indices.
func (e *Engine) multiplyBlockA(arena *arena, c Matrix, a *blockA, b *operand, p0, p1 int, acc bool) {
	mb, tiles, row := e.kern.rowBlocks(a.rows, a.cols), a.tiles(e.kern), 0
	for ib := range mb {
		t0, t1 := part(tiles, mb, ib)
		block := a.sliceTiles(e.kern, t0, t1)
		e.multiplyPanels(arena, c, block, b, nil, row, p0, p1, 0, a.cols, acc)
		row += block.rows
	}
}

// multiplyPanels computes the columns of panels [p0, p1), for the rows of the block ab, which begin at
// row i0 of C, and the inner indices [k0, k1). The last panels fetch after.
func (e *Engine) multiplyPanels(arena *arena, c Matrix, ab blockA, b *operand, after []float32, i0, p0, p1, k0, k1 int, acc bool) {
	// A call takes panels that C has whole and that fetch what follows them, as long as it may be.
	nr, together, most := e.kern.nr, p0, 0
	if b.packed != nil && len(b.prefetch) == 0 {
		if together = min(p1, c.Cols/nr); len(after) > 0 {
			together = min(together, p1-lastPanels)
		}
		most = e.kern.callBudget(2 * ab.rows * nr * (k1 - k0))
	}
	for p := p0; p < p1; {
		n := min(together-p, most)
		if n < 2 {
			e.multiplyPanel(arena, c, ab, b, prefetchPart(after, p, p1), i0, p, k0, k1, acc)
			p++
			continue
		}
		e.kern.panel(k1-k0, ab, b.packed.panelsFrom(p, n, k0, k1), nr, c.Data[i0*c.RS+p*nr:], c.RS, acc, b.packed.panel(p+1, k0, k1), n)
		e.yield(arena, 2*ab.rows*n*nr*(k1-k0))
		p += n
	}
}

// multiplyPanel is multiplyPanels for panel p. The later half of the tiles fetches after in place of
// the next panel.
func (e *Engine) multiplyPanel(arena *arena, c Matrix, ab blockA, b *operand, after []float32, i0, p, k0, k1 int, acc bool) {
	nr := e.kern.nr
	j0 := p * nr
	var bp, next []float32
	brs := nr
	switch n := min(nr, b.cols()-j0); {
	case b.packed != nil:
		bp = b.packed.panel(p, k0, k1)
		if p+1 < b.packed.panels() {
			next = b.packed.panel(p+1, k0, k1)
		}
	case n == nr:
		bp, brs = b.direct.Data[k0*b.direct.RS+j0:], b.direct.RS
	default: // reading all columns of a tile would leave the matrix
		bp = arena.floats(slotB, (k1-k0)*nr)
		e.kern.packPanel(bp, b.direct, k0, k1, j0)
	}
	if n := len(b.prefetch); n > 0 {
		f0, f1 := part(n, e.kern.panels(b.cols()), p)
		next = b.prefetch[f0:f1]
	}
	if tiles := ab.tiles(e.kern); len(after) > 0 && tiles > 1 {
		first := ab.sliceTiles(e.kern, 0, tiles/2)
		e.multiplyTile(arena, c, first, bp, next, brs, i0, j0, k1-k0, acc)
		e.multiplyTile(arena, c, ab.sliceTiles(e.kern, tiles/2, tiles), bp, after, brs, i0+first.rows, j0, k1-k0, acc)
	} else {
		e.multiplyTile(arena, c, ab, bp, next, brs, i0, j0, k1-k0, acc)
	}
	e.yield(arena, 2*ab.rows*nr*(k1-k0))
}

// multiplyTile multiplies the block ab with the columns of B in bp and writes to C from
// row i0 and column j0 on, those that C has: by way of a scratch tile where a whole one would
// leave C and there is no kernel for so few columns.
func (e *Engine) multiplyTile(arena *arena, c Matrix, ab blockA, bp, next []float32, brs, i0, j0, k int, acc bool) {
	nr, n, to := e.kern.nr, c.Cols-j0, c.Data[i0*c.RS+j0:]
	if n >= nr {
		e.kern.panel(k, ab, bp, brs, to, c.RS, acc, next, 1)
		return
	}
	if e.kern.narrow(k, ab, bp, brs, to, c.RS, n, acc, next) {
		return
	}
	tile := arena.floats(slotC, ab.rows*nr)
	if acc {
		for i := range ab.rows {
			copy(tile[i*nr:i*nr+n], to[i*c.RS:])
		}
	}
	e.kern.panel(k, ab, bp, brs, tile, nr, acc, next, 1)
	for i := range ab.rows {
		copy(to[i*c.RS:i*c.RS+n], tile[i*nr:])
	}
}

// multiplyPackedA computes panels [p0, p1) of C = A B, or adds them to C, of A in strips and B
// in panels that are whole, as if B were a single block, on one thread.
func (e *Engine) multiplyPackedA(arena *arena, c Matrix, a *blockA, b *Packed, p0, p1 int, acc bool) {
	nr, nb := e.kern.nr, e.kern.blocks(a.cols)
	tiles, mb := a.tiles(e.kern), e.kern.rowBlocks(a.rows, a.cols)
	for kb := range nb {
		k0, k1 := part(a.cols, nb, kb)
		row := 0
		for ib := range mb {
			t0, t1 := part(tiles, mb, ib)
			block := a.sliceTiles(e.kern, t0, t1)
			block = block.sliceCols(k0, k1)
			for p := p0; p < p1; p++ {
				var next []float32
				if p+1 < p1 {
					next = b.panel(p+1, 0, b.rows)[k0*nr : k1*nr]
				}
				e.multiplyTile(arena, c, block, b.panel(p, 0, b.rows)[k0*nr:k1*nr], next, nr, row, p*nr, k1-k0, acc || kb > 0)
				e.yield(arena, 2*block.rows*nr*(k1-k0))
			}
			row += block.rows
		}
	}
}

// panelProduct sets c (rows x nr) to the columns of panel p of A B, or what they would be past
// the edge. A has column stride 1.
func (e *Engine) panelProduct(c []float32, a Matrix, b *Packed, p int) {
	nb := b.blocks()
	for kb := range nb {
		k0, k1 := part(a.Cols, nb, kb)
		var next []float32
		if p+1 < b.panels() {
			next = b.panel(p+1, k0, k1)
		}
		l := blockA{rows: a.Rows, cols: k1 - k0, rs: a.RS, cs: 1, data: a.Data[k0:]}
		e.kern.panel(k1-k0, l, b.panel(p, k0, k1), e.kern.nr, c, e.kern.nr, kb > 0, next, 1)
	}
}

// MatMul is Engine.MatMul on this thread alone, with the same bits. The rows of C must be
// contiguous (CS 1).
func (w *Worker) MatMul(c, a, b Matrix, acc bool) {
	c.shape("Worker.MatMul", "C", a.Rows, b.Cols)
	a.check("Worker.MatMul", "A")
	b.shape("Worker.MatMul", "B", a.Cols, b.Cols)
	if c.CS != 1 && c.Cols > 1 {
		panic(fmt.Sprintf("engine: Worker.MatMul: C has column stride %d, expected 1", c.CS))
	}
	if c.Rows == 0 || c.Cols == 0 {
		return
	}
	panels := w.e.kern.panels(c.Cols)
	// One or two tiles read B as it lies: packing would read it once, and write it, too.
	if a.Cols == 0 || b.CS == 1 && c.Rows <= 2*w.e.kern.mr && !conflicts(b.RS) {
		w.e.multiply(w.index, c, a, &operand{direct: b}, 0, panels, acc)
		return
	}
	// As many rows at a time as the caches hold, so that no call is long.
	mb := w.e.kern.rowBlocks(c.Rows, a.Cols)
	for ib := range mb {
		i0, i1 := part(c.Rows, mb, ib)
		j := gemmJob{e: w.e, c: c.Slice(i0, i1, 0, c.Cols), a: a.Slice(i0, i1, 0, a.Cols), b: operand{direct: b}, acc: acc}
		j.packAndMultiply(w.index, 0, panels)
	}
}
