package ascent

// Bounds let the sparse route leave out components: they prove, before l_i of a row is computed, that it
// would fall under the cut of responsibilities (engine.ResponsibilityCut), so that component i adds exact
// zeros.
//
// They bound the l_i that the kernels *would compute*, so every bound includes the roundings of q_i (Higham,
// Accuracy and Stability of Numerical Algorithms, section 3.1: gamma_n = n u / (1 - n u), u = 2^-24).
// Everything here is float64 and decides what is computed, never what comes out.
//
// With q_i(x) = |A_i (x - mu_i)|^2 there are four:
//
//   - distance: q_i is at least the smallest eigenvalue of P_i times |x - mu_i|^2;
//   - movement: sqrt(q_i) is a norm, so it changes by at most |A_i|_2 |x' - x|;
//   - support: if G_i and q_i are known at some y, the anchor, sqrt(q_i(x)) is at least
//     (x - mu_i) G_i(y) / sqrt(q_i(y)), by the inequality of Cauchy and Schwarz;
//   - linear path: on its way to mu_a a row need not be watched (linear_path.go).

import (
	"math"

	"dpnbench/engine"
)

// bound is what the bounds of component i know of P_i.
type bound struct {
	norm      float64   // at least |A_i|_2
	least     float64   // at most the smallest eigenvalue of P_i; 0 if nothing is known
	mu        float64   // at least |mu_i|
	origin    float64   // at least 2 |o|: x - o and mu_i - o are multiplied
	diagonal  []float32 // of P_i = A_i^T A_i, if it has no other elements
	isotropic float64   // p if P_i is p I, or 0

	// q_i as computed differs from q_i by at most
	// byFar |x-mu|^2 + byBoth |x-mu| (|x|+|mu|) + bySum (|x|+|mu|)^2
	byFar, byBoth, bySum float64
	factors              float64 // at least |F_i|^2, of low rank: F_i (x-mu_i) may overflow where q_i does not

	// G_i as computed differs from P_i (x - mu_i) by at most gradient |x-mu|, for P_i = A_i^T A_i.
	gradient float64
}

const (
	unit     = 0x1p-24       // of float32 rounding
	nearCut  = 30 * math.Ln2 // -ResponsibilityCut
	cutGuard = 1 + 0x1p-20   // for the rounding of l_i - m, and of the cut itself
	guard    = 1 + 0x1p-30   // for the float64 arithmetic of a bound
	hugeSize = 1e30          // beyond it q_i may leave the range of float32, and nothing is certain
	leastSum = 1e-30         // covers what underflows
	lanesSum = 10            // roundings in a sum over 16 lanes of n numbers, beyond n/16
)

// gamma is n u / (1 - n u).
func gamma(n int) float64 { return float64(n) * unit / (1 - float64(n)*unit) }

// laneRoundings is the number of roundings that a number meets in a sum in lanes.
func laneRoundings(n int) int { return n/16 + lanesSum }

// roundings bounds the error of q_i as computed, of a row at most far from mu_i, with |x| + |mu_i| at most
// sum; it is NaN where nothing is certain.
func (c *bound) roundings(far, sum float64) float64 {
	if sum += c.origin; !(c.factors*far*far < hugeSize) {
		return math.NaN()
	}
	return (c.byFar*far*far+c.byBoth*far*sum+c.bySum*sum*sum)*guard + leastSum
}

// forgetBounds forgets the bounds of the precisions before.
func (m *Mixture) forgetBounds() { m.bounds, m.boundsMade, m.unbounded = nil, false, false }

// makeBounds makes the bounds of a mixture whose precisions have been set, and reports whether it can: those
// of SetPrecisions need not be positive semidefinite.
func (m *Mixture) makeBounds(e *engine.Engine) bool {
	if m.bounds == nil {
		if !m.boundable() {
			return false
		}
		if m.boundMemory == nil {
			m.boundMemory = make([]bound, m.K)
		}
		m.precision.makeBounds(e)
		list := m.boundMemory
		for i := range list {
			if c := &list[i]; !(c.norm > 0 && c.norm < math.Sqrt(hugeSize)) {
				m.unbounded = true
				return false
			}
		}
		m.bounds = list
	}
	var origin float64
	if m.origin != nil {
		origin = 2 * upperNorm(e.Caller(), m.origin)
	}
	for i := range m.bounds { // the centres belong to the caller
		m.bounds[i].mu, m.bounds[i].origin = upperNorm(e.Caller(), m.mu(i)), origin
	}
	return true
}

// boundsJob makes the bounds of the first components.
type boundsJob struct{ m *Mixture }

// Run makes the bound of component i.
func (j *boundsJob) Run(worker *engine.Worker, i int) { j.m.precision.makeBound(worker, i) }

// runBounds makes the bounds of n components unless they are made. elements is the total number of
// parameters that it reads.
func (m *Mixture) runBounds(e *engine.Engine, n int, elements float64) {
	if !m.boundsMade {
		m.making.m = m
		e.Run(&m.making, n, e.GoFlops(elements)) // about a nanosecond an element
	}
}

// upperNorm returns a number that is at least |x|, or NaN.
func upperNorm(worker *engine.Worker, x []float32) float64 {
	return math.Sqrt(dot(worker, x, x)*(1+2*gamma(laneRoundings(len(x))))+leastSum) * guard
}

// dot returns the dot product of x and y.
func dot(worker *engine.Worker, x, y []float32) float64 { return float64(worker.ShortDot(x, y)) }

// upperDistance returns a number that is at least |x - y|, or NaN.
func upperDistance(worker *engine.Worker, x, y []float32) float64 {
	square := float64(worker.SquaredDistance(x, y))
	return math.Sqrt(square*(1+2*gamma(laneRoundings(len(x))+4))+leastSum) * guard
}

// lowest returns how large sqrt(q_i) must be for l_i = c - q_i/2 as computed to fall under the cut below top,
// if q_i as computed is at most wrong off; NaN if nothing can be said.
func lowest(c, top, wrong float64) float64 {
	need := 2*(c-top+nearCut*cutGuard) + wrong
	need += 8 * unit * (math.Abs(c) + math.Abs(top) + nearCut) // rounding of l_i
	if !(math.Abs(need) < hugeSize) {
		return math.NaN()
	}
	return math.Sqrt(max(need, 0)) * guard
}

// largest holds the largest norm, mu and roundings of the bounds of all components, and the largest weight.
type largest struct {
	bound
	weight float64
}

// largest collects the largest of the bounds.
func (m *Mixture) largest() largest {
	a := largest{weight: math.Inf(-1)}
	for i, c := range m.bounds {
		a.norm, a.mu, a.origin = max(a.norm, c.norm), max(a.mu, c.mu), max(a.origin, c.origin)
		a.factors = max(a.factors, c.factors)
		a.byFar, a.byBoth, a.bySum = max(a.byFar, c.byFar), max(a.byBoth, c.byBoth), max(a.bySum, c.bySum)
		a.weight = max(a.weight, float64(m.C[i]))
	}
	return a
}

// allPositive reports whether the bounds prove that all P_i are positive definite.
func (m *Mixture) allPositive() bool {
	for i := range m.bounds {
		if !(m.bounds[i].least > 0) {
			return false
		}
	}
	return true
}

// excluded reports whether a bound proves that l_i of row b, at x, would fall under the cut, and whether it
// took a bound by support to know.
func (j *sparseJob) excluded(
	worker *engine.Worker, row *rowState, b, i int, top float64, x []float32,
) (ok, supported bool) {
	m, c, at := j.m, &j.m.bounds[i], b*j.m.K+i
	far, sum := j.upper[at]+row.moved, row.size+row.moved+c.mu
	if j.lower[at]-c.norm*row.moved*guard > lowest(float64(m.C[i]), top, c.roundings(far, sum)) {
		return true, false
	}
	if !j.anchored || !(j.anchorSqrtQ[at] > 0) {
		return false, false
	}
	far = upperDistance(worker, x, m.mu(i))
	s := j.support(worker, b, i, far, sum, x)
	if s > lowest(float64(m.C[i]), top, c.roundings(far, sum)) {
		j.lower[at] = max(j.lower[at], s+c.norm*row.moved)
		return true, true
	}
	return false, true
}

// support returns a number that sqrt(q_i) of row b at x is not below, by the bound by support: |x - mu_i| is
// at most far, |x| + |mu_i| at most sum.
func (j *sparseJob) support(worker *engine.Worker, b, i int, far, sum float64, x []float32) float64 {
	c, at := &j.m.bounds[i], b*j.m.K+i
	product, dist := dot(worker, x, j.first.gRow(0, i, b)), j.anchorDist[at]
	off := c.gradient*far*dist + 2*gamma(laneRoundings(j.m.D))*sum*(c.norm*c.norm+c.gradient)*dist
	return (product - j.anchorDot[at] - off*guard) / j.anchorSqrtQ[at]
}

// anchor notes what the bound by support of component i needs of the place where G_i was computed: q_i is at
// most square there, and |x - mu_i| at most dist.
func (j *sparseJob) anchor(worker *engine.Worker, b, i int, g []float32, square, dist float64) {
	at := b*j.m.K + i
	j.anchorDot[at], j.anchorDist[at] = dot(worker, g, j.m.mu(i)), dist
	j.anchorSqrtQ[at] = math.Sqrt(square) * guard
}
