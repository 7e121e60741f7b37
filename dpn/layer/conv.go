package layer

import "dpnbench/engine"

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

	forward, backward *convolution

	// Of the running pass.
	x, dy  engine.Matrix
	pieces int
	into   intoRows

	share func(t *engine.Worker, lo, hi int) // backwardShare, stored because each call would allocate it
}

// intoRows copies the results of a convolution to the rows of to.
type intoRows struct {
	*window
	to engine.Matrix
}

func (v *intoRows) take(_ *engine.Worker, i int, c engine.Matrix) {
	rows, cols := v.outRows(), v.outCols()
	to := v.to.Row(i)
	for o := range c.Rows {
		for r, from := 0, c.Row(o); r < rows; r++ {
			copy(to[(o*rows+r)*cols:(o*rows+r+1)*cols], from[r*v.stride():])
		}
	}
}

// NewConv makes a Conv from images of a shape to images with out channels, with weights of zero. Its tensors
// are name.weight and name.bias. It panics unless the sizes are positive, 0 <= padding < kernel, and the
// output has at least one pixel.
func NewConv(name string, in ImageShape, out, kernel, padding int) *Conv {
	w := newWindow("NewConv", in, out, kernel, padding, 1)
	y := ImageShape{out, w.outRows(), w.outCols()}
	l := &Conv{
		Weight: NewParam(name+".weight", out, in.Channels, kernel, kernel),
		Bias:   NewParam(name+".bias", out),
		w:      w,
		back:   newWindow("NewConv", y, in.Channels, kernel, kernel-1-padding, 1),
		out:    out,
	}
	l.forward, l.backward, l.share = l.w.convolution(), l.back.convolution(), l.backwardShare
	return l
}

func (l *Conv) Sizes() (in, out int) {
	return l.w.channels * l.w.rows * l.w.cols, l.out * l.w.positions()
}
func (l *Conv) Params() []*Param { return []*Param{l.Weight, l.Bias} }
func (l *Conv) MACs() int        { return l.out * l.w.taps() * l.w.positions() }

// Draw draws weights and bias uniformly from +-1/sqrt(channels*kernel^2), PyTorch's default.
func (l *Conv) Draw(r Uniform) { drawDefault(r, l.Weight, l.Bias, l.w.taps()) }

func (l *Conv) Forward(e *engine.Engine, y, x engine.Matrix, _ Mode) {
	in, out := l.Sizes()
	checkWhole("Conv", x.Rows, in, x)
	checkWhole("Conv", x.Rows, out, y)
	l.into = intoRows{&l.w, y}
	l.forward.run(e, l.w.biasedWeights(&l.biased, l.Weight.Data, l.Bias.Data), x, &l.into)
	l.into = intoRows{}
}

// Backward computes the gradient of every weight as one chain over images and positions, and that of every
// bias as the float64 sum over images.
func (l *Conv) Backward(e *engine.Engine, dx, x, _, dy engine.Matrix) {
	in, out := l.Sizes()
	checkWhole("Conv, backward", x.Rows, in, x)
	checkWhole("Conv, backward", x.Rows, out, dy)
	db := engine.Grow(&l.db, l.out)
	clear(db)
	clear(l.Weight.Grad)
	flops, elements := l.w.cost(x.Rows, l.out)
	l.pieces, l.x, l.dy = min(e.Threads(), l.out), x, dy // each piece reads all images
	e.Parallel(l.pieces, flops, elements, l.share)
	l.x, l.dy = engine.Matrix{}, engine.Matrix{}
	for o, v := range db {
		l.Bias.Grad[o] = float32(v)
	}
	if dx.Data != nil {
		checkWhole("Conv, backward", x.Rows, in, dx)
		l.into = intoRows{&l.back, dx}
		l.backward.run(e, l.turnedWeights(), dy, &l.into)
		l.into = intoRows{}
	}
}

// backwardShare computes the gradients of the weights and biases of pieces of the output channels.
func (l *Conv) backwardShare(t *engine.Worker, lo, hi int) {
	lo, hi = l.out*lo/l.pieces, l.out*hi/l.pieces
	taps, positions := l.w.taps(), l.w.positions()
	gradient := engine.View(l.Weight.Grad[lo*taps:hi*taps], hi-lo, taps)
	patches := engine.View(t.Floats(taps*positions), taps, positions)
	for i := range l.x.Rows {
		l.w.patches(patches, l.x.Row(i))
		dz := engine.View(l.dy.Row(i)[lo*positions:hi*positions], hi-lo, positions)
		t.MatMul(gradient, dz, patches.T(), true)
		for o := range hi - lo {
			l.db[lo+o] += t.Sum64(dz.Row(o))
		}
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
