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

	flipped []float32 // weights of the backward pass: channels x out x kernel x kernel
	sums    []float32 // of dy over the pictures
	dw      []float32 // the gradient of the weights as the products have it
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
	l.forward(e, x, func(i int, c engine.Matrix) { l.w.crop(y.Row(i), c) })
}

// forward convolves the rows of x, and gives take each result: out channels x positions
// in rows of l.w.stride(), of which the first outCols count.
func (l *Conv2D) forward(e *engine.Engine, x engine.Matrix, take func(i int, c engine.Matrix)) {
	lay := func(to []float32, i int) { l.w.frame(to, x.Row(i), 0, l.w.channels) }
	l.w.convolve(e, x.Rows, engine.View(l.Weight.Data, l.out, l.w.taps()), l.Bias.Data, lay, take)
}

func (l *Conv2D) Backward(e *engine.Engine, dx, x, _, dy engine.Matrix) {
	e.ColumnSums(room(&l.sums, dy.Cols), dy, false)
	l.biasGradient(e)
	oc, s, n := l.w.outCols(), l.w.stride(), l.w.positions()
	l.weightGradient(e, x, func(to []float32, i int) {
		for o := range l.out {
			for j, v := range dy.Row(i)[o*n : (o+1)*n] {
				to[(j/oc*s+j%oc)*l.out+o] = v
			}
		}
	})
	if dx.Data != nil {
		l.inputGradient(e, dx, func(to []float32, i int) { l.back.frame(to, dy.Row(i), 0, l.out) })
	}
}

// biasGradient adds up what sums has for the positions of every channel.
func (l *Conv2D) biasGradient(e *engine.Engine) {
	n := l.w.positions()
	for o := range l.Bias.Grad {
		l.Bias.Grad[o] = e.Sum(l.sums[o*n : (o+1)*n])
	}
}

// weightGradient computes, for every weight, one chain over pictures and positions. The
// threads share the weights, so each lays out all pictures, but only its channels of them;
// lay writes dy of picture i, position after position (in rows of l.w.stride()) of out
// channels, to memory that is zero elsewhere.
//
// A product has the positions as inner index, the rows u of the kernel as rows and out
// channels as columns. That would leave most columns of a panel empty; so B is dy and beside
// it dy shifted by 1, 2, ... positions, which are the columns v-1, v-2, ... of the kernel.
// They overlap in memory, and zeros of dy around all add nothing to a chain.
func (l *Conv2D) weightGradient(e *engine.Engine, x engine.Matrix, lay func(to []float32, i int)) {
	w, out, k := l.w, l.out, l.w.kernel
	shifts := min(k, max(1, panelCols/out))
	groups := (k + shifts - 1) / shifts
	units, cols, inner := w.channels*groups, shifts*out, w.span()+shifts-1
	dw := engine.View(room(&l.dw, units*k*cols), units*k, cols)
	clear(dw.Data)
	pieces := min(e.Threads(), units)
	flops, elements := w.cost(x.Rows, out)
	e.Parallel(pieces, flops, elements, func(t *engine.Worker, lo, hi int) {
		u0, u1 := units*lo/pieces, units*hi/pieces
		c0, c1 := u0/groups, (u1+groups-1)/groups
		size := (c1-c0)*w.plane() + panelCols
		memory := t.Floats(size + (inner+shifts-1)*out)
		clear(memory)
		picture, d := memory[:size], memory[size:]
		for i := range x.Rows {
			w.frame(picture, x.Row(i), c0, c1)
			lay(d[(shifts-1)*out:], i)
			for u := u0; u < u1; u++ {
				a := engine.Matrix{Data: picture[(u/groups-c0)*w.plane()+u%groups*shifts:], Rows: k, Cols: inner, RS: w.stride(), CS: 1}
				b := engine.Matrix{Data: d, Rows: inner, Cols: cols, RS: out, CS: 1}
				t.MatMul(dw.Slice(u*k, (u+1)*k, 0, cols), a, b, true)
			}
		}
	})
	for i := range l.Weight.Grad {
		o, c, u, v := i/w.taps(), i/(k*k)%w.channels, i/k%k, i%k
		group, shift := v/shifts, shifts-1-v%shifts
		l.Weight.Grad[i] = dw.At((c*groups+group)*k+u, shift*out+o)
	}
}

// inputGradient is the convolution of dy with the kernels turned by 180 degrees and a
// border of kernel-1-padding; lay frames dy of picture i as l.back wants it, in memory that
// is zero where no call has written.
func (l *Conv2D) inputGradient(e *engine.Engine, dx engine.Matrix, lay func(to []float32, i int)) {
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
	l.back.convolve(e, dx.Rows, engine.View(f, l.w.channels, l.back.taps()), nil, lay,
		func(i int, c engine.Matrix) { l.back.crop(dx.Row(i), c) })
}
