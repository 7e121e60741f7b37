package engine

import "math"

// A single row uses every number of P_i once, so that its ascent takes as long as reading P_i from
// the second-level cache, which is twice as long as multiplying. But P_i is symmetric: a number of
// its lower triangle serves as its mirror image, too, without any shuffle where components lie
// beside each other, one to a lane. Half as much is read, and the multiply-adds are the limit again.

// laneGroups says how components lie beside each other: in groups of sixteen where registers are so
// wide, then of eight, the last one of four if that is enough. Nine are worth a group of sixteen: of
// eight and four beside each other there are three quarters more multiply-adds, which on units of
// half that width are an eighth less work (by count; not timed).
type laneGroups struct{ sixteens, eights, fours int }

// laneGroups is that of components with d features: of many features, sixteen would be a long call.
func (kern *kernels) laneGroups(comps, d int) (n laneGroups) {
	if kern.table.quadSixteens != nil && kern.callBudget(32*d*d) >= 1 {
		n.sixteens = (comps + 7) / 16
		comps = max(comps-16*n.sixteens, 0)
	}
	n.eights = comps / 8
	switch rest := comps % 8; {
	case rest > 4:
		n.eights++
	case rest > 0:
		n.fours = 1
	}
	return n
}

// lanes is the number of components that there is room for.
func (n laneGroups) lanes() int { return 16*n.sixteens + 8*n.eights + 4*n.fours }

// group is the group of component i: its first component, and its size.
func (n laneGroups) group(i int) (first, width int) {
	if i < 16*n.sixteens {
		return i / 16 * 16, 16
	}
	first = i / 8 * 8
	return first, min(8, n.lanes()-first)
}

// widest is the size of the largest groups, 8 at least.
func (n laneGroups) widest() int {
	if n.sixteens > 0 {
		return 16
	}
	return 8
}

// triangles holds the lower triangles of all P_i: of each group the rows, eight at a time, or four of
// eight components; of them column by column, down to and with the diagonal; of a column the numbers
// of each row, one for each component.
type triangles struct {
	data      []float32
	packed    bool // as the precisions are
	symmetric bool // to the bit, as they ought to be
	steps     int  // that single rows have made since the precisions were set
}

// triangleSteps is the number of steps of single rows after which triangles are made: making them
// takes about as long as they save in so many.
const triangleSteps = 16

// maxHalved is the size of all P_i, in bytes, up to which half of them, and as much for lanes without
// a component, is kept a second time.
const maxHalved = 256 << 20

// halves says whether single rows may climb by triangles. Of fewer than four components most lanes
// would be idle.
func (kern *kernels) halves(comps, d int) bool {
	return kern.aloneRows > 0 && comps >= 4 && d%16 == 0 && kern.blocks(d) == 1 && 4*float64(comps)*float64(d)*float64(d) <= maxHalved
}

// usesTriangles says whether a job takes single rows through all steps by triangles, and sees to it
// that its mixture has them.
func (e *Engine) usesTriangles(j *ascentJob) bool {
	m, t := j.m, &j.m.triangles
	if !j.plan.Halves {
		return false
	}
	if !t.packed {
		if t.steps += j.x.Rows * j.steps; t.steps < triangleSteps {
			return false
		}
		t.pack(m)
	}
	return t.symmetric
}

// pack makes the triangles of m.
func (t *triangles) pack(m *Mixture) {
	n, each := m.packed().kern.laneGroups(m.K, m.D), m.D*(m.D+1)/2
	grow(&t.data, n.lanes()*each)
	if last, _ := n.group(m.K - 1); m.K < n.lanes() {
		clear(t.data[last*each:]) // the lanes without a component
	}
	t.packed, t.symmetric = true, true
	for i := range m.K {
		p := m.precision(i)
		first, width := n.group(i)
		p.packTriangle(t.data[first*each+i-first:], width)
		t.symmetric = t.symmetric && (m.a != nil || p.symmetric()) // SetFactors mirrors one half
	}
}

// packTriangle stores the lower triangle of p, a single block, in dst, as triangles has it.
func (p *Packed) packTriangle(dst []float32, lanes int) {
	d, nr, rows := p.cols, p.kern.nr, 8
	if lanes == 8 {
		rows = 4
	}
	for j := 0; j < d; j += rows {
		block := p.data[nr*(j/nr)*d+j%nr:] // the columns j to j+rows-1
		for range j {
			for l := 0; l < rows; l += 4 {
				from, to := block[l:l+4], dst[l*lanes:]
				to = to[: 3*lanes+1 : 3*lanes+1]
				to[0], to[lanes], to[2*lanes], to[3*lanes] = from[0], from[1], from[2], from[3]
			}
			block, dst = block[nr:], dst[rows*lanes:]
		}
		for c := range rows {
			for l, v := range block[c*nr+c : c*nr+rows] {
				dst[l*lanes] = v
			}
			dst = dst[min((rows-c)*lanes, len(dst)):]
		}
	}
}

// symmetric says whether p, a single block, has the same bits in both halves.
func (p *Packed) symmetric() bool {
	d, nr := p.cols, p.kern.nr
	for i := range d {
		for j := range i {
			if math.Float32bits(p.data[nr*(j/nr*d+i)+j%nr]) != math.Float32bits(p.data[nr*(i/nr*d+j)+i%nr]) {
				return false
			}
		}
	}
	return true
}

// loneRow is the memory of a worker for single rows. mu and g are of each group the columns of its
// components; q and c fill registers of eight.
type loneRow struct {
	groups            laneGroups
	mu, g, q, c, work []float32
}

// newLoneRow prepares for an ascent of single rows on m.
func (e *Engine) newLoneRow(worker int, m *Mixture) loneRow {
	n, d := e.kern.laneGroups(m.K, m.D), m.D
	lanes := n.lanes()
	whole := (lanes + 7) / 8 * 8
	memory := e.scratch[worker].floats(slotLone, 2*lanes*d+2*whole+n.widest()*d)
	take := func(n int) []float32 {
		x := memory[:n:n]
		memory = memory[n:]
		return x
	}
	l := loneRow{groups: n, mu: take(lanes * d), g: take(lanes * d), q: take(whole), c: take(whole), work: take(n.widest() * d)}
	for i := 0; i < m.K; {
		_, width := n.group(i)
		if m.K < i+width {
			clear(l.mu[i*d:])
		}
		e.kern.transpose(l.mu[i*d:], width, m.Mu[i*d:], d, min(m.K-i, width), d)
		i += width
	}
	for i := copy(l.c, m.C); i < whole; i++ {
		l.c[i] = float32(math.Inf(-1))
	}
	return l
}

// climbAlone takes the rows [r0, r1) through all steps, one after the other.
func (j *ascentJob) climbAlone(worker, r0, r1 int) {
	kern, m, l := j.e.kern, j.m, j.e.newLoneRow(worker, j.m)
	for row := r0; row < r1; row++ {
		x := j.x.Row(row)
		clear(l.q[l.groups.lanes():]) // where no component writes, but NaN of the row before may be
		for range j.steps {
			if j.stop != nil && j.stop() {
				return
			}
			kern.quadTriangle(l.groups, l.g, l.q, x, l.mu, m.triangles.data, l.work)
			kern.mixtureLanes(l.q, l.c)
			kern.moveLanes(l.groups, j.alpha, x, l.q, l.g)
			j.e.yield(&j.e.scratch[worker], 2*m.K*m.D*m.D)
		}
	}
}
