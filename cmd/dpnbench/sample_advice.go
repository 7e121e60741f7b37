package main

import (
	"context"
	"fmt"
	"math"

	"dpnbench/dpn"
	"dpnbench/engine"
)

// Chains below one of these say little about the potential.
const (
	leastAcceptance = 0.01
	leastESS        = 50
)

// advise warns of chains that hardly move, and proposes a step size that a warm-up from their start
// has tuned, or the number of steps.
func (s *sampling) advise(ctx context.Context, e *engine.Engine, m *dpn.Model, start engine.Matrix) error {
	c := s.Chains
	if s.Method != "mala" {
		return nil // ULA takes every step
	}
	refused, few := c.Acceptance < leastAcceptance, !(c.LeastESS >= leastESS)
	if !refused && !few {
		return nil
	}
	what := fmt.Sprintf("the effective sample size is %s, below %d", figure(float64(c.LeastESS), "%.0f"), leastESS)
	switch {
	case c.Acceptance == 0:
		what = "every proposal was refused: the samples are the start of the chains"
	case refused:
		what = fmt.Sprintf("the acceptance is %.2g%%, below %g%%: the samples are close to the start of the chains",
			100*c.Acceptance, 100*leastAcceptance)
	}
	proposal := ""
	switch h, acceptance, err := m.Potential().TuneStepSize(ctx, e, start, s.Temperature, s.Seed); {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		proposal = err.Error()
	case refused || math.Abs(math.Log(h/c.StepSize)) > math.Log(4):
		proposal = fmt.Sprintf("--step-size %.3g has an acceptance of %.0f%%", h, 100*acceptance)
		c.Tuned, c.TunedAcceptance = h, acceptance
	}
	if proposal == "" {
		proposal = "take more --steps"
		if ess := float64(c.LeastESS); ess > 0 && !math.IsInf(ess, 0) {
			steps := float64(c.Steps) * leastESS / ess
			proposal = fmt.Sprintf("expected about --steps %.0f", 100*math.Ceil(steps/100))
		}
	}
	c.Warning = what + "; " + proposal
	s.log().Warn(c.Warning)
	return nil
}
