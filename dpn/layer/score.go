package layer

import "dpnbench/engine"

// Score is the loss and accuracy of a network on labelled rows.
type Score struct {
	Samples  int     `json:"samples"`
	Loss     float64 `json:"loss"`     // mean cross-entropy
	Accuracy float64 `json:"accuracy"` // share of rows classified correctly
}

// Sums are what a Score is the mean of.
type Sums struct {
	Samples int     `json:"samples"`
	Right   int     `json:"right"` // classified correctly
	Loss    float64 `json:"loss"`
}

// Add adds the sums of further rows.
func (s *Sums) Add(t Sums) {
	s.Samples += t.Samples
	s.Right += t.Right
	s.Loss += t.Loss
}

// Score returns the means.
func (s Sums) Score() Score {
	if s.Samples == 0 {
		return Score{}
	}
	n := float64(s.Samples)
	return Score{Samples: s.Samples, Loss: s.Loss / n, Accuracy: float64(s.Right) / n}
}

// Tally accumulates losses and correct predictions. The zero value is empty.
type Tally struct {
	Sums Sums

	// Weights multiplies the losses of each class and their gradient; nil: by 1.
	Weights []float32

	losses []float32
	idx    []int32
}

// Reset empties the tally and keeps its memory.
func (t *Tally) Reset() { t.Sums = Sums{} }

// Add adds the losses of logits (n x classes) with labels (n) and returns their sum. It sets grad,
// unless empty, to scale times the gradient of that sum.
func (t *Tally) Add(e *engine.Engine, logits engine.Matrix, labels []uint16, grad engine.Matrix,
	scale float32) float64 {
	n := logits.Rows
	losses, idx := engine.Grow(&t.losses, n), engine.Grow(&t.idx, n)
	e.ArgMax(idx, logits)
	e.SoftmaxCrossEntropy(grad, losses, logits, labels, scale)
	if t.Weights != nil {
		t.weigh(losses, labels, grad)
	}
	added := Sums{Samples: n}
	for i, y := range labels {
		added.Loss += float64(losses[i])
		if idx[i] == int32(y) {
			added.Right++
		}
	}
	t.Sums.Add(added)
	return added.Loss
}

// weigh multiplies the loss of each row, and its gradient unless that is empty, by the weight of its
// class.
func (t *Tally) weigh(losses []float32, labels []uint16, grad engine.Matrix) {
	for i, y := range labels {
		w := t.Weights[y]
		losses[i] *= w
		if grad.Data == nil {
			continue
		}
		row := grad.Row(i)
		for j := range row {
			row[j] *= w
		}
	}
}

// BalancedWeights returns weights of classes in inverse proportion to their rows among labels, whose
// mean over these rows is 1. A class without rows has the weight 1.
func BalancedWeights(labels []uint16, classes int) []float32 {
	size, present := make([]int, classes), 0
	for _, y := range labels {
		if size[y]++; size[y] == 1 {
			present++
		}
	}
	weights := make([]float32, classes)
	for y, n := range size {
		weights[y] = 1
		if n > 0 {
			weights[y] = float32(float64(len(labels)) / (float64(present) * float64(n)))
		}
	}
	return weights
}

// Score returns the means so far.
func (t *Tally) Score() Score { return t.Sums.Score() }
