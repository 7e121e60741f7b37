package baseline

import (
	"context"
	"errors"

	"dpnbench/dpn/layer"
	"dpnbench/engine"
)

// evalRows is the number of rows that are evaluated together.
const evalRows = 128

// Predict returns the class of every row of s, the lower one among equals.
func (n *Network) Predict(ctx context.Context, e *engine.Engine, s Samples) ([]uint16, error) {
	out := make([]uint16, 0, s.Len())
	idx := make([]int32, evalRows)
	err := n.each(ctx, e, s, evalRows, layer.Evaluation, func(lo int, t *layer.Tape, logits engine.Matrix) error {
		e.ArgMax(idx[:logits.Rows], logits)
		for _, c := range idx[:logits.Rows] {
			out = append(out, uint16(c))
		}
		return nil
	})
	return out, err
}

// Score evaluates the network on s. Like Predict and Activations, it returns a *layer.OutputError if a
// logit is not finite.
func (n *Network) Score(ctx context.Context, e *engine.Engine, s Samples) (layer.Score, error) {
	if s.Len() == 0 {
		return layer.Score{}, errors.New("no rows, expected one or more")
	}
	var t layer.Tally
	err := n.each(ctx, e, s, evalRows, layer.Evaluation, func(lo int, _ *layer.Tape, logits engine.Matrix) error {
		t.Add(e, logits, s.Labels[lo:lo+logits.Rows], engine.Matrix{}, 0)
		return t.CheckLosses("row", lo)
	})
	if err != nil {
		return layer.Score{}, n.blame(err)
	}
	return t.Score(), nil
}

// Features holds the outputs of one layer for all rows of Samples.
type Features struct {
	Name string // "input", "conv 1", "hidden 1" and so on, "logits"
	X    engine.Matrix
}

// Activations returns the normalised input, the output of every hidden layer (after ReLU and
// pooling) and the logits, n x width each. With batch 0, BatchNorm uses its running averages, as in
// Score. Otherwise it uses the statistics of each batch of that many rows, as He and Su's published
// code does (100 rows).
func (n *Network) Activations(ctx context.Context, e *engine.Engine, s Samples, batch int) ([]Features, error) {
	rows, mode := evalRows, layer.Evaluation
	if batch > 0 {
		rows, mode = batch, layer.BatchStatistics
	}
	marks := append([]mark{{"input", -1}}, n.marks...)
	list := make([]Features, len(marks))
	err := n.each(ctx, e, s, rows, mode, func(lo int, t *layer.Tape, _ engine.Matrix) error {
		for i, m := range marks {
			x := t.Value(m.layer)
			if list[i].X.Data == nil {
				list[i] = Features{m.name, engine.NewMatrix(s.Len(), x.Cols)}
			}
			copy(list[i].X.Data[lo*x.Cols:], x.Data)
		}
		return nil
	})
	return list, err
}

// blame adds to a *layer.OutputError which tensor is at fault, if one is not finite.
func (n *Network) blame(err error) error {
	if bad, ok := errors.AsType[*layer.OutputError](err); ok {
		bad.Tensor = layer.NotFiniteTensor(n.tensors())
	}
	return err
}

// each runs the network on blocks of rows of s, and calls f with the index of the first row, the
// tape and the logits of each block, which are finite.
func (n *Network) each(ctx context.Context, e *engine.Engine, s Samples, rows int, mode layer.Mode,
	f func(lo int, t *layer.Tape, logits engine.Matrix) error) error {
	if err := s.check(n.In, n.Classes); err != nil {
		return err
	}
	x := engine.NewMatrix(min(rows, s.Len()), n.In)
	var t layer.Tape
	for lo := 0; lo < s.Len(); lo += rows {
		if err := ctx.Err(); err != nil {
			return err
		}
		part := s.Slice(lo, min(lo+rows, s.Len()))
		xb := engine.View(x.Data[:len(part.X.Data)], part.Len(), n.In)
		copy(xb.Data, part.X.Data)
		s.normalise(xb)
		y := n.layers.Forward(e, &t, xb, mode)
		if err := layer.CheckOutput(y, "logit", "row", lo); err != nil {
			return n.blame(err)
		}
		if err := f(lo, &t, y); err != nil {
			return err
		}
	}
	return nil
}
