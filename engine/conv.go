package engine

import (
	"fmt"
	"math"
	"unsafe"
)

// The sizes that the kernels of convolution and pooling are made for. Other sizes work, by way of
// other kernels.
const (
	patchRows  = 5  // of a patch
	addCols    = 48 // most columns of a patch in addPatches
	spreadCols = 40 // columns of a patch in spreadPatches, exactly
)

// rowsAt is a B whose row p begins at data[at[p]]. last is the largest of at.
type rowsAt struct {
	data []float32
	at   []int32
	last int
}

// panelAt multiplies the rows of a with the first columns of b, panels of nr, whose places at the caller
// has checked. From each inner index to the next it goes steps on in a: one number for all, or one for each, of which
// the last is not used.
func (kern *kernels) panelAt(a *Matrix, steps []int32, b *rowsAt, c []float32, crs int, acc bool, panels int) {
	m, inner, stepsBy := a.Rows, len(b.at), 0
	if len(steps) > 1 {
		stepsBy = int(unsafe.Sizeof(steps[0]))
	}
	need("panelAt", "a", len(a.Data), span(a.Cols, a.CS, span(m, a.RS, 1)))
	need("panelAt", "b", len(b.data), b.last+panels*kern.nr)
	need("panelAt", "c", len(c), span(m, crs, panels*kern.nr))
	if tiles, rows, tall := kern.tiling(m); tiles > 0 {
		kern.table.panelAt(onStack(&panelArgs{
			k: inner, a: a.Data, ars: a.RS, b: b.data, at: b.at, c: c, crs: crs,
			tiles: tiles, rows: rows, tall: tall, acc: acc, panels: panels, steps: steps, stepsBy: stepsBy,
		}))
	}
}

// addPatches adds to c. It returns false if the tier has no kernel for patches of this size.
func (kern *kernels) addPatches(c Matrix, r, b []float32, at []int32, stride int) bool {
	if kern.table.addPatches == nil || c.Rows != patchRows || c.Cols > addCols {
		return false
	}
	kern.table.addPatches(c.Data, c.RS, c.Cols, r, b, at, stride)
	return true
}

// spreadPatches adds to b. It returns false if the tier has no kernel for patches of this size.
func (kern *kernels) spreadPatches(b, r []float32, at []int32, w Matrix, stride int) bool {
	if kern.table.spreadPatches == nil || w.Rows != patchRows || w.Cols != spreadCols {
		return false
	}
	kern.table.spreadPatches(b, r, at, w.Data, w.RS, stride)
	return true
}

// MatMulAt is MatMul with rows of B that begin anywhere in b and may overlap: row p is b[at[p]:].
// So the patches of an image under a sliding kernel are rows of B without a copy. Each row has
// c.Cols elements; where that is no multiple of Engine.PanelCols, the last columns are copied. Shapes: A m x k,
// at k, C m x n.
func (w *Worker) MatMulAt(c, a Matrix, b []float32, at []int32, acc bool) {
	c.shape("Worker.MatMulAt", "C", a.Rows, c.Cols)
	a.check("Worker.MatMulAt", "A")
	length("Worker.MatMulAt", "at", len(at), a.Cols)
	if c.CS != 1 && c.Cols > 1 {
		panic(fmt.Sprintf("engine: Worker.MatMulAt: C has column stride %d, expected 1", c.CS))
	}
	if c.Cols <= 1 {
		c.CS = 1
	}
	if len(at) == 0 {
		for i := range c.Rows {
			if !acc {
				clear(c.Row(i))
			}
		}
		return
	}
	last := 0
	for _, p := range at {
		if p < 0 || int(p) > len(b)-c.Cols {
			panic(fmt.Sprintf("engine: Worker.MatMulAt: a row of %d elements at index %d of %d", c.Cols, p, len(b)))
		}
		last = max(last, int(p))
	}
	kern, arena := w.e.kern, &w.e.scratch[w.index]
	steps := append(arena.steps[:0], int32(a.CS))
	arena.steps = steps
	nb, mb := kern.blocks(a.Cols), kern.rowBlocks(c.Rows, a.Cols)
	whole := min(c.Cols, len(b)-last) / kern.nr // panels that are read and written in place
	for kb := range nb {
		k0, k1 := Part(a.Cols, nb, kb)
		for ib := range mb {
			i0, i1 := Part(c.Rows, mb, ib)
			rows := a.Slice(i0, i1, k0, k1)
			flops := 2 * rows.Rows * kern.nr * rows.Cols
			for p := 0; p*kern.nr < c.Cols; {
				n := max(min(whole-p, kern.callBudget(flops)), 1)
				j := p * kern.nr
				panels := c.Slice(i0, i1, j, min(j+n*kern.nr, c.Cols))
				w.e.panelsAt(arena, &panels, &rows, steps, &rowsAt{b[j:], at[k0:k1], last}, acc || kb > 0)
				w.e.yield(arena, n*flops)
				p += n
			}
		}
	}
}

// panelsAt computes c: whole panels, or a part of one.
func (e *Engine) panelsAt(arena *arena, c, a *Matrix, steps []int32, b *rowsAt, acc bool) {
	nr, m, n := e.kern.nr, c.Rows, c.Cols
	if b.last+nr > len(b.data) { // a tile reads nr columns, which would leave b; never of MatMulNonzero
		rows := arena.floats(slotB, len(b.at)*nr)
		clear(rows)
		for p, o := range b.at {
			copy(rows[p*nr:p*nr+n], b.data[o:])
		}
		ab := blockA{rows: m, cols: len(b.at), rs: a.RS, cs: a.CS, data: a.Data}
		e.multiplyTile(arena, *c, &ab, panelB{data: rows, rs: nr}, acc)
		return
	}
	if n >= nr {
		e.kern.panelAt(a, steps, b, c.Data, c.RS, acc, n/nr)
		return
	}
	tile := arena.floats(slotC, m*nr)
	if acc {
		for i := range m {
			copy(tile[i*nr:i*nr+n], c.Data[i*c.RS:])
		}
	}
	e.kern.panelAt(a, steps, b, tile, nr, acc, 1)
	for i := range m {
		copy(c.Data[i*c.RS:i*c.RS+n], tile[i*nr:])
	}
}

// PatchLists are lists of patches of an array: the index of the first element of each patch, its place,
// and a factor for it. PoolBackward makes them, AddPatches and SpreadPatches use them. The lists of one PoolBackward
// follow one another in memory, from where the room of the first begins: they are made anew together, too.
type PatchLists struct {
	at     []int32 // of all lists
	v      []float32
	lists  []patchList
	first  int // of the lists, among all that share the memory
	room   int // for each
	places int // every place is below
}

// patchList is a list: patches [begin, end).
type patchList struct{ begin, end int }

// NewPatchLists makes empty lists of places below a bound, in the memory of at and v, which they share
// evenly. Nobody else may change at while the lists are used.
func NewPatchLists(lists int, at []int32, v []float32, places int) PatchLists {
	length("NewPatchLists", "v", len(v), len(at))
	if lists < 1 || len(at)%lists != 0 || places < 0 || places-1 > math.MaxInt32 {
		panic(fmt.Sprintf("engine: NewPatchLists: %d lists of places below %d in memory for %d", lists, places,
			len(at)))
	}
	return PatchLists{at: at, v: v, lists: make([]patchList, lists), room: len(at) / lists, places: places}
}

// Slice returns the lists [lo, hi), in the same memory.
func (l PatchLists) Slice(lo, hi int) PatchLists {
	l.lists, l.first = l.lists[lo:hi], l.first+lo
	return l
}

// Lists returns the number of lists.
func (l PatchLists) Lists() int { return len(l.lists) }

// list returns the places and factors of a list.
func (l *PatchLists) list(k int) (at []int32, v []float32) {
	p := l.lists[k]
	return l.at[p.begin:p.end], l.v[p.begin:p.end]
}

// Len returns the number of patches in all lists.
func (l PatchLists) Len() (n int) {
	for _, p := range l.lists {
		n += p.end - p.begin
	}
	return n
}

// PrefetchToWrite prefetches the memory of lists of one PoolBackward, for others that are about as long.
func (l PatchLists) PrefetchToWrite() {
	if n := len(l.lists); n > 0 {
		begin, end := l.first*l.room, min(l.lists[n-1].end+PoolSlack, (l.first+n)*l.room)
		PrefetchToWrite(l.at[begin:max(begin, end)])
		PrefetchToWrite(l.v[begin:max(begin, end)])
	}
}

// Fill makes the lists as long as their memory, with the places and factors that it holds. It panics
// unless the places are below the bound.
func (l PatchLists) Fill() {
	for k := range l.lists {
		begin := (l.first + k) * l.room
		for _, p := range l.at[begin : begin+l.room] {
			if p < 0 || int(p) >= l.places {
				panic(fmt.Sprintf("engine: PatchLists.Fill: place %d, expected one below %d", p, l.places))
			}
		}
		l.lists[k] = patchList{begin, begin + l.room}
	}
}

// within panics unless all patches of the lists lie within b. m has a patch, or its weights, for each
// list, one below the other. It returns their number of rows.
func (l PatchLists) within(call string, m Matrix, b []float32, stride int) (rows int) {
	m.check(call, "the patches")
	if m.CS != 1 && m.Cols > 1 {
		panic(fmt.Sprintf("engine: %s: the patches have column stride %d, expected 1", call, m.CS))
	}
	rows = m.Rows / max(len(l.lists), 1)
	if rows*len(l.lists) != m.Rows {
		panic(fmt.Sprintf("engine: %s: %d rows for %d lists, expected as many for each", call, m.Rows, len(l.lists)))
	}
	if rows == 0 || m.Cols == 0 || l.places == 0 {
		return rows
	}
	if stride < 0 || rows > 1 && stride > len(b) || l.places-1+(rows-1)*stride+m.Cols > len(b) {
		panic(fmt.Sprintf("engine: %s: patches of %d x %d elements with stride %d, at places below %d, do not lie "+
			"within the %d of b", call, rows, m.Cols, stride, l.places, len(b)))
	}
	return rows
}

// AddPatches adds the patches of each list in b, scaled by v, to its rows of C, as many for each list.
// The rows of a patch are stride apart and the first one begins at b[at[p]]. Each element of C is one
// chain in increasing p:
//
//	C[u, j] = fma(v[p], b[at[p] + u*stride + j], C[u, j])
//
// C has contiguous rows (CS 1) and must not overlap b. It panics if a place may lie outside b.
func (w *Worker) AddPatches(c Matrix, l PatchLists, b []float32, stride int) {
	rows := l.within("Worker.AddPatches", c, b, stride)
	if rows == 0 || c.Cols == 0 {
		return
	}
	step := patchesPerCall(rows, c.Cols)
	for k := range l.lists {
		at, v := l.list(k)
		patch := Matrix{Data: c.Data[k*rows*c.RS:], Rows: rows, Cols: c.Cols, RS: c.RS, CS: 1}
		for len(at) > 0 {
			n := min(step, len(at))
			if !w.e.kern.addPatches(patch, v[:n], b, at[:n], stride) {
				for u := range rows {
					w.MatMulAt(patch.Slice(u, u+1, 0, c.Cols), View(v[:n], 1, n), b[u*stride:], at[:n], true)
				}
			}
			w.e.yield(&w.e.scratch[w.index], 2*rows*c.Cols*n)
			at, v = at[n:], v[n:]
		}
	}
}

// SpreadPatches is the transpose of AddPatches. It adds the weights W of each list, scaled by v, to its
// patches of b, one list and one patch after the other:
//
//	b[at[p] + u*stride + j] = fma(v[p], W[u, j], b[at[p] + u*stride + j])
//
// Its arguments have the conditions of AddPatches.
func (w *Worker) SpreadPatches(b []float32, l PatchLists, weights Matrix, stride int) {
	rows := l.within("Worker.SpreadPatches", weights, b, stride)
	if rows == 0 || weights.Cols == 0 {
		return
	}
	step := patchesPerCall(rows, weights.Cols)
	for k := range l.lists {
		at, v := l.list(k)
		patch := Matrix{Data: weights.Data[k*rows*weights.RS:], Rows: rows, Cols: weights.Cols, RS: weights.RS, CS: 1}
		for len(at) > 0 {
			n := min(step, len(at))
			if !w.e.kern.spreadPatches(b, v[:n], at[:n], patch, stride) {
				for p, first := range at[:n] {
					for u := range rows {
						row := b[int(first)+u*stride:]
						w.e.kern.axpy(row[:patch.Cols], v[p], patch.Row(u), row)
					}
				}
			}
			w.e.yield(&w.e.scratch[w.index], 2*rows*weights.Cols*n)
			at, v = at[n:], v[n:]
		}
	}
}

// patchesPerCall is the number of patches of a size that one short call handles.
func patchesPerCall(rows, cols int) int {
	const most = 128 << 10 // multiply-adds
	return max(1, most/(rows*cols))
}

// NoPixel is the number of none of 2 x 2 pixels, which have the numbers 0 to 3 in reading order: pooling with ReLU
// selects the first largest one, or none if none is above 0. NaN counts as 0.
const NoPixel = 4

// PoolSlack is for how many more patches than an image has pooled pixels a list of PoolBackward needs room.
const PoolSlack = 16

// PoolPlaces are the places of the pixels of an image that is pooled: blocks of 2 x 2.
type PoolPlaces struct {
	first  []int32  // pixel 0 of each block, in reading order
	pixels [8]int32 // pixels 0 to 3 of a block, from its pixel 0; the rest fill a vector
	most   int      // the largest
}

// NewPoolPlaces makes the places row*down + column*right of the pixels of rows x cols blocks.
func NewPoolPlaces(rows, cols, right, down int) *PoolPlaces {
	const limit = math.MaxInt32
	last := func(blocks, step int) uint64 { return (2*uint64(blocks) - 1) * uint64(step) }
	if min(rows, cols, right, down) < 1 || max(rows, cols, right, down) > limit ||
		last(rows, down)+last(cols, right) > limit || uint64(rows)*uint64(cols) > limit {
		panic(fmt.Sprintf("engine: NewPoolPlaces: places row*%d + column*%d of %d x %d blocks of pixels, expected "+
			"positive numbers, and blocks and places up to %d", down, right, rows, cols, limit))
	}
	p := &PoolPlaces{pixels: [8]int32{0, int32(right), int32(down), int32(right + down)}}
	for i := range rows * cols {
		p.first = append(p.first, int32(2*(i/cols)*down+2*(i%cols)*right))
	}
	p.most = int(last(rows, down) + last(cols, right))
	return p
}

// PoolBackward passes the gradients dy of pooled pixels, image after image, to the pixels that they selected (which,
// see NoPixel): it sets the list of each image to those that are not 0, in their order, at the places of the pixels,
// and adds all that have a pixel to sums, which is as long as dy and shares no memory with it. Lists that were made
// together with some of l, and are not in l, are then undefined.
func (w *Worker) PoolBackward(l PatchLists, sums, dy []float32, which []byte, p *PoolPlaces) {
	n := len(p.first)
	length("Worker.PoolBackward", "sums", len(sums), len(dy))
	apart("Worker.PoolBackward", "sums", sums, "dy", dy)
	length("Worker.PoolBackward", "dy", len(dy), len(l.lists)*n)
	length("Worker.PoolBackward", "which", len(which), len(dy))
	if p.most >= l.places {
		panic(fmt.Sprintf("engine: Worker.PoolBackward: places up to %d, expected below %d", p.most, l.places))
	}
	need("poolBackward", "at", l.room, n+PoolSlack)
	at := l.first * l.room
	for k := range l.lists {
		begin, end := at, at+l.room
		lo, hi := k*n, (k+1)*n
		at += w.e.kern.table.poolBackward(l.at[at:end], l.v[at:end], sums[lo:hi], dy[lo:hi], which[lo:hi], p)
		l.lists[k] = patchList{begin, at}
	}
}

// ConvPool is a block of Rows x N pooled pixels (h, q), for Worker.ConvPool, of all images i and output channels
// o < Channels. Each is the largest, or 0, of four pixels u, v < 2, which are chains over the taps:
//
//	z[u, v] = fma(Weights[weight+o], X[at+(2*h+u)*Row+(2*q+v)*images+i], ...), from Bias[o]
//
// It becomes Y[p*images+i], with p = First+o*Pixels+h*Cols+q, which no other pixel has. Its number (see NoPixel) is
// added to the bits of Numbers[p/4*images+i] as byte p%4, which was 0. If Numbers is empty, 0 times each z is added to
// Bad[o*images+i], so that it becomes NaN if one of them is infinite or NaN.
type ConvPool struct {
	Y, Numbers, Bad  []float32
	X, Weights, Bias []float32
	Taps             Taps
	Row              int // floats
	First, Pixels    int // Pixels: from an output channel of Y to the next
	Rows, N, Cols    int // Cols: pooled pixels from a row of Y to the next, at least N
	Channels         int // see Engine.ConvPoolChannels
}

// Taps lists the taps of a kernel: where they lie in X, and where their weights lie.
type Taps struct {
	list       []int32 // bytes, in pairs
	at, weight int     // the largest
}

// Add appends a tap at X[at:] with weights from Weights[weight] on.
func (t *Taps) Add(at, weight int) {
	if most := math.MaxInt32 / 4; min(at, weight) < 0 || max(at, weight) > most {
		panic(fmt.Sprintf("engine: Taps.Add: %d and %d, expected 0 to %d", at, weight, most))
	}
	t.list = append(t.list, int32(4*at), int32(4*weight))
	t.at, t.weight = max(t.at, at), max(t.weight, weight)
}

// ConvPoolSizes returns how many images (one in each lane of a vector) and, at most, output channels Worker.ConvPool
// takes at once, and whether that is faster than MatMulAt for image after image: in tiers that have a kernel for it.
func (e *Engine) ConvPoolSizes() (images, channels int, fast bool) {
	return e.kern.convImages, e.kern.convChannels, e.kern.convImages > genericConvImages
}

// ConvPoolChannels returns how many output channels Worker.ConvPool takes at once where so many are left. If those are
// fewer, the others are padding.
func (e *Engine) ConvPoolChannels(left int) int {
	if n := e.kern.convFewer; left <= n || left == 2*n { // of 3 and 2: as few calls as can be, unpadded
		return n
	}
	return e.kern.convChannels
}

// ConvPool convolves and pools a block of pixels of a group of images. It is one call, which cannot be preempted.
func (w *Worker) ConvPool(a *ConvPool) {
	kern, images, channels := w.e.kern, w.e.kern.convImages, a.Channels
	if channels != kern.convChannels && channels != kern.convFewer ||
		min(channels, a.N, a.Rows, len(a.Taps.list)) < 1 || min(a.Row, a.First, a.Pixels, a.Cols) < 0 ||
		a.Row > len(a.X) || max(a.N, a.First, a.Pixels) > len(a.Y) ||
		a.Rows > 1 && (a.Cols < a.N || a.Rows-1 > len(a.Y)/a.Cols || a.Row > 0 && a.Rows-1 > len(a.X)/a.Row) ||
		(a.Rows-1)*a.Cols+a.N > a.Pixels {
		panic(fmt.Sprintf("engine: Worker.ConvPool: %d x %d pixels from %d on of %d, %d from row to row, %d taps, "+
			"rows of %d, %d channels", a.Rows, a.N, a.First, a.Pixels, a.Cols, len(a.Taps.list)/2, a.Row, channels))
	}
	last := a.First + (channels-1)*a.Pixels + (a.Rows-1)*a.Cols + a.N
	need("ConvPool", "X", len(a.X), a.Taps.at+(2*a.Rows-1)*a.Row+2*a.N*images)
	need("ConvPool", "Weights", len(a.Weights), a.Taps.weight+channels)
	need("ConvPool", "Bias", len(a.Bias), channels)
	need("ConvPool", "Y", len(a.Y), last*images)
	if len(a.Numbers) > 0 {
		need("ConvPool", "Numbers", len(a.Numbers), (last+3)/4*images)
	} else {
		need("ConvPool", "Bad", len(a.Bad), channels*images)
		a.Numbers = nil // what the assembly looks at
	}
	kern.table.convPool(onStack(a))
	w.e.yield(&w.e.scratch[w.index], 4*images*channels*a.Rows*a.N*len(a.Taps.list))
}

// BytesOf returns the bytes of numbers that stand for four bytes each, such as those of ConvPool.
func BytesOf(x []float32) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x))), 4*len(x))
}
