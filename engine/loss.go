package engine

import (
	"fmt"
	"math"
)

// SoftmaxCrossEntropy computes, for every row of logits (n x classes) and its label, the
// loss -log softmax(logits)[label], written to losses (n), and scale times the gradient
// of that loss, softmax - onehot, written to grad (n x classes; grad may be logits, or
// empty when only the losses are wanted). Sums over classes are chains in increasing
// class. It panics when a label is not below the number of classes.
func (e *Engine) SoftmaxCrossEntropy(grad Matrix, losses []float32, logits Matrix, labels []byte, scale float32) {
	n, classes := logits.Rows, logits.Cols
	logits.check("SoftmaxCrossEntropy", "logits")
	length("SoftmaxCrossEntropy", "losses", len(losses), n)
	length("SoftmaxCrossEntropy", "labels", len(labels), n)
	if grad.Data != nil {
		grad.shape("SoftmaxCrossEntropy", "grad", n, classes)
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
		p := arena.floats(slotG, rows*classes)
		sums := arena.floats(slotS, 2*rows)
		sums, shifted := sums[:rows], sums[rows:] // sum of exp; logit of the label less the largest
		for i := range rows {
			top := float32(math.Inf(-1))
			for j := range classes {
				if v := logits.At(r0+i, j); v > top {
					top = v
				}
			}
			for j := range classes {
				p[i*classes+j] = logits.At(r0+i, j) - top
			}
			shifted[i] = p[i*classes+int(labels[r0+i])]
		}
		e.k.exp(p, p)
		for i := range rows {
			var s float32
			for _, v := range p[i*classes : (i+1)*classes] {
				s += v
			}
			sums[i] = s
			if grad.Data == nil {
				continue
			}
			for j := range classes {
				v := p[i*classes+j] / s
				if j == int(labels[r0+i]) {
					v -= 1
				}
				grad.Set(r0+i, j, v*scale)
			}
		}
		e.k.log(sums, sums)
		for i := range rows {
			losses[r0+i] = sums[i] - shifted[i]
		}
	}
}
