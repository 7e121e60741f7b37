package reproduce

import (
	"context"
	"fmt"
	"math"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/potential"
	"dpnbench/dpn/separation"
	"dpnbench/dpn/study"
	"dpnbench/engine"
)

// Langevin compares Langevin dynamics with the ascent of the published, untrained network, and
// samples from its potential.
type Langevin struct {
	Chains int `json:"chains"` // each starts at a test image
	Steps  int `json:"steps"`  // of the comparison with the ascent, at its step size

	// Cold and Warm are the root mean square differences of a feature from the ascent after Steps
	// steps: at a temperature of almost 0, and at 1.
	Cold float64 `json:"cold_difference"`
	Warm float64 `json:"warm_difference"`

	// Of Metropolis-adjusted chains of SampleSteps steps at temperature 1, without the first fifth:
	// step size, share of the proposals that were taken, and the least effective sample size of the
	// traced features, of States states.
	SampleSteps int              `json:"sample_steps"`
	StepSize    float64          `json:"step_size"`
	Acceptance  float64          `json:"acceptance"`
	LeastESS    separation.Float `json:"ess_least"`
	States      int              `json:"states"`
}

const (
	langevinChains = 16
	sampleSteps    = 1000

	// coldest is a temperature whose noise float32 rounds away. (0 would mean 1.)
	coldest = 1e-30
)

// runLangevin compares chains that start at the first rows of x with the ascent of m.
func runLangevin(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set,
	x engine.Matrix) (*Langevin, error) {
	n := min(langevinChains, x.Rows)
	start := x.SliceRows(0, n)
	ascent, err := m.Denoised(ctx, e, s.Slice(0, n))
	if err != nil {
		return nil, err
	}
	p := m.Potential()
	out := &Langevin{Chains: n, Steps: m.Config.Steps, SampleSteps: sampleSteps}
	for temperature, to := range map[float64]*float64{coldest: &out.Cold, 1: &out.Warm} {
		c, err := p.Langevin(ctx, e, start, potential.LangevinOptions{Steps: out.Steps, StepSize: float64(p.Alpha()),
			Temperature: temperature, Seed: 1})
		if err != nil {
			return nil, err
		}
		sum := 0.0
		for i := range n {
			a, b := ascent.Row(i), c.X.Row(i)
			for j := range a {
				d := float64(a[j]) - float64(b[j])
				sum += float64(d * d)
			}
		}
		*to = math.Sqrt(sum / float64(n*x.Cols))
	}
	c, err := p.Langevin(ctx, e, start, potential.LangevinOptions{Adjusted: true, Steps: sampleSteps,
		Burn: sampleSteps / 5, Seed: 1})
	if err != nil {
		return nil, err
	}
	out.StepSize, out.Acceptance, out.LeastESS, out.States = c.StepSize, c.Acceptance, c.LeastESS, n*c.Kept
	return out, nil
}

// mostCold is the difference of a feature (normalised grey levels) that float32 explains.
const mostCold = 1e-5

// judgeLangevin judges whether the ascent is Langevin dynamics.
func judgeLangevin(x *Field) judged {
	l := x.Langevin
	if l == nil { // results of an earlier version
		return judged{}
	}
	j := judged{numbers: numbers(l.Cold, l.Warm), verdict: NotReproduced,
		measured: fmt.Sprintf("after %d steps, features of Langevin chains differ from the ascent by %.2g at "+
			"temperature 0 and by %.2g at 1 (root mean square)", l.Steps, l.Cold, l.Warm),
		why: "Not even without noise do the chains follow the ascent."}
	switch {
	case l.Cold <= mostCold && l.Warm <= mostCold:
		j.verdict, j.why = Reproduced, "The noise of temperature 1 makes no difference."
	case l.Cold <= mostCold:
		j.verdict, j.why = InPart, "It is the limit of zero temperature, which has no noise."
	}
	return j
}

// Least acceptance and effective sample size of chains that sample.
const (
	leastAcceptance = 0.01
	leastESS        = 50
)

// judgeSampling judges whether Langevin dynamics draws samples.
func judgeSampling(x *Field) judged {
	l := x.Langevin
	if l == nil {
		return judged{}
	}
	j := judged{numbers: []float64{100 * l.Acceptance, float64(l.LeastESS)}, verdict: NotReproduced,
		measured: fmt.Sprintf("%d adjusted chains of %d steps: acceptance %.0f%%, least effective sample size %s of "+
			"%d states", l.Chains, l.SampleSteps, 100*l.Acceptance, number("%.0f", l.LeastESS), l.States),
		why: fmt.Sprintf("The chains do not move enough: expected an acceptance of %.0f%% and an effective sample "+
			"size of %d.", 100*leastAcceptance, leastESS)}
	if l.Acceptance >= leastAcceptance && l.LeastESS >= leastESS {
		j.verdict, j.why = Reproduced,
			"The chains sample the potential; whether they cross between distant components, or "+
				"the samples look like digits, was not measured."
	}
	return j
}

// Detected is how well the potential detects unknown or misclassified images, by AUROC: 1 is
// perfect, 0.5 chance. It is compared with the largest probability of the classifier.
type Detected struct {
	Task    string     `json:"task"`
	Meaning string     `json:"meaning"`
	Phi     float64    `json:"phi_auroc"` // of the potential where the ascent ends
	PhiCI   [2]float64 `json:"phi_auroc_ci"`
	Softmax float64    `json:"softmax_auroc"`
	// Entropy is that of the responsibilities at x_0: high where several maxima are near.
	Entropy   float64    `json:"entropy_auroc"`
	EntropyCI [2]float64 `json:"entropy_auroc_ci"`
}

// detect measures the scores of m on test images.
func detect(ctx context.Context, e *engine.Engine, m *dpn.Model, test *dataset.Set) ([]Detected, error) {
	u, err := study.MeasureUncertainty(ctx, e, m, test, study.UncertaintyOptions{Seed: 1})
	if err != nil {
		return nil, err
	}
	var out []Detected
	for _, t := range u.Tasks {
		d := Detected{Task: t.Name, Meaning: t.Meaning}
		for _, s := range t.Scores {
			switch s.Score {
			case "phi_n":
				d.Phi, d.PhiCI = s.AUROC, s.AUROCCI
			case "softmax":
				d.Softmax = s.AUROC
			case "entropy_0":
				d.Entropy, d.EntropyCI = s.AUROC, s.AUROCCI
			}
		}
		out = append(out, d)
	}
	return out, nil
}
