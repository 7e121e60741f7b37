package ascent

// Runs of steps with a single component: this file saves a fifth of a training step of preset `paper`.
//
// If one component has all the responsibility for a row from some step to the last, r_i = 1 and every other
// 0, the row follows D_{t+1} = D_t (I - alpha P_i), up to rounding, and nearly all rows in high dimension do.
// Along this run D_t is D_a (I - alpha P_i)^(t-a), and of the powers (1-z)^t with z in [0, largestEigenvalue]
// a few combine to all others, the same few for every row and every potential:
//
//	D_t = sum_m c_tm D_m        sum_t U_t^T D_t = sum_m (sum_t c_tm U_t)^T D_m
//
// Of thirty steps eleven are left in the second sum, and dA_i costs as much less (gradient.go): W_t is -U_t
// there, because t_i is 0. That alpha P_i is so small, and rounding harmless, is checked and not assumed: each
// D_t of each row is compared with its combination, and a run ends before the first one that is further off
// than combinationError of its own length. So dA_i is exact up to that (Mixture.Backward has its error).

import (
	"math"
	"slices"
	"sync/atomic"

	"dpnbench/engine"
	"dpnbench/internal/linalg"
)

const (
	largestEigenvalue = 0.5     // the largest eigenvalue of alpha P_i that combinations are made for
	combinationGoal   = 0x1p-25 // what they may be off there, for D_a of length 1
	combinationError  = 0x1p-19 // of |D_t|: as much as in a chain of 32 roundings
	leastSquare       = 1e-25   // of D_t: the squares of what it may be off must not underflow

	leastRun       = 16 // steps from which combinations are made
	longestSegment = 64 // longer ways fall into pieces: kept steps grow with the logarithm
)

// combinations says how the powers 0 .. steps-1 follow from some of them.
type combinations struct {
	kept []int     // increasing
	c    []float32 // steps x kept, c_tm
	back []float32 // kept x steps, -c_tm
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

// newCombinations chooses the powers that are kept one after the other, each time the one that the
// others leave the most of, until least squares over a grid leave too little of any; that is far
// above the rounding of float64. All in operations that are rounded on their own: c_tm have the
// same bits on every machine.
func newCombinations(steps int) *combinations {
	const grid = 128
	functions, rest := make([][]float64, steps), make([][]float64, steps)
	for t := range functions {
		functions[t] = make([]float64, grid)
		for i := range grid {
			// Denser towards both ends, like the zeros of a Chebyshev polynomial.
			s := (float64(i) + 0.5) / grid
			z := float64(largestEigenvalue * float64(s*s) * (3 - 2*s))
			functions[t][i] = 1
			if t > 0 {
				functions[t][i] = float64(functions[t-1][i] * (1 - z))
			}
		}
		rest[t] = slices.Clone(functions[t])
	}
	var (
		kept  []int
		basis [][]float64 // orthonormal, of those that are kept
	)
	for {
		next, most, off := 0, 0.0, 0.0
		for t := range rest {
			if v := linalg.Dot(rest[t], rest[t]); v > most {
				next, most = t, v
			}
			for _, v := range rest[t] {
				off = max(off, math.Abs(v))
			}
		}
		if off <= combinationGoal {
			break
		}
		q, size := rest[next], math.Sqrt(most)
		for i := range q {
			q[i] /= size
		}
		kept, basis = append(kept, next), append(basis, slices.Clone(q))
		for range 2 { // once more, for what rounding has left
			for t := range rest {
				linalg.Axpy(-linalg.Dot(rest[t], basis[len(basis)-1]), basis[len(basis)-1], rest[t])
			}
		}
	}
	// Coefficients of the orthonormal functions, and from them those of the powers: the kept ones
	// are triangular in the order in which they were chosen.
	n := len(kept)
	coefficients := func(t int) []float64 {
		left, c := slices.Clone(functions[t]), make([]float64, n)
		for range 2 {
			for m, q := range basis {
				v := linalg.Dot(left, q)
				c[m] += v
				linalg.Axpy(-v, q, left)
			}
		}
		return c
	}
	triangle := make([][]float64, n)
	for m, t := range kept {
		triangle[m] = coefficients(t)
	}
	order := make([]int, n) // of kept
	for m := range order {
		order[m] = m
	}
	slices.SortFunc(order, func(a, b int) int { return kept[a] - kept[b] })
	p := &combinations{c: make([]float32, steps*n), back: make([]float32, n*steps)}
	for _, m := range order {
		p.kept = append(p.kept, kept[m])
	}
	for t := range steps {
		c := coefficients(t)
		for m := n - 1; m >= 0; m-- {
			c[m] /= triangle[m][m]
			linalg.Axpy(-c[m], triangle[m][:m], c[:m])
		}
		for to, m := range order {
			p.c[t*n+to], p.back[to*steps+t] = float32(c[m]), -float32(c[m])
		}
	}
	return p
}

// singleRun is the steps [from, to) of a row with a single component; from there on its steps are taken one by
// one.
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

// findRuns notes the runs of all rows by the responsibilities, or that there are none.
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
		if 3*rows*len(combinationsOf(leastRun).kept) >= tr.D { // too many rows, even with runs
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

// runJob compares D_t of the runs of components with few rows, a block of rows a task, with their combinations,
// and ends the runs where they differ.
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

// combined returns how many steps of row b, of n from a on, have D_t that are their combinations as far as
// rounding allows to tell.
func (j *runJob) combined(worker *engine.Worker, b, a, n int) int {
	tr, d, c := j.tr, j.m.D, combinationsOf(n)
	kept := len(c.kept)
	mu := j.m.mu(int(j.grad.runs[b].component))
	all := worker.ScratchRows(slotRows, 2*n+kept, d, engine.PaddedLD(d))
	x, some, made := all.Slice(0, n, 0, d), all.Slice(n, n+kept, 0, d), all.Slice(n+kept, 2*n+kept, 0, d)
	for t := range n {
		worker.Sub(x.Row(t), tr.XAt(a+t).Row(b), mu)
	}
	for m, t := range c.kept {
		copy(some.Row(m), x.Row(t))
	}
	squares := worker.Scratch(slotRowNumbers, 2*n)
	size, off := squares[:n], squares[n:]
	worker.RowDots(size, x, x)
	worker.MatMulInPlace(made, engine.View(c.c, n, kept), some, false)
	worker.SubRows(x, x, made)
	worker.RowDots(off, x, x)
	for t, s := range size {
		s := float64(s)
		if !(s > leastSquare && s-s == 0 && float64(off[t]) <= combinationError*combinationError*s) {
			return t
		}
	}
	return n
}
