package dpn

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/internal/sysinfo"
)

// PhaseKind is the kind of a phase of an update.
type PhaseKind int

// The kinds, in the order in which an update comes to them first. Those of the layers are a phase for each layer
// of the extractor.
const (
	PhaseRead           PhaseKind = iota // samples into the minibatch, preprocessed and normalised
	PhaseNoise                           // on half of them
	PhaseForward                         // a layer of the extractor
	PhasePrecisions                      // P_i of their parameters
	PhaseAscent                          // all steps
	PhaseHead                            // classifier forward and backward, losses at x_n
	PhaseAscentBackward                  // dL/dx through all steps
	PhaseSums                            // gradients of the potential, summed over rows and steps
	PhaseDensity                         // density losses and their gradient
	PhaseBackward                        // a layer of the extractor
	PhasePieces                          // gradients of the pieces of a minibatch added up
	PhaseMessages                        // between ranks
	PhaseNorm                            // of the gradient
	PhaseOptimiser                       // the step of the optimiser, gradient clipped
	PhaseRetraction                      // alpha and U back where they belong
	PhaseOther                           // the rest
)

func (k PhaseKind) String() string {
	return [...]string{"read and normalise", "noise", "forward", "precisions", "ascent", "classifier and loss",
		"ascent backward", "sums of gradients", "density losses", "backward", "sum of pieces",
		"messages", "norm", "optimiser", "retraction",
		"other"}[k]
}

// Phase is what an update spends in a phase. The times of all phases of an update, PhaseOther among them, add up to
// its wall clock.
type Phase struct {
	Kind    PhaseKind
	Layer   int     // of PhaseForward and PhaseBackward
	Name    string  // of the kind, and of the layer
	Seconds float64 // wall clock
	// Waiting is the part of Seconds in which a thread ran nothing, on average over the threads of the engine. The
	// thread that makes the update always runs, unless it waits for the end of tasks that it shares.
	Waiting float64
}

// Profile measures where the time of updates goes: Trainer.SetProfile, FitOptions.Profile. It changes no bit of the
// weights.
type Profile struct {
	Clock func() time.Duration // nil: that of the system

	// OnPhase, unless nil, is called with the name of a phase on each thread that begins to work on it, and with ""
	// at the end of an update, for labels of a CPU profile:
	//
	//	pprof.SetGoroutineLabels(pprof.WithLabels(ctx, pprof.Labels("phase", name)))
	OnPhase func(name string)

	e      *engine.Engine
	m      *Model
	phases []Phase             // without their times
	at     [PhaseOther + 1]int // the phase of a kind; its first layer

	// Of the running update.
	rows       int // classified so far
	phase      int
	since      time.Duration // when it began
	wall, busy time.Duration // engine.Watched then
	now        []spent       // of each phase

	// The last minibatch of an epoch, which may be smaller, takes less time than its bounds: it does not count.
	most    int           // rows of a whole one, with ranks those of this rank
	updates int           // of whole minibatches
	work    ascent.Totals // of the last one
	pieces  ascent.Totals // of the pieces of the running update so far
	past    []spent       // of the last keptUpdates updates, each of all phases
}

// spent is the time of a phase in an update.
type spent struct{ seconds, waiting float32 }

// keptUpdates bounds the updates that are kept.
const keptUpdates = 512

// SetProfile makes p measure the updates that follow; nil: none does. A profile belongs to one trainer. Close the
// engine, or set nil, before another trainer uses the engine.
func (s *Trainer) SetProfile(p *Profile) {
	s.profile = p
	if p == nil {
		s.e.Watch(nil, nil)
		s.cleanTape.Enter, s.path.Enter = nil, nil
		return
	}
	p.start(s)
	s.cleanTape.Enter = s.enterLayer
	s.path.Enter = func(sums bool) {
		kind := PhaseAscentBackward
		if sums {
			kind = PhaseSums
		}
		p.enter(kind)
	}
}

// enterLayer is told of each layer of the extractor before a pass through it.
func (s *Trainer) enterLayer(i int, backward bool) {
	kind := PhaseForward
	if backward {
		kind = PhaseBackward
		if s.team != nil {
			s.team.comm.Progress()
		}
	}
	s.profile.enterLayer(kind, i)
}

// start lists the phases of the updates of s.
func (p *Profile) start(s *Trainer) {
	if p.Clock == nil {
		p.Clock = sysinfo.Now
	}
	*p = Profile{Clock: p.Clock, OnPhase: p.OnPhase, e: s.e, m: s.m}
	for kind := range PhaseOther + 1 {
		p.at[kind] = len(p.phases)
		if kind != PhaseForward && kind != PhaseBackward {
			p.phases = append(p.phases, Phase{Kind: kind, Name: kind.String()})
			continue
		}
		for i, l := range s.m.extractor {
			name := strings.ToLower(strings.TrimPrefix(fmt.Sprintf("%T", l), "*layer."))
			p.phases = append(p.phases, Phase{Kind: kind, Layer: i, Name: fmt.Sprintf("%v %d %s", kind, i, name)})
		}
	}
	p.now = make([]spent, len(p.phases))
	p.past = make([]spent, keptUpdates*len(p.phases))
	s.e.Watch(p.Clock, p.begun)
}

// begun is called on a thread that begins to work on the phase.
func (p *Profile) begun() {
	if p.OnPhase != nil {
		p.OnPhase(p.phases[p.phase].Name)
	}
}

// begin begins an update.
func (p *Profile) begin() {
	if p == nil {
		return
	}
	p.rows = 0
	clear(p.now)
	p.pieces = ascent.Totals{}
	p.phase, p.since = p.at[PhaseOther], p.Clock()
	p.wall, p.busy = p.e.Watched()
	p.begun()
}

// enter begins a phase, which ends the one before.
func (p *Profile) enter(kind PhaseKind) { p.enterLayer(kind, 0) }

func (p *Profile) enterLayer(kind PhaseKind, i int) {
	if p == nil {
		return
	}
	p.count()
	p.phase = p.at[kind] + i
	p.begun()
}

// count adds the time since the phase began to it.
func (p *Profile) count() {
	now := p.Clock()
	wall, busy := p.e.Watched()
	took, threads := now-p.since, time.Duration(p.e.Threads())
	ran := took - (wall - p.wall) + (busy - p.busy) // of all threads
	v := &p.now[p.phase]
	v.seconds += float32(took.Seconds())
	v.waiting += float32((took - ran/threads).Seconds())
	p.since, p.wall, p.busy = now, wall, busy
}

// end ends an update.
func (p *Profile) end() {
	if p == nil {
		return
	}
	p.count()
	if p.rows > p.most { // the updates before were of a part of a minibatch
		p.most, p.updates = p.rows, 0
	}
	if p.rows == p.most {
		copy(p.past[p.updates%keptUpdates*len(p.now):], p.now)
		p.work = p.pieces
		p.updates++
	}
	if p.OnPhase != nil {
		p.OnPhase("")
	}
}

// classified counts rows of the minibatch.
func (p *Profile) classified(rows int) {
	if p != nil {
		p.rows += rows
	}
}

// ascended adds what the last ascent, of a minibatch or a piece, computed.
func (p *Profile) ascended() {
	if p == nil {
		return
	}
	w, sum := p.m.potential.Work().Totals(), &p.pieces
	sum.Route = w.Route
	sum.Rows += w.Rows
	sum.Active += w.Active
	sum.Evaluated += w.Evaluated
	sum.LeftOut += w.LeftOut
	sum.FactorFlop += w.FactorFlop
}

// Updates returns how many updates have been measured. Those of smaller minibatches than the largest do not count.
func (p *Profile) Updates() int { return p.updates }

// Rows returns how many rows a measured update computes; with ranks, those of this rank.
func (p *Profile) Rows() int { return p.most }

// Work returns what the ascent of the last whole minibatch computed.
func (p *Profile) Work() ascent.Totals { return p.work }

// Phases returns the phases that took time, in the order of an update, with their means over the quickest quarter of
// the last 512 updates of whole minibatches, those that other programs have disturbed least.
func (p *Profile) Phases() []Phase {
	n := len(p.phases)
	if p.updates == 0 {
		return nil
	}
	rows := p.past[:min(p.updates, keptUpdates)*n]
	var times []float64
	for at := 0; at < len(rows); at += n {
		times = append(times, total(rows[at:at+n]))
	}
	slices.Sort(times)
	most := times[(len(times)-1)/4]
	phases, count := slices.Clone(p.phases), 0.0
	for at := 0; at < len(rows); at += n {
		if row := rows[at : at+n]; total(row) <= most {
			count++
			for i, v := range row {
				phases[i].Seconds += float64(v.seconds)
				phases[i].Waiting += float64(v.waiting)
			}
		}
	}
	var out []Phase
	for _, v := range phases {
		if v.Seconds > 0 {
			v.Seconds /= count
			v.Waiting = min(max(v.Waiting/count, 0), v.Seconds)
			out = append(out, v)
		}
	}
	return out
}

// total is the wall clock of an update.
func total(row []spent) (seconds float64) {
	for _, v := range row {
		seconds += float64(v.seconds)
	}
	return seconds
}
