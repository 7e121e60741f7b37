package layer

import (
	"fmt"

	"dpnbench/engine"
	"dpnbench/engine/num"
)

// Dropout sets numbers to 0 in training, each with probability p, and scales the others by
// 1/(1-p), so that means stay; otherwise it changes nothing. The pattern of pass t in
// training is stream t of random numbers under the layer's seed, row by row: it depends
// on nothing else.
type Dropout struct {
	width int
	p     float64
	seed  uint64
	pass  uint64
	keep  []float32 // 0 or 1/(1-p), of the last pass in training
}

// NewDropout makes a Dropout of rows of so many numbers. It panics unless 0 <= p < 1.
func NewDropout(width int, p float64, seed uint64) *Dropout {
	if !(p >= 0 && p < 1) {
		panic(fmt.Sprintf("layer: NewDropout: probability %v, expected 0 <= p < 1", p))
	}
	return &Dropout{width: width, p: p, seed: seed}
}

func (l *Dropout) Sizes() (in, out int) { return l.width, l.width }
func (l *Dropout) Params() []*Param     { return nil }
func (l *Dropout) MACs() int            { return 0 }

// SetPass says that so many passes in training have been made.
func (l *Dropout) SetPass(t uint64) { l.pass = t }

func (l *Dropout) Forward(e *engine.Engine, y, x engine.Matrix, mode Mode) {
	if mode != Training {
		copy(y.Data, x.Data)
		return
	}
	r := num.NewRand(l.seed, l.pass)
	l.pass++
	p, scale := float32(l.p), 1/float32(1-l.p)
	keep := room(&l.keep, len(x.Data))
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
		l.apply(dx.Data, dy.Data)
	}
}

func (l *Dropout) apply(y, x []float32) {
	for i, k := range l.keep {
		y[i] = k * x[i]
	}
}
