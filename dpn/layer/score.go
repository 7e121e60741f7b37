package layer

import "dpnbench/engine"

// Score is the loss and accuracy of a network on labelled rows.
type Score struct {
	Samples  int     `json:"samples"`
	Loss     float64 `json:"loss"`     // mean cross-entropy
	Accuracy float64 `json:"accuracy"` // share of rows classified correctly
}

// Tally accumulates losses and correct predictions. The zero value is empty.
type Tally struct {
	n, right int
	loss     float64
	losses   []float32
	idx      []int32
}

// Reset empties the tally and keeps its memory.
func (t *Tally) Reset() { t.n, t.right, t.loss = 0, 0, 0 }

// Add adds the losses of logits (n x classes) with labels (n) and returns their sum. It sets grad,
// unless empty, to scale times the gradient of that sum.
func (t *Tally) Add(e *engine.Engine, logits engine.Matrix, labels []byte, grad engine.Matrix,
	scale float32) float64 {
	n := logits.Rows
	losses, idx := engine.Grow(&t.losses, n), engine.Grow(&t.idx, n)
	e.ArgMax(idx, logits)
	e.SoftmaxCrossEntropy(grad, losses, logits, labels, scale)
	var sum float64
	for i, y := range labels {
		sum += float64(losses[i])
		if idx[i] == int32(y) {
			t.right++
		}
	}
	t.n += n
	t.loss += sum
	return sum
}

// Score returns the means so far.
func (t *Tally) Score() Score {
	if t.n == 0 {
		return Score{}
	}
	return Score{Samples: t.n, Loss: t.loss / float64(t.n), Accuracy: float64(t.right) / float64(t.n)}
}
