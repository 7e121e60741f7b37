package engine

import (
	"fmt"
)

// Trajectory records an ascent: what the backward pass and the analysis need. Its
// memory is kept and used again by the next ascent of the same size.
type Trajectory struct {
	Steps, Rows, K, D int

	// X holds x_0 .. x_n, each Rows x D.
	X []float32
	// R holds the responsibilities of steps 0 .. n-1, each K x Rows (component-major).
	R []float32
	// Phi holds the potential at x_0 .. x_{n-1}, each Rows.
	Phi []float32

	// Stop, unless nil, is asked before each step of each block of rows, by several threads
	// at a time, whether to give up; yes is for good. What Ascend and AscendBackward return then
	// is of no use.
	Stop func() bool

	backward bool // recorded for the backward pass
	kept     bool
	g        []float32 // if kept, G of steps 0 .. n-1, each K x Rows x D
	z, push  []float32 // for precisions of low rank: Z and [-rZ | -r] of each step, each Rows x (K r) and Rows x (K r + K)

	// Set by the backward pass.
	u   []float32 // alpha V of each step, each Rows x D; not where sumOperands have it
	t   []float32 // dL/dl of each step, each K x Rows
	sum []float32 // sum_i r_i s_i of each step, each Rows

	// For precisions of low rank, of the steps that are pulled back together.
	pull     []float32 // [-N | -t] of each, each Rows x (K r + K)
	operands []float32 // sumOperands of each

	sparse  bool          // by the sparse route: then what is above holds active pairs only, and
	records []blockRecord // for precisions A_i^T A_i G_i of these is here

	keepQ bool
	q     []float32 // K x Rows of the last step, if asked for by keepQ
}

// XAt returns x_t (Rows x D).
func (tr *Trajectory) XAt(t int) Matrix {
	n := tr.Rows * tr.D
	return View(tr.X[t*n:(t+1)*n], tr.Rows, tr.D)
}

// RAt returns the responsibilities of step t (K x Rows).
func (tr *Trajectory) RAt(t int) Matrix {
	n := tr.K * tr.Rows
	return View(tr.R[t*n:(t+1)*n], tr.K, tr.Rows)
}

// PhiAt returns the potential at x_t.
func (tr *Trajectory) PhiAt(t int) []float32 { return tr.Phi[t*tr.Rows : (t+1)*tr.Rows] }

// stopped says whether the caller has given up.
func (tr *Trajectory) stopped() bool { return tr != nil && tr.Stop != nil && tr.Stop() }

// reshape gives the trajectory room for an ascent.
func (tr *Trajectory) reshape(steps, rows int, m *Mixture, backward, sparse bool) {
	k, d := m.K, m.D
	tr.Steps, tr.Rows, tr.K, tr.D = steps, rows, k, d
	tr.backward, tr.sparse = backward, sparse
	grow(&tr.X, (steps+1)*rows*d)
	grow(&tr.R, steps*k*rows)
	grow(&tr.Phi, steps*rows)
	if tr.keepQ {
		grow(&tr.q, k*rows)
	}
	if m.low != nil {
		tr.kept = false
		if backward {
			grow(&tr.z, steps*rows*k*m.low.r)
			grow(&tr.push, steps*rows*m.inner())
		}
		return
	}
	if tr.kept = false; sparse {
		return
	}
	if tr.kept = backward && keepsG(rows, k, d, steps); tr.kept {
		grow(&tr.g, steps*k*rows*d)
	}
}

// grow gives s n elements, in the memory that it has where that is enough.
func grow(s *[]float32, n int) {
	if cap(*s) < n {
		*s = alignedFloats(n)
	}
	*s = (*s)[:n]
}

// gAt returns G_i of step t for rows [r0, r1).
func (tr *Trajectory) gAt(t, i, r0, r1 int) Matrix {
	at := (t*tr.K + i) * tr.Rows
	return View(tr.g[(at+r0)*tr.D:(at+r1)*tr.D], r1-r0, tr.D)
}

// fetchG returns the memory of G_i of step t for rows [r0, r1), to be fetched into the cache
// because it is needed next: nothing where G is not kept or there is no such step. Component
// K is the first one of the next step. Of many features enough is near without it.
func (tr *Trajectory) fetchG(t, i, r0, r1 int) []float32 {
	if tr == nil || !tr.kept || tr.D > longRows {
		return nil
	}
	t, i = t+i/tr.K, i%tr.K
	if t < 0 || t >= tr.Steps {
		return nil
	}
	return tr.gAt(t, i, r0, r1).Data
}

// Ascend moves the rows of x (B x d) uphill on the potential of m, steps times, in place:
//
//	x_{t+1} = x_t + alpha grad phi(x_t),   grad phi = - sum_i r_i G_i
//
// With a trajectory it records x_0 .. x_n, r and phi; with backward set also what
// AscendBackward needs. PlanAscent says how the threads share the work. No bit of a row
// depends on the others, nor on the plan.
//
// Which components are computed is the engine's route (WithRoute), and changes no bit
// either. AutoRoute tries some rows of x now and then, and takes the sparse route where so few
// components are active that it costs less.
func (e *Engine) Ascend(m *Mixture, alpha float32, steps int, x Matrix, tr *Trajectory, backward bool) {
	var stop func() bool
	if tr != nil {
		stop = tr.Stop
	}
	e.ascendAll(m, alpha, steps, x, tr, backward, stop)
}

// AscendUntil is Ascend without a trajectory that asks stop, by several threads at a time,
// before each step of each block of rows and once more at the end, whether to give up; yes is
// for good. What x then holds is of no use.
func (e *Engine) AscendUntil(stop func() bool, m *Mixture, alpha float32, steps int, x Matrix) {
	e.ascendAll(m, alpha, steps, x, nil, false, stop)
}

func (e *Engine) ascendAll(m *Mixture, alpha float32, steps int, x Matrix, tr *Trajectory, backward bool, stop func() bool) {
	if steps < 0 {
		panic(fmt.Sprintf("engine: Ascend: %d steps", steps))
	}
	x.shape("Ascend", "x", x.Rows, m.D)
	m.ready(e, "Ascend")
	e.mu.Lock()
	defer e.mu.Unlock()
	target := x
	x = e.dense(slotDense, x)
	route := e.chooseRoute(m, steps, x)
	e.work.reset(route, x.Rows, m.K, steps)
	if tr != nil {
		tr.reshape(steps, x.Rows, m, backward, route == SparseRoute)
	}
	if route == SparseRoute {
		e.ascendSparse(m, alpha, steps, x, tr, stop)
	} else {
		if m.low != nil {
			e.packCombined(m)
		}
		e.ascend(ascentJob{e: e, m: m, alpha: alpha, steps: steps, x: x, tr: tr, stop: stop, plan: e.plan(m, x.Rows, steps, tr == nil)})
	}
	e.work.Precisions = 0
	if m.a != nil {
		e.work.Precisions = len(m.p)
	}
	if target.CS != 1 {
		copyMatrix(target, x)
	}
}

// Potential sets phi to the potential of the rows of x (B x d) and, where r is not
// empty, r (K x B) to the responsibilities.
func (e *Engine) Potential(m *Mixture, x Matrix, phi []float32, r Matrix) {
	x.shape("Potential", "x", x.Rows, m.D)
	length("Potential", "phi", len(phi), x.Rows)
	m.ready(e, "Potential")
	if r.Data != nil {
		r.shape("Potential", "r", m.K, x.Rows)
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	x = e.dense(slotDense, x)
	e.ascend(ascentJob{e: e, m: m, steps: 1, x: x, phi: phi, r: r, plan: e.plan(m, x.Rows, 1, false)})
}

// ascentJob takes rows through all steps. With phi set it evaluates the potential once
// instead, and leaves x alone.
type ascentJob struct {
	e     *Engine
	m     *Mixture
	alpha float32
	steps int
	x     Matrix
	tr    *Trajectory
	stop  func() bool // or nil
	phi   []float32
	r     Matrix
	plan  AscentPlan

	alone bool // single rows, by triangles

	// By components: the phase that runs, in which part of the step.
	phase phase
	block ascentBlock
	parts int
}

type phase int

const (
	byRows phase = iota // whole blocks of rows, all steps
	quads               // G_i and q_i of one step, split over components
	moves               // mixture and movement of one step, split over rows
)

// ascentBlock is a block of rows at one step: the rows of x, and where G_i, q (then r) and
// phi of the step go: into the trajectory, or into scratch memory.
type ascentBlock struct {
	r0     int // its first row in x
	x      Matrix
	q      []float32
	qs     int // distance of components in q
	phi    []float32
	g      []float32
	gs, gr int // distances of components and of rows in g
	gc     int // columns of g that may be written: there may be room for whole panels
}

// ascend runs a job by its plan.
func (e *Engine) ascend(job ascentJob) {
	j := &e.ascent
	*j = job
	j.alone = e.usesTriangles(j)
	if j.plan.Sharing == ByComponents {
		j.together()
	} else {
		e.run(j, j.plan.Blocks, j.plan.Flops)
	}
	*j = ascentJob{}
}

func (j *ascentJob) run(worker, task int) {
	switch j.phase {
	case byRows:
		r0, r1 := part(j.x.Rows, j.plan.Blocks, task)
		if j.alone {
			j.climbAlone(worker, r0, r1)
			return
		}
		for t := range j.steps {
			if j.stop != nil && j.stop() {
				return
			}
			b := j.at(t, r0, r1, worker)
			if j.m.low != nil {
				j.lowStep(worker, t, &b)
				continue
			}
			j.quadAll(worker, t, &b)
			j.move(worker, &b, 0, r1-r0)
		}
		if j.tr != nil {
			copyMatrix(j.tr.XAt(j.steps).Slice(r0, r1, 0, j.m.D), j.x.Slice(r0, r1, 0, j.m.D))
		}
	case quads:
		b0, b1 := part(j.block.x.Rows, j.parts, task%j.parts)
		j.quad(worker, &j.block, task/j.parts, b0, b1)
	case moves:
		b0, b1 := part(j.block.x.Rows, j.parts, task)
		j.move(worker, &j.block, b0, b1)
	}
}

// together takes all threads through each step of a block of rows. The products of a step
// are shared however few they are: the time is that of reading P_i, and the threads are
// awake from the step before. (d 256, k 8, 30 steps of 2 rows with a trajectory, on two cores with AVX-512:
// 1.1 ms on one thread, and by rows, 0.44 ms together.)
func (j *ascentJob) together() {
	e, rows, threads := j.e, j.x.Rows, j.e.Threads()
	for n := range j.plan.Blocks {
		r0, r1 := part(rows, j.plan.Blocks, n)
		for t := range j.steps {
			if j.stop != nil && j.stop() {
				return
			}
			j.block = j.at(t, r0, r1, 0)
			j.phase, j.parts = quads, min(max(2*threads/j.m.K, 1), r1-r0)
			e.share(j, j.m.K*j.parts)
			j.phase, j.parts = moves, min(threads, r1-r0)
			e.run(j, j.parts, 16*float64(j.m.K*(r1-r0)*j.m.D)) // one float moved is worth 16 flop
		}
	}
	if j.tr != nil {
		copyMatrix(j.tr.XAt(j.steps), j.x)
	}
}

// at returns the block of rows [r0, r1) at step t, in the memory of a worker.
func (j *ascentJob) at(t, r0, r1, worker int) ascentBlock {
	arena, rows, d := &j.e.scratch[worker], r1-r0, j.m.D
	b := ascentBlock{r0: r0, x: j.x.Slice(r0, r1, 0, d)}
	tr := j.tr
	if tr != nil {
		r := tr.RAt(t)
		b.q, b.qs = r.Data[r0:], r.RS
		b.phi = tr.PhiAt(t)[r0:r1]
		copyMatrix(tr.XAt(t).Slice(r0, r1, 0, d), b.x)
	} else {
		b.q, b.qs = arena.floats(slotQ, j.m.K*rows), rows
		b.phi = arena.floats(slotS, rows)
	}
	if j.m.low != nil {
		return b
	}
	if tr != nil && tr.kept {
		b.g, b.gs, b.gr, b.gc = tr.g[(t*j.m.K*tr.Rows+r0)*d:], tr.Rows*d, d, d
	} else {
		ld := paddedLD(d)
		b.g, b.gs, b.gr, b.gc = arena.floats(slotG, j.m.K*rows*ld), rows*ld, ld, d
		if whole := j.e.kern.panels(d) * j.e.kern.nr; whole <= ld {
			b.gc = whole
		}
		if d <= longRows { // all G_i of a row beside each other, as move reads them: at d 128 a thirtieth faster
			b.gs, b.gr = ld, j.m.K*ld
		}
	}
	return b
}

// quadAll computes G_i and q_i of a block at step t for all components.
func (j *ascentJob) quadAll(worker, t int, b *ascentBlock) {
	e, m, r1 := j.e, j.m, b.r0+b.x.Rows
	if e.kern.isSmallD(m.D) {
		arena, flops := &e.scratch[worker], 2*b.x.Rows*m.D*m.D
		work := arena.floats(slotCentre, e.kern.smallDWork(m.D))
		most := max(e.kern.callBudget(flops), 1) // components
		calls := (m.K + most - 1) / most
		for n := range calls {
			i0, i1 := part(m.K, calls, n)
			e.kern.quadSmallD(b.g[i0*b.gs:], b.gs, b.gr, b.q[i0*b.qs:], b.qs, b.x, m.Mu[i0*m.D:i1*m.D], m.precisions(i0, i1), work, j.tr.fetchG(t, i0+1, b.r0, r1))
			e.yield(arena, (i1-i0)*flops)
		}
		return
	}
	for i := range m.K {
		g := Matrix{Data: b.g[i*b.gs:], Rows: b.x.Rows, Cols: b.gc, RS: b.gr, CS: 1}
		e.quadGradNext(worker, g, b.q[i*b.qs:i*b.qs+b.x.Rows], b.x, m, i, j.tr.fetchG(t, i+1, b.r0, r1), i > 0, i+1)
	}
}

// quad computes G_i and q_i of the rows [b0, b1) of a block.
func (j *ascentJob) quad(worker int, b *ascentBlock, i, b0, b1 int) {
	d := j.m.D
	g := Matrix{Data: b.g[i*b.gs+b0*b.gr:], Rows: b1 - b0, Cols: d, RS: b.gr, CS: 1}
	j.e.quadGrad(worker, g, b.q[i*b.qs+b0:i*b.qs+b1], b.x.Slice(b0, b1, 0, d), j.m, i, nil)
}

// report copies phi and r of the rows [b0, b1) of a block to where they were asked for.
func (j *ascentJob) report(b *ascentBlock, b0, b1 int) {
	copy(j.phi[b.r0+b0:b.r0+b1], b.phi[b0:b1])
	if j.r.Data != nil {
		r := Matrix{Data: b.q[b0:], Rows: j.m.K, Cols: b1 - b0, RS: b.qs, CS: 1}
		copyMatrix(j.r.Slice(0, j.m.K, b.r0+b0, b.r0+b1), r)
	}
}

// keep copies q of the rows [b0, b1) of a block if the trajectory asks for it.
func (j *ascentJob) keep(b *ascentBlock, b0, b1 int) {
	if tr := j.tr; tr != nil && tr.keepQ {
		for i := range j.m.K {
			copy(tr.q[i*tr.Rows+b.r0+b0:i*tr.Rows+b.r0+b1], b.q[i*b.qs+b0:i*b.qs+b1])
		}
	}
}

// move turns q into r and phi, and moves the rows [b0, b1) of a block uphill.
func (j *ascentJob) move(worker int, b *ascentBlock, b0, b1 int) {
	e, m := j.e, j.m
	j.keep(b, b0, b1)
	e.kern.mixture(b.q[b0:], b.qs, m.C, b.phi[b0:b1])
	if j.phi != nil {
		j.report(b, b0, b1)
		return
	}
	e.kern.moveRows(j.alpha, b.x.Slice(b0, b1, 0, m.D), b.q[b0:], b.qs, b.g[b0*b.gr:], b.gs, b.gr, m.K, e.scratch[worker].floats(slotGrad, m.D))
}
