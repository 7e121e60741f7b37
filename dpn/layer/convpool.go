package layer

import (
	"math"

	"dpnbench/engine"
)

// ConvPool is a Conv2D, a ReLU and a MaxPool in one, with the same bits: the convolution
// of a picture is pooled before the next one, and never written to memory as a whole.
type ConvPool struct {
	Conv2D
	at     []byte // as in MaxPool
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
	var at []byte
	if mode == Training {
		if cap(l.at) < len(y.Data) {
			l.at = make([]byte, len(y.Data))
		}
		l.at = l.at[:len(y.Data)]
		at = l.at
	}
	l.forward(e, x, func(i int, c engine.Matrix) {
		if at != nil {
			l.pool(y.Row(i), c, at[i*y.Cols:(i+1)*y.Cols])
		} else {
			l.pool(y.Row(i), c, nil)
		}
	})
}

// pool is ReLU and MaxPool of the positions in the rows of c. Floats above 0 are ordered as
// their bits are, so that the bits and, below them, 3 less the number of the pixel make an
// integer that is largest for the first of the largest; 3 is the integer of a 0 that comes
// first.
func (l *ConvPool) pool(y []float32, c engine.Matrix, at []byte) {
	const infinity = 0x7f800000<<2 | 3
	s, w := l.w.stride(), l.w.outCols()/2
	for o := range c.Rows {
		for r := range l.w.outRows() / 2 {
			top := c.Row(o)[2*r*s:]
			bottom := top[s:][:2*w]
			top = top[:2*w]
			for j := range w {
				k := max(3, order(top[2*j], 3), order(top[2*j+1], 2), order(bottom[2*j], 1), order(bottom[2*j+1], 0))
				if k > infinity { // a NaN, of which ReLU makes 0
					k = max(3, finite(top[2*j], 3), finite(top[2*j+1], 2), finite(bottom[2*j], 1), finite(bottom[2*j+1], 0))
				}
				y[j] = math.Float32frombits(uint32(k >> 2))
				if at != nil {
					at[j] = byte(3 - k&3)
				}
			}
			y = y[w:]
			if at != nil {
				at = at[w:]
			}
		}
	}
}

func order(v float32, low int64) int64 { return int64(int32(math.Float32bits(v)))<<2 + low }

// finite is order with 0 in place of NaN.
func finite(v float32, low int64) int64 {
	if v != v {
		return low
	}
	return order(v, low)
}

func (l *ConvPool) Backward(e *engine.Engine, dx, x, y, dy engine.Matrix) {
	e.ReLUBackward(room(&l.masked, len(dy.Data)), y.Data, dy.Data)
	d := engine.View(l.masked, dy.Rows, dy.Cols)
	l.addUp(e, d)
	l.biasGradient(e)
	l.weightGradient(e, x, func(to []float32, i int) {
		clear(to[:l.w.span()*l.out])
		for o := range l.out {
			l.unpool(to[o:], l.w.stride(), l.out, d.Row(i), i, o)
		}
	})
	if dx.Data != nil {
		b := l.back
		l.inputGradient(e, dx, func(to []float32, i int) {
			clear(to[:l.out*b.plane()])
			for o := range l.out {
				l.unpool(to[o*b.plane()+b.padding*(b.stride()+1):], b.stride(), 1, d.Row(i), i, o)
			}
		})
	}
}

// unpool writes the gradient d of channel o of picture i to where the maxima were: pixels
// are step floats apart, and rows stride pixels.
func (l *ConvPool) unpool(to []float32, stride, step int, d []float32, i, o int) {
	h, w := l.w.outRows()/2, l.w.outCols()/2
	at := l.at[i*len(d)+o*h*w:][:h*w]
	d = d[o*h*w:][:h*w]
	offsets := [4]int{0, step, stride * step, (stride + 1) * step}
	for r := range h {
		p := 2 * r * stride * step
		for j, k := range at[r*w : (r+1)*w] {
			to[p+offsets[k&3]] = d[r*w+j]
			p += 2 * step
		}
	}
}

// addUp sets sums to the sums of the unpooled gradient over the pictures, chains in
// increasing picture. The threads share the channels.
func (l *ConvPool) addUp(e *engine.Engine, d engine.Matrix) {
	n, oc := l.w.positions(), l.w.outCols()
	h, w := l.w.outRows()/2, oc/2
	sums := room(&l.sums, l.out*n)
	clear(sums)
	offsets := [4]int{0, 1, oc, oc + 1}
	e.Parallel(l.out, 0, float64(len(d.Data)), func(_ *engine.Worker, lo, hi int) {
		for i := range d.Rows {
			for o := lo; o < hi; o++ {
				at := l.at[i*d.Cols+o*h*w:][:h*w]
				to := sums[o*n:]
				from := d.Row(i)[o*h*w:][:h*w]
				for r := range h {
					p := 2 * r * oc
					for j, k := range at[r*w : (r+1)*w] {
						to[p+offsets[k&3]] += from[r*w+j]
						p += 2
					}
				}
			}
		}
	})
}
