package engine

import (
	"cmp"

	"dpnbench/engine/num"
)

// chunk is the number of elements of one kernel call, a multiple of the 16 lanes: so many that a call takes no time
// beside its work, and so few that threads share also the parameters of a small layer evenly.
const chunk = 4 << 10

// squaresChunk is that of SumSquares. Its results depend on it.
const squaresChunk = 16 << 10

// ElementFlops is the rough cost of an elementwise kernel, in flop of products that take as long: 16
// per element, or 64 if the elements do not fit into the second-level cache.
func ElementFlops(n int) float64 {
	const fit = 128 << 10
	if n <= fit {
		return 16 * float64(n)
	}
	return 64 * float64(n)
}

type vectorOp int

const (
	opMultiply vectorOp = iota
	opAxpy
	opScale
	opReLUBackward
	opExp
	opLog
	opDecay
	opAdam
	opPartialSquares
)

// vectorJob runs an elementwise kernel, chunk by chunk.
type vectorJob struct {
	op         vectorOp
	kern       *kernels
	dst        []float32
	x, y, v    []float32
	parts      []float64 // a sum a chunk
	a          float32
	co         *AdamCoefficients
	chunk      int // 0: the usual one
	tasks, all int
}

func (j *vectorJob) run(_, task int) {
	lo, hi := Part((j.all+j.chunk-1)/j.chunk, j.tasks, task)
	for c := lo; c < hi; c++ {
		a, b := c*j.chunk, min((c+1)*j.chunk, j.all)
		switch j.op {
		case opMultiply:
			j.kern.multiply(j.dst[a:b], j.x[a:b], j.y[a:b])
		case opAxpy:
			j.kern.axpy(j.dst[a:b], j.a, j.x[a:b], j.y[a:b])
		case opScale:
			j.kern.scale(j.dst[a:b], j.a, j.x[a:b])
		case opReLUBackward:
			j.kern.reluBackward(j.dst[a:b], j.x[a:b], j.y[a:b])
		case opExp:
			j.kern.exp(j.dst[a:b], j.x[a:b])
		case opLog:
			j.kern.log(j.dst[a:b], j.x[a:b])
		case opDecay:
			j.kern.decay(j.a, j.dst[a:b])
		case opAdam:
			j.adam(a, b)
		case opPartialSquares:
			j.parts[c] = j.kern.dot(j.x[a:b], j.x[a:b])
		}
	}
}

// adam is opAdam for the elements [a, b). Each cache line that it writes must first be taken from the threads that have
// read it. It asks for the next 2 KiB while it computes, so that the writes do not wait.
func (j *vectorJob) adam(a, b int) {
	ahead := b - a
	if j.tasks > 1 {
		ahead = 512
	}
	for ; a < b; a += ahead {
		next := min(a+ahead, b)
		PrefetchToWrite(j.dst[next:min(next+ahead, b)])
		j.kern.adam(j.dst[a:next], j.x[a:next], j.y[a:next], j.v[a:next], j.co)
	}
}

// each runs the job over n elements.
func (e *Engine) each(j vectorJob, n int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.eachLocked(&j, n)
}

// eachLocked is each for the holder of the lock.
func (e *Engine) eachLocked(j *vectorJob, n int) {
	if n == 0 {
		return
	}
	cost := j.divide(e, n)
	e.vector = *j
	e.run(&e.vector, j.tasks, cost)
	e.vector = vectorJob{}
}

// divide sets the tasks for n elements, and returns what they cost in flop of products.
func (j *vectorJob) divide(e *Engine, n int) float64 {
	cost := ElementFlops(n)
	if j.op == opAdam { // seven streams of memory, a square root and a division
		cost *= 4
	}
	j.kern, j.all, j.chunk = e.kern, n, cmp.Or(j.chunk, chunk)
	j.tasks = e.TasksFor((n+j.chunk-1)/j.chunk, cost)
	return cost
}

// Add sets dst[j] = x[j] + y[j].
func (e *Engine) Add(dst, x, y []float32) {
	elementwise("Add", "x", x, "dst", dst)
	elementwise("Add", "y", y, "dst", dst)
	e.each(vectorJob{op: opAxpy, dst: dst, a: 1, x: x, y: y}, len(dst))
}

// Multiply sets dst[j] = x[j] * y[j].
func (e *Engine) Multiply(dst, x, y []float32) {
	elementwise("Multiply", "x", x, "dst", dst)
	elementwise("Multiply", "y", y, "dst", dst)
	e.each(vectorJob{op: opMultiply, dst: dst, x: x, y: y}, len(dst))
}

// Axpy sets y[j] = fma(a, x[j], y[j]).
func (e *Engine) Axpy(a float32, x, y []float32) {
	elementwise("Axpy", "x", x, "y", y)
	e.each(vectorJob{op: opAxpy, dst: y, a: a, x: x, y: y}, len(y))
}

// Scale sets dst[j] = a * x[j].
func (e *Engine) Scale(dst []float32, a float32, x []float32) {
	elementwise("Scale", "x", x, "dst", dst)
	e.each(vectorJob{op: opScale, a: a, x: x, dst: dst}, len(dst))
}

// ReLU sets dst[j] = x[j] where x[j] > 0, and +0 elsewhere (also for NaN).
func (e *Engine) ReLU(dst, x []float32) {
	elementwise("ReLU", "x", x, "dst", dst)
	e.each(vectorJob{op: opReLUBackward, x: x, y: x, dst: dst}, len(dst))
}

// ReLUBackward sets dx[j] = dy[j] where y[j] > 0, and +0 elsewhere; y is the output (or
// the input) of ReLU.
func (e *Engine) ReLUBackward(dx, y, dy []float32) {
	elementwise("ReLUBackward", "y", y, "dx", dx)
	elementwise("ReLUBackward", "dy", dy, "dx", dx)
	e.each(vectorJob{op: opReLUBackward, x: y, y: dy, dst: dx}, len(dx))
}

// Normal is r.Normal(dst), on one thread: it fills dst with the next normal numbers of r.
func (e *Engine) Normal(dst []float32, r *num.Rand) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.kern.normal(dst, r)
}

// Exp sets dst[j] = num.Exp32(x[j]).
func (e *Engine) Exp(dst, x []float32) {
	elementwise("Exp", "x", x, "dst", dst)
	e.each(vectorJob{op: opExp, x: x, dst: dst}, len(dst))
}

// Log sets dst[j] = num.Log32(x[j]).
func (e *Engine) Log(dst, x []float32) {
	elementwise("Log", "x", x, "dst", dst)
	e.each(vectorJob{op: opLog, x: x, dst: dst}, len(dst))
}

// piece is the number of elements that Dot and Sum reduce in one call, which takes less than 100
// microseconds.
const piece = 1 << 17

// Dot returns the sum of x[j]*y[j]. The products are exact in float64 and are added in float64, in sixteen
// lanes: lane j mod 16 is a chain that includes element j, and the lanes are added 8 apart, then 4, 2, 1.
// The sums of pieces of 2^17 elements are added in order, and the end is rounded to float32. See the
// package documentation for the error.
func (e *Engine) Dot(x, y []float32) float32 {
	length("Dot", "y", len(y), len(x))
	e.mu.Lock()
	defer e.mu.Unlock()
	return float32(e.kern.longDot(x, y))
}

// longDot adds x[j]*y[j] in pieces.
func (kern *kernels) longDot(x, y []float32) (sum float64) {
	for a := 0; a < len(x); a += piece {
		b := min(a+piece, len(x))
		sum += kern.dot(x[a:b], y[a:b])
	}
	return sum
}

// longSum adds x[j] in pieces.
func (kern *kernels) longSum(x []float32) (sum float64) {
	for a := 0; a < len(x); a += piece {
		sum += kern.sum(x[a:min(a+piece, len(x))])
	}
	return sum
}

// Sum returns the sum of x, added in float64 in lanes and pieces as in Dot, and rounded to float32.
func (e *Engine) Sum(x []float32) float32 {
	e.mu.Lock()
	defer e.mu.Unlock()
	return float32(e.kern.longSum(x))
}

// SumSquares returns the sum of x[j]^2 in float64: the squares are exact, chunks of 16,384 elements are
// added in lanes as in Dot, and their sums in order. It is not finite if and only if an element is not.
func (e *Engine) SumSquares(x []float32) float64 {
	e.mu.Lock()
	defer e.mu.Unlock()
	parts := Grow(&e.parts, (len(x)+squaresChunk-1)/squaresChunk)
	e.eachLocked(&vectorJob{op: opPartialSquares, chunk: squaresChunk, x: x, parts: parts}, len(x))
	var s float64
	for _, v := range parts {
		s += v
	}
	return s
}
