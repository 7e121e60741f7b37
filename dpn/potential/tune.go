package potential

import (
	"context"
	"fmt"
	"math"

	"dpnbench/engine"
)

// Acceptances between which a step size of MALA is taken as tuned. The best is near 0.574 in many
// dimensions (Roberts and Rosenthal, JRSS B 60, 1998).
const (
	tunedLeast = 0.4
	tunedMost  = 0.8
)

// Sizes of the warm-up of TuneStepSize.
const (
	tuneChains = 16
	tuneSteps  = 50 // of each chain at each step size
	tuneTries  = 60
)

// TuneStepSize searches a step size of MALA by a warm-up of short chains from the first rows of
// start, and returns it with its acceptance. The result has the same bits on every machine.
func (p *Potential) TuneStepSize(ctx context.Context, e *engine.Engine, start engine.Matrix, temperature float64,
	seed uint64) (h, acceptance float64, err error) {
	if h, err = p.DefaultStepSize(ctx, true, e.Threads()); err != nil {
		return 0, 0, err
	}
	x := start.Slice(0, min(start.Rows, tuneChains), 0, start.Cols)
	tooSmall, tooLarge := 0.0, math.Inf(1)
	for range tuneTries {
		c, err := p.Langevin(ctx, e, x, LangevinOptions{Adjusted: true, Steps: tuneSteps, StepSize: h,
			Temperature: temperature, Seed: seed})
		if err != nil {
			return 0, 0, err
		}
		x, acceptance = c.X, c.Acceptance
		switch {
		case acceptance < tunedLeast:
			tooLarge = h
		case acceptance > tunedMost:
			tooSmall = h
		default:
			return h, acceptance, nil
		}
		switch {
		case tooSmall == 0:
			h /= 4
		case math.IsInf(tooLarge, 1):
			h *= 4
		case tooLarge/tooSmall < 1.01: // between two warm-ups, chance decides
			tooSmall, tooLarge = 0, math.Inf(1)
		default:
			h = math.Sqrt(tooSmall * tooLarge)
		}
	}
	return 0, 0, fmt.Errorf("no step size with an acceptance of %v to %v in %d warm-ups: the last one, %.3g, has %.3g",
		tunedLeast, tunedMost, tuneTries, h, acceptance)
}
