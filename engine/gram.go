package engine

import (
	"math"
	"slices"
)

// Where P_i = p I - F_i^T F_i with one p for all components, a row on its way is a combination of
// where it began, of centres and of factors,
//
//	x_t = beta x_0 + sum_a (c_a mu_a + F_a^T v_a),
//
// over the few components a that have been active: a step multiplies beta, c_a and v_a by
// 1 - alpha p sum_a r_a and adds alpha p r_a to c_a and alpha r_a Z_a to v_a. So Z_i and q_i of
// any component follow from those at x_0 and from the dot products of all [F_a; mu_a] with each
// other, their Gram matrix: (r+1)^2 multiply-adds for each a in place of (r+1) d. It takes as
// long to make as q_i of k (r+1) rows by the first step, so a potential that learns from
// minibatches of fewer rows does without (gramAfter).

// gram is the Gram matrix of a mixture.
type gram struct {
	rows  int  // of ascents since SetLowRank that it would have served
	known bool // the blocks are those of SetLowRank

	// [F_a; mu_a] [F_i; mu_i]^T, of each a for all i one after the other: a row with the active
	// component a reads what lies together.
	blocks []float32
}

// block returns [F_a; mu_a] [F_i; mu_i]^T of k components, width x width.
func (g *gram) block(a, i, k, width int) []float32 {
	n := width * width
	return g.blocks[(a*k+i)*n : (a*k+i+1)*n]
}

// gramAfter is how many rows climb for each row of the Gram matrix before it is made.
var gramAfter = 2

// gramFor says whether rows of an ascent can be followed as combinations, and makes the Gram
// matrix when enough of them have climbed.
func (e *Engine) gramFor(m *Mixture, rows, steps int) bool {
	if m.low == nil || m.low.r == 0 || m.low.sign > 0 || m.even() == 0 || steps < 2 {
		return false
	}
	g, l, d := &m.low.gram, m.low, m.D
	width := l.r + 1
	side := m.K * width
	if side > maxGram/side {
		return false
	}
	if g.rows += rows; g.known || g.rows < gramAfter*side {
		return g.known
	}
	arena := &e.scratch[0]
	all := View(arena.floats(slotRows, side*d), side, d)
	for i := range m.K {
		copy(all.Data[i*width*d:], l.f[i*l.r*d:(i+1)*l.r*d])
		copy(all.Row(i*width+l.r), m.mu(i))
	}
	const some = 16 // components at a time
	grow(&g.blocks, side*side)
	part := View(arena.floats(slotPick, min(some, m.K)*width*side), min(some, m.K)*width, side)
	for a0 := 0; a0 < m.K; a0 += some {
		a1 := min(a0+some, m.K)
		e.matMul(part.Slice(0, (a1-a0)*width, 0, side), all.Slice(a0*width, a1*width, 0, d), all.T(), false)
		for a := a0; a < a1; a++ {
			for i := range m.K {
				to := g.block(a, i, m.K, width)
				for p := range width {
					copy(to[p*width:(p+1)*width], part.Row((a-a0)*width + p)[i*width:])
				}
			}
		}
	}
	g.known = true
	return true
}

// combination is x_t of a row as the terms of x_0, centres and factors.
type combination struct {
	beta   float64   // NaN if too many components have been active
	comps  []int32   // a
	shares []float32 // v_a, c_a of each of them
	size   float64   // |beta x_0| + sum_a (|F_a| |v_a| + |c_a mu_a|), from above
	off    float64   // what x_t is at most off
	square float64   // |x_t|^2 (fetch)
}

// begin sets a combination to x_0.
func (s *combination) begin(size float64) {
	*s = combination{beta: 1, comps: s.comps[:0], shares: s.shares[:0], size: size}
}

// share returns v_a and c_a, of so many numbers, or nil if there are most of them already.
func (s *combination) share(a int32, width, most int) []float32 {
	k := slices.Index(s.comps, a)
	if k < 0 {
		if k = len(s.comps); k == most {
			return nil
		}
		s.comps = append(s.comps, a)
		for range width {
			s.shares = append(s.shares, 0)
		}
	}
	return s.shares[k*width : (k+1)*width]
}

// combine takes the combination of row p of a block, which is row b, along a step.
func (j *sparseJob) combine(w *party, p, b int) {
	m, row, r := j.m, &j.rows[b], j.m.low.r
	s, alpha, scale := &row.span, float64(j.alpha), m.certificates[0].even
	if math.IsNaN(s.beta) {
		return
	}
	s.square = math.NaN() // x has moved
	var sum float64
	for _, at := range w.byRow[p] {
		sum += float64(w.pairs[at].q)
	}
	keep := 1 - alpha*scale*sum
	s.beta *= keep
	for k, v := range s.shares {
		s.shares[k] = float32(keep * float64(v))
	}
	most := max(m.D/(4*(r+1)), 1) // beyond, it saves little
	var step float64              // sum_a r_a (|F_a| |Z_a| + p |mu_a|)
	for _, at := range w.byRow[p] {
		v := &w.pairs[at]
		share, c := s.share(v.comp, r+1, most), &m.certificates[v.comp]
		if share == nil {
			s.beta = math.NaN()
			return
		}
		z, q := w.values[int(v.slot)*r:][:r], float64(v.q)
		for k := range z {
			share[k] = float32(float64(share[k]) + alpha*q*float64(z[k]))
		}
		share[r] = float32(float64(share[r]) + alpha*scale*q)
		step += q * (c.factors*lengthOf(z) + scale*c.mu)
	}
	s.size = math.Abs(s.beta) * row.size
	for k, a := range s.comps {
		share, c := s.shares[k*(r+1):(k+1)*(r+1)], &m.certificates[a]
		s.size += c.factors*lengthOf(share[:r]) + c.mu*math.Abs(float64(share[r]))
	}
	s.size *= guard
	// The kernels round each term of the step some r times for every active component, and what
	// it makes of x once more; each share has been rounded twice.
	long, n := row.size+row.moved, len(w.byRow[p])
	up := math.Abs(alpha)
	wrong := gamma(n*(r+2)+16)*(long+up*(step+scale*sum*long)) + unit*(2*s.size+up*step)
	s.off = (math.Abs(keep)*s.off+1.01*wrong)*guard + leastSum
}

// lengthOf returns |x|.
func lengthOf(x []float32) float64 {
	var s float64
	for _, v := range x {
		s += float64(v) * float64(v)
	}
	return math.Sqrt(s)
}

// fetch prepares combined of some components of row b, which is at x: it sets |x|^2, without which
// nothing is certain, and reads a number of each line of memory, so that waiting for one is
// waiting for all.
func (j *sparseJob) fetch(arena *arena, b int, x []float32, comps []int32) {
	m, l, s := j.m, j.m.low, &j.rows[b].span
	s.square = arena.dot(j.e.kern, x, x)
	z0, q0 := j.firstZ.Row(b), j.firstQ[b*m.K:(b+1)*m.K]
	for _, i := range comps {
		arena.read |= math.Float32bits(z0[int(i)*l.r]) | math.Float32bits(q0[i])
		for _, a := range s.comps {
			block := l.gram.block(int(a), int(i), m.K, l.r+1)
			for at := 0; at < len(block); at += 16 {
				arena.read |= math.Float32bits(block[at])
			}
		}
	}
}

// combined returns a number that sqrt(q_i) of row b is not below, from its combination, or NaN where
// nothing is certain.
func (j *sparseJob) combined(arena *arena, b, i int) float64 {
	m, l, row, r := j.m, j.m.low, &j.rows[b], j.m.low.r
	s, c, width := &row.span, &m.certificates[i], r+1
	scale := c.even
	// Of all a, - [F_i; mu_i] (F_a^T v_a + c_a mu_a).
	less := arena.floats(slotTile, max(len(s.comps), 1)*width)
	for k, a := range s.comps {
		j.e.kern.gradient(less[k*width:(k+1)*width], s.shares[k*width:(k+1)*width], 1, l.gram.block(int(a), i, m.K, width), width, width)
	}
	// Z_i, from F_i x_0 = Z_i(x_0) + F_i mu_i.
	var before, after float64 // |Z_i|^2
	z0, offset := j.firstZ.Row(b)[i*r:(i+1)*r], l.offset[i*r:(i+1)*r]
	for p, v := range z0 {
		before += float64(v) * float64(v)
		y := s.beta*(float64(v)-float64(offset[p])) + float64(offset[p])
		for k := range s.comps {
			y -= float64(less[k*width+p])
		}
		after += y * y
	}
	// x mu_i, from |x_0 - mu_i|^2.
	product := s.beta * (row.size*row.size + c.mu*c.mu - (float64(j.firstQ[b*m.K+i])+before)/scale) / 2
	for k := range s.comps {
		product -= float64(less[k*width+r])
	}
	// Z_i and x mu_i are off by the chains over d of the Gram matrix and of Z_i(x_0), by one over
	// r+1, and by lanes in F_i mu_i; x_0 mu_i by 3 times the lanes of |x_0|^2 and |mu_i|^2
	// (upperNorm) and once those of q_i(x_0), of which |Z_i|^2 is at most |F_i|^2 far^2.
	far := row.size + c.mu
	wrong := s.off + gamma(2*m.D+64)*(s.size+(1+math.Abs(s.beta))*c.mu)
	lanes := gamma(2*laneRoundings(m.D) + 16)
	product += c.mu*wrong + math.Abs(s.beta)*(lanes*(2+c.factors*c.factors/scale)*far*far+4*(1+1/scale)*leastSum) + leastRoot
	z := math.Sqrt(after) + c.factors*wrong + leastRoot
	if !(s.square < hugeSize && s.size+far < math.Sqrt(hugeSize)) {
		return math.NaN()
	}
	q := scale*((s.square+c.mu*c.mu)*(1-2*lanes)-2*product-4*leastSum) - z*z
	if !(q < hugeSize) { // q_i(x_0) may have been beyond float32
		return math.NaN()
	}
	return math.Sqrt(max(q, 0)) / guard
}
