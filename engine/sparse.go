package engine

import (
	"cmp"
	"math"
	"slices"

	"dpnbench/engine/num"
)

// The sparse route of an ascent. After the first step a row computes only the components
// whose responsibility was more than slight at the step before, and those that no certificate
// excludes. Rows that climb to the same component are taken through all steps together,
// so that its P_i is read from the nearest cache that holds it. What comes out has the
// bits of the dense route, because what is left out is exactly 0.

// sparseJob is an ascent by the sparse route of the rows of x, which are few enough that
// what certificates need of every row and component can be kept.
type sparseJob struct {
	e     *Engine
	m     *Mixture
	alpha float32
	steps int
	x     Matrix
	tr    *Trajectory
	stop  func() bool // or nil
	row0  int         // of x in the trajectory
	work  *AscentWork

	phase sparsePhase
	parts int
	close bool // distances alone tell which components are close
	even  bool // rows go straight ways (straight)
	from  int  // the step at which the climb begins: 1 if the first one has been made of all components
	first Trajectory

	// Of pairs of a row and a component, at row*K + component.
	low  []float64 // low - norm*moved is below sqrt(q_i)
	far  []float64 // far + moved is above |x - mu_i|
	root []float64 // above sqrt(q_i) where G_i is known (support), or 0
	seat []float64 // |x - mu_i| there, from above
	tilt []float64 // mu_i G_i there

	rows   []climber // state of each row
	order  []int32   // rows, those that climb together beside each other
	bounds []int32   // of the blocks in order
	record int       // the first of their records in the trajectory

	// The largest of all certificates.
	norm, byFar, byBoth, bySum, mu, weight float64

	centres Packed  // Mu^T
	leads   []int32 // whose distances from all centres are measured (lay)
}

type sparsePhase int

const (
	surveys sparsePhase = iota // |x - mu_i|, by blocks of rows
	lays                       // |mu_a - mu_i|, by blocks of leading components
	adopts                     // what the first step has shown, by blocks of rows
	begins                     // the first step itself, for precisions of low rank, by blocks of rows
	climbs                     // all other steps, by blocks of order
)

// climber is the state of a row on its way.
type climber struct {
	active []int32 // components whose responsibility is neither 0 nor slight; of low rank, not 0
	lead   int32   // the one that was the largest at first
	top    float64 // the largest l_i at the step before
	size   float64 // |x_0|, from above
	moved  float64 // length of the way, from above
	last   float64 // of its last step
	far    float64 // the largest of far

	settled int32 // 1 + the component that the row goes straight to (settle), or 0

	// Of the components that are not near, the least sqrt(q_i) is above lowest -
	// norm*(moved - at), unless the row is settled: then near is as settle says.
	near   []int32
	lowest float64
	at     float64
}

// slight is a responsibility below which a certificate of matrices P_i may well exclude a component
// at the next step: reading P_i takes much longer than to try. Where the responsibility is 1 the
// component stays active (settle).
const slight = 0x1p-10

// What the sparse route keeps at most, in floats.
var (
	maxAnchors = 16 << 20 // of G_i for support, or else of bounds: rows beyond it wait for their turn
	maxApart   = 16 << 20 // distances of centres from each other (straight.go)
)

// sparseRows is how many rows climb at a time, of each of which so many floats are kept. They are
// 16 at least, for which it is still worth reading P_i: where k d is 10^7, their G_i take 640 MB,
// ten times maxAnchors (and P_i more by far).
func sparseRows(each int) int { return min(max(maxAnchors/each, 16), 4096) }

// ascendSparse is Ascend by the sparse route, for a mixture with certificates.
func (e *Engine) ascendSparse(m *Mixture, alpha float32, steps int, x Matrix, tr *Trajectory, stop func() bool) {
	j := &e.sparse
	j.e, j.m, j.alpha, j.steps, j.tr, j.record, j.stop = e, m, alpha, steps, tr, 0, stop
	j.work = &e.work
	j.limits()
	if tr != nil {
		clear(tr.R)
		tr.sparse = true
		tr.records = tr.records[:0]
	}
	if j.close = j.screens(); j.close || m.low == nil {
		j.centres.reshape(e.kern, m.D, m.K)
		e.packInto(&j.centres, View(m.Mu, m.K, m.D).T())
	}
	if j.even = j.straight(); j.even && m.low == nil {
		m.forget() // centres belong to the caller; SetLowRank is told of them
	}
	most := sparseRows(8 * m.K) // low, far
	if m.low == nil {
		most = sparseRows(m.K * m.D)
	}
	for lo := 0; lo < x.Rows; lo += most {
		j.x, j.row0 = x.Slice(lo, min(lo+most, x.Rows), 0, m.D), lo
		j.start()
		if j.stopped() {
			break
		}
		if j.even {
			j.lay()
		}
		j.gather()
		j.phase = climbs
		e.run(j, len(j.bounds)-1, j.flops())
		j.record += len(j.bounds) - 1
	}
	j.x, j.tr, j.stop, j.m, j.work = Matrix{}, nil, nil, nil, nil
}

// stopped says whether the caller has given up. What start was to find out is then not known.
func (j *sparseJob) stopped() bool { return j.stop != nil && j.stop() }

// flops is what a climb costs at least, with the Go code beside it.
func (j *sparseJob) flops() float64 {
	row := 2 * float64(j.m.D) * float64(j.m.D)
	if j.m.low != nil {
		row = 2 * float64(j.m.D) * float64(2*j.m.low.r+3)
	}
	return float64(j.x.Rows) * float64(j.steps-j.from) * (row + j.e.kern.flopPerMicrosecond/2)
}

// limits collects the largest of the certificates.
func (j *sparseJob) limits() {
	j.norm, j.byFar, j.byBoth, j.bySum, j.mu, j.weight = 0, 0, 0, 0, 0, math.Inf(-1)
	for i, c := range j.m.certificates {
		j.norm, j.mu = max(j.norm, c.norm), max(j.mu, c.mu)
		j.byFar, j.byBoth, j.bySum = max(j.byFar, c.byFar), max(j.byBoth, c.byBoth), max(j.bySum, c.bySum)
		j.weight = max(j.weight, float64(j.m.C[i]))
	}
}

// growSlice gives s n elements, in the memory that it has where that is enough.
func growSlice[T any](s *[]T, n int) {
	if cap(*s) < n {
		*s = make([]T, n)
	}
	*s = (*s)[:n]
}

// start finds out where every row begins. Where all precisions have a known smallest
// eigenvalue, distances to the centres do; otherwise a first step with all components.
func (j *sparseJob) start() {
	e, m, n := j.e, j.m, j.x.Rows
	pairs := n * m.K
	growSlice(&j.low, pairs)
	growSlice(&j.far, pairs)
	if m.low == nil {
		growSlice(&j.root, pairs)
		growSlice(&j.seat, pairs)
		growSlice(&j.tilt, pairs)
		clear(j.root)
	}
	if cap(j.rows) < n {
		j.rows = append(j.rows[:cap(j.rows)], make([]climber, n-cap(j.rows))...)
	}
	j.rows = j.rows[:n]
	blocks := rowBlocks(n, maxBlockRows, e.Threads())
	j.parts = blocks
	if j.work != nil && !j.close {
		j.work.Evaluated[0].Add(int64(pairs))
	}
	if !j.close && m.low != nil {
		j.phase, j.from = begins, 1
		e.run(j, blocks, lowRankFlops(n, m.K, m.D, m.low.r, 1)/2)
		return
	}
	j.phase, j.from = surveys, 0
	e.run(j, blocks, 2*float64(pairs)*float64(m.D))
	if j.close {
		return
	}
	f := &j.first
	f.keepQ = true
	f.reshape(1, n, m, true, false)
	f.kept = true // at once, whatever the limit
	grow(&f.g, n*m.K*m.D)
	j.from = 1
	e.ascend(ascentJob{e: e, m: m, alpha: j.alpha, steps: 1, x: j.x, tr: f, stop: j.stop, plan: e.plan(m, n, 1, false)})
	if j.stopped() {
		return
	}
	j.phase, j.parts = adopts, blocks
	e.run(j, blocks, 16*float64(pairs)*float64(m.D))
}

// screens says whether distances alone tell which components are close.
func (j *sparseJob) screens() bool {
	for i := range j.m.certificates {
		c := &j.m.certificates[i]
		if !(c.least > 0) || j.m.low != nil && j.m.low.sign < 0 {
			return false
		}
	}
	return true
}

func (j *sparseJob) run(worker, task int) {
	switch j.phase {
	case surveys:
		r0, r1 := part(j.x.Rows, j.parts, task)
		j.survey(worker, r0, r1)
	case lays:
		r0, r1 := part(len(j.leads), j.parts, task)
		j.layRows(worker, r0, r1)
	case adopts:
		r0, r1 := part(j.x.Rows, j.parts, task)
		for b := r0; b < r1; b++ {
			j.adopt(&j.e.scratch[worker], b)
		}
	case begins:
		r0, r1 := part(j.x.Rows, j.parts, task)
		j.begin(worker, r0, r1)
	case climbs:
		j.climb(worker, task)
	}
}

// survey finds the distances of the rows [r0, r1) to all centres, from
// |x|^2 - 2 x mu_i + |mu_i|^2, and what follows from them.
func (j *sparseJob) survey(worker, r0, r1 int) {
	if j.stopped() {
		return
	}
	e, m := j.e, j.m
	n, ld := r1-r0, paddedLD(m.K)
	dots := Matrix{Data: e.scratch[worker].floats(slotY, n*ld), Rows: n, Cols: m.K, RS: ld, CS: 1}
	e.multiply(worker, dots, j.x.Slice(r0, r1, 0, m.D), &operand{packed: &j.centres}, false)
	slack := centreSlack(m.D)
	for b := r0; b < r1; b++ {
		row := &j.rows[b]
		*row = climber{active: row.active[:0], near: row.near[:0], lowest: math.Inf(-1), size: e.scratch[worker].upperNorm(e.kern, j.x.Row(b))}
		best, at := math.Inf(-1), 0
		dot := dots.Row(b - r0)
		for i := range m.certificates {
			c := &m.certificates[i]
			s := row.size + c.mu
			square := row.size*row.size + c.mu*c.mu - 2*float64(dot[i])
			wide := slack*s*s + 3*leastSum
			far := math.Sqrt(max(square+wide, 0)) * guard
			least := math.Sqrt(c.least*max(square-wide, 0)) / guard
			j.far[b*m.K+i], j.low[b*m.K+i] = far, least
			if !(far <= row.far) { // also NaN
				row.far = far
			}
			if l := float64(m.C[i]) - least*least/2; l > best {
				best, at = l, i
			}
		}
		row.active, row.lead, row.top = append(row.active, int32(at)), int32(at), best
	}
}

// begin takes the rows [r0, r1) through the first step where precisions are of low rank: q_i
// of all components, by one product, and the gradients of those that count.
func (j *sparseJob) begin(worker, r0, r1 int) {
	if j.stopped() {
		return
	}
	e, m, n, r := j.e, j.m, r1-r0, j.m.low.r
	arena := &e.scratch[worker]
	w := &arena.party
	x, ld := j.x.Slice(r0, r1, 0, m.D), paddedLD(m.K*r)
	z := Matrix{Data: arena.floats(slotY, n*ld), Rows: n, Cols: m.K * r, RS: ld, CS: 1}
	both := arena.floats(slotCentre, 2*m.K*n)
	q, res := both[:m.K*n], both[m.K*n:]
	e.lowQuads(worker, z, q, n, x, m)
	copy(res, q)
	e.kern.mixture(res, n, m.C, arena.floats(slotS, n))

	w.expect(n)
	w.pairs, w.slots, w.rows = w.pairs[:0], 0, w.rows[:0]
	for b := r0; b < r1; b++ {
		row := &j.rows[b]
		*row = climber{active: row.active[:0], near: row.near[:0], lowest: math.Inf(-1), size: arena.upperNorm(e.kern, j.x.Row(b))}
		row.far = row.size + j.mu
		w.rows, w.top[b-r0] = append(w.rows, int32(b)), 0
		for i := range m.certificates {
			c, at := &m.certificates[i], b*m.K+i
			far := row.size + c.mu
			wrong := c.roundings(far, far)
			j.far[at], j.low[at] = far, math.Sqrt(max(float64(q[i*n+b-r0])-wrong, 0))/guard
		}
	}
	for i := range m.K {
		for p, v := range res[i*n : (i+1)*n] {
			if v == 0 { // left out of the sums below, too
				continue
			}
			if row := &j.rows[r0+p]; float64(v) > w.top[p] {
				w.top[p], row.lead = float64(v), int32(i)
				row.top = float64(num.FMA32(-0.5, q[i*n+p], m.C[i]))
			}
			w.pairs = append(w.pairs, evaluated{row: int32(p), comp: int32(i), slot: int32(w.slots), q: q[i*n+p]})
			w.reserve((w.slots + 1) * max(r, 1))
			copy(w.values[w.slots*max(r, 1):], z.Row(p)[i*r:(i+1)*r])
			w.slots++
		}
	}
	active := j.weigh(arena, w, 0, x, w.rows)
	if j.work != nil {
		j.work.Active[0].Add(active)
	}
	j.move(worker, w, 0, x, w.rows)
}

// adopt takes over what the dense first step has found out about row b.
func (j *sparseJob) adopt(arena *arena, b int) {
	m, f, row := j.m, &j.first, &j.rows[b]
	for i := range m.K {
		at := b*m.K + i
		q := float64(f.q[i*f.Rows+b])
		wrong := m.certificates[i].roundings(j.far[at], row.size+m.certificates[i].mu)
		j.low[at] = math.Sqrt(max(q-wrong, 0)) / guard
		j.anchor(arena, b, i, f.gAt(0, i, b, b+1).Data, q+wrong, j.far[at])
	}
	row.active = row.active[:0]
	var most float32
	active := 0
	for i := range m.K {
		if r := f.R[i*f.Rows+b]; r != 0 {
			active++
			if !(r < slight) {
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
	}
	j.strode(arena, row, f.XAt(0).Row(b), j.x.Row(b))
	if tr := j.tr; tr != nil {
		g := j.row0 + b
		copy(tr.XAt(0).Row(g), f.XAt(0).Row(b))
		tr.Phi[g] = f.Phi[b]
	}
	if j.work != nil {
		j.work.Active[0].Add(int64(active))
	}
}

// anchor notes what the bound by support of component i needs of the place where G_i was
// computed: q_i is at most square there, and |x - mu_i| at most seat.
func (j *sparseJob) anchor(arena *arena, b, i int, g []float32, square, seat float64) {
	at := b*j.m.K + i
	j.tilt[at], j.seat[at] = arena.dot(j.e.kern, g, j.m.mu(i)), seat
	j.root[at] = math.Sqrt(square) * guard
}

// strode adds a step from x to y to the way of a row.
func (j *sparseJob) strode(arena *arena, row *climber, x, y []float32) {
	row.last = arena.distance(j.e.kern, x, y)
	row.moved = (row.moved + row.last) * guard
}

// gather puts rows with the same leading component beside each other and cuts them into
// blocks. Those of a potential with matrices P_i end where the component does, so that P_i
// stays in the cache, unless they are diagonal.
func (j *sparseJob) gather() {
	n := j.x.Rows
	growSlice(&j.order, n)
	for b := range j.order {
		j.order[b] = int32(b)
	}
	lead := func(b int32) int32 { return j.rows[b].lead }
	slices.SortFunc(j.order, func(a, b int32) int {
		if c := cmp.Compare(lead(a), lead(b)); c != 0 {
			return c
		}
		return cmp.Compare(a, b)
	})
	blocks := 2 * j.e.Threads()
	if j.m.low != nil { // each reads the factors of many components
		blocks /= 2
	}
	most := min(max((n+blocks-1)/blocks, 8), maxBlockRows)
	least := most
	if j.m.low == nil && j.m.certificates[0].diagonal == nil {
		least = 1
	}
	j.bounds = append(j.bounds[:0], 0)
	for at, begin := 1, 0; at <= n; at++ {
		if at == n || at-begin == most || at-begin >= least && lead(j.order[at]) != lead(j.order[begin]) {
			if j.m.low == nil { // as records want them
				slices.Sort(j.order[begin:at])
			}
			j.bounds = append(j.bounds, int32(at))
			begin = at
		}
	}
	if tr := j.tr; tr != nil && tr.backward && j.m.low == nil {
		tr.reserve(j.record + len(j.bounds) - 1)
	}
}

// evaluated is a pair of a row of a block and a component, and where G_i, or Z_i, is.
type evaluated struct {
	row, comp, slot int32
	q               float32
}

// party is the memory of a worker that takes a block of rows uphill.
type party struct {
	wanted, pairs []evaluated
	sorted        []evaluated // memory for sorting
	ends          []int32     // of components among the wanted pairs
	top           []float64   // the largest l_i of each row so far
	comps         []int32
	doubts        []int32   // components that may matter to a row
	byRow         [][]int32 // pairs of each row, as numbers in pairs
	c             []float32
	values        []float32 // G_i, or Z_i, of all pairs: slot by slot
	slots         int
	rows          []int32 // of the block, in the first step
}

// expect makes room for n rows.
func (w *party) expect(n int) {
	growSlice(&w.top, n)
	if cap(w.byRow) < n {
		w.byRow = append(w.byRow[:cap(w.byRow)], make([][]int32, n-cap(w.byRow))...)
	}
	w.byRow = w.byRow[:n]
}

// reserve makes room for n values, and keeps those that there are.
func (w *party) reserve(n int) {
	if len(w.values) < n {
		more := alignedFloats(n + n/2)
		copy(more, w.values)
		w.values = more
	}
}

// sortWanted sorts the wanted pairs, those of each component in increasing row, by component.
func (w *party) sortWanted(k int) {
	if slices.IsSortedFunc(w.wanted, comparePairs) {
		return
	}
	growSlice(&w.ends, k)
	clear(w.ends)
	for _, v := range w.wanted {
		w.ends[v.comp]++
	}
	var sum int32
	for i, n := range w.ends {
		w.ends[i] = sum
		sum += n
	}
	growSlice(&w.sorted, len(w.wanted))
	for _, v := range w.wanted {
		w.sorted[w.ends[v.comp]] = v
		w.ends[v.comp]++
	}
	w.wanted, w.sorted = w.sorted, w.wanted
}

// has says whether component i of row p has been evaluated.
func (w *party) has(p int, i int32) bool {
	_, ok := slices.BinarySearchFunc(w.pairs, evaluated{row: int32(p), comp: i}, comparePairs)
	return ok
}

// merge sorts the pairs, of which the first n are sorted and the others, too.
func (w *party) merge(n int) {
	w.sorted = append(w.sorted[:0], w.pairs[:n]...)
	a, b := w.sorted, w.pairs[n:]
	for at := range w.pairs {
		if len(a) == 0 {
			return
		}
		if len(b) == 0 || comparePairs(a[0], b[0]) < 0 {
			w.pairs[at], a = a[0], a[1:]
		} else {
			w.pairs[at], b = b[0], b[1:]
		}
	}
}

// climb takes a block of rows through the steps.
func (j *sparseJob) climb(worker, task int) {
	e, d := j.e, j.m.D
	arena := &e.scratch[worker]
	w := &arena.party
	rows := j.order[j.bounds[task]:j.bounds[task+1]]
	n := len(rows)
	x := View(arena.floats(slotRows, n*d), n, d)
	for p, b := range rows {
		copy(x.Row(p), j.x.Row(int(b)))
	}
	rec := j.recordOf(task, rows)
	w.expect(n)
	for t := j.from; t < j.steps; t++ {
		if j.stopped() {
			return
		}
		w.pairs, w.wanted, w.slots = w.pairs[:0], w.wanted[:0], 0
		var bounds int64
		for p, b := range rows {
			row := &j.rows[b]
			for _, i := range row.active {
				w.wanted = append(w.wanted, evaluated{row: int32(p), comp: i})
			}
			bounds += j.doubt(arena, w, p, int(b), x.Row(p), j.guess(row))
			w.top[p] = math.Inf(-1)
		}
		j.evaluate(worker, w, x, rows)
		known := len(w.pairs)
		w.wanted = w.wanted[:0]
		for p, b := range rows {
			if !(w.top[p] >= j.guess(&j.rows[b])) {
				bounds += j.doubt(arena, w, p, int(b), x.Row(p), w.top[p])
			}
		}
		if len(w.wanted) > 0 {
			j.evaluate(worker, w, x, rows)
			w.merge(known)
		}
		for p, b := range rows {
			j.rows[b].top = w.top[p]
		}
		active := j.weigh(arena, w, t, x, rows)
		if rec != nil {
			rec.add(w, rows, j.row0, d)
		}
		if j.even {
			j.follow(w, rows)
		}
		j.move(worker, w, t, x, rows)
		if j.work != nil {
			j.work.Evaluated[t].Add(int64(len(w.pairs)))
			j.work.Active[t].Add(active)
			j.work.Bounds[t].Add(bounds)
		}
	}
	for p, b := range rows {
		copy(j.x.Row(int(b)), x.Row(p))
		if j.tr != nil {
			copy(j.tr.XAt(j.steps).Row(j.row0+int(b)), x.Row(p))
		}
	}
}

func comparePairs(a, b evaluated) int {
	if c := cmp.Compare(a.comp, b.comp); c != 0 {
		return c
	}
	return cmp.Compare(a.row, b.row)
}

// evaluate computes q_i and G_i, or Z_i, of the wanted pairs and appends them to the pairs,
// component by component.
func (j *sparseJob) evaluate(worker int, w *party, x Matrix, rows []int32) {
	w.sortWanted(j.m.K)
	width, arena := j.width(), &j.e.scratch[worker]
	w.reserve((w.slots + len(w.wanted)) * width)
	for lo := 0; lo < len(w.wanted); {
		hi := lo + 1
		for hi < len(w.wanted) && w.wanted[hi].comp == w.wanted[lo].comp {
			hi++
		}
		group := w.wanted[lo:hi]
		if j.m.low != nil {
			var next []float32
			if hi < len(w.wanted) && j.m.low.r > 0 {
				next = j.m.low.columnsOf(j.e.kern, int(w.wanted[hi].comp), x.Cols)
			}
			j.lowGroup(worker, w, x, group, next)
		} else {
			j.denseGroup(worker, w, x, group)
		}
		for k := range group {
			group[k].slot = int32(w.slots + k)
			j.learn(arena, w, group[k], int(rows[group[k].row]))
		}
		w.slots += len(group)
		lo = hi
	}
	w.pairs = append(w.pairs, w.wanted...)
}

// width is the number of floats that are kept of a pair.
func (j *sparseJob) width() int {
	if j.m.low != nil {
		return max(j.m.low.r, 1)
	}
	return paddedLD(j.m.D)
}

// learn notes what a new q_i tells: of the largest l_i, and of the pair.
func (j *sparseJob) learn(arena *arena, w *party, v evaluated, b int) {
	i, row := int(v.comp), &j.rows[b]
	at, c, q := b*j.m.K+i, &j.m.certificates[i], float64(v.q)
	l := float64(num.FMA32(-0.5, v.q, j.m.C[i]))
	if t := w.top[v.row]; t == t && !(l <= t) { // a NaN stays, and proves nothing from here on
		w.top[v.row] = l
	}
	far := j.far[at] + row.moved
	wrong := c.roundings(far, row.size+row.moved+c.mu)
	j.low[at] = math.Sqrt(max(q-wrong, 0))/guard + c.norm*row.moved
	if j.m.low == nil {
		j.anchorTo(arena, w, v, b, q+wrong, far)
	}
}

// anchorTo keeps G_i of an evaluated pair for the bound by support.
func (j *sparseJob) anchorTo(arena *arena, w *party, v evaluated, b int, square, far float64) {
	if j.close { // there is no memory for it
		return
	}
	ld, i := paddedLD(j.m.D), int(v.comp)
	g := j.first.gAt(0, i, b, b+1).Data
	copy(g, w.values[int(v.slot)*ld:])
	j.anchor(arena, b, i, g, square, far)
}

// denseGroup computes G_i and q_i of some rows for one component.
func (j *sparseJob) denseGroup(worker int, w *party, x Matrix, group []evaluated) {
	e, m, d := j.e, j.m, j.m.D
	arena, ld, i, n := &e.scratch[worker], paddedLD(d), int(group[0].comp), len(group)
	g := Matrix{Data: w.values[w.slots*ld:], Rows: n, Cols: d, RS: ld, CS: 1}
	delta := Matrix{Data: arena.floats(slotCentre, n*ld), Rows: n, Cols: d, RS: ld, CS: 1}
	for k, v := range group {
		e.kern.subRows(delta.Row(k), 0, x.Row(int(v.row)), 0, m.mu(i), 0, 1, d)
	}
	e.multiplyPrecision(worker, g, delta, m, i, false)
	q := arena.floats(slotQ, n)
	e.kern.dotRows(q, g.Data, ld, delta.Data, ld, d)
	for k := range group {
		group[k].q = q[k]
	}
}

// multiplyPrecision computes g = delta P_i, or adds it to g. Of a diagonal P_i and finite
// numbers a chain of multiply-adds that begins here is a single product, up to the sign of a
// zero, which is lost in the sums that it goes into. Every other time the panels of P_i are
// read from the last to the first: what of it fits into the cache is then still there.
func (e *Engine) multiplyPrecision(worker int, g, delta Matrix, m *Mixture, i int, acc bool) {
	d, p := m.D, m.precision(i)
	if diagonal := m.diagonal(i); diagonal != nil && !acc && e.allFinite(delta) {
		for b := range g.Rows {
			e.kern.multiply(g.Row(b), delta.Row(b), diagonal)
		}
		return
	}
	panels, arena := e.kern.panels(d), &e.scratch[worker]
	if arena.backwards = !arena.backwards; !arena.backwards || e.kern.blocks(d) > 1 || e.kern.rowBlocks(g.Rows, d) > 1 {
		e.multiply(worker, g, delta, &operand{packed: p}, acc)
		return
	}
	left := e.prepareA(arena, delta, panels)
	for pn := panels - 1; pn >= 0; pn-- {
		var next []float32
		if pn > 0 {
			next = p.panel(pn-1, 0, d)
		}
		e.multiplyTile(arena, g.Slice(0, g.Rows, pn*e.kern.nr, g.Cols), &left, panelB{p.panel(pn, 0, d), e.kern.nr, next}, acc)
		e.yield(arena, 2*g.Rows*e.kern.nr*d)
	}
}

// diagonal returns the diagonal of P_i if it is known that there is nothing else.
func (m *Mixture) diagonal(i int) []float32 {
	if m.certificates == nil {
		return nil
	}
	return m.certificates[i].diagonal
}

// allFinite says whether no row has an infinity or a NaN.
func (e *Engine) allFinite(m Matrix) bool {
	for b := range m.Rows {
		for _, v := range m.Row(b) {
			if v-v != 0 {
				return false
			}
		}
	}
	return true
}

// lowGroup computes Z_i and q_i of some rows for one component. next is F_i^T of the one after
// it, or empty.
func (j *sparseJob) lowGroup(worker int, w *party, x Matrix, group []evaluated, next []float32) {
	e, m, l, d := j.e, j.m, j.m.low, j.m.D
	arena, r, i, n := &e.scratch[worker], j.m.low.r, int(group[0].comp), len(group)
	some := View(arena.floats(slotPick, n*d), n, d)
	for k, v := range group {
		copy(some.Row(k), x.Row(int(v.row)))
	}
	q := arena.floats(slotQ, n)
	e.kern.quadRows(q, some.Data, d, m.mu(i), l.w[i*d:(i+1)*d])
	if r > 0 {
		z := Matrix{Data: w.values[w.slots*r:], Rows: n, Cols: r, RS: r, CS: 1}
		for k := range n {
			copy(z.Row(k), l.offset[i*r:(i+1)*r])
		}
		e.multiplyThin(worker, z, some, l.columnsOf(e.kern, i, d), true, next)
		squares := arena.floats(slotS, n)
		e.kern.dotRows(squares, z.Data, r, z.Data, r, r)
		e.kern.axpy(l.sign, squares, q)
	}
	for k := range group {
		group[k].q = q[k]
	}
}

// multiplyThin sets c = a b, or adds to it, for a b of few columns, row-major and without
// gaps, behind which another nr numbers can be read. In the panels of all factors these
// columns lie among those of others, which for a few rows takes longer to read than to
// multiply; here the other columns of a panel are the rows below, and are thrown away. next is
// fetched into the cache meanwhile.
func (e *Engine) multiplyThin(worker int, c, a Matrix, b []float32, acc bool, next []float32) {
	arena, nr := &e.scratch[worker], e.kern.nr
	nb := e.kern.blocks(a.Cols)
	for j0 := 0; j0 < c.Cols; j0 += nr {
		for kb := range nb {
			k0, k1 := part(a.Cols, nb, kb)
			left := e.prepareA(arena, a.Slice(0, a.Rows, k0, k1), 1)
			e.multiplyTile(arena, c.Slice(0, c.Rows, j0, c.Cols), &left, panelB{b[k0*c.Cols+j0:], c.Cols, next}, acc || kb > 0)
		}
	}
}

// guess returns about the largest l_i of a row, from the step before and the way since then: of
// one active component, up a gradient of the length |x'-x|/alpha, it is so large up to rounding.
func (j *sparseJob) guess(row *climber) float64 {
	up := 1/float64(j.alpha) - j.norm*j.norm/2
	return row.top + max(up, 0)*row.last*row.last - 0.25
}

// doubt adds to the wanted pairs of row b, which is row p of the block, those that are not
// among them nor evaluated, and that no certificate excludes where the largest l_i is top. It
// returns how many bounds by support it computed.
func (j *sparseJob) doubt(arena *arena, w *party, p, b int, x []float32, top float64) (bounds int64) {
	row := &j.rows[b]
	if row.settled != 0 && len(row.near) == 0 {
		return 0
	}
	far, sum := row.far+row.moved, row.size+row.moved+j.mu
	wrong := (j.byFar*far*far+j.byBoth*far*sum+j.bySum*sum*sum)*guard + leastSum
	enough := lowest(j.weight, top, wrong)
	if row.settled == 0 && !(row.lowest-j.norm*(row.moved-row.at)*guard > enough) {
		j.patrol(row, b, enough)
	}
	lows, lost := j.low[b*j.m.K:(b+1)*j.m.K], j.norm*row.moved*guard
	w.doubts = w.doubts[:0]
	for _, i := range row.near {
		if !(lows[i]-lost > enough) && !slices.Contains(row.active, i) && !w.has(p, i) {
			w.doubts = append(w.doubts, i)
		}
	}
	for _, i := range w.doubts {
		ok, supported := j.excluded(arena, row, b, int(i), top, x)
		if supported {
			bounds++
		}
		if !ok {
			w.wanted = append(w.wanted, evaluated{row: int32(p), comp: i})
		}
	}
	return bounds
}

// lowest returns how large sqrt(q_i) must be for l_i = c - q_i/2 as computed to fall under
// the cut below top, if q_i as computed is at most wrong off; NaN where nothing can be said.
func lowest(c, top, wrong float64) float64 {
	need := 2*(c-top+nearCut*cutGuard) + wrong
	need += 8 * unit * (math.Abs(c) + math.Abs(top) + nearCut) // rounding of l_i
	if !(math.Abs(need) < hugeSize) {
		return math.NaN()
	}
	return math.Sqrt(max(need, 0)) * guard
}

// patrol goes over all components of a row and divides them into those that may matter
// within the next steps, and the others. Most are found to be far by the largest norm.
func (j *sparseJob) patrol(row *climber, b int, enough float64) {
	m := j.m
	row.near, row.at = row.near[:0], row.moved
	reach := 4 * row.last
	lost := j.norm * row.moved * guard
	far := enough + j.norm*reach + lost
	least, nearest := math.Inf(1), math.Inf(1)
	for i, low := range j.low[b*m.K : (b+1)*m.K] {
		if low > far {
			least = min(least, low)
			continue
		}
		norm := m.certificates[i].norm
		if s := low - norm*row.moved*guard; s > enough+norm*reach {
			nearest = min(nearest, s)
		} else {
			row.near = append(row.near, int32(i))
		}
	}
	row.lowest = min(least-lost, nearest)
}

// excluded says whether a certificate proves that l_i of row b would fall under the cut, and
// whether it took a bound by support to know.
func (j *sparseJob) excluded(arena *arena, row *climber, b, i int, top float64, x []float32) (ok, supported bool) {
	m, c, at := j.m, &j.m.certificates[i], b*j.m.K+i
	far, sum := j.far[at]+row.moved, row.size+row.moved+c.mu
	if j.low[at]-c.norm*row.moved*guard > lowest(float64(m.C[i]), top, c.roundings(far, sum)) {
		return true, false
	}
	if m.low != nil || !(j.root[at] > 0) {
		return false, false
	}
	far = arena.distance(j.e.kern, x, m.mu(i))
	s := j.supported(arena, b, i, far, sum, x)
	if s > lowest(float64(m.C[i]), top, c.roundings(far, sum)) {
		j.low[at] = max(j.low[at], s+c.norm*row.moved)
		return true, true
	}
	return false, true
}

// supported returns a number that sqrt(q_i) of row b at x is not below, by the bound by support:
// |x - mu_i| is at most far, |x| + |mu_i| at most sum.
func (j *sparseJob) supported(arena *arena, b, i int, far, sum float64, x []float32) float64 {
	c, at := &j.m.certificates[i], b*j.m.K+i
	dot, seat := arena.dot(j.e.kern, x, j.first.gAt(0, i, b, b+1).Data), j.seat[at]
	off := c.gradient*far*seat + 2*gamma(laneRoundings(j.m.D))*sum*(c.norm*c.norm+c.gradient)*seat
	return (dot - j.tilt[at] - off*guard) / j.root[at]
}

// weigh turns q of the evaluated pairs into responsibilities, in their place, and phi, and
// notes which are active. It returns how many are.
func (j *sparseJob) weigh(arena *arena, w *party, t int, x Matrix, rows []int32) (active int64) {
	n := len(rows)
	w.comps, w.c = w.comps[:0], w.c[:0]
	for _, v := range w.pairs {
		if k := len(w.comps); k == 0 || w.comps[k-1] != v.comp {
			w.comps = append(w.comps, v.comp)
			w.c = append(w.c, j.m.C[v.comp])
		}
	}
	q := arena.floats(slotQ, len(w.comps)*n)
	for k := range q {
		q[k] = float32(math.Inf(1))
	}
	k := 0
	for _, v := range w.pairs {
		for w.comps[k] != v.comp {
			k++
		}
		q[k*n+int(v.row)] = v.q
	}
	phi := arena.floats(slotS, n)
	j.e.kern.mixture(q, n, w.c, phi)
	for p, b := range rows {
		w.byRow[p] = w.byRow[p][:0]
		j.rows[b].active = j.rows[b].active[:0]
		if j.tr != nil {
			g := j.row0 + int(b)
			j.tr.PhiAt(t)[g] = phi[p]
			copy(j.tr.XAt(t).Row(g), x.Row(p))
		}
	}
	k = 0
	for at := range w.pairs {
		v := &w.pairs[at]
		for w.comps[k] != v.comp {
			k++
		}
		v.q = q[k*n+int(v.row)] // r from here on
		if v.q == 0 {
			continue
		}
		active++
		b := rows[v.row]
		w.byRow[v.row] = append(w.byRow[v.row], int32(at))
		if !(v.q < slight) || j.m.low != nil {
			j.rows[b].active = append(j.rows[b].active, v.comp)
		}
		if j.tr != nil {
			j.tr.RAt(t).Set(int(v.comp), j.row0+int(b), v.q)
		}
	}
	return active
}

// move takes the rows of a block a step uphill, those with the same first active component one
// after the other, while its factors are near. Every row has one: the largest l_i has a
// responsibility of 1/K at least, and where none is the largest all are NaN.
func (j *sparseJob) move(worker int, w *party, t int, x Matrix, rows []int32) {
	for at, v := range w.pairs {
		if int(w.byRow[v.row][0]) == at {
			j.moveRow(worker, w, t, int(v.row), x, rows)
		}
	}
}

// moveRow takes row p of a block a step uphill.
func (j *sparseJob) moveRow(worker int, w *party, t, p int, x Matrix, rows []int32) {
	e, d, b := j.e, j.m.D, int(rows[p])
	arena := &e.scratch[worker]
	grad, before := arena.floats(slotGrad, d), arena.floats(slotE, d)
	if j.m.low != nil {
		j.lowGradient(worker, w, t, p, b, x.Row(p), grad)
	} else {
		j.denseGradient(arena, w, p, grad)
	}
	copy(before, x.Row(p))
	e.kern.axpy(j.alpha, grad, x.Row(p))
	j.strode(arena, &j.rows[b], before, x.Row(p))
}

// denseGradient sums up - r_i G_i over the active components of a row.
func (j *sparseJob) denseGradient(arena *arena, w *party, p int, grad []float32) {
	ld, d, list := paddedLD(j.m.D), j.m.D, w.byRow[p]
	r := arena.floats(slotS, len(list))
	for k, at := range list {
		r[k] = w.pairs[at].q
	}
	if len(list) == 1 {
		j.e.kern.gradient(grad, r, 1, w.values[int(w.pairs[list[0]].slot)*ld:], ld, 1)
		return
	}
	g := arena.floats(slotG, len(list)*ld)
	for k, at := range list {
		s := int(w.pairs[at].slot) * ld
		copy(g[k*ld:k*ld+d], w.values[s:s+d])
	}
	j.e.kern.gradient(grad, r, 1, g, ld, len(list))
}

// lowGradient computes the gradient of a row for precisions of low rank, and records what
// the backward pass needs.
func (j *sparseJob) lowGradient(worker int, w *party, t, p, b int, x, grad []float32) {
	e, m, l, d := j.e, j.m, j.m.low, j.m.D
	arena, r, kr := &e.scratch[worker], j.m.low.r, j.m.K*j.m.low.r
	var z, push []float32
	if j.tr != nil && j.tr.backward {
		g := j.row0 + b
		z, push = j.tr.block(j.tr.z, kr, t, g, g+1).Data, j.tr.block(j.tr.push, m.inner(), t, g, g+1).Data
		clear(push)
	}
	stack := View(l.stack, m.inner(), d)
	weights := arena.floats(slotW, d)
	clear(weights)
	row, one := arena.floats(slotG, max(r, 1))[:r], arena.floats(slotS, 1)
	for n, at := range w.byRow[p] {
		v := &w.pairs[at]
		i := int(v.comp)
		zi := w.values[int(v.slot)*max(r, 1):][:r]
		one[0] = v.q
		e.kern.gradRows(row, r, one, zi, r, one, 0, zi, r, r)
		e.kern.axpy(-v.q, l.w[i*d:(i+1)*d], weights)
		e.addFactors(arena, grad, row, l.stack[i*r*d:], n == 0)
		if push != nil {
			copy(z[i*r:], zi)
			copy(push[i*r:], row)
			push[kr+i] = -v.q
		}
	}
	for _, at := range w.byRow[p] {
		v := &w.pairs[at]
		e.kern.axpy(-v.q, stack.Row(kr+int(v.comp)), grad)
	}
	e.kern.multiply(weights, weights, x)
	e.kern.add(grad, grad, weights)
}
