package baseline

import (
	"context"
	"fmt"

	"dpnbench/dataset"
	"dpnbench/dpn/layer"
	"dpnbench/engine"
)

// Nearest predicts the class of the nearest centre in Euclidean distance, the first one among
// equals. With one centre per class, its mean, it is the nearest class mean classifier. The nearest
// centre c of a row x has the largest x c - |c|^2 / 2, so a row costs one product with the centres.
type Nearest struct {
	distance *layer.Linear
	labels   []uint16
}

// NewNearest makes a Nearest from centres (k x d, dense) and the class of each.
func NewNearest(centres engine.Matrix, labels []uint16) (*Nearest, error) {
	if centres.Rows < 1 || centres.Rows != len(labels) {
		return nil, fmt.Errorf("%d centres with %d labels, expected one or more with a label each", centres.Rows,
			len(labels))
	}
	n := &Nearest{layer.NewLinear("centres", centres.Cols, centres.Rows), labels}
	copy(n.distance.Weight.Data, centres.Data)
	for i := range centres.Rows {
		var q float64
		for _, v := range centres.Row(i) {
			q += float64(float64(v) * float64(v))
		}
		n.distance.Bias.Data[i] = float32(-q / 2)
	}
	return n, nil
}

// Cost returns the cost of one row.
func (n *Nearest) Cost() layer.Cost { return layer.CostOf(n.distance) }

// Predict returns the class of every row of s.
func (n *Nearest) Predict(ctx context.Context, e *engine.Engine, s Samples) ([]uint16, error) {
	in, k := n.distance.Sizes()
	if err := s.check(in, dataset.MostClasses); err != nil {
		return nil, err
	}
	out := make([]uint16, 0, s.Len())
	x, y, idx := engine.NewMatrix(evalRows, in), engine.NewMatrix(evalRows, k), make([]int32, evalRows)
	for lo := 0; lo < s.Len(); lo += evalRows {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		rows := s.Slice(lo, min(lo+evalRows, s.Len())).X
		xb, yb := engine.View(x.Data[:len(rows.Data)], rows.Rows, in), engine.View(y.Data[:rows.Rows*k], rows.Rows, k)
		copy(xb.Data, rows.Data)
		s.normalise(xb)
		n.distance.Forward(e, yb, xb, layer.Evaluation)
		e.ArgMax(idx[:rows.Rows], yb)
		for _, i := range idx[:rows.Rows] {
			out = append(out, n.labels[i])
		}
	}
	return out, nil
}
