package layer

import "dpnbench/engine"

// MaxPool takes the largest of every 2 x 2 pixels of each channel; a last odd row or column
// is left out (PyTorch's MaxPool2d(2)). Among equals the first in reading order is the one
// that the gradient goes to. A NaN among the four gives a NaN.
type MaxPool struct {
	channels, rows, cols int
	at                   []byte // 0 to 3: which pixel of the four, of the last pass in training
}

// NewMaxPool makes a MaxPool of pictures with so many channels, rows and columns.
func NewMaxPool(channels, rows, cols int) *MaxPool {
	return &MaxPool{channels: channels, rows: rows, cols: cols}
}

func (l *MaxPool) Sizes() (in, out int) {
	return l.channels * l.rows * l.cols, l.channels * (l.rows / 2) * (l.cols / 2)
}
func (l *MaxPool) Params() []*Param { return nil }
func (l *MaxPool) MACs() int        { return 0 }

func (l *MaxPool) Forward(e *engine.Engine, y, x engine.Matrix, mode Mode) {
	var at []byte
	if mode == Training {
		if cap(l.at) < len(y.Data) {
			l.at = make([]byte, len(y.Data))
		}
		l.at = l.at[:len(y.Data)]
		at = l.at
	}
	e.Parallel(x.Rows, 0, 4*float64(len(y.Data)), func(_ *engine.Worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			if at != nil {
				l.pool(y.Row(i), x.Row(i), at[i*y.Cols:(i+1)*y.Cols])
			} else {
				l.pool(y.Row(i), x.Row(i), nil)
			}
		}
	})
}

// pool reduces one picture, and writes to at, unless it is empty, where the maxima were.
func (l *MaxPool) pool(y, x []float32, at []byte) {
	w := l.cols / 2
	o := 0
	for c := range l.channels {
		for r := range l.rows / 2 {
			top := x[(c*l.rows+2*r)*l.cols:]
			top, bottom := top[:2*w], top[l.cols:l.cols+2*w]
			out := y[o : o+w]
			for j := range out {
				a, b, c, d := top[2*j], top[2*j+1], bottom[2*j], bottom[2*j+1]
				v := max(a, b, c, d)
				out[j] = v
				if at != nil {
					k := 0 // branches would be guessed wrong half of the time: these are none
					if d == v {
						k = 3
					}
					if c == v {
						k = 2
					}
					if b == v {
						k = 1
					}
					if a == v {
						k = 0
					}
					at[o+j] = byte(k)
				}
			}
			o += w
		}
	}
}

func (l *MaxPool) Backward(e *engine.Engine, dx, x, y, dy engine.Matrix) {
	if dx.Data == nil {
		return
	}
	w := l.cols / 2
	e.Parallel(x.Rows, 0, 3*float64(len(dy.Data)), func(_ *engine.Worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			to, from := dx.Row(i), dy.Row(i)
			at := l.at[i*dy.Cols : (i+1)*dy.Cols]
			clear(to)
			o := 0
			for c := range l.channels {
				for r := range l.rows / 2 {
					top := to[(c*l.rows+2*r)*l.cols:]
					for j := range w {
						k := int(at[o])
						top[k>>1*l.cols+2*j+k&1] = from[o]
						o++
					}
				}
			}
		}
	})
}
