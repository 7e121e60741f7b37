package potential

import (
	"context"
	"testing"

	"dpnbench/engine"
)

// TestTuneStepSize checks the acceptance at the step size that the warm-up finds, from draws and from
// a start far away.
func TestTuneStepSize(t *testing.T) {
	ctx, e := context.Background(), newEngine(t)
	p := mixturePotential(t, FormFull, 3, 4, 8)
	draws := exactDraws(t, p, 32)
	far := engine.NewMatrix(32, p.D)
	for i := range far.Data {
		far.Data[i] = 20
	}
	for name, start := range map[string]engine.Matrix{"draws": draws, "far away": far} {
		h, acceptance, err := p.TuneStepSize(ctx, e, start, 1, 3)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		c, err := p.Langevin(ctx, e, draws, LangevinOptions{Adjusted: true, Steps: 400, StepSize: h, Seed: 7})
		if err != nil {
			t.Fatal(err)
		}
		if acceptance < tunedLeast || acceptance > tunedMost || !(c.Acceptance >= tunedLeast-0.15) ||
			!(c.Acceptance <= tunedMost+0.15) {
			t.Errorf("%s: step size %v with an acceptance of %v in the warm-up, %v in chains", name, h, acceptance,
				c.Acceptance)
		}
	}
}
