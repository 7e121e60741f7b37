package ascent

// The sparse route of an ascent: this file saves the products of components whose responsibility is 0.
//
// After the first step a row computes only the components whose responsibility was more than minor at the
// step before, and those that no bound excludes. Rows that climb to the same component are taken through all
// steps together, so that its P_i is read from the nearest cache that holds it. What comes out has the bits
// of the dense route, because what is left out is exactly 0.

import (
	"math"
	"slices"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// sparseJob is an ascent by the sparse route of the rows of x, which are few enough that what bounds need of
// every row and component can be kept.
type sparseJob struct {
	e     *engine.Engine
	m     *Mixture
	alpha float32
	steps int
	x     engine.Matrix
	tr    *Trajectory
	stop  func() bool // or nil
	row0  int         // of x in the trajectory

	phase       sparsePhase
	parts       int
	byDistance  bool // distances alone tell which components are close
	anchored    bool // there are bounds by support
	linearPaths bool // rows go linear paths (hasLinearPaths)
	from        int  // the step at which the climb begins: 1 if the first one has been made of all components
	first       Trajectory

	// Of pairs of a row and a component, at row*K + component.
	lower       []float64 // lower - norm*moved is below sqrt(q_i)
	upper       []float64 // upper + moved is above |x - mu_i|
	anchorSqrtQ []float64 // above sqrt(q_i) where G_i is known (support), or 0
	anchorDist  []float64 // |x - mu_i| there, from above
	anchorDot   []float64 // mu_i G_i there

	rows   []rowState // state of each row
	order  []int32    // rows, those that climb together beside each other
	ends   []int32    // of the blocks in order
	record int        // the first of their records in the trajectory

	most    largest
	centres engine.Packed // Mu^T
	leads   []int32       // whose distances from all centres are measured
}

type sparsePhase int

const (
	initBounds    sparsePhase = iota // |x - mu_i|, by blocks of rows
	measureLeads                     // |mu_a - mu_i|, by blocks of leading components
	takeFirstStep                    // what the first step has shown, or the step itself, by blocks of rows
	climb                            // all other steps, by blocks of order
)

// rowState is the state of a row on its way.
type rowState struct {
	active []int32 // components whose responsibility is neither 0 nor minor
	lead   int32   // the one that was the largest at first
	top    float64 // the largest l_i at the step before
	size   float64 // |x_0|, from above
	moved  float64 // length of the way, from above
	last   float64 // of its last step
	far    float64 // the largest of upper

	path int32 // 1 + the component whose linear path the row goes (startPath), or 0

	// Of the components that are not near, the least sqrt(q_i) is above lowest - norm*(moved - at), unless
	// the row goes a linear path: then near is as startPath says.
	near   []int32
	lowest float64
	at     float64
}

// reset begins with a row at x.
func (row *rowState) reset(worker *engine.Worker, x []float32) {
	*row = rowState{
		active: row.active[:0], near: row.near[:0], lowest: math.Inf(-1), size: upperNorm(worker, x),
	}
}

// recordMove adds a step from x to y to the way of a row.
func (row *rowState) recordMove(worker *engine.Worker, x, y []float32) {
	row.last = upperDistance(worker, x, y)
	row.moved = (row.moved + row.last) * guard
}

// maxAnchors is what the sparse route keeps at most, in floats of G_i for support, or else of bounds: rows
// beyond it wait for their turn.
var maxAnchors = 16 << 20

// sparseRows is how many rows the sparse route handles at a time if it keeps each floats of a row: at least 16,
// for which reading P_i is still worth it. If k d is 10^7, their G_i take 640 MB, ten times maxAnchors (and P_i
// far more).
func sparseRows(each int) int { return min(max(maxAnchors/each, 16), 4096) }

// ascendSparse is Ascend by the sparse route, for a mixture with bounds.
func (m *Mixture) ascendSparse(
	e *engine.Engine, alpha float32, steps int, x engine.Matrix, tr *Trajectory, stop func() bool,
) {
	j := &m.sparse
	j.e, j.m, j.alpha, j.steps, j.tr, j.record, j.stop = e, m, alpha, steps, tr, 0, stop
	j.most = m.largest()
	if tr != nil {
		clear(tr.R)
		tr.sparse = true
		tr.records = tr.records[:0]
	}
	j.byDistance = m.precision.byDistance()
	j.anchored = !j.byDistance && m.precision.keepsG()
	if j.byDistance || j.anchored {
		e.PackLocked(&j.centres, engine.View(m.Mu, m.K, m.D).T())
	}
	if j.linearPaths = j.hasLinearPaths(); j.linearPaths && !m.precision.keepsCentres() {
		m.forgetCentres()
	}
	most := sparseRows(m.precision.rowFloats())
	for lo := 0; lo < x.Rows; lo += most {
		j.x, j.row0 = x.Slice(lo, min(lo+most, x.Rows), 0, m.D), lo
		j.start()
		if j.stopped() {
			break
		}
		if j.linearPaths {
			j.measureCentres()
		}
		j.gather()
		j.phase = climb
		e.Run(j, len(j.ends)-1, j.flops())
		j.record += len(j.ends) - 1
	}
	j.x, j.tr, j.stop = engine.Matrix{}, nil, nil
}

// stopped reports whether the caller has given up. What start was to find out is then not known.
func (j *sparseJob) stopped() bool { return j.stop != nil && j.stop() }

// flops is what a climb costs at least, with the Go code beside it.
func (j *sparseJob) flops() float64 {
	pair := j.m.precision.cost(j.e, 1, 1, 1).flops
	return float64(j.x.Rows) * float64(j.steps-j.from) * (pair + j.e.FlopsPerMicrosecond()/2)
}

// start finds out where every row begins: by distances to the centres if all precisions have a known smallest
// eigenvalue, otherwise by a first step with all components.
func (j *sparseJob) start() {
	m, n := j.m, j.x.Rows
	pairs := n * m.K
	engine.Grow(&j.lower, pairs)
	engine.Grow(&j.upper, pairs)
	if j.anchored {
		engine.Grow(&j.anchorSqrtQ, pairs)
		engine.Grow(&j.anchorDist, pairs)
		engine.Grow(&j.anchorDot, pairs)
		clear(j.anchorSqrtQ)
	}
	if cap(j.rows) < n {
		j.rows = append(j.rows[:cap(j.rows)], make([]rowState, n-cap(j.rows))...)
	}
	j.rows = j.rows[:n]
	if j.byDistance {
		j.from = 0
		j.initBounds()
		return
	}
	j.from = 1
	m.work.Evaluated[0].Add(int64(pairs))
	m.precision.firstStep(j)
}

// initBounds finds the distances of all rows to all centres.
func (j *sparseJob) initBounds() {
	j.runPhase(initBounds, 2*float64(j.x.Rows*j.m.K)*float64(j.m.D))
}

// runPhase runs a phase over blocks of rows.
func (j *sparseJob) runPhase(phase sparsePhase, flops float64) {
	j.phase, j.parts = phase, rowBlocks(j.x.Rows, maxBlockRows, j.e.Threads())
	j.e.Run(j, j.parts, flops)
}

// Run runs a task of the phase.
func (j *sparseJob) Run(worker *engine.Worker, task int) {
	switch j.phase {
	case initBounds:
		r0, r1 := engine.Part(j.x.Rows, j.parts, task)
		j.boundRows(worker, r0, r1)
	case measureLeads:
		r0, r1 := engine.Part(len(j.leads), j.parts, task)
		j.measureLeads(worker, r0, r1)
	case takeFirstStep:
		r0, r1 := engine.Part(j.x.Rows, j.parts, task)
		j.m.precision.takeFirstStep(worker, j, r0, r1)
	case climb:
		j.climb(worker, task)
	}
}

// boundRows finds the distances of the rows [r0, r1) to all centres, from |x|^2 - 2 x mu_i + |mu_i|^2, and what
// follows from them.
func (j *sparseJob) boundRows(worker *engine.Worker, r0, r1 int) {
	if j.stopped() {
		return
	}
	m := j.m
	dots := worker.ScratchRows(slotY, r1-r0, m.K, engine.PaddedLD(m.K))
	worker.MatMulPacked(dots, j.x.Slice(r0, r1, 0, m.D), &j.centres, false, nil)
	slack := centreSlack(m.D)
	for b := r0; b < r1; b++ {
		row := &j.rows[b]
		row.reset(worker, j.x.Row(b))
		best, at := math.Inf(-1), 0
		dot := dots.Row(b - r0)
		for i := range m.bounds {
			c := &m.bounds[i]
			s := row.size + c.mu
			square := row.size*row.size + c.mu*c.mu - 2*float64(dot[i])
			wide := slack*s*s + 3*leastSum
			upper := math.Sqrt(max(square+wide, 0)) * guard
			lower := math.Sqrt(c.least*max(square-wide, 0)) / guard
			j.upper[b*m.K+i], j.lower[b*m.K+i] = upper, lower
			if !(upper <= row.far) { // also NaN
				row.far = upper
			}
			if l := float64(m.C[i]) - lower*lower/2; l > best {
				best, at = l, i
			}
		}
		row.active, row.lead, row.top = append(row.active, int32(at)), int32(at), best
	}
}

// gather puts rows with the same leading component beside each other and cuts them into blocks.
func (j *sparseJob) gather() {
	n := j.x.Rows
	lead := func(b int32) int32 { return j.rows[b].lead }
	next := engine.Grow(&j.ends, j.m.K+1) // of each component, where its next row goes
	clear(next)
	for b := range int32(n) {
		next[lead(b)+1]++
	}
	for i := range j.m.K {
		next[i+1] += next[i]
	}
	engine.Grow(&j.order, n)
	for b := range int32(n) {
		j.order[next[lead(b)]] = b
		next[lead(b)]++
	}
	blocks, byComponent := j.m.precision.grouping()
	blocks *= j.e.Threads()
	most := min(max((n+blocks-1)/blocks, 8), maxBlockRows)
	least := most
	if byComponent {
		least = 1
	}
	j.ends = append(j.ends[:0], 0)
	for at, begin := 1, 0; at <= n; at++ {
		if at == n || at-begin == most || at-begin >= least && lead(j.order[at]) != lead(j.order[begin]) {
			if j.m.precision.keepsG() { // as records want them
				slices.Sort(j.order[begin:at])
			}
			j.ends = append(j.ends, int32(at))
			begin = at
		}
	}
	if j.records() {
		j.tr.reserve(j.record + len(j.ends) - 1)
	}
}

// records reports whether the trajectory keeps records of blocks.
func (j *sparseJob) records() bool { return j.tr != nil && j.tr.backward && j.m.precision.keepsG() }

// climb takes a block of rows through the steps.
func (j *sparseJob) climb(worker *engine.Worker, task int) {
	m, d := j.m, j.m.D
	work := &m.memory(worker).block
	rows := j.order[j.ends[task]:j.ends[task+1]]
	x := worker.ScratchRows(slotRows, len(rows), d, d)
	for p, b := range rows {
		copy(x.Row(p), j.x.Row(int(b)))
	}
	rec := j.recordOf(task, rows)
	work.begin(rows)
	for t := j.from; t < j.steps; t++ {
		if j.stopped() {
			return
		}
		bounds := j.evaluateStep(worker, work, x)
		active := j.weigh(worker, work, t, x)
		if rec != nil {
			rec.add(work, j.row0, d)
		}
		if j.linearPaths {
			j.updatePaths(work, rows)
		}
		j.move(worker, work, t, x)
		m.work.Evaluated[t].Add(int64(len(work.pairs)))
		m.work.Active[t].Add(active)
		m.work.Bounds[t].Add(bounds)
	}
	for p, b := range rows {
		copy(j.x.Row(int(b)), x.Row(p))
		if j.tr != nil {
			copy(j.tr.XAt(j.steps).Row(j.row0+int(b)), x.Row(p))
		}
	}
}

// evaluateStep computes q_i of all pairs that count at a step: of the components that were active before and
// that a guess of the largest l_i does not exclude, and then, if the guess was too high, of the others. It
// returns how many bounds by support it computed.
func (j *sparseJob) evaluateStep(worker *engine.Worker, work *blockWork, x engine.Matrix) (bounds int64) {
	work.pairs, work.todo, work.slots = work.pairs[:0], work.todo[:0], 0
	for p, b := range work.rows {
		row := &j.rows[b]
		for _, i := range row.active {
			work.want(p, i)
		}
		bounds += j.addCandidates(worker, work, p, x.Row(p), j.guessTop(row))
		work.top[p] = math.Inf(-1)
	}
	j.evaluate(worker, work, x)
	known := len(work.pairs)
	work.todo = work.todo[:0]
	for p, b := range work.rows {
		if !(work.top[p] >= j.guessTop(&j.rows[b])) {
			bounds += j.addCandidates(worker, work, p, x.Row(p), work.top[p])
		}
	}
	if len(work.todo) > 0 {
		j.evaluate(worker, work, x)
		work.merge(known)
	}
	for p, b := range work.rows {
		j.rows[b].top = work.top[p]
	}
	return bounds
}

// evaluate computes q_i and G_i, or Z_i, of the pairs to do and appends them to the pairs, component by
// component.
func (j *sparseJob) evaluate(worker *engine.Worker, work *blockWork, x engine.Matrix) {
	work.sortTodo(j.m.K)
	work.reserve((work.slots + len(work.todo)) * j.m.precision.pairFloats())
	for lo := 0; lo < len(work.todo); {
		hi := lo + 1
		for hi < len(work.todo) && work.todo[hi].component == work.todo[lo].component {
			hi++
		}
		group := work.todo[lo:hi]
		j.m.precision.evaluate(worker, work, x, group)
		for n := range group {
			group[n].slot = int32(work.slots + n)
			j.updateBounds(worker, work, group[n])
		}
		work.slots += len(group)
		lo = hi
	}
	work.pairs = append(work.pairs, work.todo...)
}

// updateBounds notes what a new q_i shows: of the largest l_i, and of the pair.
func (j *sparseJob) updateBounds(worker *engine.Worker, work *blockWork, v pairQ) {
	i, b := int(v.component), int(work.rows[v.row])
	row, at, c, q := &j.rows[b], b*j.m.K+i, &j.m.bounds[i], float64(v.q)
	l := float64(num.FMA32(-0.5, v.q, j.m.C[i]))
	if t := work.top[v.row]; t == t && !(l <= t) { // a NaN stays, and proves nothing from here on
		work.top[v.row] = l
	}
	upper := j.upper[at] + row.moved
	wrong := c.roundings(upper, row.size+row.moved+c.mu)
	j.lower[at] = math.Sqrt(max(q-wrong, 0))/guard + c.norm*row.moved
	if j.anchored {
		g := j.first.gRow(0, i, b)
		copy(g, work.values[int(v.slot)*j.m.precision.pairFloats():])
		j.anchor(worker, b, i, g, q+wrong, upper)
	}
}

// guessTop returns about the largest l_i of a row, from the step before and the way since then: of one active
// component, up a gradient of the length |x'-x|/alpha, it is so large up to rounding.
func (j *sparseJob) guessTop(row *rowState) float64 {
	up := 1/float64(j.alpha) - j.most.norm*j.most.norm/2
	return row.top + max(up, 0)*row.last*row.last - 0.25
}

// addCandidates adds to the pairs to do of row p of a block those that are not among them nor evaluated, and
// that no bound excludes if the largest l_i is top. It returns how many bounds by support it computed.
func (j *sparseJob) addCandidates(
	worker *engine.Worker, work *blockWork, p int, x []float32, top float64,
) (bounds int64) {
	b := int(work.rows[p])
	row := &j.rows[b]
	if row.path != 0 && len(row.near) == 0 {
		return 0
	}
	wrong := j.most.roundings(row.far+row.moved, row.size+row.moved+j.most.mu)
	enough := lowest(j.most.weight, top, wrong)
	if row.path == 0 && !(row.lowest-j.most.norm*(row.moved-row.at)*guard > enough) {
		j.refreshNear(row, b, enough)
	}
	lower, lost := j.lower[b*j.m.K:(b+1)*j.m.K], j.most.norm*row.moved*guard
	work.candidates = work.candidates[:0]
	for _, i := range row.near {
		if !(lower[i]-lost > enough) && !slices.Contains(row.active, i) && !work.has(p, i) {
			work.candidates = append(work.candidates, i)
		}
	}
	for _, i := range work.candidates {
		ok, supported := j.excluded(worker, row, b, int(i), top, x)
		if supported {
			bounds++
		}
		if !ok {
			work.want(p, i)
		}
	}
	return bounds
}

// refreshNear goes over all components of a row and divides them into those that may matter within the next
// steps, and the others. Most are found to be far by the largest norm.
func (j *sparseJob) refreshNear(row *rowState, b int, enough float64) {
	m := j.m
	row.near, row.at = row.near[:0], row.moved
	reach := 4 * row.last
	lost := j.most.norm * row.moved * guard
	far := enough + j.most.norm*reach + lost
	least, nearest := math.Inf(1), math.Inf(1)
	for i, lower := range j.lower[b*m.K : (b+1)*m.K] {
		if lower > far {
			least = min(least, lower)
			continue
		}
		norm := m.bounds[i].norm
		if s := lower - norm*row.moved*guard; s > enough+norm*reach {
			nearest = min(nearest, s)
		} else {
			row.near = append(row.near, int32(i))
		}
	}
	row.lowest = min(least-lost, nearest)
}

// weigh turns q of the evaluated pairs into responsibilities, in their place, and phi, and notes which are
// active. It returns how many are.
func (j *sparseJob) weigh(worker *engine.Worker, work *blockWork, t int, x engine.Matrix) (active int64) {
	n := len(work.rows)
	work.comps, work.c = work.comps[:0], work.c[:0]
	for _, v := range work.pairs {
		if k := len(work.comps); k == 0 || work.comps[k-1] != v.component {
			work.comps = append(work.comps, v.component)
			work.c = append(work.c, j.m.C[v.component])
		}
	}
	q := worker.Scratch(slotQ, len(work.comps)*n)
	for at := range q {
		q[at] = float32(math.Inf(1))
	}
	comp := 0
	for _, v := range work.pairs {
		for work.comps[comp] != v.component {
			comp++
		}
		q[comp*n+int(v.row)] = v.q
	}
	phi := worker.Scratch(slotRowNumbers, n)
	worker.Mixture(q, n, work.c, phi)
	for p, b := range work.rows {
		work.byRow[p] = work.byRow[p][:0]
		j.rows[b].active = j.rows[b].active[:0]
		if j.tr != nil {
			g := j.row0 + int(b)
			j.tr.PhiAt(t)[g] = phi[p]
			copy(j.tr.XAt(t).Row(g), x.Row(p))
		}
	}
	minor := j.m.precision.minorR()
	comp = 0
	for at := range work.pairs {
		v := &work.pairs[at]
		for work.comps[comp] != v.component {
			comp++
		}
		v.q = q[comp*n+int(v.row)] // r from here on
		if v.q == 0 {
			continue
		}
		active++
		b := work.rows[v.row]
		work.byRow[v.row] = append(work.byRow[v.row], int32(at))
		if !(v.q < minor) {
			j.rows[b].active = append(j.rows[b].active, v.component)
		}
		if j.tr != nil {
			j.tr.RAt(t).Set(int(v.component), j.row0+int(b), v.q)
		}
	}
	return active
}

// move takes the rows of a block a step uphill, those with the same first active component one after the other,
// while its factors are in the cache. Every row has one: the largest l_i has a responsibility of 1/K at least,
// and if none is the largest all are NaN.
func (j *sparseJob) move(worker *engine.Worker, work *blockWork, t int, x engine.Matrix) {
	for at, v := range work.pairs {
		if int(work.byRow[v.row][0]) == at {
			j.moveRow(worker, work, t, int(v.row), x.Row(int(v.row)))
		}
	}
}

// moveRow takes row p of a block a step uphill.
func (j *sparseJob) moveRow(worker *engine.Worker, work *blockWork, t, p int, x []float32) {
	d := j.m.D
	grad, before := worker.Scratch(slotGradient, d), worker.Scratch(slotSum, d)
	j.m.precision.rowGradient(worker, j, work, t, p, x, grad)
	copy(before, x)
	worker.Axpy(j.alpha, grad, x)
	j.rows[work.rows[p]].recordMove(worker, before, x)
}
