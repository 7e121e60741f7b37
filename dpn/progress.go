package dpn

import (
	"fmt"
	"math"
	"slices"
	"time"

	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
)

// progress is how far training has come: what the state of training holds besides tensors. What it says of
// an epoch must not grow with their number.
type progress struct {
	Epochs   int                 `json:"epochs"` // finished
	Updates  int                 `json:"updates"`
	Best     int                 `json:"best_epoch"`    // whose model is kept, from 1; 0: none has finished
	BestLoss *float64            `json:"best_val_loss"` // of that epoch; nil without validation images
	Start    float64             `json:"entropy_start"` // Diagnostics.EntropyStart
	Warned   []string            `json:"warned"`        // the kinds of all warnings given
	Metrics  prefix              `json:"metrics"`       // the lines of the finished epochs
	Prepared float64             `json:"prepare_seconds"`
	Times    []float64           `json:"update_seconds"` // of the last updates
	EM       *potential.EMResult `json:"em,omitempty"`
	Running  *pass               `json:"running,omitempty"` // the epoch that has not finished
}

// keptTimes is the number of updates whose times are kept, at least, for the median.
const keptTimes = 512

// took notes the seconds of an update.
func (p *progress) took(seconds float64) {
	if p.Times = append(p.Times, seconds); len(p.Times) >= 2*keptTimes {
		p.Times = slices.Delete(p.Times, 0, keptTimes)
	}
}

// pass is what one pass over the training images has measured so far, update by update.
type pass struct {
	Updates  int         `json:"updates"`
	Sums     layer.Sums  `json:"sums"`
	Clipped  int         `json:"clipped"` // updates
	NLL      float64     `json:"nll"`     // sums over the updates
	Score    float64     `json:"score_matching"`
	Ascent   *AscentCost `json:"ascent,omitempty"` // of the last update, once all are made
	Warnings []Warning   `json:"warnings"`         // given before the first epoch
	Seconds  float64     `json:"seconds"`          // of earlier calls of Fit

	norms       map[string][]float32 // of the gradient, by group, and of all under ""
	used        []bool               // by component: a responsibility above usedR
	diagnostics Diagnostics
	begun       time.Time // in this call
}

// newPass is a pass before its first update.
func newPass(components int) *pass {
	return &pass{norms: map[string][]float32{}, used: make([]bool, components)}
}

// add adds the figures of the update that s has computed. They are complete before the next update begins,
// which may be given up.
func (p *pass) add(s *Trainer, norm float64) {
	p.Updates++
	p.Sums.Add(s.tally.Sums)
	p.addNorm("", norm)
	for group, v := range s.squares {
		p.addNorm(group, math.Sqrt(v))
	}
	if layer.Clip(norm, s.m.Config.Clip) < 1 {
		p.Clipped++
	}
	p.NLL += s.nll
	p.Score += s.score
	copy(p.used, s.used)
}

// addNorm adds a norm, which is finite.
func (p *pass) addNorm(group string, norm float64) {
	p.norms[group] = append(p.norms[group], float32(min(norm, math.MaxFloat32)))
}

// paused returns the pass as another call of Fit can go on with it.
func (p *pass) paused() *pass {
	q := *p
	q.Seconds += time.Since(p.begun).Seconds()
	return &q
}

// check refuses what training does not write. perEpoch and all are the updates of an epoch and of all.
func (p *progress) check(perEpoch, all int, validated bool) error {
	made := p.Epochs * perEpoch
	switch r := p.Running; {
	case p.Epochs < 0 || p.Updates < 0 || p.Best < 0 || p.Best > p.Epochs || (p.Best == 0) != (p.Epochs == 0):
		return fmt.Errorf("epoch %d of %d is the best, after %d updates", p.Best, p.Epochs, p.Updates)
	case (p.BestLoss != nil) != (validated && p.Best > 0):
		return fmt.Errorf("expected a validation loss of the best epoch exactly if there are images to validate on")
	case p.Epochs > all: // an epoch has at least one update; now nothing overflows
		return fmt.Errorf("%d epochs of at most %d updates", p.Epochs, all)
	case r == nil && p.Updates != min(made, all), r != nil && (p.Updates != made+r.Updates || p.Updates > all):
		return fmt.Errorf("%d updates, expected %d in each of %d epochs and at most %d", p.Updates, perEpoch, p.Epochs,
			all)
	case r == nil && p.Epochs == 0:
		return fmt.Errorf("no epoch has begun")
	case r != nil && (r.Updates < 0 || r.Updates > perEpoch):
		return fmt.Errorf("%d updates of an epoch of %d", r.Updates, perEpoch)
	}
	return nil
}
