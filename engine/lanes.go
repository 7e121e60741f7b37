package engine

import "math"

// LaneGroups says how components lie beside each other, one to a lane, for the step of a single row: in
// groups of sixteen where registers are so wide, then of eight, the last one of four if that is enough.
// From nine components on, one group of sixteen is used: groups of eight and four take 1.75 times as many
// multiply-adds. (On units of half that width they would be an eighth less work; by count, not timed.)
type LaneGroups struct{ sixteens, eights, fours int }

// LaneGroups returns that of components with d features: of many features, sixteen would be a long call.
func (e *Engine) LaneGroups(comps, d int) LaneGroups { return e.kern.laneGroups(comps, d) }

func (kern *kernels) laneGroups(comps, d int) (n LaneGroups) {
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

// Lanes returns the number of components that there is room for.
func (n LaneGroups) Lanes() int { return 16*n.sixteens + 8*n.eights + 4*n.fours }

// Group returns the group of component i: its first component, and its size.
func (n LaneGroups) Group(i int) (first, width int) {
	if i < 16*n.sixteens {
		return i / 16 * 16, 16
	}
	first = i / 8 * 8
	return first, min(8, n.Lanes()-first)
}

// Widest returns the size of the largest groups, 8 at least.
func (n LaneGroups) Widest() int {
	if n.sixteens > 0 {
		return 16
	}
	return 8
}

// SingleRows returns the number of rows of a block up to which they are faster one by one, with the
// components in lanes; 0 if the tier has no kernels for that.
func (e *Engine) SingleRows() int { return e.kern.singleRows }

// PackTriangle stores the lower triangle of p, a single block of the inner index, in dst as QuadLanes reads
// it: the rows eight at a time, or four of eight components; of them column by column, down to and with
// the diagonal; of a column the numbers of each row, lanes apart.
func (p *Packed) PackTriangle(dst []float32, lanes int) {
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

// Symmetric reports whether p, a single block of the inner index, has the same bits in both halves.
func (p *Packed) Symmetric() bool {
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

// LaneForms are the operands of a step of a single row: centres (of each group the columns of its
// components) and packed triangles P, and memory for G, q and Widest rows like x.
type LaneForms struct {
	Groups            LaneGroups
	Mu, P, G, Q, Work []float32
}

// QuadLanes sets G and q of the row x. It is for d a multiple of 16.
func (w *Worker) QuadLanes(x []float32, f *LaneForms) {
	w.e.kern.quadTriangle(f.Groups, f.G, f.Q, x, f.Mu, f.P, f.Work)
}

// MixtureLanes turns q into responsibilities as Mixture does, of a single row whose components fill
// registers of eight: lanes without a component have c -Inf.
func (w *Worker) MixtureLanes(q, c []float32) { w.e.kern.mixtureLanes(q, c) }

// StepLanes adds alpha times the gradient to the row x, of responsibilities r and G as QuadLanes leaves it.
func (w *Worker) StepLanes(alpha float32, x, r []float32, f *LaneForms) {
	w.e.kern.moveLanes(f.Groups, alpha, x, r, f.G)
}
