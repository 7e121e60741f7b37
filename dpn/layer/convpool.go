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
	clear(room(&l.sums, l.out*l.w.positions()))
	l.weightGradient(e, x, func(o, i int, at []int32, v []float32) int { return l.list(d.Row(i), o, i, at, v) })
	l.biasGradient(e)
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

// list is the gradient d of picture i where the maxima of channel o were, for
// weightGradient: the numbers that are not 0, and their positions. It adds them to sums.
func (l *ConvPool) list(d []float32, o, i int, at []int32, v []float32) (n int) {
	h, w, oc := l.w.outRows()/2, l.w.outCols()/2, l.w.outCols()
	down, right := int32(l.w.place(1, 0)), int32(l.w.place(0, 1))
	places := [4]int32{0, right, down, down + right}
	pixels := [4]int{0, 1, oc, oc + 1}
	maxima := l.at[i*len(d)+o*h*w:][:h*w]
	d = d[o*h*w:][:h*w]
	half := len(at) / 2
	lowerAt, lowerV := at[half:], v[half:]
	for r := range h {
		// What lies in the lower of two rows comes after the whole upper one. Every number is
		// written to both lists and counted in one or none: branches would be guessed wrong.
		m := 0
		sums := l.sums[o*l.w.positions()+2*r*oc:]
		from := maxima[r*w : (r+1)*w]
		place := 2 * int32(r) * down
		for j, g := range d[r*w : (r+1)*w] {
			k := from[j] & 3
			sums[2*j+pixels[k]] += g
			bits := math.Float32bits(g) << 1
			counts, lower := int((bits|-bits)>>31), int(k>>1)
			p := place + places[k]
			at[n], v[n] = p, g
			lowerAt[m], lowerV[m] = p, g
			n += counts &^ lower
			m += counts & lower
			place += 2 * right
		}
		copy(at[n:], lowerAt[:m])
		copy(v[n:], lowerV[:m])
		n += m
	}
	return n
}
