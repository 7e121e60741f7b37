package layer

import "dpnbench/engine"

// ConvPool is a Conv2D, a ReLU and a MaxPool in one: the convolution of a picture is pooled
// before the next one, and never written to memory as a whole, and the way back leaves out
// the pixels that were not the largest. It has the bits of the three where numbers are finite
// (0 times infinity, which is left out, would be NaN).
type ConvPool struct {
	Conv2D
	which  []byte    // of the four pixels, of the last pass in training
	spaced []float32 // sums, in longer rows

	// The gradient of every channel, and of every picture where the input wants one, too:
	// numbers and their places, as weightGradient wants them, and how many.
	at    []int32
	v     []float32
	count []int

	weights []float32 // for interleaved pictures
}

// NewConvPool takes the arguments of NewConv2D, and panics as that does.
func NewConvPool(name string, channels, rows, cols, out, kernel, padding int) *ConvPool {
	return &ConvPool{Conv2D: *NewConv2D(name, channels, rows, cols, out, kernel, padding)}
}

func (l *ConvPool) Sizes() (in, out int) {
	in, _ = l.Conv2D.Sizes()
	return in, l.out * (l.w.outRows() / 2) * (l.w.outCols() / 2)
}

func (l *ConvPool) Forward(e *engine.Engine, y, x engine.Matrix, mode Mode) {
	var which []byte
	if mode == Training {
		if cap(l.which) < len(y.Data) {
			l.which = make([]byte, len(y.Data))
		}
		l.which = l.which[:len(y.Data)]
		which = l.which
	}
	n := y.Cols / l.out
	l.forward(e, x, func(t *engine.Worker, i int, c engine.Matrix) {
		for o := range l.out {
			picture := engine.Matrix{Data: c.Row(o), Rows: l.w.outRows(), Cols: l.w.outCols(), RS: l.w.stride(), CS: 1}
			first := i*y.Cols + o*n
			if which != nil {
				t.ReLUPool(y.Data[first:first+n], which[first:first+n], picture)
			} else {
				t.ReLUPool(y.Data[first:first+n], nil, picture)
			}
		}
	})
}

func (l *ConvPool) Backward(e *engine.Engine, dx, x, _, dy engine.Matrix) {
	// Rows of whole vectors of 16: a masked store would hold up what follows it closely.
	rows, cols := l.w.outRows(), (l.w.outCols()+15)/16*16
	clear(room(&l.spaced, l.out*rows*cols))
	n := dy.Cols / l.out
	size := n + engine.PoolSlack
	pictures := 1
	if dx.Data != nil {
		pictures = dy.Rows
	}
	if lists := pictures * l.out; len(l.count) < lists {
		l.at, l.v, l.count = make([]int32, lists*size), make([]float32, lists*size), make([]int, lists)
	}
	list := func(o, i int) (k int, at []int32, v []float32) {
		k = i%pictures*l.out + o
		return k, l.at[k*size : (k+1)*size], l.v[k*size : (k+1)*size]
	}
	l.weightGradient(e, x, func(t *engine.Worker, o, i int) ([]int32, []float32) {
		sums := engine.View(l.spaced[o*rows*cols:(o+1)*rows*cols], rows, cols).Slice(0, rows, 0, l.w.outCols())
		first := i*dy.Cols + o*n
		k, at, v := list(o, i)
		m := t.PoolBackward(at, v, sums, dy.Row(i)[o*n:(o+1)*n], l.which[first:first+n], l.w.place(0, 1), l.w.place(1, 0))
		l.count[k] = m
		return at[:m], v[:m]
	})
	sums := room(&l.sums, l.out*l.w.positions())
	for r := range l.out * rows {
		copy(sums[r*l.w.outCols():(r+1)*l.w.outCols()], l.spaced[r*cols:])
	}
	l.biasGradient(e)
	if dx.Data == nil {
		return
	}
	w, taps := &l.w, l.w.taps()
	weights := room(&l.weights, len(l.Weight.Data))
	w.interleaveWeights(weights, l.Weight.Data, false)
	flops, elements := w.cost(dx.Rows, l.out)
	e.Parallel(dx.Rows, flops/4, elements, func(t *engine.Worker, lo, hi int) {
		picture := t.Floats(w.interleaved())
		for i := lo; i < hi; i++ {
			clear(picture)
			for o := range l.out {
				k, at, v := list(o, i)
				m := l.count[k]
				t.SpreadPatches(picture, v[:m], at[:m], engine.View(weights[o*taps:(o+1)*taps], w.kernel, w.patchCols()), w.patchStride())
			}
			w.separate(t, dx.Row(i), picture)
		}
	})
}
