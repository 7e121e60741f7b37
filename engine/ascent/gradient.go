package ascent

// The gradient of the parameters: dP_i, dmu_i and dc_i as sums over rows, and dA_i, by way of dP_i or of the rows.

import "dpnbench/engine"

// Gradient holds the gradient of a loss with respect to the parameters of a mixture: of its factors A_i if its
// precisions are P_i = A_i^T A_i, of its weights w_i and factors F_i if they are diag(w_i) + S F_i^T F_i.
type Gradient struct {
	Mu    []float32 // K x D
	C     []float32 // K
	A     []float32 // K x D x D; D x D of a tied mixture
	W     []float32 // K x D; nil if it is not asked for
	F     []float32 // K r x D
	Alpha float32

	Alphas []float32 // dalpha of each piece, after SumPieces

	part   Trajectory  // the rows that are summed over, of Sums
	pieces []piece     // of SumPieces
	p      []float32   // dL/dP_i, K x D x D, of components with viaPrecision
	rows   []int       // of all steps that count, or viaPrecision (countRows)
	runs   []singleRun // of the rows

	sums          []float32 // -t_i^T D_i (K x D) of matrices P_i; of low rank see sumGradients: (K r + K) x D
	squares, ones []float32 // see sumGradients: K x D (nil without W), and K r + K column sums

	jobs struct { // here, so that starting one allocates nothing
		gradient gradientJob
		sparse   sparseGradientJob
		centre   centreJob
		factors  factorGradientJob
		runs     runJob
		pieces   pieceJob
		sum      sumGradients
		finish   finishGradients
	}
}

// NewGradient makes room for the gradient of a mixture of k components in d dimensions.
func NewGradient(k, d int) *Gradient {
	return &Gradient{
		Mu: engine.AlignedFloats(k * d), C: make([]float32, k),
		A: engine.AlignedFloats(k * d * d), p: engine.AlignedFloats(k * d * d),
	}
}

// NewTiedGradient is NewGradient for a tied mixture.
func NewTiedGradient(k, d int) *Gradient {
	return &Gradient{
		Mu: engine.AlignedFloats(k * d), C: make([]float32, k),
		A: engine.AlignedFloats(d * d), p: engine.AlignedFloats(k * d * d),
	}
}

// NewLowRankGradient makes room for the gradient of a mixture of k components in d dimensions with precisions
// diag(w_i) + S F_i^T F_i of rank r; of the weights w_i only if they are learned.
func NewLowRankGradient(k, d, r int, weights bool) *Gradient {
	g := &Gradient{
		Mu: engine.AlignedFloats(k * d), C: make([]float32, k),
		F: engine.AlignedFloats(k * r * d), sums: engine.AlignedFloats((k*r + k) * d), ones: make([]float32, k*r+k),
	}
	if weights {
		g.W, g.squares = engine.AlignedFloats(k*d), engine.AlignedFloats(k*d)
	}
	return g
}

// gradientJob computes dP_i, of which a task has some panels of columns, and with the first part dc_i and the
// sums that dmu_i is made of, for a group of components. For small d, a block of rows goes to all components of the
// group at a time: W_i and D_i then stay in the first-level cache, and x and U of the rows in the second.
type gradientJob struct {
	e             *engine.Engine
	m             *Mixture
	tr            *Trajectory
	grad          *Gradient
	groups, parts int
	inner         int // rows at a time
}

// Run computes some panels of a group of components.
func (j *gradientJob) Run(worker *engine.Worker, task int) {
	tr, m := j.tr, j.m
	i0, i1 := engine.Part(m.K, j.groups, task/j.parts)
	p0, p1 := engine.Part(j.e.Panels(m.D), j.parts, task%j.parts)
	// The inner index of W^T D runs over the rows of all steps, last step first; a block of it may hold
	// several steps or a part of one.
	all := tr.Steps * tr.Rows
	nb := (all + j.inner - 1) / j.inner
	for kb := range nb {
		if tr.stopped() {
			return
		}
		k0, k1 := engine.Part(all, nb, kb)
		for i := i0; i < i1; i++ {
			if j.grad.rows[i] == viaPrecision {
				j.product(worker, i, k0, k1, p0, p1)
			} else if p0 == 0 {
				j.sums(worker, i, k0, k1)
			}
		}
	}
}

// product adds the inner indices [k0, k1) of W_i^T D_i to the panels [p0, p1) of dP_i.
func (j *gradientJob) product(worker *engine.Worker, i, k0, k1, p0, p1 int) {
	e, n, d := j.e, k1-k0, j.m.D
	dp, acc, count := engine.View(j.grad.p[i*d*d:(i+1)*d*d], d, d), k0 > 0, p0 == 0
	if d <= longRows {
		ld := engine.OddLineLD(d)
		ws, xs := worker.ScratchRows(slotLeft, n, d, ld), worker.ScratchRows(slotDelta, n, d, ld)
		for at := 0; at < n; {
			at += j.rows(worker, ws.Slice(at, n, 0, d), xs.Slice(at, n, 0, d), i, k0+at, count)
		}
		left := e.LeftOf(ws.T())
		worker.MatMulLeft(dp, &left, xs, p0, p1, acc)
		return
	}
	left := e.LeftIn(worker.Scratch(slotLeft, e.LeftFloats(d, n)), d, n)
	right := &j.m.memory(worker).packed
	right.In(worker, slotRight, n, d)
	ws, xs := chunkOf(worker, d)
	for at := 0; at < n; {
		end := min(n-at, chunkRows)
		rows := j.rows(worker, ws.Slice(0, end, 0, d), xs.Slice(0, end, 0, d), i, k0+at, count)
		left.SetColumns(at, ws.Slice(0, rows, 0, d))
		right.SetRows(at, xs.Slice(0, rows, 0, d), p0, p1)
		at += rows
	}
	worker.MatMulLeftPacked(dp, &left, right, p0, p1, acc)
}

// sums does without the products, of a component whose rows are too few for dP_i.
func (j *gradientJob) sums(worker *engine.Worker, i, k0, k1 int) {
	d := j.m.D
	ws, xs := chunkOf(worker, d)
	for at := k0; at < k1; {
		end := min(k1-at, chunkRows)
		at += j.rows(worker, ws.Slice(0, end, 0, d), xs.Slice(0, end, 0, d), i, at, true)
	}
	worker.Yield(int(engine.ElementFlops((k1 - k0) * d)))
}

// blockInner is how many rows a block has if features are few (longRows).
const blockInner = 128

// chunkRows is how many rows of W_i and D_i are packed at a time.
const chunkRows = 16

// chunkOf returns memory for as many rows of W_i and of D_i.
func chunkOf(worker *engine.Worker, d int) (ws, xs engine.Matrix) {
	ld := engine.PaddedLD(d)
	return worker.ScratchRows(slotW, chunkRows, d, ld), worker.ScratchRows(slotDelta, chunkRows, d, ld)
}

// rows computes rows of W_i and D_i from inner index k on, all of one step, as many as ws and xs have or fewer,
// and returns how many. With count it adds them to the sums that dmu_i and dc_i are made of.
func (j *gradientJob) rows(worker *engine.Worker, ws, xs engine.Matrix, i, k int, count bool) int {
	tr, t, b := j.tr, j.tr.Steps-1-k/j.tr.Rows, k%j.tr.Rows
	n := min(tr.Rows-b, ws.Rows)
	if count && b == 0 {
		j.grad.C[i] += worker.Sum(tr.tAt(t, i))
	}
	in := j.grad.deltas(worker, j.m, tr, i, t, b, b+n, count)
	worker.GradDeltas(ws, xs, &in)
	return n
}

// deltas returns the rows [b0, b1) of step t for component i. With count they go to the sums that dmu_i is made
// of, otherwise to memory of the worker.
func (g *Gradient) deltas(
	worker *engine.Worker, m *Mixture, tr *Trajectory, i, t, b0, b1 int, count bool,
) engine.Deltas {
	d, at := m.D, tr.pair(t, i)
	in := engine.Deltas{
		R: tr.R[at+b0 : at+b1], T: tr.t[at+b0 : at+b1], Mu: m.mu(i), H: 0.5,
		U: tr.block(tr.u, d, t, b0, b1), X: tr.block(tr.X, d, t, b0, b1),
	}
	if count {
		in.SumRU, in.SumTD = g.Mu[i*d:(i+1)*d], g.sums[i*d:(i+1)*d]
	} else {
		in.SumRU, in.SumTD = worker.Scratch(slotGradient, d), worker.Scratch(slotSum, d)
	}
	return in
}

// centreJob makes dmu_i = colsum(N_i) P_i of -r_i^T U in grad.Mu and -t_i^T D_i in grad.sums.
type centreJob struct {
	p    *dense
	grad *Gradient
}

// Run makes dmu_i.
func (j *centreJob) Run(worker *engine.Worker, i int) {
	d := j.p.m.D
	if j.grad.rows[i] == 0 {
		return
	}
	n := worker.ScratchRows(slotRows, 1, d, d)
	dmu := engine.View(j.grad.Mu[i*d:(i+1)*d], 1, d)
	worker.Add(n.Data, dmu.Data, j.grad.sums[i*d:(i+1)*d])
	worker.Scale(n.Data, -1, n.Data)
	worker.MatMulPacked(dmu, n, j.p.matrix(i), false, nil)
}

// viaPrecision stands for d/3 rows or more, with which dP_i is made.
const viaPrecision = -1

// countRows finds out how many rows of all steps count for each component of a mixture; each segment of a run
// counts as its few products (single_component.go). With fewer than d/3, four
// products with A_i and the rows take less than two with dP_i. The choice is a matter of bits, so it is the same
// on every route. A tied mixture has one dP.
func (p *dense) countRows(e *engine.Engine, tr *Trajectory, g *Gradient) {
	g.findRuns(tr, !p.tied())
	g.count(tr, p.tied())
	n, d := 0.0, float64(p.m.D)
	for _, r := range g.runs {
		if r.component >= 0 && g.rows[r.component] != viaPrecision {
			n += float64(r.to - r.from)
		}
	}
	if n == 0 {
		return
	}
	blocks := min(4*e.Threads(), tr.Rows)
	steps := float64(min(tr.Steps, longestSegment))
	runIn(e, &g.jobs.runs, runJob{m: p.m, tr: tr, grad: g, blocks: blocks}, blocks, 4*n*steps*d+e.GoFlops(n*d))
	g.count(tr, p.tied()) // some may have ended earlier
}

// count sets rows, given the runs.
func (g *Gradient) count(tr *Trajectory, tied bool) {
	engine.Grow(&g.rows, tr.K)
	clear(g.rows)
	for _, r := range g.runs {
		if r.component >= 0 {
			r.segments(func(_, steps int) bool {
				g.rows[r.component] += combinationsOf(steps).products
				return true
			})
		}
	}
	for i, n := range g.rows {
		for t := tr.Steps - 1; t >= 0 && n != viaPrecision; t-- {
			for b, r := range tr.RAt(t).Row(i) {
				if r == 0 || g.runs[b].covers(i, t) {
					continue
				}
				if n++; 3*n >= tr.D || tied {
					n = viaPrecision
					break
				}
			}
		}
		if 3*n >= tr.D {
			n = viaPrecision
		}
		g.rows[i] = n
	}
}

// factorFlop counts the operations of the products of dA_i, and of dP_i where it is made.
func (p *dense) factorFlop(tr *Trajectory, g *Gradient) float64 {
	d := float64(p.m.D)
	square, flop := d*d, 0.0
	for i, rows := range g.rows {
		if rows != viaPrecision {
			flop += 8 * float64(rows) * square
			continue
		}
		pairs := tr.Steps * tr.Rows
		if tr.sparse {
			pairs = tr.active(i)
		}
		flop += 2 * float64(pairs) * square
		if !p.tied() {
			flop += 2 * d * square
		}
	}
	if p.tied() {
		flop += 2 * d * square
	}
	return flop
}

// factorGradient sets dA_i, with parts of the rows of A_i as tasks.
func (p *dense) factorGradient(e *engine.Engine, a []float32, tr *Trajectory, grad *Gradient) {
	d := float64(p.m.D)
	n := len(p.p)
	flops := 0.0
	for i := range n {
		if rows := grad.rows[i]; rows == viaPrecision || p.tied() {
			flops += 2*d*d*d + e.GoFlops(d*d)
		} else {
			flops += 8 * float64(rows) * d * d
		}
	}
	parts := min(max(2*e.Threads()/n, 1), p.m.D)
	runIn(e, &grad.jobs.factors, factorGradientJob{p: p, a: a, tr: tr, grad: grad, parts: parts}, n*parts, flops)
}

// factorGradientJob computes dA_i.
type factorGradientJob struct {
	p     *dense
	a     []float32
	tr    *Trajectory
	grad  *Gradient
	parts int
	to    []float32 // dA_i; nil: where grad has it
}

// Run computes a part of the rows of dA_i.
func (j *factorGradientJob) Run(worker *engine.Worker, task int) {
	d := j.p.m.D
	i := task / j.parts
	r0, r1 := engine.Part(d, j.parts, task%j.parts)
	to := j.to
	if to == nil {
		to = j.grad.A[i*d*d : (i+1)*d*d]
	}
	da := engine.View(to, d, d).Slice(r0, r1, 0, d)
	ai := engine.View(j.a[i*d*d:(i+1)*d*d], d, d).Slice(r0, r1, 0, d)
	if rows := j.grad.rows[i]; rows == viaPrecision || j.p.tied() {
		j.byPrecision(worker, i, da, ai)
	} else if r0 < r1 {
		j.byRows(worker, i, rows, da, ai)
	}
}

// byPrecision computes rows of dA_i = A_i (dP_i + dP_i^T).
func (j *factorGradientJob) byPrecision(worker *engine.Worker, i int, da, ai engine.Matrix) {
	d := j.p.m.D
	sum := &j.p.m.memory(worker).packed
	sum.In(worker, slotRight, d, d)
	sum.SetSymmetricSum(worker, slotTile, j.grad.p[i*d*d:(i+1)*d*d])
	worker.MatMulPacked(da, ai, sum, false, nil)
}

// byRows computes rows of dA_i = (A_i W^T) D + (A_i D^T) W, of W_i and D_i the n rows that count: the last step
// first, and the rows of each in increasing order; then those of runs.
func (j *factorGradientJob) byRows(worker *engine.Worker, i, n int, da, ai engine.Matrix) {
	if n == 0 {
		clear(da.Data[:da.Rows*da.Cols])
		return
	}
	d := j.p.m.D
	all := worker.ScratchRows(slotRows, 3*n, d, engine.PaddedLD(d)) // D, W, and D again
	j.gather(worker, i, all.Slice(0, n, 0, d), all.Slice(n, 2*n, 0, d))
	for k := range n {
		copy(all.Row(2*n+k), all.Row(k))
	}
	packed := &j.p.m.memory(worker).packed
	packed.In(worker, slotRight, d, 2*n)
	packed.Fill(all.Slice(n, 3*n, 0, d).T())
	y := worker.ScratchRows(slotY, da.Rows, 2*n, engine.PaddedLD(2*n))
	worker.MatMulPacked(y, ai, packed, false, nil)
	packed.In(worker, slotRight, 2*n, d)
	packed.Fill(all.Slice(0, 2*n, 0, d))
	worker.MatMulPacked(da, y, packed, false, nil)
}

// gather sets the rows of D_i and W_i that count.
func (j *factorGradientJob) gather(worker *engine.Worker, i int, x, w engine.Matrix) {
	m, tr, d, k := j.p.m, j.tr, j.p.m.D, 0
	for t := tr.Steps - 1; t >= 0; t-- {
		for b, r := range tr.RAt(t).Row(i) {
			if r == 0 || j.grad.runs[b].covers(i, t) {
				continue
			}
			in := j.grad.deltas(worker, m, tr, i, t, b, b+1, false)
			worker.GradDeltas(w.Slice(k, k+1, 0, d), x.Slice(k, k+1, 0, d), &in)
			k++
		}
	}
	for b, run := range j.grad.runs {
		if int(run.component) != i {
			continue
		}
		run.segments(func(a, steps int) bool {
			c := combinationsOf(steps)
			us := engine.Matrix{Data: tr.u[(tr.row(a)+b)*d:], Rows: steps, Cols: d, RS: tr.stride * d, CS: 1}
			xs := worker.ScratchRows(slotDelta, steps, d, engine.PaddedLD(d))
			for t := range steps {
				worker.Sub(xs.Row(t), tr.XAt(a+t).Row(b), m.mu(i))
			}
			end := k + c.products
			worker.MatMulInPlace(w.Slice(k, end, 0, d), engine.View(c.u, c.products, steps), us, false)
			worker.MatMulInPlace(x.Slice(k, end, 0, d), engine.View(c.d, c.products, steps), xs, false)
			k = end
			return true
		})
	}
}
