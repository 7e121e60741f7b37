package ascent

import "dpnbench/engine"

// precision is the form of the P_i of a mixture: matrices (dense.go), or diagonal matrices up to a low rank
// (lowrank.go). The functions that compute are called once per block of rows, or per group of rows of a
// component. To add a form that dense.go and lowrank.go cannot compute, implement this interface.
type precision interface {
	// packedBy reports whether the precisions were set by an engine of the tier of e.
	packedBy(e *engine.Engine) bool

	// plan returns how an ascent would be shared. With ends, nothing but its ends is asked for.
	plan(e *engine.Engine, rows, steps int, ends bool) Plan
	// reshape makes room in a trajectory for what the backward pass needs beside r.
	reshape(tr *Trajectory)
	// prepareDense makes what only the dense route needs: without moves, for the potential alone.
	prepareDense(e *engine.Engine, moves bool)
	// run runs a job of the dense route by its plan.
	run(j *ascentJob)
	// block returns the rows x as step takes them, in place or as a copy.
	block(worker *engine.Worker, slot int, x engine.Matrix) engine.Matrix
	// step takes a block of rows through a step: it sets q, r and phi, and moves the rows.
	step(worker *engine.Worker, j *ascentJob, b *stepBlock)

	// checkGradient panics unless a and grad have the lengths of the parameters.
	checkGradient(call string, a []float32, grad *Gradient)
	// backward computes Mixture.Backward but for dalpha.
	backward(e *engine.Engine, alpha float32, a []float32, tr *Trajectory, v engine.Matrix, grad *Gradient)

	// boundable reports whether q_i may have bounds.
	boundable() bool
	// makeBounds sets boundMemory of all components, on all threads.
	makeBounds(e *engine.Engine)
	// makeBound sets boundMemory of component i.
	makeBound(worker *engine.Worker, i int)
	// byDistance reports whether distances alone tell which components are close.
	byDistance() bool

	// cost describes both routes for so many rows with so many active components, if group rows share one.
	cost(e *engine.Engine, rows, active, group float64) pairCost
	// keepsG reports whether G_i of pairs is kept: for bounds by support, and for the backward pass.
	keepsG() bool
	// keepsCentres reports whether the caller says when centres change.
	keepsCentres() bool
	// minorR is a responsibility below which a bound may well exclude a component at the next step, and
	// is worth trying.
	minorR() float32
	// rowFloats is how many floats the sparse route keeps of a row.
	rowFloats() int
	// pairFloats is how many floats are kept of a pair of a row and a component: G_i, or Z_i.
	pairFloats() int
	// grouping returns how many blocks a thread has on the sparse route, at least, and whether blocks end
	// where the leading component does.
	grouping() (blocks int, byComponent bool)
	// firstOfAll reports whether the first step is computed of all components, so that an ascent of one step
	// needs no bounds.
	firstOfAll(e *engine.Engine) bool
	// firstStep computes the first step of all rows, of all components; takeFirstStep is its task for the
	// rows [r0, r1).
	firstStep(j *sparseJob)
	takeFirstStep(worker *engine.Worker, j *sparseJob, r0, r1 int)
	// evaluate sets q_i, and G_i or Z_i, of some rows x for one component.
	evaluate(worker *engine.Worker, work *blockWork, x engine.Matrix, group []pairQ)
	// rowGradient sets grad to the gradient of row p of a block at step t.
	rowGradient(worker *engine.Worker, j *sparseJob, work *blockWork, t, p int, x, grad []float32)
}

// pairCost is what a pair of a row and a component costs.
type pairCost struct {
	flops float64 // of a pair by the dense route
	dense float64 // how many times as long as these a pair takes on the dense route
	slow  float64 // and on the sparse one
	first float64 // pairs of the dense route that the first step of the sparse one costs a row
}
