package engine

import "dpnbench/engine/num"

// The operations of a Worker that package dpnbench/engine/ascent is built of: kernels on one thread,
// behind checks of every length. Rows of a Matrix must be contiguous (CS 1).

// Add sets dst[j] = x[j] + y[j].
func (w *Worker) Add(dst, x, y []float32) { w.e.kern.axpy(dst, 1, x, y) }

// Multiply sets dst[j] = x[j] * y[j].
func (w *Worker) Multiply(dst, x, y []float32) { w.e.kern.multiply(dst, x, y) }

// Normal is r.Normal(dst): it fills dst with the next normal numbers of r.
func (w *Worker) Normal(dst []float32, r *num.Rand) { w.e.kern.normal(dst, r) }

// Sum is Engine.Sum on this thread alone.
func (w *Worker) Sum(x []float32) float32 { return float32(w.Sum64(x)) }

// Sum64 is Sum before it is rounded to float32.
func (w *Worker) Sum64(x []float32) float64 { return w.e.kern.longSum(x) }

// AddRowsOf adds the listed rows of x to sum, one after the other, in float64.
func (w *Worker) AddRowsOf(sum []float64, x Matrix, rows []int32) {
	x.check("Worker.AddRowsOf", "x")
	length("Worker.AddRowsOf", "sum", len(sum), x.Cols)
	if len(sum) == 0 {
		return
	}
	step := 1024
	if len(sum) > 64 {
		step = 1 // pieces of many rows, far apart, would be slow to read
	}
	for len(rows) > 0 {
		n := min(step, len(rows))
		w.e.kern.addRows(sum, x.Data, x.RS, rows[:n])
		rows = rows[n:]
	}
}

// Sub sets dst[j] = x[j] - y[j].
func (w *Worker) Sub(dst, x, y []float32) {
	w.e.kern.subRows(&subRowsArgs{dst: dst, x: x, y: y, rows: 1, n: len(dst)})
}

// SubRows sets the rows of dst to those of x less those of y, which may repeat a row (RS 0).
func (w *Worker) SubRows(dst, x, y Matrix) {
	if dst.Rows > 0 {
		w.e.kern.subRows(&subRowsArgs{
			dst: dst.Data, ds: dst.RS, x: x.Data, xs: x.RS, y: y.Data, ys: y.RS, rows: dst.Rows, n: dst.Cols,
		})
	}
}

// AxpyProducts adds alpha (g + s*x), element by element, to the rows of dst, which may be x. Rows of s are as far
// apart as those of g.
func (w *Worker) AxpyProducts(dst Matrix, alpha float32, g, s, x Matrix) {
	w.e.kern.axpyProducts(&axpyProductsArgs{
		dst: dst.Data, ds: dst.RS, alpha: alpha, g: g.Data, s: s.Data, gs: g.RS, x: x.Data, xs: x.RS,
		rows: dst.Rows, n: dst.Cols,
	})
}

// ShortDot returns the dot product of x and y in float32 and lanes, as RowDots does.
func (w *Worker) ShortDot(x, y []float32) float32 {
	one := w.e.scratch[w.index].one[:]
	w.e.kern.dotRows(one, x, 0, y, 0, len(x))
	return one[0]
}

// SquaredDistance returns the sum of (x[j]-y[j])^2 in lanes.
func (w *Worker) SquaredDistance(x, y []float32) float32 {
	one := w.e.scratch[w.index].one[:]
	w.e.kern.sqdistRows(one, x, 0, y)
	return one[0]
}

// RowDots sets dst[i] to the dot product of rows i of x and y, each in lanes. y may repeat a row.
func (w *Worker) RowDots(dst []float32, x, y Matrix) {
	w.e.kern.dotRows(dst, x.Data, x.RS, y.Data, y.RS, x.Cols)
}

// QuadRows sets dst[i] to the sum over j of weights[j] (x[i,j]-mu[j])^2, in lanes.
func (w *Worker) QuadRows(dst []float32, x Matrix, mu, weights []float32) {
	w.e.kern.quadRows(dst, x.Data, x.RS, mu, weights)
}

// MatMulPacked sets C = A B, or C += A B with acc. While it runs it prefetches prefetch, unless that is
// empty, instead of what follows in B.
func (w *Worker) MatMulPacked(c, a Matrix, b *Packed, acc bool, prefetch []float32) {
	w.e.multiply(w.index, c, a, &operand{packed: b, prefetch: prefetch}, acc)
}

// MatMulInPlace sets C = A B, or C += A B with acc, and reads B where it lies.
func (w *Worker) MatMulInPlace(c, a, b Matrix, acc bool) {
	w.e.multiply(w.index, c, a, &operand{direct: b}, acc)
}

// MatMulThin sets C = A B, or C += A B with acc, for a B of one column (CS 1), behind which another panel width of
// numbers can be read: the other columns of a panel are then what lies below, and are thrown away.
func (w *Worker) MatMulThin(c, a, b Matrix, acc bool) {
	e, arena, nb := w.e, &w.e.scratch[w.index], w.e.kern.blocks(a.Cols)
	for kb := range nb {
		k0, k1 := Part(a.Cols, nb, kb)
		left := e.prepareA(arena, a.Slice(0, a.Rows, k0, k1), 1)
		e.multiplyTile(arena, c, &left, panelB{data: b.Data[k0*b.RS:], rs: b.RS}, acc || kb > 0)
	}
}

// MatMulPanel sets c (rows x PanelCols) to the columns of panel p of A B, those of the padding
// included.
func (w *Worker) MatMulPanel(c []float32, a Matrix, b *Packed, p int) { w.e.panelProduct(c, a, b, p) }

// MatMulLeft sets the columns of the panels [p0, p1) of C = A B, or of C += A B with acc. B, at most
// InnerBlock rows, is read where it lies.
func (w *Worker) MatMulLeft(c Matrix, a *LeftBlock, b Matrix, p0, p1 int, acc bool) {
	q := product{e: w.e, arena: &w.e.scratch[w.index], c: c, acc: acc}
	q.block(&a.a, &operand{direct: b}, p0, p1)
}

// MatMulLeftPacked is MatMulLeft with a packed B.
func (w *Worker) MatMulLeftPacked(c Matrix, a *LeftBlock, b *Packed, p0, p1 int, acc bool) {
	q := product{e: w.e, arena: &w.e.scratch[w.index], c: c, acc: acc}
	q.block(&a.a, &operand{packed: b}, p0, p1)
}

// MatMulLeftWhole is MatMulLeftPacked with a B of any number of rows whose panels are stored whole
// (Packed.SetRows).
func (w *Worker) MatMulLeftWhole(c Matrix, a *LeftBlock, b *Packed, p0, p1 int, acc bool) {
	q := product{e: w.e, arena: &w.e.scratch[w.index], c: c, acc: acc}
	q.packed(&a.a, b, p0, p1)
}

// CopyRows sets the rows of dst, of at most 32 columns, to those of src: for such short rows Go's copy is several
// times slower. The payload of a NaN may change.
func (w *Worker) CopyRows(dst, src Matrix) {
	if dst.Rows > 0 {
		w.e.kern.copyRows(dst.Data, dst.RS, src.Data, src.RS, dst.Rows, dst.Cols)
	}
}
