package ascent

// Precisions that are diagonal up to a low rank: P_i = diag(w_i) + S F_i^T F_i. No array of B x k x d numbers
// appears.

import (
	"fmt"
	"slices"

	"dpnbench/engine"
)

// lowRank is the form of precisions of low rank, in the layouts in which the products read them.
type lowRank struct {
	m     *Mixture
	r     int
	s     float32   // S
	lanes bool      // Mixture.Lanes
	w     []float32 // k x d, or the d that all components share
	f     []float32 // k r x d, F_1 above F_2 and so on

	tier    engine.Tier // of the engine that set them; 0 before
	offset  []float32   // k r: -F_i (mu_i - o)
	centres []float32   // k x d: -w_i*mu_i

	least, most float64 // weights, if they are shared (makeBounds)

	// For the dense route (prepareDense): all F_i^T; all F_i above all -w_i*mu_i (stack), the transpose of these last
	// rows, all w_i, d x k and k x d.
	projected, combined               bool
	project                           engine.Packed
	stack                             []float32
	back, centresT, weightsT, weights engine.Packed

	products centreProducts
}

// NewLowRankMixture makes a mixture whose precisions are diagonal up to r dimensions,
//
//	P_i = diag(w_i) + S F_i^T F_i,   w_i of d positive weights, F_i r x d, S a number
//
// (r may be 0). They must be set (SetLowRank) before use. With Z_i = (X - mu_i) F_i^T (B x r),
// in the symbols of Mixture and Ascend, and w_i and mu_i multiplying column by column:
//
//	q_i      = rowsum(w_i * (X - mu_i)^2) + S rowsum(Z_i^2)
//	grad phi = - sum_i r_i (w_i * (X - mu_i) + S Z_i F_i)
//
// No array of B x k x d numbers appears, and a step takes k d (2 r + 3) multiply-adds a row,
// or k d (r + 1) where few responsibilities are above 0.
// One product gives all Z_i: its chains start from -F_i (mu_i - o) and add (X - o) F_i^T,
// o being the Origin of the mixture. Another, of inner size k r + k, gives
//
//	[-S r_1 Z_1 .. -S r_k Z_k | -r_1 .. -r_k] [F_1; ..; F_k; -w_1*mu_1; ..; -w_k*mu_k]
//
// and a small one X * ([-r_1 .. -r_k] [w_1; ..; w_k]); the sum is grad phi, as precise as
// the rounding of x. q has to be more precise than that, because responsibilities depend
// on its differences: its diagonal part, where it is large, is a sum of positive terms in
// lanes, from x - mu_i and not from products of squares. Where q is 1200 at d = 784 it is
// off by some 2e-4.
//
// With Lanes, and S below 0, Z_i is a dot product in lanes, of x - mu_i, but for the first step of an ascent; the
// backward pass takes U F_i^T in lanes in all steps. So Phi of a later step of a Trajectory is what Potential returns
// for its x only up to rounding.
func NewLowRankMixture(k, d, r int, mu, c []float32) *Mixture {
	if r < 0 || r > d {
		panic(fmt.Sprintf("ascent: NewLowRankMixture: rank %d in %d dimensions", r, d))
	}
	m := newMixture("NewLowRankMixture", k, d, mu, c)
	m.precision = &lowRank{m: m, r: r}
	return m
}

// SetLowRank sets P_i = diag(w_i) + s F_i^T F_i from the weights w (k x d, or d if all w_i are the same), the
// factors f (k r x d, F_1 first) and s, a finite number. It reads the centres, too: call it once per update of any of
// them. w and f are kept and must not change before the next call. It takes up to two copies and two packings of
// about k r d numbers each, and up to four of k d. It does not check that P_i is positive definite.
func (m *Mixture) SetLowRank(e *engine.Engine, w, f []float32, s float32) {
	m.check(e, "SetLowRank")
	l, ok := m.precision.(*lowRank)
	if !ok {
		panic("ascent: SetLowRank: the mixture was made for other precisions (NewLowRankMixture)")
	}
	k, d := m.K, m.D
	kr := k * l.r
	if len(w) != d {
		engine.CheckLength("SetLowRank", "w", len(w), k*d)
	}
	engine.CheckLength("SetLowRank", "f", len(f), kr*d)
	if s-s != 0 {
		panic(fmt.Sprintf("ascent: SetLowRank: s %v, expected a finite number", s))
	}
	m.lock(e)
	defer e.Unlock()
	if m.Origin != nil {
		engine.CheckLength("SetLowRank", "Origin", len(m.Origin), d)
	}
	l.w, l.f, l.s, l.lanes, m.origin = w, f, s, m.Lanes, m.Origin
	m.generations++
	bounds := m.bounds != nil // they will be needed again: make them while F_i is in the cache
	m.forgetBounds()
	m.boundsMade = bounds
	m.forgetCentres()
	engine.Grow(&l.centres, k*d)
	engine.Grow(&l.offset, kr)
	cost := engine.ElementFlops((kr + k) * d)
	if bounds {
		l.rangeWeights()
		cost += e.GoFlops(l.boundElements())
	}
	tasks := e.TasksFor(k, cost)
	runIn(e, &l.products, centreProducts{l: l, tasks: tasks, bounds: bounds}, tasks, cost)
	l.tier, l.projected, l.combined = e.Tier(), false, false
}

// prepareDense packs what the products of the dense route multiply with, once after SetLowRank: those of
// quadForms, and with moves those of the movement and of the backward pass, too. The sparse route does without: it
// seldom multiplies, and then with the matrices as they lie.
func (l *lowRank) prepareDense(e *engine.Engine, moves bool) {
	k, d, kr := l.m.K, l.m.D, l.m.K*l.r
	if !l.projected {
		e.PackLocked(&l.project, engine.View(l.f[:kr*d], kr, d).T())
		l.projected = true
	}
	if moves && !l.combined {
		engine.Grow(&l.stack, (kr+k)*d)
		copy(l.stack, l.f[:kr*d])
		copy(l.stack[kr*d:], l.centres)
		e.PackLocked(&l.back, engine.View(l.stack, kr+k, d))
		e.PackLocked(&l.centresT, engine.View(l.centres, k, d).T())
		e.PackLocked(&l.weightsT, l.allWeights().T())
		e.PackLocked(&l.weights, l.allWeights())
		l.combined = true
	}
}

// factorsOf returns F_i.
func (l *lowRank) factorsOf(i int) engine.Matrix {
	n := l.r * l.m.D
	return engine.View(l.f[i*n:(i+1)*n], l.r, l.m.D)
}

// centreOf returns -w_i*mu_i.
func (l *lowRank) centreOf(i int) []float32 { return l.centres[i*l.m.D : (i+1)*l.m.D] }

// stackedRows is k r + k, the inner size of the product that makes the gradient.
func (l *lowRank) stackedRows() int { return l.m.K*l.r + l.m.K }

// shared reports whether all components have the same weights.
func (l *lowRank) shared() bool { return len(l.w) == l.m.D }

// allWeights returns all w_i (k x d).
func (l *lowRank) allWeights() engine.Matrix {
	if l.shared() {
		return repeated(l.w, l.m.K)
	}
	return engine.View(l.w, l.m.K, l.m.D)
}

// weightsOf returns w_i.
func (l *lowRank) weightsOf(i int) []float32 { return l.allWeights().Row(i) }

// centreProducts computes -w_i mu_i, and the offsets -F_i (mu_i - o).
type centreProducts struct {
	l      *lowRank
	tasks  int
	bounds bool // make the bounds, too
}

// Run computes those of some components.
func (j *centreProducts) Run(worker *engine.Worker, task int) {
	l := j.l
	lo, hi := engine.Part(l.m.K, j.tasks, task)
	for i := lo; i < hi; i++ {
		centre, offset := l.centreOf(i), l.offset[i*l.r:(i+1)*l.r]
		worker.Multiply(centre, l.weightsOf(i), l.m.mu(i))
		worker.Scale(centre, -1, centre)
		mu := l.fromOrigin(worker, asRow(l.m.mu(i)))
		worker.RowDots(offset, l.factorsOf(i), repeated(mu.Row(0), l.r))
		worker.Scale(offset, -1, offset)
		if j.bounds {
			l.makeBound(worker, i)
		}
	}
}

// repeated returns a matrix with n rows x.
func repeated(x []float32, n int) engine.Matrix {
	return engine.Matrix{Data: x, Rows: n, Cols: len(x), CS: 1}
}

func (l *lowRank) packedBy(e *engine.Engine) bool { return l.tier == e.Tier() }

func (l *lowRank) plan(e *engine.Engine, rows, steps int, _ bool) Plan {
	p := newPlan(e, l.flops(rows, steps), 8*float64(l.stackedRows()+l.m.K)*float64(l.m.D))
	if rows == 0 {
		return p
	}
	p.Blocks = rowBlocks(rows, maxBlockRows, p.Threads)
	p.Threads = min(p.Threads, p.Blocks)
	p.BlockRows = (rows + p.Blocks - 1) / p.Blocks
	return p
}

// flops counts the products of steps of ascent of rows, and the diagonal parts.
func (l *lowRank) flops(rows, steps int) float64 {
	return 2 * float64(rows) * float64(l.m.D) * float64(l.m.K) * float64(2*l.r+3) * float64(steps)
}

func (l *lowRank) reshape(tr *Trajectory) {
	if tr.backward {
		engine.Grow(&tr.z, tr.Steps*tr.Rows*tr.K*l.r)
		engine.Grow(&tr.scaled, tr.Steps*tr.Rows*l.stackedRows())
	}
}

func (l *lowRank) run(j *ascentJob) { j.e.Run(j, j.plan.Blocks, j.plan.Flops) }

// quadForms computes Z and q_i (row i of q, whose rows are qs apart) of the rows of x at step t.
func (l *lowRank) quadForms(worker *engine.Worker, z engine.Matrix, q []float32, qs int, x engine.Matrix, t int) {
	if r := l.r; l.inLanes() && t > 0 {
		for i := range l.m.K {
			for b := range x.Rows {
				q[i*qs+b] = l.laneQuadForm(worker, z.Row(b)[i*r:(i+1)*r], x.Row(b), i)
			}
		}
		return
	}
	for b := range x.Rows {
		copy(z.Row(b), l.offset)
	}
	worker.MatMulPacked(z, l.fromOrigin(worker, x), &l.project, true, nil)
	l.squares(worker, z, q, qs, x)
}

// inLanes reports whether sums over features are taken in lanes, but for Z at the first step. Dot products read F_i as
// it lies, and chains its transpose, which pays only for many rows of a component.
func (l *lowRank) inLanes() bool { return l.lanes && l.s < 0 }

// laneQuadForm sets z to F_i (x - mu_i) of a row x, in lanes, and returns its q_i.
func (l *lowRank) laneQuadForm(worker *engine.Worker, z, x []float32, i int) float32 {
	mu, delta, q := l.m.mu(i), worker.Scratch(slotRight, len(x)), worker.Scratch(slotGradient, 1)
	worker.QuadRows(q, asRow(x), mu, l.weightsOf(i))
	worker.Sub(delta, x, mu)
	worker.RowDots(z, l.factorsOf(i), repeated(delta, l.r))
	return q[0] + float32(l.s*worker.ShortDot(z, z))
}

// fromOrigin returns x - o.
func (l *lowRank) fromOrigin(worker *engine.Worker, x engine.Matrix) engine.Matrix {
	if l.m.origin == nil {
		return x
	}
	moved := worker.ScratchRows(slotRight, x.Rows, x.Cols, x.Cols)
	for b := range x.Rows { // row by row, so that no call of a kernel is long
		worker.Sub(moved.Row(b), x.Row(b), l.m.origin)
	}
	return moved
}

// squares computes q_i, given Z.
func (l *lowRank) squares(worker *engine.Worker, z engine.Matrix, q []float32, qs int, x engine.Matrix) {
	m, d, r := l.m, l.m.D, l.r
	weights := l.allWeights()
	const chunk = 8 // rows, which stay in the first-level cache
	for b0 := 0; b0 < x.Rows; b0 += chunk {
		b1 := min(b0+chunk, x.Rows)
		rows := x.Slice(b0, b1, 0, d)
		for i := range m.K {
			worker.QuadRows(q[i*qs+b0:i*qs+b1], rows, m.mu(i), weights.Row(i))
		}
	}
	for i := 0; i < m.K && r > 0; i++ {
		l.addSquares(worker, q[i*qs:i*qs+x.Rows], z.Slice(0, z.Rows, i*r, (i+1)*r))
	}
}

// addSquares adds S rowsum(Z_i^2) to q_i.
func (l *lowRank) addSquares(worker *engine.Worker, q []float32, z engine.Matrix) {
	squares := worker.Scratch(slotGradient, z.Rows)
	worker.RowDots(squares, z, z)
	worker.Axpy(l.s, squares, q)
}

func (l *lowRank) block(_ *engine.Worker, _ int, x engine.Matrix) engine.Matrix { return x }

// step computes responsibilities, potential and, unless only these are asked for, the movement of a block of
// rows.
func (l *lowRank) step(worker *engine.Worker, j *ascentJob, b *stepBlock) {
	rows, k, d := b.x.Rows, l.m.K, l.m.D
	z := l.place(worker, j, b, slotY, k*l.r)
	l.quadForms(worker, z, b.q, b.qs, b.x, b.t)
	if !j.mixture(worker, b, 0, rows) {
		return
	}
	scaled := l.place(worker, j, b, slotW, l.stackedRows())
	res := engine.Matrix{Data: b.q, Rows: k, Cols: rows, RS: b.qs, CS: 1}
	l.scale(worker, scaled, res, z, res, 0, z)
	lists := &l.m.memory(worker).active
	if lists.find(res); l.combined && !lists.any {
		l.moveByPanels(worker, j.alpha, scaled, b.x)
		return
	}
	grad, diagonal := worker.ScratchRows(slotG, rows, d, d), worker.ScratchRows(slotSum, rows, d, d)
	l.combine(worker, scaled, lists, grad, diagonal)
	worker.AxpyProducts(b.x, j.alpha, grad, diagonal, b.x)
}

// place returns where n numbers of each row of a block go: Z of all components (k r), or the left operand of
// the gradient (stackedRows), into the trajectory if the backward pass needs them.
func (l *lowRank) place(worker *engine.Worker, j *ascentJob, b *stepBlock, slot, n int) engine.Matrix {
	if tr := j.tr; tr != nil && tr.backward {
		record := tr.z
		if slot == slotW {
			record = tr.scaled
		}
		return tr.block(record, n, b.t, b.r0, b.r0+b.x.Rows)
	}
	return worker.ScratchRows(slot, b.x.Rows, n, engine.PaddedLD(n))
}

// moveByPanels moves the rows of x uphill, panel by panel, so that all of one stays in the first-level cache.
func (l *lowRank) moveByPanels(worker *engine.Worker, alpha float32, scaled, x engine.Matrix) {
	nr := worker.Engine().PanelCols()
	n, last := x.Rows*nr, scaled.Slice(0, x.Rows, l.m.K*l.r, scaled.Cols)
	all := worker.Scratch(slotPanel, 2*n)
	grad, diagonal := engine.View(all[:n], x.Rows, nr), engine.View(all[n:], x.Rows, nr)
	for p := range l.back.Panels() {
		worker.MatMulPanel(grad.Data, scaled, &l.back, p)
		worker.MatMulPanel(diagonal.Data, last, &l.weights, p)
		to := x.Slice(0, x.Rows, p*nr, min((p+1)*nr, x.Cols))
		worker.AxpyProducts(to, alpha, grad, diagonal, to)
		worker.Yield(2 * n * scaled.Cols)
	}
}

// scale sets the r columns of each component i of dst (rows x (k r + k)) to -S (r_i Z_i + h t_i Y_i), and the single
// ones behind them to -t_i, for responsibilities and t of k x rows. Rows with r_i = 0 become 0, as if they were left
// out; their t_i must be 0.
func (l *lowRank) scale(worker *engine.Worker, dst, res, z, t engine.Matrix, h float32, y engine.Matrix) {
	r, kr := l.r, l.m.K*l.r
	signed := worker.Scratch(slotRowNumbers, dst.Rows)
	for i := 0; i < l.m.K && r > 0; i++ {
		columns := func(m engine.Matrix) engine.Matrix { return m.Slice(0, m.Rows, i*r, (i+1)*r) }
		worker.Scale(signed, l.s, res.Row(i))
		worker.GradRows(columns(dst), signed, columns(z), t.Row(i), l.s*h, columns(y))
	}
	for b := range dst.Rows {
		last := dst.Row(b)[kr:]
		for i := range last {
			last[i] = 0 - t.Data[i*t.RS+b]
		}
	}
}

// sparseShare: rows in which at most a share of 1/sparseShare of the components have a responsibility above 0
// are combined component by component, by Axpy, and others by a product. Both cost the same at about a quarter.
// It changes no bit, because a chain of multiply-adds does not see zeros.
var sparseShare = 8

// activeLists are, for each row of a block of which few enough are (sparseShare), the components whose responsibility
// is not 0.
type activeLists struct {
	counts     []int32 // of all rows, lists or not
	ends       []int32 // of the lists, one after the other
	components []int32
	any        bool // there is a list, of no components perhaps
	share      int32
}

// find makes the lists for responsibilities r (k x rows). It reads them in the order in which they lie.
func (l *activeLists) find(r engine.Matrix) {
	clear(engine.Grow(&l.counts, r.Cols))
	engine.Grow(&l.ends, r.Cols)
	for i := range r.Rows {
		for b, v := range r.Row(i) {
			if v != 0 {
				l.counts[b]++
			}
		}
	}
	l.any, l.share = false, int32(r.Rows/sparseShare)
	var n int32
	for b, count := range l.counts {
		l.ends[b] = n
		if count <= l.share {
			l.any = true
			n += count
		}
	}
	if engine.Grow(&l.components, int(n)); n == 0 {
		return
	}
	for i := range r.Rows {
		for b, v := range r.Row(i) {
			if v != 0 && l.counts[b] <= l.share {
				l.components[l.ends[b]] = int32(i)
				l.ends[b]++
			}
		}
	}
}

// of returns the list of row b, unless it has none.
func (l *activeLists) of(b int) (list []int32, ok bool) {
	if l.counts[b] > l.share {
		return nil, false
	}
	return l.components[l.ends[b]-l.counts[b] : l.ends[b]], true
}

// combine multiplies rows of left (rows x (k r + k)) with all F_i above all -w_i*mu_i into sum, unless it is empty,
// and its last k columns with all w_i into weights (both rows x d). Of a row with a list only the components on it are
// read; of the others all, which are 0 where responsibilities are.
func (l *lowRank) combine(worker *engine.Worker, left engine.Matrix, lists *activeLists, sum, weights engine.Matrix) {
	for b := 0; b < left.Rows; {
		if list, ok := lists.of(b); ok {
			var s []float32
			if sum.Data != nil {
				s = sum.Row(b)
			}
			l.combineRow(worker, list, left.Row(b), s, weights.Row(b))
			b++
			continue
		}
		end := b + 1
		for end < left.Rows {
			if _, ok := lists.of(end); ok {
				break
			}
			end++
		}
		l.combineRows(worker, left, sum, weights, b, end)
		b = end
	}
}

// combineRow is combine of a row, over a list of components.
func (l *lowRank) combineRow(worker *engine.Worker, list []int32, by, sum, weights []float32) {
	kr := l.m.K * l.r
	clear(weights)
	for _, i := range list {
		worker.Axpy(by[kr+int(i)], l.weightsOf(int(i)), weights)
	}
	if sum == nil {
		return
	}
	for n, i := range list {
		i := int(i)
		addFactors(worker, sum, by[i*l.r:(i+1)*l.r], l.factorsOf(i), n == 0)
	}
	if len(list) == 0 {
		clear(sum)
	}
	for _, i := range list {
		worker.Axpy(by[kr+int(i)], l.centreOf(int(i)), sum)
	}
}

// combineRows is combine of the rows [b0, b1), by products.
func (l *lowRank) combineRows(worker *engine.Worker, left, sum, weights engine.Matrix, b0, b1 int) {
	d, kr := l.m.D, l.m.K*l.r
	all, last := left.SliceRows(b0, b1), left.Slice(b0, b1, kr, left.Cols)
	if l.combined {
		if sum.Data != nil {
			worker.MatMulPacked(sum.Slice(b0, b1, 0, d), all, &l.back, false, nil)
		}
		worker.MatMulPacked(weights.Slice(b0, b1, 0, d), last, &l.weights, false, nil)
		return
	}
	if sum.Data != nil {
		worker.MatMulInPlace(sum.Slice(b0, b1, 0, d), all.Slice(0, b1-b0, 0, kr), engine.View(l.f[:kr*d], kr, d), false)
		worker.MatMulInPlace(sum.Slice(b0, b1, 0, d), last, engine.View(l.centres, l.m.K, d), true)
	}
	worker.MatMulInPlace(weights.Slice(b0, b1, 0, d), last, l.allWeights(), false)
}

// addFactors adds to sum the rows of factors, one after the other, times the numbers by. Begun by the first of
// them, and without zeros, which would be left out, the chains stay in registers.
func addFactors(worker *engine.Worker, sum, by []float32, factors engine.Matrix, begin bool) {
	if begin {
		if len(by) > 0 && !slices.Contains(by, 0) {
			minus := worker.Scratch(slotRowNumbers, len(by))
			worker.Scale(minus, -1, by)
			worker.Gradient(sum, minus, factors)
			return
		}
		clear(sum)
	}
	for n, v := range by {
		worker.Axpy(v, factors.Row(n), sum)
	}
}
