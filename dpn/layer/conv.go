package layer

import (
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// Conv is a convolution (PyTorch's Conv2d; in fact a correlation) with square kernels, stride 1 and zero
// padding:
//
//	y[o, i, j] = bias[o] + sum_{c, u, v} weight[o, c, u, v] x[c, i+u-padding, j+v-padding]
//
// Every y is one chain of fused multiply-adds over c, u, v that starts from the bias and includes the zeros
// of the padding. Where ReLU and pooling follow, ConvPool is faster.
type Conv struct {
	Weight *Param // out channels x channels x kernel x kernel
	Bias   *Param

	w, back window // back is that of the gradient, which slides over y
	out     int    // channels

	biased []float32 // bias and weights, tap by tap
	turned []float32 // zeros and the kernels turned by 180 degrees, for dx
	db     []float64 // gradient of the bias
}

// NewConv makes a Conv from images of a shape to images with out channels, with weights of zero. Its tensors
// are name.weight and name.bias. It panics unless the sizes are positive, 0 <= padding < kernel, and the
// output has at least one pixel.
func NewConv(name string, in ImageShape, out, kernel, padding int) *Conv {
	w := newWindow("NewConv", in, out, kernel, padding, 1)
	y := ImageShape{out, w.outRows(), w.outCols()}
	return &Conv{
		Weight: NewParam(name+".weight", out, in.Channels, kernel, kernel),
		Bias:   NewParam(name+".bias", out),
		w:      w,
		back:   newWindow("NewConv", y, in.Channels, kernel, kernel-1-padding, 1),
		out:    out,
	}
}

func (l *Conv) Sizes() (in, out int) {
	return l.w.channels * l.w.rows * l.w.cols, l.out * l.w.positions()
}
func (l *Conv) Params() []*Param { return []*Param{l.Weight, l.Bias} }
func (l *Conv) MACs() int        { return l.out * l.w.taps() * l.w.positions() }

// Draw draws weights and bias uniformly from +-1/sqrt(channels*kernel^2), PyTorch's default.
func (l *Conv) Draw(r *num.Rand) { drawDefault(r, l.Weight, l.Bias, l.w.taps()) }

func (l *Conv) Forward(e *engine.Engine, y, x engine.Matrix, _ Mode) {
	in, out := l.Sizes()
	checkWhole("Conv", x.Rows, in, x)
	checkWhole("Conv", x.Rows, out, y)
	l.w.convolve(e, l.w.biasedWeights(&l.biased, l.Weight.Data, l.Bias.Data), x, l.w.rowsInto(y))
}

// rowsInto returns what copies the results of convolve to the rows of y.
func (w *window) rowsInto(y engine.Matrix) func(t *engine.Worker, i int, c engine.Matrix) {
	rows, cols := w.outRows(), w.outCols()
	return func(_ *engine.Worker, i int, c engine.Matrix) {
		to := y.Row(i)
		for o := range c.Rows {
			for r, from := 0, c.Row(o); r < rows; r++ {
				copy(to[(o*rows+r)*cols:(o*rows+r+1)*cols], from[r*w.stride():])
			}
		}
	}
}

// Backward computes the gradient of every weight as one chain over images and positions, and that of every
// bias as the float64 sum over images.
func (l *Conv) Backward(e *engine.Engine, dx, x, _, dy engine.Matrix) {
	in, out := l.Sizes()
	checkWhole("Conv, backward", x.Rows, in, x)
	checkWhole("Conv, backward", x.Rows, out, dy)
	w, taps, positions := &l.w, l.w.taps(), l.w.positions()
	db := engine.Grow(&l.db, l.out)
	clear(db)
	clear(l.Weight.Grad)
	flops, elements := w.cost(x.Rows, l.out)
	pieces := min(e.Threads(), l.out) // each piece reads all images
	e.Parallel(pieces, flops, elements, func(t *engine.Worker, lo, hi int) {
		lo, hi = l.out*lo/pieces, l.out*hi/pieces
		gradient := engine.View(l.Weight.Grad[lo*taps:hi*taps], hi-lo, taps)
		patches := engine.View(t.Floats(positions*taps), positions, taps)
		for i := range x.Rows {
			w.patches(patches, x.Row(i))
			dz := engine.View(dy.Row(i)[lo*positions:hi*positions], hi-lo, positions)
			t.MatMul(gradient, dz, patches, true)
			for o := range hi - lo {
				db[lo+o] += t.Sum64(dz.Row(o))
			}
		}
	})
	for o, v := range db {
		l.Bias.Grad[o] = float32(v)
	}
	if dx.Data != nil {
		checkWhole("Conv, backward", x.Rows, in, dx)
		l.back.convolve(e, l.turnedWeights(), dy, l.back.rowsInto(dx))
	}
}

// turnedWeights returns the weights of the convolution that dx is of dy.
func (l *Conv) turnedWeights() engine.Matrix {
	channels, area := l.w.channels, l.w.kernel*l.w.kernel
	n := 1 + l.out*area
	turned := engine.Matrix{Data: engine.Grow(&l.turned, channels*n), Rows: channels, Cols: n, RS: n, CS: 1}
	for c := range channels {
		turned.Set(c, 0, 0)
		for k := range l.out * area {
			turned.Set(c, 1+k, l.Weight.Data[(k/area*channels+c)*area+area-1-k%area])
		}
	}
	return turned
}
