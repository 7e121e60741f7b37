package layer

import (
	"fmt"
	"math"

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

	// Of the running pass.
	to, from []float32
	stream   num.Rand

	draw, apply func(w *engine.Worker, lo, hi int) // shares, stored because each call would allocate them
}

// NewDropout makes a Dropout for rows of width numbers. It panics unless 0 <= p < 1.
func NewDropout(width int, p float64, seed uint64) *Dropout {
	if !(p >= 0 && p < 1) {
		panic(fmt.Sprintf("layer: NewDropout: probability %v, expected 0 <= p < 1", p))
	}
	l := &Dropout{width: width, p: p, seed: seed}
	l.draw, l.apply = l.drawShare, l.applyShare
	return l
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
		copy(whole(y), whole(x))
		return
	}
	l.stream = *num.NewRand(l.seed, l.pass)
	l.stream.Skip(uint64(l.first * l.width))
	l.pass++
	l.to, l.from = y.Data, x.Data
	keep := engine.Grow(&l.keep, x.Rows*l.width)
	e.Parallel(len(keep), 0, float64(2*len(keep)), l.draw)
	l.to, l.from = nil, nil
}

// drawShare draws what is kept of the numbers lo to hi, and applies it.
func (l *Dropout) drawShare(_ *engine.Worker, lo, hi int) {
	// r.Float32() < p in integers, without a branch, which would often be mispredicted.
	r, least := l.stream, int64(math.Ceil(float64(float32(l.p))*(1<<24)))
	r.Skip(uint64(lo))
	scale := math.Float32bits(1 / float32(1-l.p))
	from := l.from[lo:hi]
	to, keep := l.to[lo:hi][:len(from)], l.keep[lo:hi][:len(from)]
	for i, x := range from {
		dropped := uint32((int64(r.Uint64()>>40) - least) >> 63) // all ones or none
		k := math.Float32frombits(scale &^ dropped)
		keep[i], to[i] = k, k*x
	}
}

func (l *Dropout) Backward(e *engine.Engine, dx, _, _, dy engine.Matrix) {
	if dx.Data == nil {
		return
	}
	checkWhole("Dropout, backward", len(l.keep)/max(l.width, 1), l.width, dx, dy)
	l.to, l.from = dx.Data, dy.Data
	e.Parallel(len(l.keep), 0, float64(len(l.keep)), l.apply)
	l.to, l.from = nil, nil
}

func (l *Dropout) applyShare(_ *engine.Worker, lo, hi int) {
	from := l.from[lo:hi]
	to := l.to[lo:hi][:len(from)]
	for i, k := range l.keep[lo:hi] {
		to[i] = k * from[i]
	}
}
