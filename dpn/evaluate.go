package dpn

import (
	"context"

	"dpnbench/dataset"
	"dpnbench/dpn/layer"
	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/internal/mpi"
)

// FinalScores are those of the model that training leaves. Like validation losses, they are added in the pieces of
// Config.Shards.
type FinalScores struct {
	Test       *Score // of FitOptions.Test, or nil
	Validation *Score // of the validation samples, without the weights of Config.Balance; nil without any
	ByClass    layer.ByClass
}

// FinalScores evaluates the model on validation and test samples, of which there may be none: what Fit does with
// FitOptions.Final.
func (m *Model) FinalScores(ctx context.Context, e *engine.Engine, val, test *dataset.Set) (*FinalScores, error) {
	return m.finalScores(ctx, e, m.Config.alone(), val, m.logitsOf(val), test)
}

func (m *Model) finalScores(ctx context.Context, e *engine.Engine, by potential.Division, val *dataset.Set,
	ofVal blockLogits, test *dataset.Set) (*FinalScores, error) {
	r := &FinalScores{}
	if val.Len() > 0 {
		score, predicted, err := m.scoreBy(ctx, e, by, val, nil, ofVal)
		if err != nil {
			return nil, err
		}
		outcomes := layer.NewOutcomes(len(m.Classes))
		outcomes.Add(val.Labels, predicted)
		r.Validation, r.ByClass = &score, outcomes.ByClass(m.Classes)
	}
	if test != nil && test.Len() > 0 && test.Labelled() {
		score, _, err := m.scoreBy(ctx, e, by, test, nil, m.logitsOf(test))
		if err != nil {
			return nil, err
		}
		r.Test = &score
	}
	return r, nil
}

// evaluate evaluates the model that training leaves.
func (f *fitting) evaluate(ctx context.Context) (*FinalScores, error) {
	if f.opt.OnFinal != nil {
		f.opt.OnFinal()
	}
	return f.m.finalScores(ctx, f.e, f.ranks(), f.val, f.logits(), f.opt.Test)
}

// validate evaluates the model on the validation samples, as it is trained: classes may have weights.
func (f *fitting) validate(ctx context.Context) (Score, error) {
	var weights []float32
	if f.m.Config.Balance {
		weights = f.step.classWeights(f.train)
	}
	score, _, err := f.m.scoreBy(ctx, f.e, f.ranks(), f.val, weights, f.logits())
	return score, err
}

// logits computes those of the validation samples.
func (f *fitting) logits() blockLogits {
	if !f.m.Config.denoisesOnce() {
		return f.m.logitsOf(f.val)
	}
	return blockLogits{f.val.Len(), func(_ context.Context, e *engine.Engine, block imageRange) (engine.Matrix, error) {
		return f.m.Logits(e, f.denoisedVal.SliceRows(block.first, block.last)), nil
	}}
}

// blockLogits computes the logits of a block of samples, which has at most so many rows.
type blockLogits struct {
	rows int
	of   func(ctx context.Context, e *engine.Engine, block imageRange) (engine.Matrix, error)
}

// logitsOf computes those of the samples of s.
func (m *Model) logitsOf(s *dataset.Set) blockLogits {
	in := m.Input(s)
	return blockLogits{evalRows, func(ctx context.Context, e *engine.Engine, block imageRange) (engine.Matrix, error) {
		x, err := m.blocks(ctx, e, in, block, m.Config.Steps, nil)
		if err != nil {
			return x, err
		}
		y := m.Logits(e, x)
		return y, m.CheckOutput(y, "logit", s.Sample(), block.first)
	}}
}

// scoreBy evaluates the model on labelled samples, which the ranks of by divide, and returns the classes that it
// predicts. weights are as those of layer.Tally.
func (m *Model) scoreBy(ctx context.Context, e *engine.Engine, by potential.Division, s *dataset.Set,
	weights []float32, logits blockLogits) (Score, []int32, error) {
	if err := m.checkScored(s); err != nil {
		return Score{}, nil, err
	}
	n := s.Len()
	predicted := make([]int32, n)
	var failed error
	sums, err := by.Sum(ctx, nil, n, 3, func(_, first, last int, sum []float64) {
		t := layer.Tally{Weights: weights}
		for lo := first; lo < last && failed == nil; lo += logits.rows {
			hi := min(lo+logits.rows, last)
			var y engine.Matrix
			if y, failed = logits.of(ctx, e, imageRange{lo, hi}); failed == nil {
				t.Add(e, y, s.Labels[lo:hi], engine.Matrix{}, 0)
				e.ArgMax(predicted[lo:hi], y)
				failed = m.blame(t.CheckLosses(s.Sample(), lo))
			}
		}
		sum[0], sum[1], sum[2] = float64(t.Sums.Samples), float64(t.Sums.Right), t.Sums.Loss
	})
	if err == nil {
		err = by.Gather(ctx, failed, n, mpi.Bytes(predicted))
	}
	if failed != nil {
		err = failed
	}
	if err != nil {
		return Score{}, nil, err
	}
	all := layer.Sums{Samples: int(sums[0]), Right: int(sums[1]), Loss: sums[2]}
	return all.Score(), predicted, nil
}
