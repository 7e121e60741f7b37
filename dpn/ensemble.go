package dpn

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"dpnbench/dataset"
	"dpnbench/dpn/layer"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// An Ensemble classifies by the mean of the probabilities of its models (Lakshminarayanan et al., NeurIPS 2017,
// section 2.4). Each of them preprocesses and normalises samples by itself. The loss is that of the mean. The methods
// of one [Model] are those of an ensemble of it alone.
type Ensemble []*Model

// Check returns an error unless there is a model, and all are for the same samples and classes. All that evaluates an
// ensemble checks it, too.
func (n Ensemble) Check() error {
	if len(n) == 0 {
		return fmt.Errorf("an ensemble of no models")
	}
	if i := slices.Index(n, nil); i >= 0 {
		return n.name(i, errors.New("no model: it is nil"))
	}
	for _, m := range n[1:] {
		switch {
		case m.Shape != n[0].Shape:
			return fmt.Errorf("%s of %v, expected %v as in the other model", m.Shape.Samples(), m.Shape, n[0].Shape)
		case !slices.Equal(m.Classes, n[0].Classes):
			return fmt.Errorf("expected the classes of the other model, in their order")
		case m.FeatureNames != nil && n[0].FeatureNames != nil && !slices.Equal(m.FeatureNames, n[0].FeatureNames):
			return fmt.Errorf("expected the features of the other model, in their order")
		}
	}
	return nil
}

// MACs counts the multiply-adds that the dense products take for one sample.
func (n Ensemble) MACs() (sum int) {
	for _, m := range n {
		sum += m.MACs()
	}
	return sum
}

// Predict returns the class of every sample of s; of equal probabilities the lower class. Like all that
// evaluates logits, it returns a *OutputError if one is not finite.
func (n Ensemble) Predict(ctx context.Context, e *engine.Engine, s *dataset.Set) ([]uint16, error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	out := make([]uint16, 0, s.Len())
	idx := make([]int32, evalRows)
	err := n.logits(ctx, e, s, n.inputs(s), func(lo int, logits engine.Matrix) error {
		e.ArgMax(idx[:logits.Rows], logits)
		for _, c := range idx[:logits.Rows] {
			out = append(out, uint16(c))
		}
		return nil
	})
	return out, err
}

// Score evaluates the ensemble on s.
func (n Ensemble) Score(ctx context.Context, e *engine.Engine, s *dataset.Set) (Score, error) {
	if err := n.Check(); err != nil {
		return Score{}, err
	}
	return n.tally(ctx, e, s, n.inputs(s), new(layer.Tally), nil)
}

// ScoreCorrupted evaluates the ensemble on the images of s as c corrupts them under a seed.
// Their grey levels are normalised as they are, without being rounded to bytes.
func (n Ensemble) ScoreCorrupted(ctx context.Context, e *engine.Engine, s *dataset.Set, c dataset.Corruption,
	seed uint64) (Score, error) {
	if err := n.Check(); err != nil {
		return Score{}, err
	}
	in := make([]Input, len(n))
	for i, m := range n {
		var err error
		if in[i], err = m.CorruptedInput(s, c, seed); err != nil {
			return Score{}, err
		}
	}
	return n.tally(ctx, e, s, in, new(layer.Tally), nil)
}

// ScoreClasses is Score with the accuracy of every class.
func (n Ensemble) ScoreClasses(ctx context.Context, e *engine.Engine, s *dataset.Set) (Score, layer.ByClass, error) {
	if err := n.Check(); err != nil {
		return Score{}, layer.ByClass{}, err
	}
	c := layer.NewOutcomes(len(n[0].Classes))
	score, err := n.tally(ctx, e, s, n.inputs(s), new(layer.Tally), c)
	if err != nil {
		return Score{}, layer.ByClass{}, err
	}
	return score, c.ByClass(n[0].Classes), nil
}

// tally is Score with inputs for each model, a tally that may have weights, and outcomes by class, unless they are nil.
func (n Ensemble) tally(ctx context.Context, e *engine.Engine, s *dataset.Set, in []Input, t *layer.Tally,
	c *layer.Outcomes) (Score, error) {
	if err := n[0].checkScored(s); err != nil {
		return Score{}, err
	}
	idx := make([]int32, evalRows)
	err := n.logits(ctx, e, s, in, func(lo int, logits engine.Matrix) error {
		rows := logits.Rows
		labels := s.Labels[lo : lo+rows]
		t.Add(e, logits, labels, engine.Matrix{}, 0)
		if c != nil {
			e.ArgMax(idx[:rows], logits)
			c.Add(labels, idx[:rows])
		}
		return n[0].blame(t.CheckLosses(s.Sample(), lo))
	})
	if err != nil {
		return Score{}, err
	}
	return t.Score(), nil
}

// Predictions returns what the ensemble makes of every sample of s, which needs no labels: potential, and whether it
// looks unknown, are those of the first model. The bits depend on the sample only: not on those beside it, nor on the
// threads of e.
func (n Ensemble) Predictions(ctx context.Context, e *engine.Engine, s *dataset.Set) (*Predictions, error) {
	if err := n.Check(); err != nil {
		return nil, err
	}
	all := make([]*Predictions, len(n))
	for i, m := range n {
		var err error
		if all[i], err = m.predictions(ctx, e, s); err != nil {
			return nil, n.name(i, err)
		}
	}
	r := all[0]
	if len(n) == 1 {
		return r, nil
	}
	rows := make([][]float32, len(n))
	for b := range r.Classes {
		for i, p := range all {
			rows[i] = p.Probabilities.Row(b)
		}
		p := rows[0]
		meanOf(p, rows)
		r.Classes[b] = slices.Index(p, slices.Max(p))
	}
	return r, nil
}

// inputs returns the samples of s as each model reads them.
func (n Ensemble) inputs(s *dataset.Set) []Input {
	in := make([]Input, len(n))
	for i, m := range n {
		in[i] = m.Input(s)
	}
	return in
}

// leastProbability is what probabilities below it count as in a logarithm: 2^-126, below which softmax gives 0.
const leastProbability = 0x1p-126

// logits calls f with the logits of block after block of s, whose samples come by in, one for each model; lo is
// the block's first sample. The logits are finite; of several models they are the logarithms of the mean
// probabilities.
func (n Ensemble) logits(ctx context.Context, e *engine.Engine, s *dataset.Set, in []Input,
	f func(lo int, logits engine.Matrix) error) error {
	for _, m := range n {
		if err := m.CheckSet(s); err != nil {
			return err
		}
	}
	rows := make([][]float32, len(n))
	for lo := 0; lo < s.Len(); lo += evalRows {
		block := imageRange{lo, min(lo+evalRows, s.Len())}
		each := make([]engine.Matrix, len(n))
		for i, m := range n {
			x, err := m.blocks(ctx, e, in[i], block, m.Config.Steps, nil)
			if err != nil {
				return err
			}
			each[i] = m.Logits(e, x)
			if err := m.CheckOutput(each[i], "logit", s.Sample(), lo); err != nil {
				return n.name(i, err)
			}
		}
		y := each[0]
		for b := 0; len(n) > 1 && b < y.Rows; b++ {
			for i := range each {
				rows[i] = each[i].Row(b)
				softmax(rows[i], rows[i])
			}
			p := y.Row(b)
			meanOf(p, rows)
			for c := range p {
				p[c] = num.Log32(max(p[c], leastProbability))
			}
		}
		if err := f(lo, y); err != nil {
			return err
		}
	}
	return nil
}

// meanOf sets p to the mean of rows, of which it may be one, with the same bits on every machine.
func meanOf(p []float32, rows [][]float32) {
	for c := range p {
		sum := 0.0
		for _, row := range rows {
			sum += float64(row[c])
		}
		p[c] = float32(sum / float64(len(rows)))
	}
}

// name says which of several models an error is about.
func (n Ensemble) name(i int, err error) error {
	if len(n) == 1 {
		return err
	}
	return fmt.Errorf("model %d of %d: %w", i+1, len(n), err)
}
