package engine

import (
	"fmt"
	"math"
)

// SoftmaxCrossEntropy sets losses[i] to -log softmax(logits)[label] of row i of logits (n x classes)
// and grad (n x classes) to scale times the gradient of that loss, softmax - onehot. grad may be
// logits; it may be empty if only the losses are needed. Sums over classes are chains in increasing
// class. It panics if a label is not below the number of classes.
func (e *Engine) SoftmaxCrossEntropy(grad Matrix, losses []float32, logits Matrix, labels []uint16, scale float32) {
	n, classes := logits.Rows, logits.Cols
	logits.check("SoftmaxCrossEntropy", "logits")
	length("SoftmaxCrossEntropy", "losses", len(losses), n)
	length("SoftmaxCrossEntropy", "labels", len(labels), n)
	disjoint("SoftmaxCrossEntropy", "losses", View(losses, len(losses), 1), "logits", logits)
	if grad.Data != nil || grad.Rows != 0 || grad.Cols != 0 {
		grad.shape("SoftmaxCrossEntropy", "grad", n, classes)
		sameOrDisjoint("SoftmaxCrossEntropy", "grad", grad, "logits", logits)
		disjoint("SoftmaxCrossEntropy", "losses", View(losses, len(losses), 1), "grad", grad)
	}
	for i, y := range labels {
		if int(y) >= classes {
			panic(fmt.Sprintf("engine: SoftmaxCrossEntropy: label %d of row %d, expected below %d", y, i, classes))
		}
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	arena := &e.scratch[0]
	for r0 := 0; r0 < n; r0 += 256 {
		rows := min(256, n-r0)
		p := View(arena.floats(slotG, rows*classes), rows, classes)
		CopyMatrix(p, logits.Slice(r0, r0+rows, 0, classes))
		sums := arena.floats(slotS, 2*rows)
		sums, shifted := sums[:rows], sums[rows:] // sums of exp; logits of the labels minus the largest of their rows
		for i := range rows {
			row, top := p.Row(i), float32(math.Inf(-1))
			for _, v := range row {
				top = max(top, v) // a NaN makes the whole row NaN in any case
			}
			for j := range row {
				row[j] -= top
			}
			shifted[i] = row[labels[r0+i]]
		}
		e.kern.exp(p.Data, p.Data)
		for i := range rows {
			row, s := p.Row(i), float32(0)
			for _, v := range row {
				s += v
			}
			sums[i] = s
			if grad.Data == nil {
				continue
			}
			for j := range row {
				row[j] /= s
			}
			row[labels[r0+i]]--
		}
		if grad.Data != nil {
			e.kern.scale(p.Data, scale, p.Data)
			CopyMatrix(grad.Slice(r0, r0+rows, 0, classes), p)
		}
		e.kern.log(sums, sums)
		for i := range rows {
			losses[r0+i] = sums[i] - shifted[i]
		}
	}
}
