package layer

import (
	"math"
	"slices"

	"dpnbench/engine"
	"dpnbench/internal/linalg"
)

// groupPool convolves and pools groups of images at once, in the lanes of vectors: engine.ConvPool. Where there are
// fewer images than lanes of all threads, it cuts them into tiles, images of fewer rows.
type groupPool struct {
	*window
	out int

	images, channels int       // at once, at most; the rest is made for these sizes
	starts           []int     // the first output channels of calls, and behind them the end of the last, with padding
	weights, bias    []float32 // of each call, tap by tap
	whole            *poolPlan
	tiles            map[int]*poolPlan // by their pooled rows

	// Of the running pass.
	plan  *poolPlan
	x, y  engine.Matrix
	which []float32

	share func(t *engine.Worker, lo, hi int) // stored because each call would allocate it
}

// poolPlan says where the pixels of a group of images lie, and what is multiplied with what. The images have a pixel
// side by side, one in each lane. Around a channel there is a border of zeros, one pixel wide if there is padding: taps
// further out multiply only padding in all of 2 x 2 pixels, and are left out.
type poolPlan struct {
	window
	tiles             int // of an image, or 0 if it is not cut
	row, plane, first int // floats from row to row and from channel to channel, and where the first pixel lies
	blocks            []pixelBlock
}

// pixelBlock is a block of rows x cols pooled pixels whose kernels reach equally far beyond the image.
type pixelBlock struct {
	x, first, rows, cols int      // x is where their first tap lies, first the number of the first pixel
	reach                [2]reach // in rows and columns
	taps                 engine.Taps
}

func newGroupPool(w *window, out int) *groupPool {
	g := &groupPool{window: w, out: out}
	g.share = g.groups
	return g
}

// pooled returns the pooled rows and columns of a channel.
func (w *window) pooled() (rows, cols int) { return w.outRows() / 2, w.outCols() / 2 }

// mostGroup is how many floats of a group a thread may have in memory.
const mostGroup = 4 << 20

// setWeights copies weights and bias for the tier of e. It returns false if images are to be convolved one by one: in
// tiers where that is faster, and where a group takes too much memory.
func (g *groupPool) setWeights(e *engine.Engine, weights, bias []float32) bool {
	images, n, fast := e.ConvPoolSizes()
	rows, cols := g.pooled()
	pixels := 2*g.window.channels*(g.rows+2*g.padding)*(g.cols+2*g.padding) + (g.out+n)*rows*cols
	if !fast || pixels > mostGroup/images {
		return false
	}
	taps := g.taps()
	if g.images != images || g.channels != n {
		g.images, g.channels, g.starts = images, n, []int{0}
		c := 0
		for c < g.out {
			c += e.ConvPoolChannels(g.out - c)
			g.starts = append(g.starts, c)
		}
		g.bias = make([]float32, c)
		g.weights = make([]float32, (len(g.starts)-1)*n*taps)
		g.whole, g.tiles = g.newPlan(e, *g.window), map[int]*poolPlan{}
	}
	copy(g.bias, bias)
	for k, first := range g.starts[:len(g.starts)-1] {
		for c := first; c < min(g.starts[k+1], g.out); c++ {
			to := g.weights[k*n*taps+c-first:]
			for t, v := range weights[c*taps : (c+1)*taps] {
				to[t*n] = v
			}
		}
	}
	return true
}

// newPlan makes the plan for images of a window.
func (g *groupPool) newPlan(e *engine.Engine, w window) *poolPlan {
	border := min(w.padding, 1)
	p := &poolPlan{window: w, row: (w.cols + 2*border) * g.images}
	p.plane = engine.PaddedLD((w.rows + 2*border) * p.row)
	p.first = border * (p.row + g.images)
	most := e.CallBudget(8 * g.images * g.channels * w.taps())
	rows, cols := w.pooled()
	across := w.strips(cols, w.cols, most)
	for _, r := range w.strips(rows, w.rows, max(1, most/cols)) {
		for _, c := range across {
			p.blocks = append(p.blocks, pixelBlock{
				x:     p.first + (2*r.first+r.lo-w.padding)*p.row + (2*c.first+c.lo-w.padding)*g.images,
				first: r.first*cols + c.first, rows: r.n, cols: c.n,
				reach: [2]reach{r.reach, c.reach}, taps: g.tapsOf(p, r.reach, c.reach),
			})
		}
	}
	return p
}

// strip is n pooled rows or columns from first on, whose kernels have the same reach.
type strip struct {
	first, n int
	reach
}

// reach is the rows or columns [lo, hi) of a kernel that reach the image or its border of one pixel.
type reach struct{ lo, hi int }

// strips divides n pooled rows or columns, of an image of size rows or columns, into strips no wider than limit.
func (w *window) strips(n, size, limit int) (all []strip) {
	for i := range n {
		r := reach{max(0, w.padding-1-2*i), min(w.kernel, size+w.padding-2*i)}
		if last := len(all) - 1; last >= 0 && all[last].reach == r && all[last].n < limit {
			all[last].n++
		} else {
			all = append(all, strip{i, 1, r})
		}
	}
	return all
}

// tapsOf lists the taps in some rows and columns of a kernel. Blocks with the same ones share the list.
func (g *groupPool) tapsOf(p *poolPlan, rows, cols reach) (taps engine.Taps) {
	for _, b := range p.blocks {
		if b.reach == [2]reach{rows, cols} {
			return b.taps
		}
	}
	for k := range p.taps() {
		c, u, v := k/p.kernel/p.kernel, k/p.kernel%p.kernel, k%p.kernel
		if u >= rows.lo && u < rows.hi && v >= cols.lo && v < cols.hi {
			taps.Add(c*p.plane+(u-rows.lo)*p.row+(v-cols.lo)*g.images, k*g.channels)
		}
	}
	return taps
}

// run convolves and pools images, the rows of x, to the rows of y. Unless which is empty, it gets the numbers of their
// pixels, words of bytes for each image. If it is, channels with an infinite or NaN pixel become NaN.
func (g *groupPool) run(e *engine.Engine, y engine.Matrix, which []float32, x engine.Matrix) {
	// Infinite weights give NaN where they multiply padding, of which only tiles have all.
	whole, lanes := 0, g.images*e.Threads()
	if x.Rows >= lanes && linalg.IsFinite(e.SumSquares(g.weights)) {
		whole = x.Rows / g.images * g.images
	}
	g.pass(e, g.whole, y, which, x, 0, whole)
	for lo, n := whole, 0; lo < x.Rows; lo += n {
		n = x.Rows - lo
		tiles := max(1, lanes/n)
		if n < lanes && n*tiles < lanes*7/8 { // rather fewer images that fill the lanes, then the others
			n = lanes / (tiles + 1)
			tiles = lanes / n
		}
		g.pass(e, g.tiled(e, tiles), y, which, x, lo, lo+n)
	}
	if len(which) > 0 {
		return
	}
	rows, cols := g.pooled()
	for k := whole * g.out; k < x.Rows*g.out; k++ {
		channel := y.Row(k / g.out)[k%g.out*rows*cols:][:rows*cols]
		if slices.ContainsFunc(channel, func(v float32) bool { return v != v }) {
			fillNaN(channel) // of other tiles, too
		}
	}
}

// tiled returns the plan for up to so many tiles of an image, of equally many rows; the last two may share some.
func (g *groupPool) tiled(e *engine.Engine, tiles int) *poolPlan {
	rows, _ := g.pooled()
	h := (rows + tiles - 1) / tiles
	p := g.tiles[h]
	if p == nil {
		p = g.newPlan(e, window{channels: g.window.channels, rows: 2*h + g.kernel - 1, cols: g.cols + 2*g.padding,
			kernel: g.kernel})
		p.tiles = (rows + h - 1) / h
		g.tiles[h] = p
	}
	return p
}

// pass shares images [lo, hi) among the threads.
func (g *groupPool) pass(e *engine.Engine, p *poolPlan, y engine.Matrix, which []float32, x engine.Matrix, lo, hi int) {
	g.plan, g.x, g.y, g.which = p, x.SliceRows(lo, hi), y.SliceRows(lo, hi), wordRows(which, y.Cols, lo, hi)
	flops, elements := g.cost(hi-lo, g.out)
	e.Parallel(((hi-lo)*max(p.tiles, 1)+g.images-1)/g.images, flops, elements, g.share)
	g.plan, g.x, g.y, g.which = nil, engine.Matrix{}, engine.Matrix{}, nil
}

// groups convolves and pools groups [lo, hi) of images or tiles.
func (g *groupPool) groups(t *engine.Worker, lo, hi int) {
	p := g.plan
	rows, cols := p.pooled()
	in, out, channels := p.window.channels*p.rows*p.cols, g.out*rows*cols, len(g.bias)
	tiles := g.images * min(p.tiles, 1) // of a group
	memory := t.Floats(p.window.channels*p.plane + g.images*(in+channels*(rows*cols+1)+words(channels*rows*cols)) +
		tiles*(in+out+words(out)))
	take := func(n int) []float32 {
		part := memory[:n]
		memory = memory[n:]
		return part
	}
	s := poolScratch{
		framed: take(p.window.channels * p.plane), flat: take(g.images * in), bad: take(g.images * channels),
		pooled: take(g.images * channels * rows * cols), numbers: take(g.images * words(channels*rows*cols)),
	}
	clear(s.framed)
	// Tiles, and what becomes of them.
	x, y := engine.View(take(tiles*in), tiles, in), engine.View(take(tiles*out), tiles, out)
	which := take(tiles * words(out))
	if len(g.which) == 0 {
		which = nil
	}
	for lo, hi := lo*g.images, min(hi*g.images, g.x.Rows*max(p.tiles, 1)); lo < hi; lo += g.images {
		if p.tiles == 0 {
			end := lo + g.images
			g.pool(t, &s, g.y.SliceRows(lo, end), wordRows(g.which, out, lo, end), g.x.SliceRows(lo, end))
			continue
		}
		n := min(g.images, hi-lo) // tiles; the other rows are old
		for i := range n {
			g.cut(x.Row(i), lo+i)
		}
		g.pool(t, &s, y, which, x)
		for i := range n {
			g.paste(y.Row(i), wordRows(which, out, i, i+1), lo+i)
		}
	}
}

// poolScratch is memory for a group: pixels of all images beside each other, with their border and without it, and
// what engine.ConvPool makes of them.
type poolScratch struct{ framed, flat, pooled, numbers, bad []float32 }

// pool convolves and pools a group of images, the rows of x.
func (g *groupPool) pool(t *engine.Worker, s *poolScratch, y engine.Matrix, which []float32, x engine.Matrix) {
	p, n := g.plan, g.images
	rows, cols := p.pooled()
	t.Transpose(engine.View(s.flat, x.Cols, n), x)
	for r, w := 0, p.cols*n; r < p.window.channels*p.rows; r++ {
		copy(s.framed[r/p.rows*p.plane+r%p.rows*p.row+p.first:], s.flat[r*w:(r+1)*w])
	}
	clear(s.numbers)
	clear(s.bad)
	a := engine.ConvPool{Y: s.pooled, Row: p.row, Cols: cols, Pixels: rows * cols}
	if len(which) > 0 {
		a.Numbers = s.numbers
	}
	for _, b := range p.blocks {
		a.X, a.Taps, a.Rows, a.N = s.framed[b.x:], b.taps, b.rows, b.cols
		for k, c := range g.starts[:len(g.starts)-1] {
			a.Weights, a.Bias, a.Bad = g.weights[k*g.channels*g.taps():], g.bias[c:], s.bad[c*n:]
			a.First, a.Channels = c*a.Pixels+b.first, g.starts[k+1]-c
			t.ConvPool(&a)
		}
	}
	t.Transpose(y, engine.View(s.pooled, y.Cols, n))
	if w := words(y.Cols); len(which) > 0 {
		t.Transpose(engine.View(which, n, w), engine.View(s.numbers, w, n))
		return
	}
	for k, v := range s.bad[:g.out*n] {
		if i, c := k%n, k/n; !linalg.IsFinite(v) {
			fillNaN(y.Row(i)[c*a.Pixels : (c+1)*a.Pixels])
		}
	}
}

// tile returns the image of one of all tiles, its first pooled row and how many it has.
func (g *groupPool) tile(i int) (image, first, h int) {
	rows, _ := g.pooled()
	h, _ = g.plan.pooled()
	return i / g.plan.tiles, min(i%g.plan.tiles*h, rows-h), h
}

// cut copies a tile with its padding.
func (g *groupPool) cut(to []float32, tile int) {
	p := g.plan
	i, first, _ := g.tile(tile)
	image := g.x.Row(i)
	clear(to)
	for k := range g.window.channels * p.rows {
		if r := 2*first - g.padding + k%p.rows; r >= 0 && r < g.rows {
			copy(to[k*p.cols+g.padding:], image[(k/p.rows*g.rows+r)*g.cols:][:g.cols])
		}
	}
}

// paste copies what became of a tile to the image, without the rows that the tile before has, too.
func (g *groupPool) paste(y, which []float32, tile int) {
	image, first, h := g.tile(tile)
	rows, cols := g.pooled()
	own := tile % g.plan.tiles * h
	for o := range g.out {
		at, from, to := (o*rows+own)*cols, (o*h+own-first)*cols, (o+1)*h*cols
		copy(g.y.Row(image)[at:], y[from:to])
		if len(which) > 0 {
			copy(engine.BytesOf(wordRows(g.which, g.y.Cols, image, image+1))[at:], engine.BytesOf(which)[from:to])
		}
	}
}

// words returns how many words of four bytes hold n bytes.
func words(n int) int { return (n + 3) / 4 }

// wordRows returns the words of rows [lo, hi) of n bytes each, or nothing if there are none.
func wordRows(all []float32, n, lo, hi int) []float32 {
	if len(all) == 0 {
		return nil
	}
	return all[lo*words(n) : hi*words(n)]
}

// fillNaN sets x to NaN.
func fillNaN(x []float32) {
	for i := range x {
		x[i] = float32(math.NaN())
	}
}
