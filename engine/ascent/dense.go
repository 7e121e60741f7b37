package ascent

// Precisions that are matrices: P_i = A_i^T A_i or any symmetric P_i, one for each component or one for all.

import (
	"math"
	"slices"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// dense is the form of precisions that are matrices.
type dense struct {
	m *Mixture
	p []engine.Packed // K packed D x D matrices, or one for all; symmetric, so they serve the backward pass too
	a []float32       // the A_i of SetFactors, or nil

	padded    padded
	triangles triangles // of p, once they were needed
	factors   factorsJob
}

// matrix returns P_i.
func (p *dense) matrix(i int) *engine.Packed { return &p.p[min(i, len(p.p)-1)] }

// tied reports whether all components share one precision.
func (p *dense) tied() bool { return len(p.p) < p.m.K }

// SetPrecisions sets P_i to the i-th of the k symmetric d x d matrices in p. They have no bounds: ascents
// take the dense route.
func (m *Mixture) SetPrecisions(e *engine.Engine, p []float32) {
	m.check(e, "SetPrecisions")
	form, n := m.matrices("SetPrecisions"), m.D*m.D
	engine.CheckLength("SetPrecisions", "p", len(p), len(form.p)*n)
	m.lock(e)
	defer e.Unlock()
	for i := range form.p {
		e.PackLocked(&form.p[i], engine.View(p[i*n:(i+1)*n], m.D, m.D))
	}
	form.renewed(e, nil)
	m.generations++
	m.forgetBounds()
}

// renewed forgets what was known of the precisions before. The new ones are A_i^T A_i or, if a is nil,
// others.
func (p *dense) renewed(e *engine.Engine, a []float32) {
	p.a = a
	p.padded.d, p.padded.made = e.PaddedD(p.m.D), false
	p.triangles.packed, p.triangles.steps = false, 0
}

// SetFactors sets P_i = A_i^T A_i from the k matrices A_i (d x d, row-major) in a: k symmetric updates of k
// d^2 (d+1) flop in all. Both halves of P_i have the same bits. a is kept and must not change before the
// next call.
func (m *Mixture) SetFactors(e *engine.Engine, a []float32) {
	m.check(e, "SetFactors")
	p := m.matrices("SetFactors")
	n := len(p.p)
	engine.CheckLength("SetFactors", "a", len(a), n*m.D*m.D)
	m.lock(e)
	defer e.Unlock()
	for i := range p.p {
		p.p[i].Reshape(e, m.D, m.D)
	}
	// Split the panels of each component only as far as the threads need it.
	j := factorsJob{m: m, p: p, parts: min(max(2*e.Threads()/n, 1), e.Panels(m.D))}
	// Bounds that were used before will be needed again: make them while A_i and P_i are in the cache.
	j.bounds = m.bounds != nil && j.parts == 1
	p.renewed(e, a)
	m.generations++
	m.forgetBounds()
	m.boundsMade = j.bounds
	d := float64(m.D)
	runIn(e, &p.factors, j, n*j.parts, float64(n)*(d*d*(d+1)+e.GoFlops(d*d)))
}

// factorsJob computes P_i = A_i^T A_i of some components. Task (i, part) takes every parts-th panel of
// columns, because the cost of a panel grows with its number.
type factorsJob struct {
	m      *Mixture
	p      *dense
	parts  int
	bounds bool // make the bounds, too
}

// Run computes a part of P_i.
func (j *factorsJob) Run(worker *engine.Worker, task int) {
	i, part, d := task/j.parts, task%j.parts, j.m.D
	worker.Gram(&j.p.p[i], engine.View(j.p.a[i*d*d:(i+1)*d*d], d, d), slotRight, part, j.parts)
	if j.bounds {
		j.p.makeBound(worker, i)
	}
}

func (p *dense) packedBy(e *engine.Engine) bool { return p.p[0].PackedBy(e) }

func (p *dense) plan(e *engine.Engine, rows, steps int, ends bool) Plan {
	t := &p.triangles
	return planDense(e, rows, p.m.K, p.m.D, steps, ends && !p.tied() && (t.symmetric || !t.packed))
}

func (p *dense) reshape(tr *Trajectory) { tr.gd = p.padded.d }

func (p *dense) prepareDense(*engine.Engine, bool) {}

func (p *dense) run(j *ascentJob) {
	if tr := j.tr; tr != nil && tr.backward {
		tr.kept = j.plan.KeptRows
		engine.Grow(&tr.g, tr.Steps*tr.K*tr.kept*tr.gd)
	}
	j.singleRows = p.usesTriangles(j)
	if j.plan.Sharing == ByComponents {
		p.runByComponents(j)
	} else {
		if !j.singleRows {
			p.pad()
		}
		j.e.Run(j, j.plan.Blocks, j.plan.Flops)
	}
}

// runByComponents takes all threads through each step of a block of rows. The products of a step are shared
// however few they are: the time is that of reading P_i, and the threads are awake from the step before.
func (p *dense) runByComponents(j *ascentJob) {
	e, rows, threads := j.e, j.x.Rows, j.e.Threads()
	for n := range j.plan.Blocks {
		r0, r1 := engine.Part(rows, j.plan.Blocks, n)
		for t := range j.steps {
			if j.stopped() {
				return
			}
			j.block = j.at(e.Caller(), j.x.Slice(r0, r1, 0, p.m.D), t, r0)
			p.placeG(e.Caller(), j, &j.block)
			j.phase, j.parts = quads, min(max(2*threads/p.m.K, 1), r1-r0)
			e.Share(j, p.m.K*j.parts)
			j.phase, j.parts = moves, min(threads, r1-r0)
			e.Run(j, j.parts, 16*float64(p.m.K*(r1-r0)*p.m.D)) // one float moved is worth 16 flop
		}
	}
	if j.tr != nil {
		engine.CopyMatrix(j.tr.XAt(j.steps), j.x)
	}
}

// placeG sets where G of a block goes: into the trajectory if that keeps it, or into memory of a worker.
func (p *dense) placeG(worker *engine.Worker, j *ascentJob, b *stepBlock) {
	k, d, rows := p.m.K, b.x.Cols, b.x.Rows
	if tr := j.tr; tr != nil && b.r0+rows <= tr.kept {
		b.g, b.gs, b.gr, b.gc = tr.g[(b.t*k*tr.kept+b.r0)*tr.gd:], tr.kept*tr.gd, tr.gd, d
		return
	}
	ld := engine.PaddedLD(d)
	b.g, b.gs, b.gr, b.gc = worker.Scratch(slotG, k*rows*ld), rows*ld, ld, d
	if whole := j.e.Panels(d) * j.e.PanelCols(); whole <= ld {
		b.gc = whole
	}
	if d <= longRows { // all G_i of a row beside each other, as the step reads them
		b.gs, b.gr = ld, k*ld
	}
}

func (p *dense) step(worker *engine.Worker, j *ascentJob, b *stepBlock) {
	p.placeG(worker, j, b)
	p.quadForms(worker, j, b, b.x)
	moves := j.mixture(worker, b, 0, b.x.Rows)
	if b.x.Cols > p.m.D && !allBelow(math.MaxFloat32, b.phi) {
		p.quadForms(worker, j, b, b.x.Slice(0, b.x.Rows, 0, p.m.D))
		j.mixture(worker, b, 0, b.x.Rows)
	}
	if moves {
		j.move(worker, b, 0, b.x.Rows)
	}
}

// quadForms computes G_i and q_i of the rows x of a block, padded or not, for all components.
func (p *dense) quadForms(worker *engine.Worker, j *ascentJob, b *stepBlock, x engine.Matrix) {
	m, d, r1 := p.m, x.Cols, b.r0+x.Rows
	list, mu := p.of(d)
	if j.e.SmallD(d) {
		f := engine.QuadForms{Mu: mu, P: list, G: b.g, GS: b.gs, GR: b.gr, Q: b.q, QS: b.qs}
		most := max(j.e.CallBudget(2*x.Rows*d*d), 1) // components
		calls := (m.K + most - 1) / most
		for n := range calls {
			i0, i1 := engine.Part(m.K, calls, n)
			worker.QuadForms(slotDelta, x, &f, i0, i1, j.tr.prefetchG(b.t, i0+1, b.r0, r1))
		}
		return
	}
	for i := range m.K {
		g := engine.Matrix{Data: b.g[i*b.gs:], Rows: x.Rows, Cols: b.gc, RS: b.gr, CS: 1}
		f := p.quadFormAmong(i, d)
		f.Prefetch = j.tr.prefetchG(b.t, i+1, b.r0, r1)
		worker.QuadForm(slotDelta, g, b.q[i*b.qs:i*b.qs+x.Rows], x, &f)
	}
}

// quadFormAmong returns the quadratic form of component i, for rows of d features, among those of all components, in
// order.
func (p *dense) quadFormAmong(i, d int) engine.QuadForm {
	list, mu := p.of(d)
	f := engine.QuadForm{Mu: mu[i*d : (i+1)*d], P: &list[min(i, len(list)-1)], Made: i > 0}
	if i+1 < p.m.K {
		f.Next = mu[(i+1)*d : (i+2)*d]
	}
	return f
}

// quadForm computes G_i and q_i of the rows [b0, b1) of a block.
func (p *dense) quadForm(worker *engine.Worker, b *stepBlock, i, b0, b1 int) {
	d := p.m.D
	g := engine.Matrix{Data: b.g[i*b.gs+b0*b.gr:], Rows: b1 - b0, Cols: d, RS: b.gr, CS: 1}
	f := engine.QuadForm{Mu: p.m.mu(i), P: p.matrix(i)}
	worker.QuadForm(slotDelta, g, b.q[i*b.qs+b0:i*b.qs+b1], b.x.Slice(b0, b1, 0, d), &f)
}

func (p *dense) boundable() bool { return p.a != nil }

func (p *dense) makeBounds(e *engine.Engine) {
	n := float64(len(p.p)) * float64(p.m.D) * float64(p.m.D) // elements
	p.m.runBounds(e, len(p.p), n)
	list := p.m.boundMemory
	for i := len(p.p); i < p.m.K; i++ { // one P for all
		list[i] = list[0]
	}
}

// makeBound bounds P_i = A_i^T A_i. Its elements, chains of products, are off by at most gamma_d |A_i|^T
// |A_i|, whose norm is at most the square of that of |A_i|: the largest element of the diagonal and the root
// of the squares of the others. All squares are the trace of P_i, whose chains add up what is not negative.
// The norm of P_i itself is often bounded better by its distance from a multiple of the identity.
func (p *dense) makeBound(worker *engine.Worker, i int) {
	d := p.m.D
	a, packed := engine.View(p.a[i*d*d:(i+1)*d*d], d, d), &p.p[i]
	diagonal := isDiagonal(a)
	var trace, own, squares, most float64
	least := math.Inf(1)
	for r := range d {
		w := math.Abs(float64(a.Row(r)[r]))
		least, most = min(least, w), max(most, w)
		own += w * w
		trace += float64(packed.Diagonal(r))
	}
	if !diagonal {
		squares = max(trace*(1+2*gamma(d))*guard-own/guard, 0) + leastSum
	}
	c := bound{}
	root := most + math.Sqrt(squares)*guard
	size := root * root * guard
	square := min(size, deviation(worker, packed)+gamma(d+4)*size)
	if diagonal {
		c.diagonal = p.m.boundMemory[i].diagonal
		engine.Grow(&c.diagonal, d)
		for r := range d {
			c.diagonal[r] = packed.Diagonal(r)
		}
		c.least, square = least*least*(1-4*unit), most*most*(1+4*unit)
		if slices.Min(c.diagonal) == slices.Max(c.diagonal) {
			c.isotropic = float64(c.diagonal[0])
		}
	}
	c.norm = math.Sqrt(square) * guard
	// size is at least the square of the norm of |A_i|.
	c.byFar = gamma(2*d+laneRoundings(d)+8) * size * 1.01
	c.gradient = gamma(2*d+8) * size * 1.01
	p.m.boundMemory[i] = c
}

// isDiagonal reports whether all elements beside the diagonal are 0.
func isDiagonal(m engine.Matrix) bool {
	for r := range m.Rows {
		for c, v := range m.Row(r) {
			if v != 0 && c != r {
				return false
			}
		}
	}
	return true
}

// deviation bounds the norm of a packed symmetric matrix P by t + |P - t I|_F, with t the mean of its
// diagonal.
func deviation(worker *engine.Worker, p *engine.Packed) float64 {
	const run, runs = 1024, 64 // numbers of a sum, and sums of a call
	var squares, trace float64
	sums := worker.Scratch(slotRowNumbers, runs)
	for x := p.Data(); len(x) > 0; { // padding holds zeros if P is finite
		length := min(run, len(x))
		n := min(len(x)/length, runs)
		rows := engine.View(x, n, length)
		worker.RowDots(sums[:n], rows, rows)
		for _, v := range sums[:n] {
			squares += float64(v)
		}
		x = x[n*length:]
	}
	for r := range p.Cols() {
		trace += float64(p.Diagonal(r))
	}
	squares = squares*(1+2*gamma(laneRoundings(run))) + leastSum
	mean := trace / float64(p.Cols())
	return mean + math.Sqrt(max(squares-mean*trace, 0)+squares*0x1p-40)*guard
}

func (p *dense) byDistance() bool { return p.m.allPositive() }

// diagonal returns the diagonal of P_i if it is known to be a diagonal matrix, or nil.
func (p *dense) diagonal(i int) []float32 {
	if p.m.bounds == nil {
		return nil
	}
	return p.m.bounds[i].diagonal
}

// cost knows where P_i are: the dense route reads all of them in each step, the sparse one takes rows through all steps
// with the few P_i that are active at them.
func (p *dense) cost(e *engine.Engine, rows, active, group float64) pairCost {
	k, bytes := float64(p.m.K), 4*float64(p.m.D)*float64(p.m.D)
	c := pairCost{flops: bytes / 2, first: k}
	c.dense = max(hidingRows(e, k*bytes)/rows, 1)
	c.slow = max(hidingRows(e, active*bytes)/group, float64(e.TileRows())/2/group, 1)
	return c
}

// hidingRows is about how many rows hide the reading of so many bytes of P_i, over and over: none while they stay in
// the second-level cache, and some while they may stay in the third one, whose share of a thread is a guess.
func hidingRows(e *engine.Engine, bytes float64) float64 {
	switch near := secondLevelShare(); {
	case bytes <= near:
		return 0
	case bytes <= 32*near:
		return float64(streamRows(e)) / 4
	}
	return float64(streamRows(e))
}

func (p *dense) keepsG() bool       { return true }
func (p *dense) keepsCentres() bool { return false }

// minorR is positive because reading P_i takes much longer than to try a bound. If the responsibility is 1
// the component stays active (startPath).
func (p *dense) minorR() float32 { return 0x1p-10 }

func (p *dense) rowFloats() int  { return p.m.K * p.m.D }
func (p *dense) pairFloats() int { return engine.PaddedLD(p.m.D) }

func (p *dense) firstOfAll(*engine.Engine) bool { return false } // the first step also makes the bounds by support

// grouping keeps P_i in the cache, unless they are diagonal.
func (p *dense) grouping() (blocks int, byComponent bool) { return 2, p.m.bounds[0].diagonal == nil }

func (p *dense) firstStep(j *sparseJob) {
	e, m, n := j.e, j.m, j.x.Rows
	j.initBounds()
	f := &j.first
	f.keepQ = true
	f.reshape(1, n, m, true, false)
	plan := p.plan(e, n, 1, false)
	plan.KeptRows = n // whatever the limit
	m.run(e, ascentJob{alpha: j.alpha, steps: 1, x: j.x, tr: f, stop: j.stop, plan: plan})
	if j.stopped() {
		return
	}
	j.runPhase(takeFirstStep, 16*float64(n*m.K)*float64(m.D))
}

// takeFirstStep takes over what the dense first step has found out about the rows [r0, r1).
func (p *dense) takeFirstStep(worker *engine.Worker, j *sparseJob, r0, r1 int) {
	for b := r0; b < r1; b++ {
		p.takeRow(worker, j, b)
	}
}

// takeRow takes over row b.
func (p *dense) takeRow(worker *engine.Worker, j *sparseJob, b int) {
	m, f, row := j.m, &j.first, &j.rows[b]
	for i := range m.K {
		at := b*m.K + i
		q := float64(f.q[i*f.Rows+b])
		wrong := m.bounds[i].roundings(j.upper[at], row.size+m.bounds[i].mu)
		j.lower[at] = math.Sqrt(max(q-wrong, 0)) / guard
		j.anchor(worker, b, i, f.gRow(0, i, b), q+wrong, j.upper[at])
	}
	row.active = row.active[:0]
	var most float32
	active := 0
	for i := range m.K {
		r := f.R[i*f.Rows+b]
		if r == 0 {
			continue
		}
		active++
		if !(r < p.minorR()) {
			row.active = append(row.active, int32(i))
		}
		if j.tr != nil {
			j.tr.R[i*j.tr.Rows+j.row0+b] = r
		}
		if r > most {
			most, row.lead = r, int32(i)
			row.top = float64(num.FMA32(-0.5, f.q[i*f.Rows+b], m.C[i]))
		}
	}
	row.recordMove(worker, f.XAt(0).Row(b), j.x.Row(b))
	if tr := j.tr; tr != nil {
		g := j.row0 + b
		copy(tr.XAt(0).Row(g), f.XAt(0).Row(b))
		tr.Phi[g] = f.Phi[b]
	}
	m.work.Active[0].Add(int64(active))
}

func (p *dense) evaluate(worker *engine.Worker, work *blockWork, x engine.Matrix, group []pairQ) {
	ld, i, n := p.pairFloats(), int(group[0].component), len(group)
	g := engine.Matrix{Data: work.values[work.slots*ld:], Rows: n, Cols: p.m.D, RS: ld, CS: 1}
	delta := worker.ScratchRows(slotDelta, n, p.m.D, ld)
	for r, v := range group {
		worker.Sub(delta.Row(r), x.Row(int(v.row)), p.m.mu(i))
	}
	p.multiply(worker, g, delta, i, false)
	q := worker.Scratch(slotQ, n)
	worker.RowDots(q, g, delta)
	for r := range group {
		group[r].q = q[r]
	}
}

// multiply computes g = delta P_i, or adds it to g. If P_i is diagonal and all numbers are finite, a chain
// of multiply-adds that begins here is a single product, up to the sign of a zero, which is lost in the sums
// that it goes into.
func (p *dense) multiply(worker *engine.Worker, g, delta engine.Matrix, i int, acc bool) {
	if diagonal := p.diagonal(i); diagonal != nil && !acc && allFinite(delta) {
		for b := range g.Rows {
			worker.Multiply(g.Row(b), delta.Row(b), diagonal)
		}
		return
	}
	worker.MatMulPacked(g, delta, p.matrix(i), acc, nil)
}

// allFinite reports whether no row has an infinity or a NaN.
func allFinite(m engine.Matrix) bool {
	for b := range m.Rows {
		for _, v := range m.Row(b) {
			if v-v != 0 {
				return false
			}
		}
	}
	return true
}

// rowGradient sums up - r_i G_i over the active components of a row.
func (p *dense) rowGradient(worker *engine.Worker, _ *sparseJob, work *blockWork, _, row int, _, grad []float32) {
	ld, d, list := p.pairFloats(), p.m.D, work.byRow[row]
	r := worker.Scratch(slotRowNumbers, len(list))
	for n, at := range list {
		r[n] = work.pairs[at].q
	}
	if len(list) == 1 {
		g := work.values[int(work.pairs[list[0]].slot)*ld:]
		worker.Gradient(grad, r, engine.Matrix{Data: g, Rows: 1, Cols: d, RS: ld, CS: 1})
		return
	}
	g := worker.ScratchRows(slotG, len(list), d, ld)
	for n, at := range list {
		copy(g.Row(n), work.values[int(work.pairs[at].slot)*ld:])
	}
	worker.Gradient(grad, r, g)
}
