package layer

import (
	"fmt"

	"dpnbench/engine"
)

// window describes an image and the square kernels that slide over it.
//
// The products read framed images: channel after channel, each with zero padding, in rows of stride
// floats. The padding on the right of a row and on the left of the next is shared. Position (i, j)
// of the kernel has number i*stride+j, and its tap (c, u, v) reads the float at that index plus
// c*plane + u*stride + v, so the inputs of a tap at all positions are contiguous. Numbers with j >=
// outCols are not positions; the results computed for them are ignored.
type window struct {
	channels, rows, cols int
	kernel, padding      int
	at                   []int32 // indices of the ones after a framed image, and of the taps
}

// panelCols is a multiple of the panel width of every tier. Products with a multiple of it as
// number of columns need no copies. As many floats follow each framed image.
const panelCols = 32

// newWindow makes the window of kernels over images of a shape, for a layer with out channels. It panics, in the
// name of call, unless the sizes are positive, 0 <= padding < kernel, and the positions have at least so many rows
// and columns.
func newWindow(call string, in ImageShape, out, kernel, padding, least int) window {
	w := window{channels: in.Channels, rows: in.Rows, cols: in.Cols, kernel: kernel, padding: padding}
	if in.Channels < 1 || out < 1 || kernel < 1 || padding < 0 || padding >= kernel || w.outRows() < least ||
		w.outCols() < least {
		panic(fmt.Sprintf("layer: %s: %d x %d x %d to %d channels with kernel %d and padding %d", call, in.Channels,
			in.Rows, in.Cols, out, kernel, padding))
	}
	w.at = w.places()
	return w
}

func (w *window) outRows() int   { return w.rows + 2*w.padding - w.kernel + 1 }
func (w *window) outCols() int   { return w.cols + 2*w.padding - w.kernel + 1 }
func (w *window) positions() int { return w.outRows() * w.outCols() }        // of the kernel
func (w *window) taps() int      { return w.channels * w.kernel * w.kernel } // weights of one output channel

func (w *window) stride() int { return w.cols + w.padding }
func (w *window) plane() int  { return (w.rows+2*w.padding)*w.stride() + w.padding }

// span is the number of floats from the first to the last position.
func (w *window) span() int { return (w.outRows()-1)*w.stride() + w.outCols() }

// framed is the length of a framed image.
func (w *window) framed() int { return w.channels*w.plane() + panelCols }

// places lists the index of the ones after a framed image, then the indices of the taps of position 0.
func (w *window) places() []int32 {
	at := make([]int32, 1+w.taps())
	at[0] = int32(w.framed())
	area := w.kernel * w.kernel
	for k := range w.taps() {
		at[1+k] = int32(k/area*w.plane() + k%area/w.kernel*w.stride() + k%w.kernel)
	}
	return at
}

// cost returns the arguments of Parallel for the convolution of n images.
func (w *window) cost(images, out int) (flops, elements float64) {
	n := float64(images) * float64(w.positions())
	return 2 * n * float64(out) * float64(w.taps()), n * float64(out+w.channels)
}

// frame copies the channels of an image into their frames, whose padding is zero.
func (w *window) frame(t *engine.Worker, to, image []float32) {
	s, at, n := w.stride(), w.padding*(w.stride()+1), w.rows*w.cols
	for c := range w.channels {
		w.copyRows(t, to[at:], s, image[c*n:(c+1)*n], w.cols, w.cols)
		at += w.plane()
	}
}

// copyRows copies as many rows as an image has, of n floats, which begin ds and ss floats apart.
func (w *window) copyRows(t *engine.Worker, dst []float32, ds int, src []float32, ss, n int) {
	const short = 32 // CopyRows takes no longer ones
	if n <= short {
		t.CopyRows(engine.Matrix{Data: dst, Rows: w.rows, Cols: n, RS: ds, CS: 1},
			engine.Matrix{Data: src, Rows: w.rows, Cols: n, RS: ss, CS: 1})
		return
	}
	for r := range w.rows {
		copy(dst[r*ds:r*ds+n], src[r*ss:])
	}
}

// An interleaved image is stored with its padding, pixel after pixel, each with all channels. The
// patch under the kernel then consists of few long rows, patchStride apart, in the order u, v, c,
// starting at place(i, j) for position (i, j).

func (w *window) width() int       { return w.cols + 2*w.padding }
func (w *window) interleaved() int { return (w.rows + 2*w.padding) * w.patchStride() }
func (w *window) patchStride() int { return w.width() * w.channels }
func (w *window) patchCols() int   { return w.kernel * w.channels }

func (w *window) place(i, j int) int { return (i*w.width() + j) * w.channels }

// interleave copies an image to to, whose padding is zero. work has as many floats as the image.
func (w *window) interleave(t *engine.Worker, to, image, work []float32) {
	if pixels := w.rows * w.cols; w.channels > 1 {
		t.Transpose(engine.View(work, pixels, w.channels), engine.View(image, w.channels, pixels))
		image = work
	}
	w.copyRows(t, to[w.place(w.padding, w.padding):], w.patchStride(), image, w.channels*w.cols, w.channels*w.cols)
}

// separate is the inverse of interleave.
func (w *window) separate(t *engine.Worker, image, from, work []float32) {
	n := w.channels * w.cols
	w.copyRows(t, work, n, from[w.place(w.padding, w.padding):], w.patchStride(), n)
	pixels := w.rows * w.cols
	t.Transpose(engine.View(image, w.channels, pixels), engine.View(work, pixels, w.channels))
}

// patches sets row k of to to what is under tap k of the kernel at all positions.
func (w *window) patches(to engine.Matrix, image []float32) {
	n := w.outCols()
	for k := range w.taps() {
		c, u, v := k/(w.kernel*w.kernel), k/w.kernel%w.kernel-w.padding, k%w.kernel-w.padding
		// Of the positions in a row, [first, end) lie within the image: none where it is narrower than the padding.
		first := min(max(-v, 0), n)
		end := max(min(n, w.cols-v), first)
		for i := range w.outRows() {
			row := to.Row(k)[i*n : (i+1)*n]
			if r := i + u; r < 0 || r >= w.rows || first == end {
				clear(row)
			} else {
				clear(row[:first])
				copy(row[first:end], image[(c*w.rows+r)*w.cols+first+v:])
				clear(row[end:])
			}
		}
	}
}

// biasedWeights returns bias and weights as convolve takes them, tap by tap: the layout that AVX-512 tiles
// read fastest.
func (w *window) biasedWeights(memory *[]float32, weights, bias []float32) engine.Matrix {
	out, taps := len(bias), w.taps()
	biased := engine.Matrix{Data: engine.Grow(memory, out*(1+taps)), Rows: out, Cols: 1 + taps, RS: 1, CS: out}
	for o, b := range bias {
		biased.Set(o, 0, b)
		for k, v := range weights[o*taps : (o+1)*taps] {
			biased.Set(o, 1+k, v)
		}
	}
	return biased
}

// interleaveWeights copies the weights of some output channels to to in the order of interleaved images.
func (w *window) interleaveWeights(to, weights []float32) {
	area := w.kernel * w.kernel
	for o := 0; o < len(weights); o += w.taps() {
		for k := range w.taps() {
			to[o+k%area*w.channels+k/area] = weights[o+k]
		}
	}
}

// separateWeights copies the gradient of interleaved weights, whose rows are gradientLD apart, to to in the order of
// the weights.
func (w *window) separateWeights(to, gradient []float32) {
	area, ld := w.kernel*w.kernel, w.gradientLD()
	for o := range len(to) / w.taps() {
		for k := range w.taps() {
			u, v := k%area/w.kernel, k%w.kernel
			to[o*w.taps()+k] = gradient[(o*w.kernel+u)*ld+v*w.channels+k/area]
		}
	}
}

// gradientLD is how far the rows of a gradient of interleaved weights are apart: threads that share the output
// channels write to no common cache line.
func (w *window) gradientLD() int { return engine.PaddedLD(w.patchCols()) }

// convolution convolves images, one by one on several threads.
type convolution struct {
	*window

	// Of the running call.
	weights, images engine.Matrix
	take            taker

	share func(t *engine.Worker, lo, hi int) // stored because each call would allocate it
}

// taker takes the result of image i of a convolution, out x positions in rows of stride. It is called on several
// threads.
type taker interface {
	take(t *engine.Worker, i int, c engine.Matrix)
}

func (w *window) convolution() *convolution {
	v := &convolution{window: w}
	v.share = v.convolve
	return v
}

// run convolves the rows of images with weights. weights is out x (1 + taps) and has the bias in its first column,
// which is multiplied with the ones after the image. Every output is one chain that starts from the bias.
func (v *convolution) run(e *engine.Engine, weights, images engine.Matrix, to taker) {
	v.weights, v.images, v.take = weights, images, to
	flops, elements := v.cost(images.Rows, weights.Rows)
	e.Parallel(images.Rows, flops, elements, v.share)
	v.images, v.take = engine.Matrix{}, nil
}

func (v *convolution) convolve(t *engine.Worker, lo, hi int) {
	out, size := v.weights.Rows, v.framed()
	cols := (v.span() + panelCols - 1) / panelCols * panelCols
	memory := t.Floats(size + cols + out*cols)
	x, c := memory[:size+cols], engine.View(memory[size+cols:], out, cols)
	clear(x[:size])
	for j := range cols {
		x[size+j] = 1
	}
	for i := lo; i < hi; i++ {
		v.frame(t, x, v.images.Row(i))
		t.MatMulAt(c, v.weights, x, v.at, false)
		v.take.take(t, i, c)
	}
}
