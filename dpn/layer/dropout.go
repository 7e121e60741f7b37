package layer

import (
	"fmt"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// Dropout sets each number to 0 with probability p in training and scales the others by 1/(1-p),
// which preserves the mean. Outside of training it is the identity. The pattern of training pass t
// comes from stream t of the layer's seed, row by row, and depends on nothing else: a piece of a minibatch gets what
// its rows get in the whole one.
type Dropout struct {
	width int
	p     float64
	seed  uint64
	pass  uint64
	first int       // see SetRow
	keep  []float32 // 0 or 1/(1-p), in the last pass in training
}

// NewDropout makes a Dropout for rows of width numbers. It panics unless 0 <= p < 1.
func NewDropout(width int, p float64, seed uint64) *Dropout {
	if !(p >= 0 && p < 1) {
		panic(fmt.Sprintf("layer: NewDropout: probability %v, expected 0 <= p < 1", p))
	}
	return &Dropout{width: width, p: p, seed: seed}
}

func (l *Dropout) Sizes() (in, out int) { return l.width, l.width }
func (l *Dropout) Params() []*Param     { return nil }
func (l *Dropout) MACs() int            { return 0 }

// SetPass sets the number of passes made in training, to resume at that pass.
func (l *Dropout) SetPass(t uint64) { l.pass = t }

// SetRow sets the place in its minibatch of the first row of the passes that follow; 0 unless it is set.
func (l *Dropout) SetRow(first int) { l.first = first }

func (l *Dropout) Forward(e *engine.Engine, y, x engine.Matrix, mode Mode) {
	checkWhole("Dropout", x.Rows, l.width, y, x)
	if mode != Training {
		copy(y.Data, x.Data)
		return
	}
	r := num.NewRand(l.seed, l.pass)
	r.Skip(uint64(l.first * l.width))
	l.pass++
	p, scale := float32(l.p), 1/float32(1-l.p)
	keep := engine.Grow(&l.keep, x.Rows*l.width)
	for i := range keep {
		keep[i] = scale
		if r.Float32() < p {
			keep[i] = 0
		}
	}
	l.apply(y.Data, x.Data)
}

func (l *Dropout) Backward(e *engine.Engine, dx, _, _, dy engine.Matrix) {
	if dx.Data != nil {
		checkWhole("Dropout, backward", len(l.keep)/max(l.width, 1), l.width, dx, dy)
		l.apply(dx.Data, dy.Data)
	}
}

func (l *Dropout) apply(y, x []float32) {
	for i, k := range l.keep {
		y[i] = k * x[i]
	}
}
