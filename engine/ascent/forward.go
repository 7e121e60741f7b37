package ascent

// The forward pass: it moves rows uphill, step by step.

import (
	"fmt"

	"dpnbench/engine"
)

// Ascend moves the rows of x (B x d) uphill on the potential of m, steps times, in place:
//
//	x_{t+1} = x_t + alpha grad phi(x_t),   grad phi = - sum_i r_i G_i
//
// With a trajectory it records x_0 .. x_n, r and phi; with backward set also what Backward needs. No bit of
// a row depends on the other rows, on how the threads share the work (Plan), or on which components are
// computed (Route).
func (m *Mixture) Ascend(e *engine.Engine, alpha float32, steps int, x engine.Matrix, tr *Trajectory, backward bool) {
	var stop func() bool
	if tr != nil {
		stop = tr.Stop
	}
	m.ascend(e, &ascentJob{alpha: alpha, steps: steps, x: x, tr: tr, stop: stop}, backward)
}

// AscendUntil is Ascend without a trajectory that polls stop, concurrently, before every step of every block
// of rows and once more at the end. Once stop returns true it must keep doing so, and x is undefined.
func (m *Mixture) AscendUntil(e *engine.Engine, stop func() bool, alpha float32, steps int, x engine.Matrix) {
	m.ascend(e, &ascentJob{alpha: alpha, steps: steps, x: x, stop: stop}, false)
}

// ascend runs a whole ascent: it chooses the route, makes room in the trajectory, and runs.
func (m *Mixture) ascend(e *engine.Engine, in *ascentJob, backward bool) {
	if in.steps < 0 {
		panic(fmt.Sprintf("ascent: Ascend: %d steps", in.steps))
	}
	m.ready(e, "Ascend")
	in.x.CheckShape("Ascend", "x", in.x.Rows, m.D)
	engine.CheckDisjoint("Ascend", "x", in.x, "Mu", engine.View(m.Mu, m.K, m.D))
	m.lock(e)
	defer e.Unlock()
	target := in.x
	x := e.Caller().Contiguous(slotDense, target)
	route := m.chooseRoute(e, in.steps, x)
	m.work.reset(route, x.Rows, m.K, in.steps)
	if in.tr != nil {
		in.tr.reshape(in.steps, x.Rows, m, backward, route == SparseRoute)
		in.tr.of, in.tr.generation, in.tr.alpha = m, m.generations, in.alpha
	}
	if route == SparseRoute {
		m.ascendSparse(e, in.alpha, in.steps, x, in.tr, in.stop)
	} else {
		job := *in
		job.x, job.plan = x, m.precision.plan(e, x.Rows, in.steps, in.tr == nil)
		m.run(e, job)
	}
	if target.CS != 1 {
		engine.CopyMatrix(target, x)
	}
}

// Potential sets phi to the potential of the rows of x (B x d) and, unless r is empty, r (K x B) to the
// responsibilities.
func (m *Mixture) Potential(e *engine.Engine, x engine.Matrix, phi []float32, r engine.Matrix) {
	m.ready(e, "Potential")
	if r.Data != nil || r.Rows != 0 || r.Cols != 0 {
		r.CheckShape("Potential", "r", m.K, x.Rows)
		engine.CheckDisjoint("Potential", "r", r, "x", x)
	}
	m.evaluate(e, "Potential", ascentJob{x: x, phi: phi, r: r})
}

// Terms sets phi to the potential of the rows of x (B x d), as Potential does, and l (K x B) to the terms l_i =
// c_i - q_i/2 whose log-sum-exp it is. Unlike responsibilities, they tell how far the smaller ones lie below the
// largest.
func (m *Mixture) Terms(e *engine.Engine, x engine.Matrix, phi []float32, l engine.Matrix) {
	m.ready(e, "Terms")
	l.CheckShape("Terms", "l", m.K, x.Rows)
	engine.CheckDisjoint("Terms", "l", l, "x", x)
	m.evaluate(e, "Terms", ascentJob{x: x, phi: phi, terms: l})
}

// evaluate runs a job that has phi.
func (m *Mixture) evaluate(e *engine.Engine, call string, job ascentJob) {
	job.x.CheckShape(call, "x", job.x.Rows, m.D)
	engine.CheckLength(call, "phi", len(job.phi), job.x.Rows)
	engine.CheckDisjoint(call, "phi", engine.View(job.phi, len(job.phi), 1), "x", job.x)
	m.lock(e)
	defer e.Unlock()
	job.steps, job.x = 1, e.Caller().Contiguous(slotDense, job.x)
	job.plan = m.precision.plan(e, job.x.Rows, 1, false)
	m.run(e, job)
}

// ascentJob takes rows through all steps. With phi set it evaluates the potential once instead, and does not
// change x.
type ascentJob struct {
	e     *engine.Engine
	m     *Mixture
	alpha float32
	steps int
	x     engine.Matrix
	tr    *Trajectory // or nil
	stop  func() bool // or nil
	phi   []float32
	r     engine.Matrix
	terms engine.Matrix // with phi: c_i - q_i/2, or empty
	plan  Plan

	singleRows bool // rows one by one, with packed triangles of P_i (single_row.go)

	// By components: the phase that runs, in which part of the step.
	phase phase
	block stepBlock
	parts int
}

type phase int

const (
	byRows phase = iota // whole blocks of rows, all steps
	quads               // G_i and q_i of one step, split over components
	moves               // mixture and movement of one step, split over rows
)

// stepBlock is a block of rows at one step: the rows of x, and where G_i, q (which mixture overwrites with r)
// and phi of the step go: into the trajectory, or into scratch memory. at sets all but g; dense.step sets g,
// and lowRank.step needs none.
type stepBlock struct {
	t, r0  int           // the step, and the block's first row in x
	x      engine.Matrix // padded, unless the threads share the block
	q      []float32
	qs     int // floats from component to component of q
	phi    []float32
	g      []float32
	gs, gr int // floats from component to component and from row to row of g
	gc     int // columns of g that may be written: there may be room for whole panels
}

// run runs a job by its plan.
func (m *Mixture) run(e *engine.Engine, job ascentJob) {
	m.precision.prepareDense(e, job.phi == nil)
	j := &m.ascent
	*j = job
	j.e, j.m = e, m
	m.precision.run(j)
	*j = ascentJob{}
}

// Run runs a task of the phase.
func (j *ascentJob) Run(worker *engine.Worker, task int) {
	switch j.phase {
	case byRows:
		r0, r1 := engine.Part(j.x.Rows, j.plan.Blocks, task)
		if j.singleRows {
			j.ascendSingleRows(worker, r0, r1)
		} else {
			j.ascendBlock(worker, r0, r1)
		}
	case quads:
		b0, b1 := engine.Part(j.block.x.Rows, j.parts, task%j.parts)
		j.m.matrices("Ascend").quadForm(worker, &j.block, task/j.parts, b0, b1)
	case moves:
		b0, b1 := engine.Part(j.block.x.Rows, j.parts, task)
		if j.mixture(worker, &j.block, b0, b1) {
			j.move(worker, &j.block, b0, b1)
		}
	}
}

// ascendBlock takes the rows [r0, r1) through all steps.
func (j *ascentJob) ascendBlock(worker *engine.Worker, r0, r1 int) {
	b := &j.m.memory(worker).step
	target := j.x.Slice(r0, r1, 0, j.m.D)
	x := j.m.precision.block(worker, slotPadded, target)
	for t := 0; t < j.steps && !j.stopped(); t++ {
		*b = j.at(worker, x, t, r0)
		j.m.precision.step(worker, j, b) // dense.step or lowRank.step: q, r, phi and the movement
	}
	if x.Cols > target.Cols && j.phi == nil {
		engine.CopyMatrix(target, x.Slice(0, x.Rows, 0, target.Cols))
	}
	if j.tr != nil {
		engine.CopyMatrix(j.tr.XAt(j.steps).Slice(r0, r1, 0, j.m.D), target)
	}
}

// stopped reports whether the caller has given up.
func (j *ascentJob) stopped() bool { return j.stop != nil && j.stop() }

// at returns the block of rows x, which are those from r0 on, at step t, in the memory of a worker, without g.
func (j *ascentJob) at(worker *engine.Worker, x engine.Matrix, t, r0 int) stepBlock {
	rows, r1 := x.Rows, r0+x.Rows
	b := stepBlock{t: t, r0: r0, x: x}
	if tr := j.tr; tr != nil {
		r := tr.RAt(t)
		b.q, b.qs = r.Data[r0:], r.RS
		b.phi = tr.PhiAt(t)[r0:r1]
		engine.CopyMatrix(tr.XAt(t).Slice(r0, r1, 0, j.m.D), x.Slice(0, rows, 0, j.m.D))
	} else {
		b.q, b.qs = worker.Scratch(slotQ, j.m.K*rows), rows
		b.phi = worker.Scratch(slotRowNumbers, rows)
	}
	return b
}

// mixture overwrites q of the rows [b0, b1) of a block with r, and sets phi. It keeps a copy of q if the
// trajectory asks for it (keepQ). It returns false if the potential is evaluated only.
func (j *ascentJob) mixture(worker *engine.Worker, b *stepBlock, b0, b1 int) bool {
	if tr := j.tr; tr != nil && tr.keepQ {
		for i := range j.m.K {
			copy(tr.q[i*tr.Rows+b.r0+b0:i*tr.Rows+b.r0+b1], b.q[i*b.qs+b0:i*b.qs+b1])
		}
	}
	if j.terms.Data != nil {
		for i, c := range j.m.C {
			for at := b0; at < b1; at++ {
				j.terms.Set(i, b.r0+at, c-b.q[i*b.qs+at]/2)
			}
		}
	}
	worker.Mixture(b.q[b0:], b.qs, j.m.C, b.phi[b0:b1])
	if j.phi == nil {
		return true
	}
	copy(j.phi[b.r0+b0:b.r0+b1], b.phi[b0:b1])
	if j.r.Data != nil {
		r := engine.Matrix{Data: b.q[b0:], Rows: j.m.K, Cols: b1 - b0, RS: b.qs, CS: 1}
		engine.CopyMatrix(j.r.Slice(0, j.m.K, b.r0+b0, b.r0+b1), r)
	}
	return false
}

// move moves the rows [b0, b1) of a block uphill, for precisions that are matrices.
func (j *ascentJob) move(worker *engine.Worker, b *stepBlock, b0, b1 int) {
	worker.Step(b.x.SliceRows(b0, b1), &engine.GradientStep{
		Alpha: j.alpha, R: b.q[b0:], RS: b.qs, G: b.g[b0*b.gr:], GS: b.gs, GR: b.gr, Comps: j.m.K,
		Memory: worker.Scratch(slotGradient, b.x.Cols),
	})
}
