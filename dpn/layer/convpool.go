package layer

import "dpnbench/engine"

// ConvPool is a Conv2D, a ReLU and a MaxPool in one: the convolution of a picture is pooled
// before the next one, and never written to memory as a whole, and the way back leaves out
// the pixels that were not the largest. It has the bits of the three where numbers are finite
// (0 times infinity, which is left out, would be NaN).
type ConvPool struct {
	Conv2D
	which  []byte // of the four pixels, of the last pass in training
	masked []float32
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

func (l *ConvPool) Backward(e *engine.Engine, dx, x, y, dy engine.Matrix) {
	e.ReLUBackward(room(&l.masked, len(dy.Data)), y.Data, dy.Data)
	d := engine.View(l.masked, dy.Rows, dy.Cols)
	clear(room(&l.sums, l.out*l.w.positions()))
	n := d.Cols / l.out
	l.weightGradient(e, x, func(t *engine.Worker, o, i int, at []int32, v []float32) int {
		sums := engine.View(l.sums[o*l.w.positions():(o+1)*l.w.positions()], l.w.outRows(), l.w.outCols())
		first := i*d.Cols + o*n
		return t.PoolBackward(at, v, sums, d.Data[first:first+n], l.which[first:first+n], l.w.place(0, 1), l.w.place(1, 0))
	})
	l.biasGradient(e)
	if dx.Data != nil {
		b := l.back
		l.inputGradient(e, dx, func(to []float32, i int) {
			clear(to[:l.out*b.plane()])
			for o := range l.out {
				l.unpool(to[o*b.plane()+b.padding*(b.stride()+1):], b.stride(), d.Row(i), i, o)
			}
		})
	}
}

// unpool writes the gradient d of channel o of picture i to where the maxima were, in rows
// of stride pixels.
func (l *ConvPool) unpool(to []float32, stride int, d []float32, i, o int) {
	h, w := l.w.outRows()/2, l.w.outCols()/2
	which := l.which[i*len(d)+o*h*w:][:h*w]
	d = d[o*h*w:][:h*w]
	offsets := [4]int{0, 1, stride, stride + 1}
	for r := range h {
		p := 2 * r * stride
		for j, k := range which[r*w : (r+1)*w] {
			to[p+offsets[k&3]] = d[r*w+j]
			p += 2
		}
	}
}
