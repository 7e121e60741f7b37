package engine

import (
	"fmt"
	"math"
)

const (
	rowBlock = 64 // about the least number of rows, or columns, of a task
	rowUnit  = 16 // tasks have multiples of it
)

type rowwiseOp int

const (
	opRowDots rowwiseOp = iota
	opSquaredDistances
	opWeightedSquares
	opLayerNorm
	opLayerNormBackward
	opColumnSums
	opAddColumns
)

// rowwiseJob runs a kernel over blocks of rows, or over blocks of columns (opColumnSums, opAddColumns).
type rowwiseJob struct {
	e     *Engine
	op    rowwiseOp
	dst   Matrix
	out   []float32
	sum   []float64
	x, y  Matrix
	w     []float32
	eps   float32
	acc   bool
	n     int // rows, or columns
	tasks int
}

// eachRow runs the job over n rows or columns. Rows of x, and of y if there is one, that are not contiguous are copied.
func (e *Engine) eachRow(j rowwiseJob, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	j.x, j.y = e.dense(slotDense, j.x), e.dense(slotResult, j.y)
	e.eachRowLocked(&j, n)
}

// eachRowLocked is eachRow for the holder of the lock, with contiguous rows.
func (e *Engine) eachRowLocked(j *rowwiseJob, n int) {
	if n == 0 {
		return
	}
	elements := float64(j.x.Rows) * float64(j.x.Cols)
	if j.op == opSquaredDistances {
		elements *= float64(j.y.Rows) / 4
	}
	cost := ElementFlops(int(elements))
	j.e, j.n = e, n
	j.tasks = e.TasksFor((n+rowBlock-1)/rowBlock, cost)
	e.rowwise = *j
	e.run(&e.rowwise, j.tasks, cost)
	e.rowwise = rowwiseJob{}
}

// part returns the rows, or columns, of a task.
func (j *rowwiseJob) part(task int) (begin, end int) {
	lo, hi := Part((j.n+rowUnit-1)/rowUnit, j.tasks, task)
	return lo * rowUnit, min(hi*rowUnit, j.n)
}

func (j *rowwiseJob) run(worker, task int) {
	begin, end := j.part(task)
	atOnce := rowBlock
	if j.op != opColumnSums && j.op != opAddColumns {
		atOnce = max(1, min(rowBlock, piece/max(j.x.Cols, 1))) // so that no call is long
	}
	for r0 := begin; r0 < end; r0 += atOnce {
		r1 := min(r0+atOnce, end)
		switch j.op {
		case opRowDots:
			x, y := j.x.SliceRows(r0, r1), j.y.SliceRows(r0, r1)
			j.e.kern.dotRows(j.out[r0:r1], x.Data, x.RS, y.Data, y.RS, x.Cols)
		case opSquaredDistances:
			j.distances(worker, r0, r1)
		case opWeightedSquares:
			x := j.x.SliceRows(r0, r1)
			j.e.kern.quadRows(j.out[r0:r1], x.Data, x.RS, j.y.Data, j.w)
		case opLayerNorm:
			j.normalise(r0, r1)
		case opLayerNormBackward:
			j.normaliseBackward(r0, r1)
		case opColumnSums:
			j.columnSums(j.e.scratch[worker].sums[:r1-r0], r0, r1)
		case opAddColumns:
			j.e.kern.addAllRows(j.sum[r0:r1], j.x.Slice(0, j.x.Rows, r0, r1))
		}
	}
}

// columnSums sets the sums of the columns [c0, c1). sum is memory for them.
func (j *rowwiseJob) columnSums(sum []float64, c0, c1 int) {
	dst := j.out[c0:c1]
	clear(sum)
	if j.acc {
		for i, v := range dst {
			sum[i] = float64(v)
		}
	}
	j.e.kern.addAllRows(sum, j.x.Slice(0, j.x.Rows, c0, c1))
	for i, v := range sum {
		dst[i] = float32(v)
	}
}

// addAllRows adds the rows of x, contiguous each, to sum, several at a time so that no call is long.
func (kern *kernels) addAllRows(sum []float64, x Matrix) {
	if len(sum) == 0 {
		return
	}
	step := min(max(1, piece/2/len(sum)), len(firstRows))
	for lo := 0; lo < x.Rows; lo += step {
		kern.addFirstRows(sum, x.Data[lo*x.RS:], x.RS, min(step, x.Rows-lo))
	}
}

// RowDots sets dst[i] to the dot product of rows i of x and y (both n x d), each in float32: in sixteen
// lanes, chains of fused multiply-adds.
func (e *Engine) RowDots(dst []float32, x, y Matrix) {
	y.shape("RowDots", "y", x.Rows, x.Cols)
	x.check("RowDots", "x")
	length("RowDots", "dst", len(dst), x.Rows)
	disjoint("RowDots", "dst", View(dst, len(dst), 1), "x", x)
	disjoint("RowDots", "dst", View(dst, len(dst), 1), "y", y)
	e.eachRow(rowwiseJob{op: opRowDots, out: dst, x: x, y: y}, x.Rows)
}

// ColumnSums sets dst[j] to the sum of column j of x: a chain of float64 additions in increasing row,
// rounded to float32 at its end. With acc the chain starts from the old value. See the package
// documentation for the error.
func (e *Engine) ColumnSums(dst []float32, x Matrix, acc bool) {
	x.check("ColumnSums", "x")
	length("ColumnSums", "dst", len(dst), x.Cols)
	disjoint("ColumnSums", "dst", View(dst, len(dst), 1), "x", x)
	e.eachRow(rowwiseJob{op: opColumnSums, out: dst, x: x, acc: acc}, x.Cols)
}

// AddColumns adds the elements of column j of x to sum[j], one by one in increasing row: ColumnSums without
// the roundings to float32.
func (e *Engine) AddColumns(sum []float64, x Matrix) {
	x.check("AddColumns", "x")
	length("AddColumns", "sum", len(sum), x.Cols)
	e.eachRow(rowwiseJob{op: opAddColumns, sum: sum, x: x}, x.Cols)
}

// SquaredDistances sets dst (n x k) to the squared Euclidean distances between the rows of x (n x d)
// and of centres (k x d). Each is the sum of (x-c)^2 in float32 lanes, as in RowDots, so it is exactly 0
// for equal rows.
func (e *Engine) SquaredDistances(dst, x, centres Matrix) {
	dst.shape("SquaredDistances", "dst", x.Rows, centres.Rows)
	x.check("SquaredDistances", "x")
	centres.shape("SquaredDistances", "centres", centres.Rows, x.Cols)
	disjoint("SquaredDistances", "dst", dst, "x", x)
	disjoint("SquaredDistances", "dst", dst, "centres", centres)
	e.eachRow(rowwiseJob{op: opSquaredDistances, dst: dst, x: x, y: centres}, x.Rows)
}

func (j *rowwiseJob) distances(worker, r0, r1 int) {
	x := j.x.SliceRows(r0, r1)
	d := j.e.scratch[worker].floats(slotS, r1-r0)
	for c := range j.y.Rows {
		j.e.kern.sqdistRows(d, x.Data, x.RS, j.y.Row(c))
		for i, v := range d {
			j.dst.Set(r0+i, c, v)
		}
	}
}

// WeightedSquares sets dst[i] to the sum over j of w[j]*(x[i, j] - y[j])^2, in float32 lanes as in RowDots.
// x is n x d.
func (e *Engine) WeightedSquares(dst []float32, x Matrix, y, w []float32) {
	x.check("WeightedSquares", "x")
	length("WeightedSquares", "dst", len(dst), x.Rows)
	length("WeightedSquares", "y", len(y), x.Cols)
	length("WeightedSquares", "w", len(w), x.Cols)
	disjoint("WeightedSquares", "dst", View(dst, len(dst), 1), "x", x)
	apart("WeightedSquares", "dst", dst, "y", y)
	apart("WeightedSquares", "dst", dst, "w", w)
	e.eachRow(rowwiseJob{op: opWeightedSquares, out: dst, x: x, y: View(y, 1, len(y)), w: w}, x.Rows)
}

// ArgMin sets dst[i] to the column of the smallest element of row i of x, the lower one among equals.
// NaN is ignored.
func (e *Engine) ArgMin(dst []int32, x Matrix) { argMost("ArgMin", dst, x, -1) }

// ArgMax sets dst[i] to the column of the largest element of row i of x, the lower one among equals.
// NaN is ignored.
func (e *Engine) ArgMax(dst []int32, x Matrix) { argMost("ArgMax", dst, x, 1) }

// argMost sets dst[i] to the column of the largest sign*x[i, j].
func argMost(call string, dst []int32, x Matrix, sign float32) {
	x.check(call, "x")
	length(call, "dst", len(dst), x.Rows)
	if x.Cols == 0 && x.Rows > 0 {
		panic("engine: " + call + ": x has rows but no columns")
	}
	for i := range dst {
		best := int64(math.MinInt64)
		for j := range x.Cols {
			best = max(best, ranked(sign*x.At(i, j), j))
		}
		dst[i] = int32(^best)
	}
}

// ranked returns an integer that grows with v and, for equal v, falls with j; NaN comes below all numbers. Its last 32
// bits are ^j. The largest integer of a row is found without branches, which no processor could predict.
func ranked(v float32, j int) int64 {
	const infinity = 0x7F800000
	bits := int64(int32(math.Float32bits(v)))
	sign, size := bits>>63, bits&math.MaxInt32
	order := (size ^ sign) - sign // the same for -0 and +0
	isNaN := (infinity - size) >> 63
	return (order&^isNaN|isNaN<<31)<<32 | int64(^uint32(j))
}

// LayerNorm normalises each row of x (n x d) to mean 0 and variance 1, without scale and shift:
// y = (x - mean) * rstd with rstd = 1/sqrt(variance + eps). It writes rstd (n), too. y may be x.
//
// All of it is float64, with sums in lanes as in Dot, and rounded to float32 at the end: y is within
// 2^-23 |y| + d 2^-52 max|x| rstd of the exact value (2e-8 for 784 numbers of 1e5 + N(0, 1)), and exactly
// 0 where all elements of a row of up to 2^29 are equal, because their sum is exact. Nothing overflows:
// squares of float32 are below 2^256.
func (e *Engine) LayerNorm(y Matrix, rstd []float32, x Matrix, eps float32) {
	y.shape("LayerNorm", "y", x.Rows, x.Cols)
	x.check("LayerNorm", "x")
	length("LayerNorm", "rstd", len(rstd), x.Rows)
	sameOrDisjoint("LayerNorm", "y", y, "x", x)
	disjoint("LayerNorm", "rstd", View(rstd, len(rstd), 1), "x", x)
	disjoint("LayerNorm", "rstd", View(rstd, len(rstd), 1), "y", y)
	e.mu.Lock()
	defer e.mu.Unlock()
	x = e.dense(slotDense, x)
	out := e.denseTarget(y)
	e.eachRowLocked(&rowwiseJob{op: opLayerNorm, dst: out, out: rstd, x: x, eps: eps}, x.Rows)
	if y.CS != 1 {
		CopyMatrix(y, out)
	}
}

func (j *rowwiseJob) normalise(r0, r1 int) {
	kern := j.e.kern
	d := float64(j.x.Cols)
	for i := r0; i < r1; i++ {
		x := j.x.Row(i)
		mean := kern.sum(x) / d
		rstd := 1 / math.Sqrt(kern.squares(x, mean)/d+float64(j.eps))
		j.out[i] = float32(rstd)
		kern.normalise(j.dst.Row(i), x, mean, rstd)
	}
}

// LayerNormBackward sets dx = rstd * (dy - mean(dy) - y * mean(dy*y)), where y and rstd are the
// results of LayerNorm and dy is the gradient of y. dx, y and dy are n x d; dx may be dy. The means and the
// differences are float64, the products dy*y exact, and only the end is rounded to float32.
func (e *Engine) LayerNormBackward(dx, y Matrix, rstd []float32, dy Matrix) {
	dx.shape("LayerNormBackward", "dx", y.Rows, y.Cols)
	dy.shape("LayerNormBackward", "dy", y.Rows, y.Cols)
	y.check("LayerNormBackward", "y")
	length("LayerNormBackward", "rstd", len(rstd), y.Rows)
	disjoint("LayerNormBackward", "dx", dx, "y", y)
	sameOrDisjoint("LayerNormBackward", "dx", dx, "dy", dy)
	disjoint("LayerNormBackward", "dx", dx, "rstd", View(rstd, len(rstd), 1))
	for i, m := range [...]Matrix{dx, y, dy} {
		if m.CS != 1 && m.Cols > 1 {
			name := [...]string{"dx", "y", "dy"}[i]
			panic(fmt.Sprintf("engine: LayerNormBackward: %s has column stride %d, expected 1", name, m.CS))
		}
	}
	e.eachRow(rowwiseJob{op: opLayerNormBackward, dst: dx, out: rstd, x: y, y: dy}, y.Rows)
}

func (j *rowwiseJob) normaliseBackward(r0, r1 int) {
	kern := j.e.kern
	d := float64(j.x.Cols)
	for i := r0; i < r1; i++ {
		y, dy := j.x.Row(i), j.y.Row(i)
		kern.normBackward(j.dst.Row(i), y, dy, kern.sum(dy)/d, kern.dot(dy, y)/d, float64(j.out[i]))
	}
}

// dense returns m, or a copy of it whose rows are contiguous.
func (e *Engine) dense(s slot, m Matrix) Matrix {
	if m.CS == 1 {
		return m
	}
	c := View(e.scratch[0].floats(s, m.Rows*m.Cols), m.Rows, m.Cols)
	CopyMatrix(c, m)
	return c
}

// denseTarget returns m, or a matrix of its shape whose rows are contiguous.
func (e *Engine) denseTarget(m Matrix) Matrix {
	if m.CS == 1 {
		return m
	}
	return View(e.scratch[0].floats(slotResult, m.Rows*m.Cols), m.Rows, m.Cols)
}
