package engine

import "math"

// A single row uses every number of P_i once, so that its ascent takes as long as reading P_i from
// the second-level cache, which is twice as long as multiplying. But P_i is symmetric: a number of
// its lower triangle serves as its mirror image, too, without any shuffle where components lie
// beside each other, one to a lane. Half as much is read, and the multiply-adds are the limit again.

// laneGroups says how components lie beside each other: in groups of eight, the last one of four if
// that is enough.
type laneGroups struct{ eights, fours int }

func laneGroupsOf(k int) laneGroups {
	n := laneGroups{eights: k / 8}
	switch rest := k % 8; {
	case rest > 4:
		n.eights++
	case rest > 0:
		n.fours = 1
	}
	return n
}

// lanes is the number of components that there is room for.
func (n laneGroups) lanes() int { return 8*n.eights + 4*n.fours }

// width is the size of the group that begins with component i.
func (n laneGroups) width(i int) int { return min(8, n.lanes()-i) }

// triangles holds the lower triangles of all P_i: of each group the rows, four of eight components at
// a time, or eight of four; of them column by column, down to and with the diagonal; of a column the
// numbers of each row, one for each component.
type triangles struct {
	data      []float32
	packed    bool // as the precisions are
	symmetric bool // to the bit, as they ought to be
	steps     int  // that single rows have made since the precisions were set
}

// triangleSteps is the number of steps of single rows after which triangles are made: making them
// takes about as long as they save in so many.
const triangleSteps = 16

// maxHalved is the size of all P_i, in bytes, up to which half of them is kept a second time.
const maxHalved = 256 << 20

// halves says whether single rows may climb by triangles. Of fewer than four components most lanes
// would be idle.
func (k *kernels) halves(comps, d int) bool {
	return k.aloneRows > 0 && comps >= 4 && d%16 == 0 && k.blocks(d) == 1 && 4*float64(comps)*float64(d)*float64(d) <= maxHalved
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
	n, each := laneGroupsOf(m.K), m.D*(m.D+1)/2
	grow(&t.data, n.lanes()*each)
	if last := (m.K - 1) / 8 * 8; m.K < n.lanes() {
		clear(t.data[last*each:]) // the lanes without a component
	}
	t.packed, t.symmetric = true, true
	for i := range m.K {
		p, first := m.precision(i), i/8*8
		p.packTriangle(t.data[first*each+i-first:], n.width(first))
		t.symmetric = t.symmetric && (m.a != nil || p.symmetric()) // SetFactors mirrors one half
	}
}

// packTriangle stores the lower triangle of p, a single block, in dst, as triangles has it.
func (p *Packed) packTriangle(dst []float32, lanes int) {
	d, nr, rows := p.cols, p.k.nr, 32/lanes
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
	d, nr := p.cols, p.k.nr
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
	n, d := laneGroupsOf(m.K), m.D
	lanes := n.lanes()
	whole := (lanes + 7) / 8 * 8
	memory := e.scratch[worker].floats(slotLone, 2*lanes*d+2*whole+8*d)
	take := func(n int) []float32 {
		x := memory[:n:n]
		memory = memory[n:]
		return x
	}
	l := loneRow{groups: n, mu: take(lanes * d), g: take(lanes * d), q: take(whole), c: take(whole), work: take(8 * d)}
	for i := 0; i < m.K; i += 8 {
		if m.K < i+n.width(i) {
			clear(l.mu[i*d:])
		}
		e.k.transpose(l.mu[i*d:], n.width(i), m.Mu[i*d:], d, min(m.K-i, 8), d)
	}
	for i := copy(l.c, m.C); i < whole; i++ {
		l.c[i] = float32(math.Inf(-1))
	}
	return l
}

// climbAlone takes the rows [r0, r1) through all steps, one after the other.
func (j *ascentJob) climbAlone(worker, r0, r1 int) {
	k, m, l := j.e.k, j.m, j.e.newLoneRow(worker, j.m)
	for row := r0; row < r1; row++ {
		x := j.x.Row(row)
		clear(l.q[l.groups.lanes():]) // where no component writes, but NaN of the row before may be
		for range j.steps {
			if j.stop != nil && j.stop() {
				return
			}
			k.quadTriangle(l.groups, l.g, l.q, x, l.mu, m.triangles.data, l.work)
			k.mixtureLanes(l.q, l.c)
			k.moveLanes(l.groups, j.alpha, x, l.q, l.g)
			j.e.yield(&j.e.scratch[worker], 2*m.K*m.D*m.D)
		}
	}
}
