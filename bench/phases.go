package bench

import (
	"cmp"
	"fmt"
	"slices"

	"dpnbench/dpn"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/internal/sysinfo"
)

// Phase is what an update spends in a phase (dpn.Phase), beside its bound: the longer of its flop at the peak and its
// bytes at the read bandwidth of the nearest level that holds them.
type Phase struct {
	Phase   string  `json:"phase"`
	Seconds float64 `json:"seconds"`         // wall clock
	Waiting float64 `json:"waiting_seconds"` // of that, in which a thread had nothing to do, on average
	Flop    float64 `json:"flop"`            // of products
	Bytes   float64 `json:"bytes"`           // operands and results, counted once each
	// 0 and empty where neither flop nor bytes are counted, or where the run did not measure the limit.
	BoundSeconds float64 `json:"bound_seconds"`
	Bound        string  `json:"bound"` // peak, or the memory level that limits
}

// Reached is the share of the bound that a phase reaches, in percent; 0 if it has none.
func (p *Phase) Reached() float64 {
	if p.Seconds == 0 {
		return 0
	}
	return 100 * p.BoundSeconds / p.Seconds
}

// Sum returns a phase that is all of them.
func Sum(phases []Phase) Phase {
	s := Phase{Phase: "update"}
	for _, p := range phases {
		s.Seconds += p.Seconds
		s.Waiting += p.Waiting
		s.Flop += p.Flop
		s.Bytes += p.Bytes
		s.BoundSeconds += p.BoundSeconds
	}
	return s
}

// BoundsDoubt returns a warning if an update is faster than its bounds, which cannot be, and otherwise "".
func BoundsDoubt(phases []Phase) string {
	all := Sum(phases)
	if all.Reached() <= 100 {
		return ""
	}
	return fmt.Sprintf("an update takes less than its bounds (%.0f%%): others used the machine while its limits were "+
		"measured", all.Reached())
}

// limitRounds is how often TrainPhases measures each limit of the machine.
const limitRounds = 8

// TrainPhases returns the phases of the updates of m that p has measured. It measures the peak and the bandwidths of
// e for their bounds, the fastest of several runs each, which takes about a second.
func TrainPhases(e *engine.Engine, m *dpn.Model, p *dpn.Profile) []Phase {
	machine := sysinfo.ReadMachine()
	h, tier, threads := memoryOf(&machine, 0), e.Tier().String(), e.Threads()
	peak, rates := 0.0, make([]float64, len(levels))
	for range limitRounds { // all limits in turns: others may have a core for longer than one takes
		for range 4 {
			peak = max(peak, peakOnce(e, 2e-3))
		}
		for i, level := range levels {
			if bytes := h.array(level, threads); bytes > 0 {
				e.RunStream(engine.Read, bytes, 1) // into its level, from where the one before has left it
				began := sysinfo.Now()
				moved := e.RunStream(engine.Read, bytes, max(1, streamBytes/bytes))
				rates[i] = max(rates[i], moved/(sysinfo.Now()-began).Seconds())
			}
		}
	}
	r := Report{Peak: []Peaks{{Tier: tier, Threads: threads, GFlops: peak / 1e9}}}
	for i, level := range levels {
		if rates[i] > 0 {
			b := Bandwidth{Level: level, Tier: tier, Threads: threads, Read: rates[i] / 1e9}
			r.Bandwidth = append(r.Bandwidth, b)
		}
	}
	e.ReleaseStreams()
	phases := phasesOf(m, p)
	r.boundPhases(phases, &Result{Tier: tier, Threads: threads}, h)
	return phases
}

// phasesOf returns the phases that p has measured, without their bounds.
func phasesOf(m *dpn.Model, p *dpn.Profile) (out []Phase) {
	c := m.Config
	c.Batch = p.Rows() // fewer than the whole minibatch on a rank, and of few samples
	u := updateOf(c, m.Extractor(), m.Shape.Len(), m.Dim())
	u.ascent = p.Work()
	u.classes = len(m.Classes)
	for _, q := range m.Params() {
		if q.Grad != nil {
			u.params += len(q.Data)
		}
	}
	for _, v := range p.Phases() {
		w := u.work(v.Kind, v.Layer)
		out = append(out, Phase{Phase: v.Name, Seconds: v.Seconds, Waiting: v.Waiting, Flop: w.flop, Bytes: w.bytes})
	}
	return out
}

// boundPhases sets the bounds of phases on the tier and threads of a row.
func (r *Report) boundPhases(phases []Phase, row *Result, h hierarchy) {
	for i := range phases {
		p := &phases[i]
		at := *row
		at.Flop, at.Bytes = p.Flop, p.Bytes
		if perSecond, by := r.roof(&at, false, h); perSecond > 0 {
			p.BoundSeconds, p.Bound = 1/perSecond, by
		}
	}
}

// work is what a phase computes and moves at least.
type work struct{ flop, bytes float64 }

// update is what the work of an update depends on.
type update struct {
	c      dpn.Config
	layers layer.Stack // of the extractor
	pixels int         // or features of vectors
	d      int
	exact  bool

	matrices float64 // the number of P_i that are matrices
	rank     int     // of the others; -1 of matrices

	// Known once an update was made.
	ascent          ascent.Totals
	classes, params int // params: numbers that learn
}

func updateOf(c dpn.Config, layers layer.Stack, pixels, d int) *update {
	u := &update{c: c, layers: layers, pixels: pixels, d: d, exact: c.Gradient == dpn.GradientExact,
		matrices: float64(c.Components), rank: potential.Settings{Form: c.Form, Rank: c.Rank}.LowRank()}
	if potential.FormOf(c.Form).Shared {
		u.matrices = 1
	}
	return u
}

// work returns that of a phase, layer i of the extractor if it is one of those. It counts products, the
// orthonormalisation of U, and the bytes of operands and results, once each; not random numbers, exponentials or what
// else takes time without being a product.
func (u *update) work(kind dpn.PhaseKind, i int) work {
	batch, d, pixels, params := float64(u.c.Batch), float64(u.d), float64(u.pixels), float64(u.params)
	noisy := 0.0
	if u.c.NoiseMax > 0 {
		noisy = float64(u.c.Batch / 2)
	}
	rows := batch // that go through the extractor
	if u.c.Denoising > 0 && u.exact {
		rows += noisy
	}
	numbers, steps := u.precisions(), float64(u.c.Steps)
	switch kind {
	case dpn.PhaseRead: // of bytes, or of vectors
		return work{bytes: rows * 5 * pixels}
	case dpn.PhaseNoise:
		return work{bytes: 8 * noisy * pixels}
	case dpn.PhaseForward, dpn.PhaseBackward:
		return u.layer(kind, i, rows)
	case dpn.PhasePrecisions:
		if u.c.Form == potential.FormFlat { // the factors are U_i themselves
			return work{bytes: 4 * numbers}
		}
		return work{u.squares(), 8 * numbers}
	case dpn.PhaseAscent:
		forward, _ := u.climb()
		return work{forward, 4 * (numbers + float64(u.c.Components)*d + 2*batch*d)}
	case dpn.PhaseAscentBackward:
		_, back := u.climb()
		return work{back - u.sums(back), 4 * (numbers + (steps+3)*batch*d)}
	case dpn.PhaseSums:
		_, back := u.climb()
		return work{u.sums(back) + u.ascent.FactorFlop, 4 * (2*numbers + 2*steps*batch*d)}
	case dpn.PhaseHead:
		return work{6 * batch * d * float64(u.classes), 4 * (2*batch*d + 3*d*float64(u.classes))}
	case dpn.PhasePieces: // each but one copied, and added to another
		return work{bytes: 20 * float64(u.c.Shards-1) * params}
	case dpn.PhaseNorm:
		return work{bytes: 4 * params}
	case dpn.PhaseOptimiser: // parameter and moments to and fro, gradient
		return work{bytes: 28 * params}
	case dpn.PhaseRetraction:
		if u.c.Form == potential.FormFlat {
			return work{float64(2*(u.c.Rank+1)) * numbers, 8 * numbers}
		}
	}
	return work{}
}

// layer is the work of layer i of the extractor.
func (u *update) layer(kind dpn.PhaseKind, i int, rows float64) work {
	l, batch := u.layers[i], float64(u.c.Batch)
	in, out := l.Sizes()
	weights, product := 0.0, 2*float64(l.MACs())
	for _, p := range l.Params() {
		weights += float64(len(p.Data))
	}
	if kind == dpn.PhaseForward {
		return work{rows * product, 4 * (rows*float64(in+out) + weights)}
	}
	if _, ok := l.(*layer.ConvPool); ok { // only the pixels that were the largest of four have a gradient
		product /= 4
	}
	w := work{batch * product, 4 * (batch*float64(in+out) + 2*weights)} // of weights
	if i > 0 {                                                          // and of the input
		w.flop, w.bytes = w.flop+batch*product, w.bytes+4*batch*float64(in)
	}
	return w
}

// precisions counts the numbers of all P_i.
func (u *update) precisions() float64 {
	d := float64(u.d)
	if r := u.rank; r >= 0 {
		numbers := float64(r)
		if u.c.Form != potential.FormFlat {
			numbers++ // the diagonal
		}
		return float64(u.c.Components) * d * numbers
	}
	return u.matrices * d * d
}

// squares is the flop of P_i = A_i^T A_i.
func (u *update) squares() float64 {
	if u.rank >= 0 || !u.exact {
		return 0
	}
	d := float64(u.d)
	return u.matrices * d * d * (d + 1)
}

// climb is the flop of the products of the ascent, and of its backward pass without dA_i, which the engine counts:
// by the dense route, or of the last update.
func (u *update) climb() (forward, back float64) {
	c, k := u.c, float64(u.c.Components)
	batch, steps, d := float64(c.Batch), float64(c.Steps), float64(u.d)
	r := u.rank
	switch {
	case u.ascent.Route == ascent.SparseRoute:
		pairs := sparsePairs{c.Batch, c.Components, u.d, r, u.ascent.Evaluated, u.ascent.Active}
		// Where the potential does not learn, A_i stay diagonal.
		forward = pairs.flop(!u.exact, false) - 2*u.ascent.LeftOut
		back = pairs.flop(!u.exact, true) - 2*u.ascent.LeftOut
	case r >= 0:
		forward = lowRankFlop(u.d, c.Components, r, c.Steps, c.Batch, false)
		back = lowRankFlop(u.d, c.Components, r, c.Steps, c.Batch, true)
		if c.Form == potential.FormFlat { // few responsibilities are above 0: a component a row, at least
			back = forward + lowRankFlop(u.d, 1, r, c.Steps, c.Batch, true) -
				lowRankFlop(u.d, 1, r, c.Steps, c.Batch, false)
		}
	default:
		forward = 2 * k * d * d * batch * steps
		back = 2 * forward
	}
	if !u.exact {
		return forward, 0
	}
	return forward, back - forward
}

// sums is the part of the flop of a backward pass that sums up gradients: of low rank, products of 2 r + 5 of 4 r + 9
// rows. Those of matrices are counted by the engine.
func (u *update) sums(back float64) float64 {
	r := u.rank
	if r < 0 {
		return 0
	}
	return back * float64(2*r+5) / float64(4*r+9)
}

// products is the flop of suite train: without the classifier.
func (u *update) products() (flop float64) {
	forward, back := u.climb()
	flop = u.squares() + forward + back + u.ascent.FactorFlop
	for i := range u.layers {
		flop += u.layer(dpn.PhaseForward, i, float64(u.c.Batch)).flop +
			u.layer(dpn.PhaseBackward, i, float64(u.c.Batch)).flop
	}
	return flop
}

// quickest returns the phases of the pass whose updates were quickest.
func quickest(passes [][]Phase) (best []Phase) {
	for _, p := range passes {
		if best == nil || Sum(p).Seconds < Sum(best).Seconds {
			best = p
		}
	}
	return best
}

// PhaseRows is the table of phases: a header, the phases and the update.
func PhaseRows(phases []Phase) [][]string {
	rows := [][]string{{"phase", "time", "of update", "waiting", "GFLOP", "MB", "bound", "by", "reached"}}
	all := Sum(phases)
	for _, p := range append(slices.Clone(phases), all) {
		by, reached := cmp.Or(p.Bound, none), none
		if p.Reached() > 0 {
			reached = fmt.Sprintf("%.0f%%", p.Reached())
		}
		rows = append(rows, []string{p.Phase, FormatSeconds(p.Seconds), percent(100 * p.Seconds / all.Seconds),
			percent(100 * p.Waiting / p.Seconds), quantity(p.Flop / 1e9), quantity(p.Bytes / 1e6),
			FormatSeconds(p.BoundSeconds), by, reached})
	}
	return rows
}
