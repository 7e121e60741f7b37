package engine

import "math"

// Where all precisions are the same multiple p of the identity, a row with a single active
// component a moves straight towards mu_a, and stays on this way while a is the only one:
//
//	x' = x - alpha p (x - mu_a)
//
// l_a - l_i is affine in x, because the squares of x cancel. So if it is beyond the cut both
// where the row is and at mu_a, it is there all the way, and component i needs no other
// bound before the row arrives.

// straight says whether rows may go straight ways: whether all precisions are p I and a step
// does not go beyond mu_a, and steps are enough for measuring distances to pay.
func (j *sparseJob) straight() bool {
	if j.steps < 4 || j.m.low != nil && j.m.low.r > 0 {
		return false
	}
	p := j.m.even()
	return j.close && p > 0 && j.alpha >= 0 && float64(j.alpha)*p <= 1 && j.m.K*j.m.K <= maxApart
}

// even returns p where all P_i are p I, but for factors of low rank, or 0.
func (m *Mixture) even() float64 {
	list := m.certificates
	for i := range list {
		if list[i].even != list[0].even {
			return 0
		}
	}
	return list[0].even
}

// forget makes room for distances of centres that are all to be measured.
func (m *Mixture) forget() {
	if len(m.apart) != m.K {
		m.apart = make([][]float32, m.K)
	}
	for i := range m.apart {
		m.apart[i] = m.apart[i][:0]
	}
}

// lay measures the distances of the leading components of all rows from the other centres,
// as far as they are not known.
func (j *sparseJob) lay() {
	m := j.m
	j.leads = j.leads[:0]
	for b := range j.rows {
		if a := j.rows[b].lead; len(m.apart[a]) == 0 {
			growSlice(&m.apart[a], m.K)
			j.leads = append(j.leads, a)
		}
	}
	n := len(j.leads)
	if n == 0 {
		return
	}
	j.phase, j.parts = lays, rowBlocks(n, maxBlockRows, j.e.Threads())
	j.e.run(j, j.parts, 2*float64(n)*float64(m.K)*float64(m.D))
}

// layRows sets apart of leads [r0, r1): numbers that are at most |mu_a - mu_i|.
func (j *sparseJob) layRows(worker, r0, r1 int) {
	e, m, arena := j.e, j.m, &j.e.scratch[worker]
	n, ld := r1-r0, paddedLD(m.K)
	mu := View(arena.floats(slotRows, n*m.D), n, m.D)
	for q, a := range j.leads[r0:r1] {
		copy(mu.Row(q), m.mu(int(a)))
	}
	dots := Matrix{Data: arena.floats(slotY, n*ld), Rows: n, Cols: m.K, RS: ld, CS: 1}
	e.multiply(worker, dots, mu, &operand{packed: &j.centres}, false)
	slack := centreSlack(m.D)
	for q, a := range j.leads[r0:r1] {
		size, dot := m.certificates[a].mu, dots.Row(q)
		for i := range m.certificates {
			c := &m.certificates[i]
			s := size + c.mu
			square := size*size + c.mu*c.mu - 2*float64(dot[i]) - (slack*s*s + 3*leastSum)
			m.apart[a][i] = float32(math.Sqrt(max(square, 0)) * (1 - 2*unit))
		}
	}
}

// centreSlack times (|x|+|y|)^2, with leastSum for each of the three, bounds the error of
// |x|^2 + |y|^2 - 2 x y from numbers that are at least |x| and |y| (upperNorm) and a product
// that is a chain.
func centreSlack(d int) float64 { return 2 * gamma(d+2*laneRoundings(d)) }

// settle takes row b, which stands at x with the one active component a, onto its straight
// way: near becomes the list of the components that need other bounds.
func (j *sparseJob) settle(b int, a int32) {
	m, row := j.m, &j.rows[b]
	if len(m.apart[a]) == 0 {
		row.leave()
		return
	}
	row.settled, row.near = a+1, row.near[:0]
	p, ca := m.certificates[a].even, float64(m.C[a])
	to := j.far[b*m.K+int(a)] + row.moved // |x - mu_a|, and the way to come
	// Roundings of a step move x by at most 5 unit (|x| + |mu_a|) off its way, and what is off
	// does not grow.
	off := 16 * unit * float64(j.steps) * (row.size + row.moved + to + j.mu)
	to = (to + off) * guard
	far, sum := row.far+row.moved+to, row.size+row.moved+to+j.mu
	// Of q_a, here and on the way, and of l_a.
	wrong := 2*m.certificates[a].roundings(to, sum) + 8*unit*(math.Abs(row.top)+math.Abs(ca))
	worst := (j.byFar*far*far+j.byBoth*far*sum+j.bySum*sum*sum)*guard + leastSum + wrong + 2*p*off*(far+to)*guard
	lost, root := j.norm*row.moved*guard, math.Sqrt(p)/guard
	enough, after := lowest(j.weight, row.top, worst)+lost, lowest(j.weight, ca, worst)/root
	apart := m.apart[a]
	for i, low := range j.low[b*m.K : (b+1)*m.K] {
		if low > enough && float64(apart[i]) > after || i == int(a) {
			continue
		}
		c, ci, far := &m.certificates[i], float64(m.C[i]), j.far[b*m.K+i]+row.moved+to
		// Off its way by so much, the row has l_a - l_i changed by p off |mu_a - mu_i|.
		wrong := wrong + c.roundings(far, sum) + 2*p*off*(far+to)*guard
		if !(low-c.norm*row.moved*guard > lowest(ci, row.top, wrong) && float64(apart[i])*root > lowest(ci, ca, wrong)) {
			row.near = append(row.near, int32(i))
		}
	}
}

// follow finds out which rows of a block go a straight way from where they are.
func (j *sparseJob) follow(w *party, rows []int32) {
	for p, b := range rows {
		row, list := &j.rows[b], w.byRow[p]
		if len(list) == 1 && w.pairs[list[0]].q == 1 {
			if a := w.pairs[list[0]].comp; row.settled != a+1 {
				j.settle(int(b), a)
			}
		} else {
			row.leave()
		}
	}
}

// leave ends a straight way: all components are looked at again.
func (row *climber) leave() {
	if row.settled != 0 {
		row.settled, row.lowest = 0, math.Inf(-1)
	}
}
