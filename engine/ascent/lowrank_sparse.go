package ascent

// The sparse route for precisions of low rank: bounds, pairs and gradients.

import (
	"math"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

func (l *lowRank) boundable() bool { return true }

func (l *lowRank) makeBounds(e *engine.Engine) {
	if !l.m.boundsMade {
		l.rangeWeights()
	}
	l.m.runBounds(e, l.m.K, l.boundElements())
}

// rangeWeights finds the range of weights that all components share.
func (l *lowRank) rangeWeights() {
	if l.shared() {
		l.least, l.most = weightRange(l.w)
	}
}

// boundElements is how many elements makeBound reads for all components, as runBounds counts them.
func (l *lowRank) boundElements() float64 { return float64(l.m.K*(1+l.r*l.r/4)) * float64(l.m.D) / 4 }

// weightRange returns the smallest and the largest of some weights: NaN as the smallest if one is.
func weightRange(w []float32) (least, most float64) {
	low, high, number := w[0], w[0], true
	for _, v := range w {
		if v < low {
			low = v
		}
		if v > high {
			high = v
		}
		number = number && v == v
	}
	if !number {
		return math.NaN(), float64(high)
	}
	return float64(low), float64(high)
}

// makeBound bounds P_i = diag(w_i) + S F_i^T F_i. If S is below 0 it proves that P_i is positive definite, by the
// largest sum of a row of |S F_i F_i^T|; otherwise its norm is NaN.
func (l *lowRank) makeBound(worker *engine.Worker, i int) {
	d := l.m.D
	f, least, most := l.factorsOf(i), l.least, l.most
	if !l.shared() {
		least, most = weightRange(l.weightsOf(i))
	}
	squares, gram := l.factorNorms(worker, f)
	slack, size := 1+2*gamma(laneRoundings(d)), math.Abs(float64(l.s))
	c := bound{factors: squares*slack + leastSum, least: max(least, 0)}
	squares = size*c.factors + leastSum
	c.norm = math.Sqrt(most+squares) * guard
	if l.s < 0 {
		// Each dot is off by at most gamma |F_p| |F_q|, and r of them make a row.
		gram = size*(gram*slack+leastSum) + float64(l.r)*gamma(laneRoundings(d))*squares
		c.least, c.norm = least-gram, math.Sqrt(most)*guard
		if !(c.least > 0) {
			c.norm = math.NaN()
		}
	} else if !(least > 0) {
		c.norm = math.NaN()
	}
	if !(upperNorm(worker, l.centreOf(i)) < hugeSize) { // 0 times -w_i*mu_i may be NaN on the dense route
		c.norm = math.NaN()
	}
	if least == most && l.r == 0 {
		c.isotropic = least
	}
	long := gamma(d+laneRoundings(d)+8) * 1.01
	c.byFar = gamma(laneRoundings(d)+16) * (most + squares) * 1.01
	c.byBoth = 2 * long * squares
	c.bySum = long * long * squares
	l.m.boundMemory[i] = c
}

// factorNorms returns the sum of the squares of all factors and, if they are subtracted, the largest sum of a
// row of |F F^T|.
func (l *lowRank) factorNorms(worker *engine.Worker, f engine.Matrix) (squares, gram float64) {
	r := l.r
	dots := worker.ScratchRows(slotRowNumbers, r, r, r) // on and right of the diagonal
	for p := range r {
		right := r
		if l.s >= 0 {
			right = p + 1
		}
		worker.RowDots(dots.Row(p)[p:right], f.SliceRows(p, right), repeated(f.Row(p), right-p))
		squares += float64(dots.At(p, p))
	}
	for p := 0; p < r && l.s < 0; p++ {
		var sum float64
		for q := range r {
			sum += math.Abs(float64(dots.At(min(p, q), max(p, q))))
		}
		gram = max(gram, sum)
	}
	return squares, gram
}

func (l *lowRank) byDistance() bool { return l.s >= 0 && l.m.allPositive() }

func (l *lowRank) cost(e *engine.Engine, _, _, group float64) pairCost {
	return pairCost{
		flops: 2 * float64(l.m.D) * float64(2*l.r+3),
		dense: 1,
		slow:  4 + 2*float64(e.PanelCols())/float64(l.r+1)/group,
		first: 0.6 * float64(l.m.K),
	}
}

func (l *lowRank) keepsG() bool       { return false }
func (l *lowRank) keepsCentres() bool { return true }
func (l *lowRank) minorR() float32    { return 0 }
func (l *lowRank) rowFloats() int     { return 8 * l.m.K } // lower, upper
func (l *lowRank) pairFloats() int    { return max(l.r, 1) }

// grouping makes long blocks: each reads the factors of many components.
func (l *lowRank) grouping() (blocks int, byComponent bool) { return 1, false }

// firstOfAll asks for moderate weights, centres and factors: 0 times what is infinite is NaN on the dense route. If a
// factor is not finite, neither is its offset.
func (l *lowRank) firstOfAll(e *engine.Engine) bool {
	moderate := l.s < 0 && upperNorm(e.Caller(), l.offset) < hugeSize
	for _, list := range [][]float32{l.w, l.centres} {
		for ; len(list) > 0 && moderate; list = list[l.m.D:] {
			moderate = upperNorm(e.Caller(), list[:l.m.D]) < hugeSize
		}
	}
	return moderate
}

func (l *lowRank) firstStep(j *sparseJob) { j.runPhase(takeFirstStep, l.flops(j.x.Rows, 1)/2) }

// takeFirstStep takes the rows [r0, r1) through the first step: q_i of all components, by one product, and the
// gradients of those that count.
func (l *lowRank) takeFirstStep(worker *engine.Worker, j *sparseJob, r0, r1 int) {
	if j.stopped() {
		return
	}
	m, n, r := l.m, r1-r0, l.r
	work := &m.memory(worker).block
	work.beginAt(r0, r1)
	x := j.x.Slice(r0, r1, 0, m.D)
	z := worker.ScratchRows(slotY, n, m.K*r, engine.PaddedLD(m.K*r))
	both := worker.Scratch(slotDelta, 2*m.K*n)
	q, res := both[:m.K*n], both[m.K*n:]
	l.quadFormsOnce(worker, z, q, n, x)
	copy(res, q)
	worker.Mixture(res, n, m.C, worker.Scratch(slotRowNumbers, n))
	for b := r0; b < r1; b++ {
		row := &j.rows[b]
		row.reset(worker, j.x.Row(b))
		row.far = row.size + j.most.mu
		work.top[b-r0] = 0
		for i := range m.bounds {
			c, at := &m.bounds[i], b*m.K+i
			upper := row.size + c.mu
			wrong := c.roundings(upper, upper)
			j.upper[at], j.lower[at] = upper, math.Sqrt(max(float64(q[i*n+b-r0])-wrong, 0))/guard
		}
	}
	for i := range m.K {
		for p, v := range res[i*n : (i+1)*n] {
			if v == 0 { // left out of the sums below, too
				continue
			}
			if row := &j.rows[r0+p]; float64(v) > work.top[p] {
				work.top[p], row.lead = float64(v), int32(i)
				row.top = float64(num.FMA32(-0.5, q[i*n+p], m.C[i]))
			}
			at := pair{component: int32(i), row: int32(p)}
			work.pairs = append(work.pairs, pairQ{pair: at, slot: int32(work.slots), q: q[i*n+p]})
			work.reserve((work.slots + 1) * l.pairFloats())
			copy(work.values[work.slots*l.pairFloats():], z.Row(p)[i*r:(i+1)*r])
			work.slots++
		}
	}
	m.work.Active[0].Add(j.weigh(worker, work, 0, x))
	j.move(worker, work, 0, x)
}

// quadFormsOnce is quadForms without the packed factors: it packs the rows of x, which are fewer, and leaves out
// features in which all rows of a panel equal the origin, such as the background of images.
func (l *lowRank) quadFormsOnce(worker *engine.Worker, z engine.Matrix, q []float32, qs int, x engine.Matrix) {
	zT := worker.ScratchRows(slotG, z.Cols, z.Rows, z.Rows)
	for i := range l.offset {
		row := zT.Row(i)
		for n := copy(row, l.offset[i:i+1]); n > 0 && n < len(row); n *= 2 {
			copy(row[n:], row[:n])
		}
	}
	left := worker.MatMulNonzero(zT, engine.View(l.f, zT.Rows, x.Cols), l.fromOrigin(worker, x))
	l.m.work.LeftOut.Add(int64(left))
	worker.Transpose(z, zT)
	l.squares(worker, z, q, qs, x)
}

func (l *lowRank) evaluate(worker *engine.Worker, work *blockWork, x engine.Matrix, group []pairQ) {
	m, d, r, i, n := l.m, l.m.D, l.r, int(group[0].component), len(group)
	z := engine.View(work.values[work.slots*r:][:n*r], n, r)
	if l.inLanes() {
		for p := range group {
			group[p].q = l.laneQuadForm(worker, z.Row(p), x.Row(int(group[p].row)), i)
		}
		return
	}
	q, rows := worker.Scratch(slotQ, n), worker.ScratchRows(slotPicked, n, d, d)
	for p, v := range group {
		copy(rows.Row(p), x.Row(int(v.row)))
		copy(z.Row(p), l.offset[i*r:(i+1)*r])
	}
	worker.QuadRows(q, rows, m.mu(i), l.weightsOf(i))
	if r > 0 {
		worker.MatMul(z, l.fromOrigin(worker, rows), l.factorsOf(i).T(), true)
		l.addSquares(worker, q, z)
	}
	for p := range group {
		group[p].q = q[p]
	}
}

// rowGradient also records what the backward pass needs.
func (l *lowRank) rowGradient(worker *engine.Worker, j *sparseJob, work *blockWork, t, p int, x, grad []float32) {
	r, kr := l.r, l.m.K*l.r
	var z, scaled []float32
	if tr := j.tr; tr != nil && tr.backward {
		g := j.row0 + int(work.rows[p])
		z, scaled = tr.block(tr.z, kr, t, g, g+1).Data, tr.block(tr.scaled, l.stackedRows(), t, g, g+1).Data
	}
	weights := worker.Scratch(slotW, l.m.D)
	clear(weights)
	row, one := worker.Scratch(slotG, max(r, 1))[:r], worker.Scratch(slotTile, 1)
	for n, at := range work.byRow[p] {
		v := &work.pairs[at]
		i := int(v.component)
		zi := work.values[int(v.slot)*l.pairFloats():][:r]
		one[0] = l.s * v.q
		worker.GradRows(asRow(row), one, asRow(zi), one, 0, asRow(zi))
		worker.Axpy(-v.q, l.weightsOf(i), weights)
		addFactors(worker, grad, row, l.factorsOf(i), n == 0)
		if scaled != nil {
			copy(z[i*r:], zi)
			copy(scaled[i*r:], row)
			scaled[kr+i] = -v.q
		}
	}
	for _, at := range work.byRow[p] {
		v := &work.pairs[at]
		worker.Axpy(-v.q, l.centreOf(int(v.component)), grad)
	}
	worker.Multiply(weights, weights, x)
	worker.Add(grad, grad, weights)
}

// asRow returns x as a matrix of one row.
func asRow(x []float32) engine.Matrix {
	return engine.Matrix{Data: x, Rows: 1, Cols: len(x), RS: len(x), CS: 1}
}
