package ascent

// Runs of steps with a single component: this file saves a quarter of a training step of preset `paper`.
//
// If one component has all the responsibility for a row from some step to the last, r_i = 1 and every other
// 0, the row follows D_{t+1} = D_t (I - alpha P_i), up to rounding, and nearly all rows in high dimension do.
// The gradient goes back through the same matrix, and t_i is 0. With n steps, P_i = Q diag(p) Q^T and z = alpha p,
//
//	D_t = D_0 (I - alpha P_i)^t            U_t = U_{n-1} (I - alpha P_i)^(n-1-t)
//	sum_t U_t^T D_t = Q ((Q^T U_{n-1}^T D_0 Q) * K) Q^T      K_ij = sum_t (1-z_i)^(n-1-t) (1-z_j)^t
//
// K is a smooth function of z_i and z_j: over [0, largestEigenvalue] its eigenvalues fall so quickly that seven of
// them leave nothing but rounding, for every row and every potential. So, with w_mt from the eigenvectors,
//
//	sum_t U_t^T D_t = sum_m s_m (sum_t w_mt U_t)^T (sum_t w_m(n-1-t) D_t)        s_m = 1 or -1
//
// is seven products of rows instead of thirty, and dA_i costs as much less (gradient.go). That alpha P_i stays below
// largestEigenvalue and that rounding is harmless is checked, not assumed (runJob): the D_t, and the U_t in reverse,
// must be combinations of the powers (1-z)^t, each up to combinationError of its length, and must not shrink so far
// that what is left out of K shows.

import (
	"math"
	"slices"
	"sync/atomic"

	"dpnbench/engine"
	"dpnbench/internal/linalg"
)

const (
	largestEigenvalue = 1.25      // of alpha P_i, for which combinations are made
	kernelError       = 0x1.4p-25 // the largest error of an element of K, divided by n
	combinationError  = 0x1p-19   // of |D_t|, of |U_t| and of sum_t |U_t| |D_t|: as much as in a chain of 32 roundings
	leastSquare       = 1e-25     // of D_t and U_t: the squares of what they may be off must not underflow

	leastRun       = 16 // steps from which combinations are made
	longestSegment = 64 // longer runs are cut: to check n steps takes n^2 d
)

// combinations says how the sum over the steps of a run follows from few products.
type combinations struct {
	products int
	u, d     []float32 // products x steps: weights of U_t, with -s_m, and of D_t
	rest     []float32 // steps x steps: projects onto what is no combination of the powers (1-z)^t
}

// combinationTable holds the combinations for each number of steps, once they were wanted.
var combinationTable [longestSegment + 1]atomic.Pointer[combinations]

// combinationsOf returns the combinations for a number of steps.
func combinationsOf(steps int) *combinations {
	p := combinationTable[steps].Load()
	if p == nil {
		p = newCombinations(steps)
		combinationTable[steps].Store(p)
	}
	return p
}

// newCombinations takes the powers (1-z)^t over a grid as the rows of a matrix F. The eigenvectors of F F^T are an
// orthonormal basis of their values, as far as float64 can tell (leastShare); in it K is a small symmetric matrix.
// All in operations that are rounded on their own: the weights have the same bits on every machine.
func newCombinations(steps int) *combinations {
	const (
		grid       = 128
		leastShare = 0x1p-48 // of the largest eigenvalue of F F^T
		leastPart  = 0x1p-22 // of that of K: the next eigenvalue is below kernelError
	)
	powers := make([][]float64, steps)
	for t := range powers {
		powers[t] = make([]float64, grid)
		for i := range grid {
			// Denser towards both ends, like the zeros of a Chebyshev polynomial.
			s := (float64(i) + 0.5) / grid
			z := float64(largestEigenvalue * float64(s*s) * (3 - 2*s))
			powers[t][i] = 1
			if t > 0 {
				powers[t][i] = float64(powers[t-1][i] * (1 - z))
			}
		}
	}
	gram := make([]float64, steps*steps)
	for i := range gram {
		gram[i] = linalg.Dot(powers[i/steps], powers[i%steps]) / grid
	}
	values, basis := eigenvectors(gram, steps)
	n := steps
	for values[n-1] <= leastShare*values[0] {
		n--
	}
	p := &combinations{rest: make([]float32, steps*steps)}
	for i := range p.rest {
		a, b := i/steps, i%steps
		var sum float64
		if a == b {
			sum = -1
		}
		for m := range n {
			sum += float64(basis[m*steps+a] * basis[m*steps+b])
		}
		p.rest[i] = float32(-sum)
	}
	scaled, reversed := make([][]float64, n), make([][]float64, n)
	for m := range n {
		scaled[m] = basis[m*steps : (m+1)*steps]
		linalg.Scale(math.Sqrt(values[m]), scaled[m])
		reversed[m] = slices.Clone(scaled[m])
		slices.Reverse(reversed[m])
	}
	kernel := make([]float64, n*n)
	for i := range kernel {
		kernel[i] = linalg.Dot(scaled[max(i/n, i%n)], reversed[min(i/n, i%n)])
	}
	values, vectors := eigenvectors(kernel, n)
	for m, v := range values {
		if math.Abs(v) <= leastPart*max(values[0], -values[n-1]) {
			continue
		}
		w := make([]float64, steps)
		for i, f := range vectors[m*n : (m+1)*n] {
			linalg.Axpy(f/math.Sqrt(math.Abs(v)), scaled[i], w)
		}
		sign := math.Copysign(1, v)
		for t := range steps {
			p.u = append(p.u, float32(-sign*w[t]))
			p.d = append(p.d, float32(w[steps-1-t]))
		}
		p.products++
	}
	return p
}

// eigenvectors returns the eigenvalues of a symmetric matrix, largest first, and the rows of its eigenvectors.
func eigenvectors(a []float64, n int) (values, vectors []float64) {
	values, vectors, err := linalg.Eigenvectors(a, n)
	if err != nil {
		panic(err) // cannot happen: the matrices are always the same
	}
	return values, vectors
}

// singleRun is the steps [from, to) of a row with a single component; steps from to on are taken one by one.
type singleRun struct{ component, from, to int32 }

// covers reports whether step t of component i belongs to the run.
func (r singleRun) covers(i, t int) bool {
	return int(r.component) == i && int(r.from) <= t && t < int(r.to)
}

// segments calls do for the segments of the run one after the other, while it returns true: of steps [a, a+n).
// It returns where the last of them ends.
func (r singleRun) segments(do func(a, n int) bool) int32 {
	a := int(r.from)
	for int(r.to)-a >= leastRun {
		n := min(int(r.to)-a, longestSegment)
		if !do(a, n) {
			break
		}
		a += n
	}
	return int32(a)
}

// findRuns sets the run of each row, by its responsibilities: of component -1 if it has none.
func (g *Gradient) findRuns(tr *Trajectory, wanted bool) {
	engine.Grow(&g.runs, tr.Rows)
	for b := range g.runs {
		g.runs[b] = singleRun{component: -1}
	}
	if !wanted || tr.Steps < leastRun {
		return
	}
	last := tr.RAt(tr.Steps - 1)
	for i := range tr.K {
		rows := 0
		for _, r := range last.Row(i) {
			if r == 1 {
				rows++
			}
		}
		if 3*rows*combinationsOf(leastRun).products >= tr.D { // too many rows, even with runs
			continue
		}
		for b, r := range last.Row(i) {
			if r != 1 {
				continue
			}
			run := singleRun{int32(i), int32(tr.Steps), int32(tr.Steps)}
			for run.from > 0 && tr.hasSingleComponent(int(run.from)-1, i, b) {
				run.from--
			}
			run.to = run.segments(func(int, int) bool { return true })
			g.runs[b] = run
		}
	}
}

// hasSingleComponent reports whether component i has all the responsibility for row b at step t. If r_i is 1
// others may have up to 2^-25, and t_i is then not 0.
func (tr *Trajectory) hasSingleComponent(t, i, b int) bool {
	r := tr.RAt(t)
	if r.At(i, b) != 1 {
		return false
	}
	for k := range tr.K {
		if k != i && r.At(k, b) != 0 {
			return false
		}
	}
	return true
}

// runJob checks the runs of components with few rows, a block of rows a task, and shortens each to the steps for
// which its combinations hold.
type runJob struct {
	m      *Mixture
	tr     *Trajectory
	grad   *Gradient
	blocks int
}

// Run checks the runs of a block of rows.
func (j *runJob) Run(worker *engine.Worker, task int) {
	r0, r1 := engine.Part(j.tr.Rows, j.blocks, task)
	for b := r0; b < r1; b++ {
		run := &j.grad.runs[b]
		if run.component < 0 || j.grad.rows[run.component] == viaPrecision {
			continue
		}
		to := run.from
		run.segments(func(a, n int) bool {
			for n >= leastRun {
				good := j.combined(worker, b, a, n)
				if good == n {
					to = int32(a + n)
					return n == longestSegment
				}
				n = good // other combinations, of fewer steps
			}
			return false
		})
		run.to = to
	}
}

// combined checks the combinations for n steps of row b from step a on. It returns n if they hold, otherwise a smaller
// number of steps to try next.
func (j *runJob) combined(worker *engine.Worker, b, a, n int) int {
	tr, d := j.tr, j.m.D
	mu := j.m.mu(int(j.grad.runs[b].component))
	all := worker.ScratchRows(slotRows, 3*n, d, engine.PaddedLD(d))
	x, u, off := all.Slice(0, n, 0, d), all.Slice(n, 2*n, 0, d), all.Slice(2*n, 3*n, 0, d)
	for t := range n {
		worker.Sub(x.Row(t), tr.XAt(a+t).Row(b), mu)
	}
	scale := powerOfTwo(tr.uAt(a+n-1, b))
	for t := range n { // the last one first: the functions are the same then
		worker.Scale(u.Row(n-1-t), scale, tr.uAt(a+t, b))
	}
	squares := worker.Scratch(slotRowNumbers, 3*n)
	size, left := squares[:2*n], squares[2*n:]
	worker.RowDots(size, all.Slice(0, 2*n, 0, d), all.Slice(0, 2*n, 0, d))
	var sum float64
	for t := range n {
		sum += math.Sqrt(float64(size[t]) * float64(size[2*n-1-t]))
	}
	if most := math.Sqrt(float64(size[0]) * float64(size[n])); !(kernelError*float64(n)*most <= combinationError*sum) {
		return n - 1
	}
	rest := engine.View(combinationsOf(n).rest, n, n)
	for lo := 0; lo <= n; lo += n { // x, and u
		worker.MatMulInPlace(off, rest, all.Slice(lo, lo+n, 0, d), false)
		worker.RowDots(left, off, off)
		for t, v := range left {
			s := float64(size[lo+t])
			if !(s > leastSquare && s-s == 0 && float64(v) <= combinationError*combinationError*s) {
				return t
			}
		}
	}
	return n
}

// powerOfTwo returns a power of two that brings the largest element of x near 1, or 1 if none does.
func powerOfTwo(x []float32) float32 {
	var most float32
	for _, v := range x {
		most = max(most, v, -v)
	}
	_, e := math.Frexp(float64(most)) // 0 of 0, of infinity and of NaN
	return float32(math.Ldexp(1, -e))
}
