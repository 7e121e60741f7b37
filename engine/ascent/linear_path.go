package ascent

// Linear paths: if all precisions are the same multiple of the identity, this file saves 15 to 18% of an
// ascent of presets `published` and `paper`.
//
// If all precisions are p I, a row with a single active component a moves straight towards mu_a, and stays on
// this path while a is the only one:
//
//	x' = x - alpha p (x - mu_a)
//
// l_a - l_i is affine in x, because the squares of x cancel. So if it is beyond the cut both where the row is
// and at mu_a, it is there all the way, and component i needs no other bound before the row arrives.

import (
	"math"

	"dpnbench/engine"
)

// maxCentreDistances is how many distances of centres from each other are kept.
var maxCentreDistances = 16 << 20

// hasLinearPaths reports whether rows may go linear paths: whether all precisions are p I and a step does not
// go beyond mu_a, and steps are enough for measuring distances to pay.
func (j *sparseJob) hasLinearPaths() bool {
	if j.steps < 4 {
		return false
	}
	p := j.m.isotropic()
	return j.byDistance && p > 0 && j.alpha >= 0 && float64(j.alpha)*p <= 1 && j.m.K*j.m.K <= maxCentreDistances
}

// isotropic returns p if all P_i are p I, or 0.
func (m *Mixture) isotropic() float64 {
	list := m.bounds
	for i := range list {
		if list[i].isotropic != list[0].isotropic {
			return 0
		}
	}
	return list[0].isotropic
}

// forgetCentres makes room for distances of centres that are all to be measured.
func (m *Mixture) forgetCentres() {
	if len(m.centreDistances) != m.K {
		m.centreDistances = make([][]float32, m.K)
	}
	for i := range m.centreDistances {
		m.centreDistances[i] = m.centreDistances[i][:0]
	}
}

// measureCentres measures the distances of the leading components of all rows from the other centres, as far
// as they are not known.
func (j *sparseJob) measureCentres() {
	m := j.m
	j.leads = j.leads[:0]
	for b := range j.rows {
		if a := j.rows[b].lead; len(m.centreDistances[a]) == 0 {
			engine.Grow(&m.centreDistances[a], m.K)
			j.leads = append(j.leads, a)
		}
	}
	n := len(j.leads)
	if n == 0 {
		return
	}
	j.phase, j.parts = measureLeads, rowBlocks(n, maxBlockRows, j.e.Threads())
	j.e.Run(j, j.parts, 2*float64(n)*float64(m.K)*float64(m.D))
}

// measureLeads sets centreDistances of the leads [r0, r1): numbers that are at most |mu_a - mu_i|.
func (j *sparseJob) measureLeads(worker *engine.Worker, r0, r1 int) {
	m, n := j.m, r1-r0
	mu := worker.ScratchRows(slotRows, n, m.D, m.D)
	for q, a := range j.leads[r0:r1] {
		copy(mu.Row(q), m.mu(int(a)))
	}
	dots := worker.ScratchRows(slotY, n, m.K, engine.PaddedLD(m.K))
	worker.MatMulPacked(dots, mu, &j.centres, false, nil)
	slack := centreSlack(m.D)
	for q, a := range j.leads[r0:r1] {
		size, dot := m.bounds[a].mu, dots.Row(q)
		for i := range m.bounds {
			c := &m.bounds[i]
			s := size + c.mu
			square := size*size + c.mu*c.mu - 2*float64(dot[i]) - (slack*s*s + 3*leastSum)
			m.centreDistances[a][i] = float32(math.Sqrt(max(square, 0)) * (1 - 2*unit))
		}
	}
}

// centreSlack times (|x|+|y|)^2, with leastSum for each of the three, bounds the error of |x|^2 + |y|^2 - 2 x y
// from numbers that are at least |x| and |y| (upperNorm) and a product that is a chain.
func centreSlack(d int) float64 { return 2 * gamma(d+2*laneRoundings(d)) }

// startPath takes row b, which stands at x with the one active component a, onto its linear path: near becomes
// the list of the components that need other bounds.
func (j *sparseJob) startPath(b int, a int32) {
	m, row := j.m, &j.rows[b]
	if len(m.centreDistances[a]) == 0 {
		row.leavePath()
		return
	}
	row.path, row.near = a+1, row.near[:0]
	p, ca := m.bounds[a].isotropic, float64(m.C[a])
	to := j.upper[b*m.K+int(a)] + row.moved // |x - mu_a|, and the way to come
	// Roundings of a step move x by at most 5 unit (|x| + |mu_a|) off its path, and what is off
	// does not grow.
	off := 16 * unit * float64(j.steps) * (row.size + row.moved + to + j.most.mu)
	to = (to + off) * guard
	far, sum := row.far+row.moved+to, row.size+row.moved+to+j.most.mu
	// Of q_a, here and on the path, and of l_a.
	wrong := 2*m.bounds[a].roundings(to, sum) + 8*unit*(math.Abs(row.top)+math.Abs(ca))
	worst := j.most.roundings(far, sum) + wrong + 2*p*off*(far+to)*guard
	lost, root := j.most.norm*row.moved*guard, math.Sqrt(p)/guard
	enough, after := lowest(j.most.weight, row.top, worst)+lost, lowest(j.most.weight, ca, worst)/root
	distances := m.centreDistances[a]
	for i, lower := range j.lower[b*m.K : (b+1)*m.K] {
		if lower > enough && float64(distances[i]) > after || i == int(a) {
			continue
		}
		c, ci, far := &m.bounds[i], float64(m.C[i]), j.upper[b*m.K+i]+row.moved+to
		// Off its path by so much, the row has l_a - l_i changed by p off |mu_a - mu_i|.
		wrong := wrong + c.roundings(far, sum) + 2*p*off*(far+to)*guard
		if !(lower-c.norm*row.moved*guard > lowest(ci, row.top, wrong) &&
			float64(distances[i])*root > lowest(ci, ca, wrong)) {
			row.near = append(row.near, int32(i))
		}
	}
}

// updatePaths finds out which rows of a block go a linear path from where they are.
func (j *sparseJob) updatePaths(work *blockWork, rows []int32) {
	for p, b := range rows {
		row, list := &j.rows[b], work.byRow[p]
		if len(list) == 1 && work.pairs[list[0]].q == 1 {
			if a := work.pairs[list[0]].component; row.path != a+1 {
				j.startPath(int(b), a)
			}
		} else {
			row.leavePath()
		}
	}
}

// leavePath ends a linear path: all components are looked at again.
func (row *rowState) leavePath() {
	if row.path != 0 {
		row.path, row.lowest = 0, math.Inf(-1)
	}
}
