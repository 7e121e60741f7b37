package engine

import (
	"math"
	"slices"
	"sync/atomic"

	"dpnbench/internal/linalg"
)

// A row of which one component has all the responsibility from some step to the last, r_i = 1 and
// every other 0, goes the way D_{t+1} = D_t (I - alpha P_i), up to rounding, and nearly all rows
// in high dimension do. Along it D_t is D_a (I - alpha P_i)^(t-a), and of powers (1-z)^t with z in
// [0, powersTo] a few make all others, the same few for every row and every potential:
//
//	D_t = sum_m c_tm D_m        sum_t U_t^T D_t = sum_m (sum_t c_tm U_t)^T D_m
//
// Of thirty steps eleven are left in the second sum, and dA_i costs as much less (factors.go): W_t
// is -U_t there, because t_i is 0. That alpha P_i is so small, and rounding harmless, is not
// taken on trust: each D_t of each row is compared with its combination, and a way ends before the
// first one that is further off than powersError of its own length.

const (
	powersTo    = 0.5     // the largest eigenvalue of alpha P_i that combinations are made for
	powersGoal  = 0x1p-25 // what they may be off there, for D_a of length 1
	powersError = 0x1p-19 // of |D_t|: as much as in a chain of 32 roundings
	leastSquare = 1e-25   // of D_t: the squares of what it may be off must not underflow

	fewPowers  = 16 // steps from which combinations are made
	mostPowers = 64 // longer ways fall into pieces: kept steps grow with the logarithm
)

// powers says how the powers 0 .. steps-1 follow from some of them.
type powers struct {
	kept []int     // increasing
	c    []float32 // steps x kept, c_tm
	back []float32 // kept x steps, -c_tm
}

// powersTable holds the combinations for each number of steps, once they were wanted.
var powersTable [mostPowers + 1]atomic.Pointer[powers]

// powersOf returns the combinations for a number of steps.
func powersOf(steps int) *powers {
	p := powersTable[steps].Load()
	if p == nil {
		p = newPowers(steps)
		powersTable[steps].Store(p)
	}
	return p
}

// newPowers chooses the powers that are kept one after the other, each time the one that the
// others leave the most of, until least squares over a grid leave too little of any; that is far
// above the rounding of float64. All in operations that are rounded on their own: c_tm have the
// same bits on every machine.
func newPowers(steps int) *powers {
	const grid = 128
	functions, rest := make([][]float64, steps), make([][]float64, steps)
	for t := range functions {
		functions[t] = make([]float64, grid)
		for i := range grid {
			// Denser towards both ends, like the zeros of a Chebyshev polynomial.
			s := (float64(i) + 0.5) / grid
			z := float64(powersTo * float64(s*s) * (3 - 2*s))
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
		if off <= powersGoal {
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
	p := &powers{c: make([]float32, steps*n), back: make([]float32, n*steps)}
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

// way is the steps [from, to) of a row's way with a single component; from there on its steps
// are taken one by one.
type way struct{ component, from, to int32 }

// has says whether step t of component i belongs to the way.
func (w way) has(i, t int) bool { return int(w.component) == i && int(w.from) <= t && t < int(w.to) }

// pieces calls do for the pieces of the way one after the other, while it says to go on: of steps
// [a, a+n). It returns where the last of them ends.
func (w way) pieces(do func(a, n int) bool) int32 {
	a := int(w.from)
	for int(w.to)-a >= fewPowers {
		n := min(int(w.to)-a, mostPowers)
		if !do(a, n) {
			break
		}
		a += n
	}
	return int32(a)
}

// findWays notes the ways of all rows by the responsibilities, or that there are none.
func (g *MixtureGradient) findWays(tr *Trajectory, wanted bool) {
	growSlice(&g.ways, tr.Rows)
	for b := range g.ways {
		g.ways[b] = way{component: -1}
	}
	if !wanted || tr.Steps < fewPowers {
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
		if 3*rows*len(powersOf(fewPowers).kept) >= tr.D { // too many with ways, too
			continue
		}
		for b, r := range last.Row(i) {
			if r != 1 {
				continue
			}
			w := way{int32(i), int32(tr.Steps), int32(tr.Steps)}
			for w.from > 0 && tr.alone(int(w.from)-1, i, b) {
				w.from--
			}
			w.to = w.pieces(func(int, int) bool { return true })
			g.ways[b] = w
		}
	}
}

// alone says whether component i has all the responsibility for row b at step t. Where r_i is 1
// others may have up to 2^-25: by those t_i is not 0.
func (tr *Trajectory) alone(t, i, b int) bool {
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

// wayJob compares D_t of the ways of components with few rows, a block of rows a task, with their
// combinations, and ends the ways where they differ.
type wayJob struct {
	e      *Engine
	m      *Mixture
	tr     *Trajectory
	grad   *MixtureGradient
	blocks int
}

func (j *wayJob) run(worker, task int) {
	r0, r1 := part(j.tr.Rows, j.blocks, task)
	for b := r0; b < r1; b++ {
		w := &j.grad.ways[b]
		if w.component < 0 || j.grad.rows[w.component] == many {
			continue
		}
		to := w.from
		w.pieces(func(a, n int) bool {
			for n >= fewPowers {
				good := j.combined(worker, b, a, n)
				if good == n {
					to = int32(a + n)
					return n == mostPowers
				}
				n = good // other combinations, of fewer steps
			}
			return false
		})
		w.to = to
	}
}

// combined returns how many steps of row b, of n from a on, have D_t that are their combinations as
// far as rounding allows to tell.
func (j *wayJob) combined(worker, b, a, n int) int {
	e, tr, d, p := j.e, j.tr, j.m.D, powersOf(n)
	arena, ld, kept := &e.scratch[worker], paddedLD(d), len(p.kept)
	mu := j.m.mu(int(j.grad.ways[b].component))
	all := Matrix{Data: arena.floats(slotRows, (2*n+kept)*ld), Rows: 2*n + kept, Cols: d, RS: ld, CS: 1}
	x, few, made := all.Slice(0, n, 0, d), all.Slice(n, n+kept, 0, d), all.Slice(n+kept, 2*n+kept, 0, d)
	for t := range n {
		e.kern.subRows(x.Row(t), 0, tr.XAt(a+t).Row(b), 0, mu, 0, 1, d)
	}
	for m, t := range p.kept {
		copy(few.Row(m), x.Row(t))
	}
	squares := arena.floats(slotS, 2*n)
	size, off := squares[:n], squares[n:]
	e.kern.dotRows(size, x.Data, ld, x.Data, ld, d)
	e.multiply(worker, made, View(p.c, n, kept), &operand{direct: few}, false)
	e.kern.subRows(x.Data, ld, x.Data, ld, made.Data, ld, n, d)
	e.kern.dotRows(off, x.Data, ld, x.Data, ld, d)
	for t, s := range size {
		s := float64(s)
		if !(s > leastSquare && s-s == 0 && float64(off[t]) <= powersError*powersError*s) {
			return t
		}
	}
	return n
}
