package engine

import (
	"fmt"

	"github.com/klauspost/cpuid/v2"
)

// innerBlock returns kc, the longest block of the inner index, of a tier whose panels
// have nr columns. Panels stream from the second-level cache, of which one takes an eighth:
// the tiles leave time for it, and a longer block stores and reloads fewer partial sums.
// Where that level is small they live in the first one, of which they take about half, and rows
// of A the rest. Partial sums are float32, so blocks change no bit.
func innerBlock(nr int) int {
	bytes := max(cacheSize(cpuid.CPU.Cache.L1D, 32<<10)*9/16, cacheSize(cpuid.CPU.Cache.L2, 512<<10)/8)
	return min(max(bytes/4/nr, 64), 1024)
}

// outerBlock returns mc, the rows of A that are multiplied with all panels of a block of kc inner
// indices before the next rows: a quarter of the second-level cache, beside which panels and C pass.
func outerBlock(kc int) int {
	return max(cacheSize(cpuid.CPU.Cache.L2, 512<<10)/4/4/kc, 64)
}

// cacheSize is what cpuid reports, or typical where it reports nothing.
func cacheSize(reported, typical int) int {
	if reported <= 0 {
		return typical
	}
	return reported
}

const (
	directRows = 12      // up to here, packing B costs more than it saves
	packFloats = 4 << 20 // B is packed in blocks of columns of about this size
)

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

// blocks is the number of blocks of an inner size.
func (k *kernels) blocks(inner int) int { return (inner + k.kc - 1) / k.kc }

// rowBlocks is the number of blocks of m rows of A: of mc rows where a block of the inner index is
// as long as it may be, of more where it is shorter, so that all take as much of the cache.
func (k *kernels) rowBlocks(m, inner int) int {
	longest := (inner + k.blocks(inner) - 1) / max(k.blocks(inner), 1)
	most := k.mc * k.kc / max(longest, 1)
	return (m + most - 1) / most
}

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
	if b.k != e.k {
		panic(fmt.Sprintf("engine: MatMulPacked: B has not been packed by an engine of tier %v", e.k.tier))
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
	if c.Rows <= e.k.mc && a.Cols > 0 { // every panel serves once: the thread that needs it packs it
		e.matMulOperand(c, a, operand{direct: b, pack: true}, acc)
		return
	}
	cols := max(packFloats/max(b.Rows, 1), 64) / e.k.nr * e.k.nr
	p := &e.gemm.packed
	for j := 0; j < b.Cols; j += cols {
		end := min(j+cols, b.Cols)
		bj := b.Slice(0, b.Rows, j, end)
		*p = Packed{k: e.k, rows: bj.Rows, cols: bj.Cols}
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
	fetch []float32

	// after is the same for products of many panels: the last ones fetch it beside their own.
	after []float32
}

// lastPanels is how many panels of a product fetch what is needed after it: few enough that it
// is still there, and enough that nobody waits for it.
const lastPanels = 4

// pieceOf returns what panel p of the panels up to p1 fetches of what is needed after them.
func pieceOf(after []float32, p, p1 int) []float32 {
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
		e.multiply(0, c, a, &b, 0, e.k.panels(c.Cols), acc)
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
	if (b.pack || b.packed != nil) && e.k.blocks(a.Cols) == 1 && e.k.prefersPairs(a) {
		j.unit = 2
	}
	most := (e.k.panels(c.Cols) + j.unit - 1) / j.unit
	if strips := (c.Rows + e.k.mr - 1) / e.k.mr; b.pack {
		j.colTasks = min(n, most)
	} else if c.Rows >= c.Cols {
		j.rowTasks = min(n, strips)
		j.colTasks = min((n+j.rowTasks-1)/j.rowTasks, most)
	} else {
		j.colTasks = min(n, most)
		j.rowTasks = min((n+j.colTasks-1)/j.colTasks, strips)
		if j.rowTasks == 1 && strips >= leastStrips && e.uneven(most, flops) {
			j.rowTasks, j.colTasks = 2, (j.colTasks+1)/2
		}
	}
	e.run(j, j.rowTasks*j.colTasks, flops)
	j.c, j.a, j.b = Matrix{}, Matrix{}, operand{}
}

// leastStrips is how many tiles of rows a product has whose rows are split in two: of few, shorter
// tiles lose what even shares gain.
const leastStrips = 8

// uneven says whether one more panel for some threads loses more than two halves of the rows do: a
// fortieth of the product, of panels that take so long that a second call is nothing (25 panels of
// 784 inner indices on two threads: 428 to 412 us with AVX2; of 128 inner indices it is slower).
func (e *Engine) uneven(panels int, flops float64) bool {
	const least = 30 // microseconds a panel
	threads := e.Threads()
	left := (threads - panels%threads) % threads
	return 40*left > panels && flops >= least*e.k.flopsAMicrosecond*float64(panels)
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
	panels := j.e.k.panels(j.c.Cols)
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
	few := operand{packed: &arena.packed}
	nr, nb := e.k.nr, e.k.blocks(a.Cols)
	for kb := range nb {
		k0, k1 := part(a.Cols, nb, kb)
		inPairs, panels := nb == 1 && e.k.prefersPairs(a), p1-p0
		if inPairs {
			panels = 1 // or two, of all that are left
		}
		var ab left // for panels that are not in pairs
		for p := p0; p < p1; p += together {
			j0, j1 := p*nr, min(min(p+together, p1)*nr, b.Cols)
			*few.packed = Packed{k: e.k, rows: k1 - k0, cols: j1 - j0}
			few.packed.data = arena.floats(slotB, few.packed.size())
			few.packed.fill(b.Slice(k0, k1, j0, j1), 0, few.packed.panels())
			i, cj := 0, c.Slice(0, c.Rows, j0, j1)
			if inPairs {
				i = e.multiplyPairs(arena, cj, a, &few, 0, few.packed.panels(), j.acc)
			}
			if i == few.packed.panels() {
				continue
			}
			if ab.rows == 0 {
				ab = e.leftBlock(arena, a.Slice(0, a.Rows, k0, k1), panels)
			}
			e.multiplyPanels(arena, cj, ab, &few, nil, 0, i, few.packed.panels(), 0, k1-k0, j.acc || kb > 0)
		}
	}
}

// multiply computes panels [p0, p1) of C = A B on one thread. C has column stride 1.
func (e *Engine) multiply(worker int, c, a Matrix, b *operand, p0, p1 int, acc bool) {
	if a.Cols == 0 {
		if !acc {
			for i := range c.Rows {
				clear(c.Data[i*c.RS+p0*e.k.nr : i*c.RS+min(p1*e.k.nr, c.Cols)])
			}
		}
		return
	}
	arena := &e.scratch[worker]
	nb, mb := e.k.blocks(a.Cols), e.k.rowBlocks(c.Rows, a.Cols)
	if b.packed != nil && nb == 1 && e.k.prefersPairs(a) {
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
			ab := e.leftBlock(arena, block, p1-p0)
			after := b.after
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
func (k *kernels) prefersPairs(a Matrix) bool {
	return k.pairRows > 0 && a.CS == 1 && !aliased(a.RS) && a.Cols >= pairInner &&
		(a.Cols <= 160 || a.Cols <= 256 && a.Rows <= k.pairRows)
}

// multiplyPairs computes the pairs of whole panels from p0 on, of a packed B of a single block,
// and returns the first panel that is left.
func (e *Engine) multiplyPairs(arena *arena, c, a Matrix, b *operand, p0, p1 int, acc bool) int {
	nr, mb := e.k.nr, e.k.rowBlocks(c.Rows, a.Cols)
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
			pairs := min(max(e.k.inACall(flops), 1), (end-p)/2)
			next := b.packed.data[(p+2)*size : min(p+4, b.packed.panels())*size]
			if n := len(b.fetch); n > 0 {
				f0, f1 := part(n, e.k.panels(b.cols())/2, p/2)
				next, pairs = b.fetch[f0:f1], 1
			}
			e.k.pair(block, b.packed.data[p*size:], c.Data[i0*c.RS+p*nr:], c.RS, acc, next, pairs)
			e.yield(arena, pairs*flops)
			p += 2 * pairs
		}
	}
	return end
}

// multiplyLeft is multiply for a left operand that is laid out already, and of a single block of
// inner indices.
func (e *Engine) multiplyLeft(arena *arena, c Matrix, a *left, b *operand, p0, p1 int, acc bool) {
	mb, tiles, row := e.k.rowBlocks(a.rows, a.cols), a.tiles(e.k), 0
	for ib := range mb {
		t0, t1 := part(tiles, mb, ib)
		block := a.sliceTiles(e.k, t0, t1)
		e.multiplyPanels(arena, c, block, b, nil, row, p0, p1, 0, a.cols, acc)
		row += block.rows
	}
}

// multiplyPanels computes the columns of panels [p0, p1), for the rows of the block ab, which begin at
// row i0 of C, and the inner indices [k0, k1). The last panels fetch after.
func (e *Engine) multiplyPanels(arena *arena, c Matrix, ab left, b *operand, after []float32, i0, p0, p1, k0, k1 int, acc bool) {
	// A call takes panels that C has whole and that fetch what follows them, as long as it may be.
	nr, together, most := e.k.nr, p0, 0
	if b.packed != nil && len(b.fetch) == 0 {
		if together = min(p1, c.Cols/nr); len(after) > 0 {
			together = min(together, p1-lastPanels)
		}
		most = e.k.inACall(2 * ab.rows * nr * (k1 - k0))
	}
	for p := p0; p < p1; {
		n := min(together-p, most)
		if n < 2 {
			e.multiplyPanel(arena, c, ab, b, pieceOf(after, p, p1), i0, p, k0, k1, acc)
			p++
			continue
		}
		e.k.panel(k1-k0, ab, b.packed.panelsFrom(p, n, k0, k1), nr, c.Data[i0*c.RS+p*nr:], c.RS, acc, b.packed.panel(p+1, k0, k1), n)
		e.yield(arena, 2*ab.rows*n*nr*(k1-k0))
		p += n
	}
}

// multiplyPanel is multiplyPanels for panel p. The later half of the tiles fetches after in place of
// the next panel.
func (e *Engine) multiplyPanel(arena *arena, c Matrix, ab left, b *operand, after []float32, i0, p, k0, k1 int, acc bool) {
	nr := e.k.nr
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
		e.k.packPanel(bp, b.direct, k0, k1, j0)
	}
	if n := len(b.fetch); n > 0 {
		f0, f1 := part(n, e.k.panels(b.cols()), p)
		next = b.fetch[f0:f1]
	}
	if tiles := ab.tiles(e.k); len(after) > 0 && tiles > 1 {
		first := ab.sliceTiles(e.k, 0, tiles/2)
		e.multiplyTile(arena, c, first, bp, next, brs, i0, j0, k1-k0, acc)
		e.multiplyTile(arena, c, ab.sliceTiles(e.k, tiles/2, tiles), bp, after, brs, i0+first.rows, j0, k1-k0, acc)
	} else {
		e.multiplyTile(arena, c, ab, bp, next, brs, i0, j0, k1-k0, acc)
	}
	e.yield(arena, 2*ab.rows*nr*(k1-k0))
}

// multiplyTile multiplies the block ab with the columns of B in bp and writes to C from
// row i0 and column j0 on, those that C has: by way of a scratch tile where a whole one would
// leave C and there is no kernel for so few columns.
func (e *Engine) multiplyTile(arena *arena, c Matrix, ab left, bp, next []float32, brs, i0, j0, k int, acc bool) {
	nr, n, to := e.k.nr, c.Cols-j0, c.Data[i0*c.RS+j0:]
	if n >= nr {
		e.k.panel(k, ab, bp, brs, to, c.RS, acc, next, 1)
		return
	}
	if e.k.narrow(k, ab, bp, brs, to, c.RS, n, acc, next) {
		return
	}
	tile := arena.floats(slotC, ab.rows*nr)
	if acc {
		for i := range ab.rows {
			copy(tile[i*nr:i*nr+n], to[i*c.RS:])
		}
	}
	e.k.panel(k, ab, bp, brs, tile, nr, acc, next, 1)
	for i := range ab.rows {
		copy(to[i*c.RS:i*c.RS+n], tile[i*nr:])
	}
}

// multiplyStrips computes panels [p0, p1) of C = A B, or adds them to C, of A in strips and B
// in panels that are whole, as if B were a single block, on one thread.
func (e *Engine) multiplyStrips(arena *arena, c Matrix, a *left, b *Packed, p0, p1 int, acc bool) {
	nr, nb := e.k.nr, e.k.blocks(a.cols)
	tiles, mb := a.tiles(e.k), e.k.rowBlocks(a.rows, a.cols)
	for kb := range nb {
		k0, k1 := part(a.cols, nb, kb)
		row := 0
		for ib := range mb {
			t0, t1 := part(tiles, mb, ib)
			block := a.sliceTiles(e.k, t0, t1)
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
		l := left{rows: a.Rows, cols: k1 - k0, rs: a.RS, cs: 1, data: a.Data[k0:]}
		e.k.panel(k1-k0, l, b.panel(p, k0, k1), e.k.nr, c, e.k.nr, kb > 0, next, 1)
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

// aliasStride is the distance, in floats, from which on rows fall into so few sets of the
// first-level cache that they push each other out. A way of it is 4 KiB: rows half of that apart
// fall into two sets, for which 12 ways (48 KiB) are enough.
var aliasStride = func() int {
	if firstLevelWays() < 12 {
		return 512
	}
	return 1024
}()

// firstLevelWays is the number of ways of the first-level cache, of 4 KiB each.
func firstLevelWays() int { return cacheSize(cpuid.CPU.Cache.L1D, 32<<10) / (4 << 10) }

// crowded says whether the rows of the longest tile, so far apart, take more than two thirds of the
// ways of a set.
func (k *kernels) crowded(stride int) bool {
	if stride < 512 || stride%512 != 0 {
		return false
	}
	rows := k.mr
	if stride%1024 != 0 {
		rows = (rows + 1) / 2
	}
	return 3*rows > 2*firstLevelWays()
}

// aliased says whether rows so far apart fall into the same sets of the first-level cache.
func aliased(stride int) bool { return stride >= aliasStride && stride%aliasStride == 0 }

// leading returns a row distance of at least n that is whole cache lines and not aliased.
func leading(n int) int {
	n = (n + 15) / 16 * 16
	if aliased(n) {
		n += 16
	}
	return n
}

// spread returns a row distance of at least n whose cache lines are odd in number. Columns that are
// a line wide then take all sets of the first-level cache, and not a half of them or less.
func spread(n int) int { return (n+15)/16/2*32 + 16 }
