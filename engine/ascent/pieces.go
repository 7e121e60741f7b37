package ascent

// The gradient of the parameters by several pieces of the rows, added while they are in the cache.

import (
	"fmt"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// CanSumPieces reports whether SumPieces can be called on m and is as quick on e as a call of Sums for each piece: if
// each component has a P_i, and there are at least two for each thread.
func (m *Mixture) CanSumPieces(e *engine.Engine) bool {
	p, ok := m.precision.(*dense)
	return ok && !p.tied() && m.K >= 2*e.Threads()
}

// SumPieces sets grad to the sum of what Sums gives for each piece of the rows, by the tree of num.TreeStep: piece n
// has the rows cuts[n] to cuts[n+1]-1. Instead of grad.Alpha it sets grad.Alphas. A thread makes and adds the gradients
// of a component one after the other, so that A_i and its gradient are read once from memory.
func (m *Mixture) SumPieces(
	e *engine.Engine, alpha float32, a []float32, tr *Trajectory, cuts []int, grad *Gradient,
) {
	const call = "SumPieces"
	p := m.checkSums(e, call, alpha, a, tr, grad)
	if p.tied() {
		panic("ascent: SumPieces: the mixture is tied")
	}
	for i, cut := range cuts {
		if cut < 0 || cut > tr.Rows || i > 0 && cut < cuts[i-1] {
			panic(fmt.Sprintf("ascent: SumPieces: cuts %v of %d rows", cuts, tr.Rows))
		}
	}
	m.lock(e)
	defer e.Unlock()
	tr.enter(true)
	engine.Grow(&grad.sums, tr.K*tr.D)
	n := len(cuts) - 1
	for len(grad.pieces) < n {
		grad.pieces = append(grad.pieces, piece{})
	}
	grad.Alphas = grad.Alphas[:0]
	flops := 0.0
	for i := range n {
		q := &grad.pieces[i]
		tr.rows(&q.tr, cuts[i], cuts[i+1])
		q.grad = Gradient{Mu: grad.Mu, C: grad.C, A: grad.A, p: grad.p, sums: grad.sums, rows: q.grad.rows,
			runs: q.grad.runs}
		p.countRows(e, &q.tr, &q.grad)
		flops += p.factorFlop(&q.tr, &q.grad)
		q.grad.addAlpha(e, alpha, &q.tr)
		grad.Alphas = append(grad.Alphas, q.grad.Alpha)
	}
	m.work.FactorFlop += flops
	runIn(e, &grad.jobs.pieces, pieceJob{e: e, p: p, a: a, grad: grad, pieces: grad.pieces[:n]}, m.K, flops)
}

// piece is a piece of the rows. Its gradient shares the memory of all pieces, but for rows and runs.
type piece struct {
	tr   Trajectory
	grad Gradient
}

// pieceJob makes and adds the gradients of a component by all pieces.
type pieceJob struct {
	e      *engine.Engine
	p      *dense
	a      []float32
	grad   *Gradient
	pieces []piece
}

// Run makes dmu_i, dc_i and dA_i.
func (j *pieceJob) Run(worker *engine.Worker, i int) {
	d := j.p.m.D
	da, mu, c := j.grad.A[i*d*d:(i+1)*d*d], j.grad.Mu[i*d:(i+1)*d], j.grad.C[i:i+1]
	size := d*d + d + 1
	levels := worker.Scratch(slotPieces, num.TreeLevels(len(j.pieces))*size)
	for n := range j.pieces {
		add, store := num.TreeStep(n, len(j.pieces))
		end := da // where the sum goes, without a copy: dA_i does not stay in the second-level cache
		if store >= 0 {
			end = levels[store*size:][:d*d]
		}
		to := da
		if add == 0 {
			to = end
		}
		clear(mu)
		clear(c)
		clear(j.grad.sums[i*d : (i+1)*d])
		j.p.sumComponent(worker, j.e, j.a, &j.pieces[n], i, to)
		for l := 0; add != 0; l, add = l+1, add>>1 {
			if add&1 == 0 {
				continue
			}
			if add == 1 {
				to = end
			}
			at := levels[l*size : (l+1)*size]
			worker.Add(to, at[:d*d], da)
			worker.Add(mu, at[d*d:][:d], mu)
			worker.Add(c, at[size-1:], c)
		}
		if store >= 0 {
			at := levels[store*size:]
			copy(at[d*d:], mu)
			at[size-1] = c[0]
		}
	}
}

// sumComponent is sumUp for one component, whose dA_i goes to da.
func (p *dense) sumComponent(worker *engine.Worker, e *engine.Engine, a []float32, q *piece, i int, da []float32) {
	tr, grad := &q.tr, &q.grad
	if tr.Steps == 0 || tr.Rows == 0 {
		clear(da)
		return
	}
	if tr.sparse {
		j := sparseGradientJob{e: e, m: p.m, tr: tr, grad: grad, parts: 1}
		j.Run(worker, i)
	} else {
		j := gradientJob{e: e, m: p.m, tr: tr, grad: grad, groups: p.m.K, parts: 1, inner: p.inner(e)}
		j.Run(worker, i)
	}
	centre := centreJob{p: p, grad: grad}
	centre.Run(worker, i)
	factors := factorGradientJob{p: p, a: a, tr: tr, grad: grad, parts: 1, to: da}
	factors.Run(worker, i)
}
