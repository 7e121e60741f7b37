package study

import (
	"context"
	"math"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
)

// ConfidenceScore is a score of how well a model knows an image.
type ConfidenceScore struct {
	Name    string `json:"name"`
	Symbol  string `json:"symbol"` // its formula, beside the name in tables and on axes
	Meaning string `json:"meaning"`
	Falls   bool   `json:"falls"` // lower values are those of better known images
}

// Places of the scores in ConfidenceScores.
const (
	scorePhi0 = iota
	scorePhiN
	scoreDisplacement
	scoreScaled
	scoreEntropy0
	scoreEntropyN
	scoreSoftmax
	scoreEnergy
)

var confidenceScores = []ConfidenceScore{
	{"phi_0", "φ(x_0)", "the potential at the features, before the ascent", false},
	{"phi_n", "φ(x_n)", "the potential where the ascent ends", false},
	{"displacement", "|x_n − x_0|", "how far the ascent moves the features", true},
	// Without Config.RMS little ink is near everything: a faint image has a high phi_0 and a short displacement. Of the
	// powers of |x_0| the root separates best: see docs/uncertainty.md.
	{"scaled", "|x_n − x_0| / √|x_0|", "the displacement over the root of the length of the features", true},
	{"entropy_0", "ln H(r) at x_0", "log of the entropy of the responsibilities before the ascent", true},
	{"entropy_n", "ln H(r) at x_n", "log of the entropy of the responsibilities where the ascent ends", true},
	{"softmax", "max p", "the largest probability of the classifier", false},
	{"energy", "log Σ exp(logit)", "log of the sum of exp(logit): minus the energy of Liu et al., 2020", false},
}

// ConfidenceScores lists the scores, in the order of tables.
func ConfidenceScores() []ConfidenceScore {
	return append([]ConfidenceScore(nil), confidenceScores...)
}

// Confidence holds the scores of n images.
type Confidence struct {
	// Values are the scores, one slice of n numbers for each of ConfidenceScores. Where an
	// ascent leaves the range of float32, what comes after it may be NaN.
	Values [][]float64
	Logits engine.Matrix // n x classes
}

// Known returns a score of all images such that a higher number means better known: with
// its sign changed where the score falls, and minus infinity where it is NaN.
func (c *Confidence) Known(score int) []float64 {
	out := make([]float64, len(c.Values[score]))
	for i, v := range c.Values[score] {
		switch {
		case math.IsNaN(v):
			v = math.Inf(-1)
		case confidenceScores[score].Falls:
			v = -v
		}
		out[i] = v
	}
	return out
}

// MeasureConfidence computes the scores of every image of s, with the same bits on every machine.
func MeasureConfidence(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set) (*Confidence, error) {
	return confidence(ctx, e, m, s, m.Input(s))
}

// MeasureConfidenceCorrupted computes the scores of the images of s as c corrupts them under a seed.
func MeasureConfidenceCorrupted(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set,
	c dataset.Corruption, seed uint64) (*Confidence, error) {
	in, err := m.CorruptedInput(s, c, seed)
	if err != nil {
		return nil, err
	}
	return confidence(ctx, e, m, s, in)
}

func confidence(ctx context.Context, e *engine.Engine, m *dpn.Model, s *dataset.Set,
	in dpn.Input) (*Confidence, error) {
	if err := m.CheckSet(s); err != nil {
		return nil, err
	}
	n, k := s.Len(), m.Potential().K
	c := &Confidence{Values: make([][]float64, len(confidenceScores)), Logits: engine.NewMatrix(n, len(m.Classes))}
	for i := range c.Values {
		c.Values[i] = make([]float64, n)
	}
	phi, l := make([]float32, potential.BlockRows), engine.NewMatrix(k, min(potential.BlockRows, n))
	for lo := 0; lo < n; lo += potential.BlockRows {
		hi := min(lo+potential.BlockRows, n)
		first, err := m.Ascended(ctx, e, in, lo, hi, 0)
		if err != nil {
			return nil, err
		}
		last := engine.NewMatrix(hi-lo, m.Dim())
		copy(last.Data, first.Data)
		if err := m.Potential().AscendUntil(ctx, e, last, m.Config.Steps); err != nil {
			return nil, err
		}
		logits := c.Logits.SliceRows(lo, hi)
		copy(logits.Data, m.Logits(e, last).Data)
		if err := m.CheckOutput(logits, "logit", m.Shape.Sample(), lo); err != nil {
			return nil, err
		}
		at := engine.View(l.Data[:k*(hi-lo)], k, hi-lo)
		for _, p := range []struct {
			x            engine.Matrix
			phi, entropy int
		}{{first, scorePhi0, scoreEntropy0}, {last, scorePhiN, scoreEntropyN}} {
			m.Potential().Terms(e, p.x, phi[:hi-lo], at)
			for b, v := range phi[:hi-lo] {
				c.Values[p.phi][lo+b], c.Values[p.entropy][lo+b] = float64(v), potential.LogEntropy(at, b)
			}
		}
		for b := range hi - lo {
			moved := linalg.Distance(first.Row(b), last.Row(b))
			c.Values[scoreDisplacement][lo+b] = moved
			c.Values[scoreScaled][lo+b] = scaled(moved, first.Row(b))
			c.Values[scoreSoftmax][lo+b], c.Values[scoreEnergy][lo+b] = softmaxScores(logits.Row(b))
		}
	}
	return c, nil
}

// scaled returns the score of an ascent from x that moved it so far. Without a movement it is 0, whatever x.
func scaled(moved float64, x []float32) float64 {
	if moved == 0 {
		return 0
	}
	return moved / math.Sqrt(linalg.Norm(linalg.Widen(x)))
}

// softmaxScores returns the largest softmax of a row of logits and the log of the sum of
// their exponentials. The sum is kept in float64, so that a probability near 1 has the
// digits in which it differs from 1.
func softmaxScores(logits []float32) (largest, logSum float64) {
	top := logits[0]
	for _, v := range logits {
		if v > top || v != v {
			top = v
		}
	}
	var sum float64
	for _, v := range logits {
		sum += float64(num.Exp32(v - top))
	}
	return 1 / sum, float64(top) + float64(num.Log32(float32(sum)))
}
