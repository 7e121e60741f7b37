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
// zeros of the border take part. Threads share the pictures; each lays the patches of a
// few pictures at a time out as columns (at most about blockFloats numbers) and multiplies.
type Conv2D struct {
	Weight *Param // out channels x channels x kernel x kernel
	Bias   *Param

	w   window
	out int // channels

	flipped []float32 // weights of the backward pass: channels x out x kernel x kernel
	sums    []float32 // column sums of dy
	dw      []float32 // transposed gradient of the weights: taps x out
}

// blockFloats is the size of the columns that a thread works on: half a megabyte, which
// stays in the second-level cache.
const blockFloats = 128 << 10

// NewConv2D makes a convolution of pictures of channels x rows x cols to pictures with out
// channels; its weights are zero. Its tensors are name.weight and name.bias. It panics
// unless the sizes are positive, 0 <= padding < kernel, and the output has a pixel.
func NewConv2D(name string, channels, rows, cols, out, kernel, padding int) *Conv2D {
	w := window{channels: channels, rows: rows, cols: cols, kernel: kernel, padding: padding}
	if channels < 1 || out < 1 || kernel < 1 || padding < 0 || padding >= kernel || w.outRows() < 1 || w.outCols() < 1 {
		panic(fmt.Sprintf("layer: NewConv2D: %d x %d x %d to %d channels with kernel %d and padding %d", channels, rows, cols, out, kernel, padding))
	}
	return &Conv2D{Weight: NewParam(name+".weight", out, channels, kernel, kernel), Bias: NewParam(name+".bias", out), w: w, out: out}
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
	l.w.convolve(e, y, x, engine.View(l.Weight.Data, l.out, l.w.taps()), l.Bias.Data)
}

func (l *Conv2D) Backward(e *engine.Engine, dx, x, _, dy engine.Matrix) {
	e.ColumnSums(room(&l.sums, dy.Cols), dy, false)
	n := l.w.positions()
	for o := range l.Bias.Grad {
		l.Bias.Grad[o] = e.Sum(l.sums[o*n : (o+1)*n])
	}
	l.weightGradient(e, x, dy)
	if dx.Data != nil {
		l.inputGradient(e, dx, dy)
	}
}

// weightGradient computes, for every weight, one chain over pictures and positions. The
// threads share the weights, so each lays out patches of all pictures, but only its rows
// of them. The product is the transpose of the gradient: so the patches, of which there
// are many more than channels, are read as they lie.
func (l *Conv2D) weightGradient(e *engine.Engine, x, dy engine.Matrix) {
	taps, n := l.w.taps(), l.w.positions()
	dw := engine.View(room(&l.dw, taps*l.out), taps, l.out)
	clear(dw.Data)
	pieces := min(e.Threads(), taps)
	flops, elements := l.w.cost(x.Rows, l.out)
	e.Parallel(pieces, flops, elements, func(w *engine.Worker, lo, hi int) {
		k0, k1 := taps*lo/pieces, taps*hi/pieces
		if k0 == k1 {
			return
		}
		most := max(1, min(x.Rows, blockFloats/((k1-k0+l.out)*n)))
		memory := w.Floats((k1 - k0 + l.out) * most * n)
		for i0 := 0; i0 < x.Rows; i0 += most {
			images := min(most, x.Rows-i0)
			cols := engine.View(memory[:(k1-k0)*images*n], k1-k0, images*n)
			d := engine.View(memory[len(cols.Data):][:l.out*images*n], l.out, images*n)
			for i := range images {
				l.w.patches(cols, i*n, x.Row(i0+i), k0, k1)
				for o := range l.out {
					copy(d.Row(o)[i*n:(i+1)*n], dy.Row(i0 + i)[o*n:])
				}
			}
			w.MatMul(dw.Slice(k0, k1, 0, l.out), cols, d.T(), true)
		}
	})
	for o := range l.out {
		for k := range taps {
			l.Weight.Grad[o*taps+k] = dw.Data[k*l.out+o]
		}
	}
}

// inputGradient is the convolution of dy with the kernels turned by 180 degrees and a
// border of kernel-1-padding.
func (l *Conv2D) inputGradient(e *engine.Engine, dx, dy engine.Matrix) {
	k := l.w.kernel
	back := window{channels: l.out, rows: l.w.outRows(), cols: l.w.outCols(), kernel: k, padding: k - 1 - l.w.padding}
	f := room(&l.flipped, len(l.Weight.Data))
	area := k * k
	for o := range l.out {
		for c := range l.w.channels {
			from := l.Weight.Data[(o*l.w.channels+c)*area:][:area]
			to := f[(c*l.out+o)*area:][:area]
			for i, v := range from {
				to[area-1-i] = v
			}
		}
	}
	back.convolve(e, dx, dy, engine.View(f, l.w.channels, back.taps()), nil)
}

// window is a picture and the square kernels that slide over it.
type window struct {
	channels, rows, cols int
	kernel, padding      int
}

func (w window) outRows() int   { return w.rows + 2*w.padding - w.kernel + 1 }
func (w window) outCols() int   { return w.cols + 2*w.padding - w.kernel + 1 }
func (w window) positions() int { return w.outRows() * w.outCols() }        // of a kernel
func (w window) taps() int      { return w.channels * w.kernel * w.kernel } // weights that an output has

// cost is what Parallel wants to know about a convolution of so many pictures.
func (w window) cost(pictures, out int) (flops, elements float64) {
	n := float64(pictures) * float64(w.taps()) * float64(w.positions())
	return 2 * n * float64(out), n / 4
}

// convolve sets every row of y (n x out*positions) from the row of x (n x
// channels*rows*cols) with weights (out x taps) and a bias for each output channel; without
// a bias the chains start from 0.
func (w window) convolve(e *engine.Engine, y, x, weights engine.Matrix, bias []float32) {
	out, taps, n := weights.Rows, w.taps(), w.positions()
	flops, elements := w.cost(x.Rows, out)
	e.Parallel(x.Rows, flops, elements, func(t *engine.Worker, lo, hi int) {
		most := max(1, min(hi-lo, blockFloats/((taps+out)*n)))
		memory := t.Floats((taps + out) * most * n)
		for i0 := lo; i0 < hi; i0 += most {
			images := min(most, hi-i0)
			cols := engine.View(memory[:taps*images*n], taps, images*n)
			c := engine.View(memory[len(cols.Data):][:out*images*n], out, images*n)
			for i := range images {
				w.patches(cols, i*n, x.Row(i0+i), 0, taps)
			}
			for o, v := range bias {
				row := c.Row(o)
				for j := range row {
					row[j] = v
				}
			}
			t.MatMul(c, weights, cols, bias != nil)
			for i := range images {
				for o := range out {
					copy(y.Row(i0 + i)[o*n:(o+1)*n], c.Row(o)[i*n:])
				}
			}
		}
	})
}

// patches lays out the patches of a picture as columns, from column at of cols on: row k of
// them holds what weight k0+k meets at every position of the kernel.
func (w window) patches(cols engine.Matrix, at int, picture []float32, k0, k1 int) {
	area, n, pixels := w.kernel*w.kernel, w.positions(), w.rows*w.cols
	same := w.outCols() == w.cols
	for k := k0; k < k1; k++ {
		to := cols.Row(k - k0)[at : at+n]
		channel := picture[k/area*pixels:][:pixels]
		du, dv := k%area/w.kernel-w.padding, k%w.kernel-w.padding
		if same {
			w.shifted(to, channel, du, dv)
		} else {
			w.shiftedRows(to, channel, du, dv)
		}
	}
}

// shifted sets to to the channel moved up by du rows and left by dv columns, where the
// output has as many columns as the channel: a single copy, and then the border.
func (w window) shifted(to, channel []float32, du, dv int) {
	shift := du*w.cols + dv
	lo := min(max(-shift, 0), len(to))
	hi := max(min(len(channel)-shift, len(to)), lo)
	clear(to[:lo])
	if lo < hi {
		copy(to[lo:hi], channel[lo+shift:])
	}
	clear(to[hi:])
	first, last := 0, min(-dv, w.cols) // columns that the copy took from the row before
	if dv > 0 {
		first, last = max(w.cols-dv, 0), w.cols // and from the row after
	}
	for c := first; c < last; c++ {
		for i := c; i < len(to); i += w.cols {
			to[i] = 0
		}
	}
}

// shiftedRows is shifted for any size of the output, row by row.
func (w window) shiftedRows(to, channel []float32, du, dv int) {
	oc := w.outCols()
	left, right := max(-dv, 0), min(oc, w.cols-dv) // columns that lie in the channel
	for i := range w.outRows() {
		row, r := to[i*oc:(i+1)*oc], i+du
		if r < 0 || r >= w.rows || left >= right {
			clear(row)
			continue
		}
		clear(row[:left])
		copy(row[left:right], channel[r*w.cols+left+dv:])
		clear(row[right:])
	}
}
