package layer

import (
	"fmt"

	"dpnbench/engine"
)

// Conv2D is a convolution (in fact a correlation, as in PyTorch) of pictures with square
// kernels, stride 1 and a border of zeros:
//
//	y[o, i, j] = bias[o] + sum_{c, u, v} weight[o, c, u, v] x[c, i+u-padding, j+v-padding]
//
// Every output is one chain of fused multiply-adds over c, u, v that starts from the bias;
// zeros of the border take part.
type Conv2D struct {
	Weight *Param // out channels x channels x kernel x kernel
	Bias   *Param

	w    window
	back window // of the gradient with respect to the input
	out  int    // channels

	biased   []float32 // weights of the forward pass: out x (1 + taps), the bias first
	flipped  []float32 // weights of the backward pass: channels x out x kernel x kernel
	sums     []float32 // of dy over the pictures
	dw       []float32 // the gradient of the weights for interleaved pictures
	pictures []float32 // interleaved
}

// NewConv2D makes a convolution of pictures of channels x rows x cols to pictures with out
// channels; its weights are zero. Its tensors are name.weight and name.bias. It panics
// unless the sizes are positive, 0 <= padding < kernel, and the output has a pixel.
func NewConv2D(name string, channels, rows, cols, out, kernel, padding int) *Conv2D {
	w := window{channels: channels, rows: rows, cols: cols, kernel: kernel, padding: padding}
	if channels < 1 || out < 1 || kernel < 1 || padding < 0 || padding >= kernel || w.outRows() < 1 || w.outCols() < 1 {
		panic(fmt.Sprintf("layer: NewConv2D: %d x %d x %d to %d channels with kernel %d and padding %d", channels, rows, cols, out, kernel, padding))
	}
	back := window{channels: out, rows: w.outRows(), cols: w.outCols(), kernel: kernel, padding: kernel - 1 - padding}
	w.at, back.at = w.places(), back.places()
	return &Conv2D{Weight: NewParam(name+".weight", out, channels, kernel, kernel), Bias: NewParam(name+".bias", out), w: w, back: back, out: out}
}

func (l *Conv2D) Sizes() (in, out int) {
	return l.w.channels * l.w.rows * l.w.cols, l.out * l.w.positions()
}
func (l *Conv2D) Params() []*Param { return []*Param{l.Weight, l.Bias} }
func (l *Conv2D) MACs() int        { return l.out * l.w.taps() * l.w.positions() }

// Draw sets weights and bias to uniform numbers within 1/sqrt(channels*kernel^2),
// PyTorch's default.
func (l *Conv2D) Draw(r *engine.Rand) { drawDefault(r, l.Weight, l.Bias, l.w.taps()) }

func (l *Conv2D) Forward(e *engine.Engine, y, x engine.Matrix, _ Mode) {
	l.forward(e, x, func(_ *engine.Worker, i int, c engine.Matrix) { l.w.crop(y.Row(i), c) })
}

// forward convolves the rows of x, and gives take each result: out channels x positions
// in rows of l.w.stride(), of which the first outCols count.
func (l *Conv2D) forward(e *engine.Engine, x engine.Matrix, take func(t *engine.Worker, i int, c engine.Matrix)) {
	taps := l.w.taps()
	biased := engine.View(room(&l.biased, l.out*(taps+1)), l.out, taps+1)
	for o, bias := range l.Bias.Data {
		biased.Set(o, 0, bias)
		copy(biased.Row(o)[1:], l.Weight.Data[o*taps:(o+1)*taps])
	}
	l.w.convolve(e, biased, x, take)
}

func (l *Conv2D) Backward(e *engine.Engine, dx, x, _, dy engine.Matrix) {
	e.ColumnSums(room(&l.sums, dy.Cols), dy, false)
	l.biasGradient(e)
	oc, n := l.w.outCols(), l.w.positions()
	at := make([]int32, n)
	for j := range at {
		at[j] = int32(l.w.place(j/oc, j%oc))
	}
	l.weightGradient(e, x, func(_ *engine.Worker, o, i int) ([]int32, []float32) {
		return at, dy.Row(i)[o*n : (o+1)*n]
	})
	if dx.Data != nil {
		l.inputGradient(e, dx, dy)
	}
}

// biasGradient adds up what sums has for the positions of every channel.
func (l *Conv2D) biasGradient(e *engine.Engine) {
	n := l.w.positions()
	for o := range l.Bias.Grad {
		l.Bias.Grad[o] = e.Sum(l.sums[o*n : (o+1)*n])
	}
}

// weightGradient computes, for every weight, one chain over pictures and positions. list
// returns the gradient of output channel o of picture i, as numbers with their positions
// (window.place) in reading order; zeros may be left out, which add nothing. It is called for
// one picture after the other, by the thread that has the channel.
func (l *Conv2D) weightGradient(e *engine.Engine, x engine.Matrix, list func(t *engine.Worker, o, i int) (at []int32, v []float32)) {
	w, taps, size := &l.w, l.w.taps(), l.w.interleaved()
	// Borders are zero where no call has written. What follows lets panels read past the last.
	pictures := room(&l.pictures, x.Rows*size+panelCols)
	e.Parallel(x.Rows, 0, 4*float64(len(x.Data)), func(t *engine.Worker, lo, hi int) {
		for i := lo; i < hi; i++ {
			w.interleave(t, pictures[i*size:(i+1)*size], x.Row(i))
		}
	})
	dw := room(&l.dw, l.out*taps)
	clear(dw)
	flops, elements := w.cost(x.Rows, l.out)
	pieces := min(e.Threads(), l.out) // no more: each goes over all pictures
	e.Parallel(pieces, flops, elements, func(t *engine.Worker, lo, hi int) {
		for i := range x.Rows {
			for o := l.out * lo / pieces; o < l.out*hi/pieces; o++ {
				at, v := list(t, o, i)
				t.AddPatches(engine.View(dw[o*taps:(o+1)*taps], w.kernel, w.patchCols()), v, pictures[i*size:(i+1)*size+panelCols], at, w.patchStride())
			}
		}
	})
	w.interleaveWeights(l.Weight.Grad, dw, true)
}

// inputGradient is the convolution of dy with the kernels turned by 180 degrees and a
// border of kernel-1-padding.
func (l *Conv2D) inputGradient(e *engine.Engine, dx, dy engine.Matrix) {
	f := room(&l.flipped, len(l.Weight.Data))
	area := l.w.kernel * l.w.kernel
	for o := range l.out {
		for c := range l.w.channels {
			from := l.Weight.Data[(o*l.w.channels+c)*area:][:area]
			to := f[(c*l.out+o)*area:][:area]
			for i, v := range from {
				to[area-1-i] = v
			}
		}
	}
	l.back.convolve(e, engine.View(f, l.w.channels, l.back.taps()), dy,
		func(_ *engine.Worker, i int, c engine.Matrix) { l.back.crop(dx.Row(i), c) })
}
