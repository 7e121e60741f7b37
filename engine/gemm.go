package engine

import "fmt"

const (
	directRows      = 96      // with at most so many rows of C, packing B costs more than it saves
	directConflicts = 12      // the same where the rows of B fall into few sets of the first-level cache
	packFloats      = 4 << 20 // B is packed in blocks of columns of about this size
)

// MatMul sets C = A B, or C = C + A B when acc is set. Every element is one chain of
// float32 fused multiply-adds in increasing inner index, starting from +0 or from the
// old value. Transposed operands are given as views (Matrix.T), so this is all four
// forms. C must share no element with A or B. Shapes: A m x k, B k x n, C m x n.
func (e *Engine) MatMul(c, a, b Matrix, acc bool) {
	c.shape("MatMul", "C", a.Rows, b.Cols)
	a.check("MatMul", "A")
	b.shape("MatMul", "B", a.Cols, b.Cols)
	disjoint("MatMul", "C", c, "A", a)
	disjoint("MatMul", "C", c, "B", b)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.matMul(c, a, b, acc)
}

// MatMulPacked is MatMul with a packed B.
func (e *Engine) MatMulPacked(c, a Matrix, b *Packed, acc bool) {
	if b == nil {
		panic("engine: MatMulPacked: B is nil")
	}
	if a.Cols != b.rows {
		panic(fmt.Sprintf("engine: MatMulPacked: A has %d columns, packed B %d rows", a.Cols, b.rows))
	}
	c.shape("MatMulPacked", "C", a.Rows, b.cols)
	a.check("MatMulPacked", "A")
	disjoint("MatMulPacked", "C", c, "A", a)
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
	// With half the stride of a conflict, rows fall into two sets: too few, too.
	if b.CS == 1 && c.Rows <= directRows && (c.Rows <= directConflicts || !conflicts(2*b.RS)) {
		e.matMulOperand(c, a, operand{direct: b}, acc)
		return
	}
	if c.Rows <= e.kern.mc && a.Cols > 0 { // every panel is used once, so the thread that uses it packs it
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

// operand is the right operand of a product: packed, or read in place (CS 1), or to be packed by
// the thread that reads it.
type operand struct {
	packed *Packed
	direct Matrix
	pack   bool

	// prefetch is what is read after the product. It is prefetched into the second-level cache
	// instead of the panels of B, an equal share by each panel. Only its address counts.
	prefetch []float32
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
	if c.CS != 1 && c.Cols > 1 { // the kernels write contiguous rows
		c = View(e.scratch[0].floats(slotResult, c.Rows*c.Cols), c.Rows, c.Cols)
		if acc {
			CopyMatrix(c, target)
		}
	}
	flops := 2 * float64(c.Rows) * float64(c.Cols) * float64(a.Cols)
	if n := e.TasksFor(maxTasks, flops); n > 1 || b.pack {
		e.shareProduct(c, a, b, acc, n)
	} else {
		e.multiply(0, c, a, &b, acc)
	}
	if target.CS != 1 && target.Cols > 1 {
		CopyMatrix(target, c)
	}
}

// shareProduct splits a product into about n tasks. It splits the longer side of C, so that the
// threads share the smaller operand, and the other side, too, where there are few panels and their
// number is no multiple of the threads.
func (e *Engine) shareProduct(c, a Matrix, b operand, acc bool, n int) {
	j := &e.gemm
	j.e, j.c, j.a, j.b, j.acc = e, c, a, b, acc
	j.rowTasks, j.colTasks = 1, 1
	flops := 2 * float64(c.Rows) * float64(c.Cols) * float64(a.Cols)
	most := e.kern.panels(c.Cols)
	if tiles := (c.Rows + e.kern.mr - 1) / e.kern.mr; b.pack {
		j.colTasks = min(n, most)
	} else if c.Rows >= c.Cols {
		j.rowTasks = min(n, tiles)
		j.colTasks = min((n+j.rowTasks-1)/j.rowTasks, most)
	} else {
		j.colTasks = min(n, most)
		j.rowTasks = min((n+j.colTasks-1)/j.colTasks, tiles)
		if j.rowTasks == 1 && tiles >= minTilesToHalve && e.imbalanced(most, flops) {
			j.rowTasks, j.colTasks = 2, (j.colTasks+1)/2
		}
	}
	e.run(j, j.rowTasks*j.colTasks, flops)
	j.c, j.a, j.b = Matrix{}, Matrix{}, operand{}
}

// minTilesToHalve is the least number of tiles of rows that are split in two to balance the
// threads. With fewer, shorter tiles lose what the balance gains.
const minTilesToHalve = 8

// imbalanced reports whether an uneven number of panels a thread costs more than splitting the rows
// in two: if more than 2.5% of the time would be idle, and a panel takes so long that the overhead
// of a second call does not matter.
func (e *Engine) imbalanced(panels int, flops float64) bool {
	const least = 30 // microseconds a panel
	threads := e.Threads()
	idle := (threads - panels%threads) % threads
	return 40*idle > panels && flops >= least*e.kern.flopPerMicrosecond*float64(panels)
}

type gemmJob struct {
	e                  *Engine
	c, a               Matrix
	b                  operand
	acc                bool
	rowTasks, colTasks int
	packed             Packed // B of the running call, in scratch memory
}

func (j *gemmJob) run(worker, task int) {
	r0, r1 := Part(j.c.Rows, j.rowTasks, task/j.colTasks)
	p0, p1 := Part(j.e.kern.panels(j.c.Cols), j.colTasks, task%j.colTasks)
	if r0 == r1 || p0 == p1 {
		return
	}
	if j.b.pack {
		j.packAndMultiply(worker, p0, p1)
		return
	}
	p := product{e: j.e, arena: &j.e.scratch[worker], c: j.c.SliceRows(r0, r1), acc: j.acc}
	p.multiply(j.a.SliceRows(r0, r1), &j.b, p0, p1)
}

// packAndMultiply packs a few panels of B at a time, so that it reads long runs of its rows, and
// multiplies with them while they are in the cache.
func (j *gemmJob) packAndMultiply(worker, p0, p1 int) {
	const together = 4
	e, a, b := j.e, j.a, j.b.direct
	arena := &e.scratch[worker]
	packedB := operand{packed: &arena.packed}
	nr, nb := e.kern.nr, e.kern.blocks(a.Cols)
	for kb := range nb {
		k0, k1 := Part(a.Cols, nb, kb)
		ab := e.prepareA(arena, a.Slice(0, a.Rows, k0, k1), p1-p0)
		for p := p0; p < p1; p += together {
			j0, j1 := p*nr, min(min(p+together, p1)*nr, b.Cols)
			*packedB.packed = Packed{kern: e.kern, rows: k1 - k0, cols: j1 - j0}
			packedB.packed.data = arena.floats(slotB, packedB.packed.size())
			packedB.packed.fill(b.Slice(k0, k1, j0, j1), 0, packedB.packed.Panels())
			q := product{e: e, arena: arena, c: j.c.Slice(0, j.c.Rows, j0, j1), acc: j.acc || kb > 0}
			q.panels(&ab, &packedB, 0, packedB.packed.Panels())
		}
	}
}

// multiply computes C = A B, or C += A B with acc, on one thread. C has column stride 1.
func (e *Engine) multiply(worker int, c, a Matrix, b *operand, acc bool) {
	p := product{e: e, arena: &e.scratch[worker], c: c, acc: acc}
	p.multiply(a, b, 0, e.kern.panels(min(c.Cols, b.cols())))
}

// product is a product on one thread: C = A B, or C += A B with acc. C has column stride 1. The
// methods compute the columns of the panels [p0, p1) of B. (B is no field, because the operands,
// which live on the stack, would escape.)
type product struct {
	e     *Engine
	arena *arena
	c     Matrix
	acc   bool
}

// rows returns the product for rows [i0, i1) of C.
func (p *product) rows(i0, i1 int) product {
	q := *p
	q.c = p.c.SliceRows(i0, i1)
	return q
}

// multiply multiplies with A, block by block.
func (p *product) multiply(a Matrix, b *operand, p0, p1 int) {
	kern, c := p.e.kern, p.c
	if a.Cols == 0 {
		if !p.acc {
			for i := range c.Rows {
				clear(c.Data[i*c.RS+p0*kern.nr : i*c.RS+min(p1*kern.nr, c.Cols)])
			}
		}
		return
	}
	nb, mb := kern.blocks(a.Cols), kern.rowBlocks(c.Rows, a.Cols)
	for kb := range nb {
		k0, k1 := Part(a.Cols, nb, kb)
		for ib := range mb {
			i0, i1 := Part(c.Rows, mb, ib)
			block, q := a, *p
			if nb > 1 || mb > 1 {
				block, q = a.Slice(i0, i1, k0, k1), p.rows(i0, i1)
			}
			ab := p.e.prepareA(p.arena, block, p1-p0)
			ab.k0 = k0
			q.acc = p.acc || kb > 0
			q.panels(&ab, b, p0, p1)
		}
	}
}

// block multiplies with a block of A that is prepared already and has all inner indices.
func (p *product) block(a *blockA, b *operand, p0, p1 int) {
	kern := p.e.kern
	mb, tiles, row := kern.rowBlocks(a.rows, a.cols), a.tiles(kern), 0
	for ib := range mb {
		t0, t1 := Part(tiles, mb, ib)
		block := a.sliceTiles(kern, t0, t1)
		q := p.rows(row, row+block.rows)
		q.panels(&block, b, p0, p1)
		row += block.rows
	}
}

// panels multiplies with one block of A, many panels in a call where C has them whole.
func (p *product) panels(a *blockA, b *operand, p0, p1 int) {
	kern := p.e.kern
	nr, k0, k1 := kern.nr, a.k0, a.k0+a.cols
	together, most := p0, 0 // the end of the panels of long calls, and their number in a call
	if b.packed != nil && len(b.prefetch) == 0 {
		together = min(p1, p.c.Cols/nr)
		most = kern.callBudget(2 * a.rows * nr * a.cols)
	}
	for at := p0; at < p1; {
		n := min(together-at, most)
		if n < 2 {
			p.panel(a, b, at)
			at++
			continue
		}
		next := b.packed.panel(at+1, k0, k1)
		kern.panel(a, panelB{b.packed.panelsFrom(at, n, k0, k1), nr, next}, p.c.Data[at*nr:], p.c.RS, p.acc, n)
		p.e.yield(p.arena, 2*a.rows*n*nr*a.cols)
		at += n
	}
}

// panel multiplies a block of A with panel j.
func (p *product) panel(a *blockA, b *operand, j int) {
	kern := p.e.kern
	nr, k0, k1 := kern.nr, a.k0, a.k0+a.cols
	j0 := j * nr
	bp := panelB{rs: nr}
	switch n := min(nr, b.cols()-j0); {
	case b.packed != nil:
		bp.data = b.packed.panel(j, k0, k1)
		if j+1 < b.packed.Panels() {
			bp.next = b.packed.panel(j+1, k0, k1)
		}
	case n == nr:
		bp.data, bp.rs = b.direct.Data[k0*b.direct.RS+j0:], b.direct.RS
	default: // a tile reads nr columns, which would leave the matrix
		bp.data = p.arena.floats(slotB, a.cols*nr)
		kern.packPanel(bp.data, b.direct, k0, k1, j0)
	}
	if n := len(b.prefetch); n > 0 {
		f0, f1 := Part(n, kern.panels(b.cols()), j)
		bp.next = b.prefetch[f0:f1]
	}
	p.e.multiplyTile(p.arena, p.c.Slice(0, a.rows, j0, p.c.Cols), a, bp, p.acc)
	p.e.yield(p.arena, 2*a.rows*nr*a.cols)
}

// multiplyTile multiplies the block a with one panel into the first columns of c. Where c has fewer
// columns than the panel and the tier has no kernel for them, the result goes through scratch memory.
func (e *Engine) multiplyTile(arena *arena, c Matrix, a *blockA, b panelB, acc bool) {
	nr, n := e.kern.nr, c.Cols
	if n >= nr {
		e.kern.panel(a, b, c.Data, c.RS, acc, 1)
		return
	}
	if e.kern.narrow(a, b, c.Data, c.RS, n, acc) {
		return
	}
	tile := arena.floats(slotC, a.rows*nr)
	if acc {
		for i := range a.rows {
			copy(tile[i*nr:i*nr+n], c.Data[i*c.RS:])
		}
	}
	e.kern.panel(a, b, tile, nr, acc, 1)
	for i := range a.rows {
		copy(c.Data[i*c.RS:i*c.RS+n], tile[i*nr:])
	}
}

// packed multiplies with a packed A and a packed B whose panels are stored whole, as if B were a
// single block.
func (p *product) packed(a *blockA, b *Packed, p0, p1 int) {
	kern := p.e.kern
	nr, nb := kern.nr, kern.blocks(a.cols)
	tiles, mb := a.tiles(kern), kern.rowBlocks(a.rows, a.cols)
	for kb := range nb {
		k0, k1 := Part(a.cols, nb, kb)
		row := 0
		for ib := range mb {
			t0, t1 := Part(tiles, mb, ib)
			block := a.sliceTiles(kern, t0, t1)
			block = block.sliceCols(k0, k1)
			for j := p0; j < p1; j++ {
				bp := panelB{data: b.panel(j, 0, b.rows)[k0*nr : k1*nr], rs: nr}
				if j+1 < p1 {
					bp.next = b.panel(j+1, 0, b.rows)[k0*nr : k1*nr]
				}
				p.e.multiplyTile(p.arena, p.c.Slice(row, row+block.rows, j*nr, p.c.Cols), &block, bp, p.acc || kb > 0)
				p.e.yield(p.arena, 2*block.rows*nr*(k1-k0))
			}
			row += block.rows
		}
	}
}

// panelProduct sets c (rows x nr) to the columns of panel p of A B, those of the padding included.
// A has column stride 1.
func (e *Engine) panelProduct(c []float32, a Matrix, b *Packed, p int) {
	nb := b.blocks()
	for kb := range nb {
		k0, k1 := Part(a.Cols, nb, kb)
		bp := panelB{data: b.panel(p, k0, k1), rs: e.kern.nr}
		if p+1 < b.Panels() {
			bp.next = b.panel(p+1, k0, k1)
		}
		ab := blockA{rows: a.Rows, cols: k1 - k0, rs: a.RS, cs: 1, data: a.Data[k0:]}
		e.kern.panel(&ab, bp, c, e.kern.nr, kb > 0, 1)
	}
}

// MatMul is Engine.MatMul on this thread alone, with the same bits. C must have contiguous rows
// (CS 1).
func (w *Worker) MatMul(c, a, b Matrix, acc bool) {
	c.shape("Worker.MatMul", "C", a.Rows, b.Cols)
	a.check("Worker.MatMul", "A")
	b.shape("Worker.MatMul", "B", a.Cols, b.Cols)
	if c.CS != 1 && c.Cols > 1 {
		panic(fmt.Sprintf("engine: Worker.MatMul: C has column stride %d, expected 1", c.CS))
	}
	if meet(c.Data, a.Data) || meet(c.Data, b.Data) {
		disjoint("Worker.MatMul", "C", c, "A", a)
		disjoint("Worker.MatMul", "C", c, "B", b)
	}
	if c.Rows == 0 || c.Cols == 0 {
		return
	}
	// One or two tiles read B in place: packing would read it once, too, and write it.
	if a.Cols == 0 || b.CS == 1 && c.Rows <= 2*w.e.kern.mr && !conflicts(b.RS) {
		w.e.multiply(w.index, c, a, &operand{direct: b}, acc)
		return
	}
	panels, mb := w.e.kern.panels(c.Cols), w.e.kern.rowBlocks(c.Rows, a.Cols)
	for ib := range mb { // as many rows as the caches hold, so that no call is long
		i0, i1 := Part(c.Rows, mb, ib)
		j := gemmJob{
			e: w.e, c: c.SliceRows(i0, i1), a: a.SliceRows(i0, i1),
			b: operand{direct: b}, acc: acc,
		}
		j.packAndMultiply(w.index, 0, panels)
	}
}
