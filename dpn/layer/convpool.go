package layer

import (
	"math"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
)

// ConvPool is a convolution, a ReLU and a maximum over 2 x 2 pixels in one layer (PyTorch's Conv2d,
// ReLU and MaxPool2d(2)). The convolution (in fact a correlation) has square kernels, stride 1 and
// zero padding:
//
//	z[o, i, j] = bias[o] + sum_{c, u, v} weight[o, c, u, v] x[c, i+u-padding, j+v-padding]
//	y[o, i, j] = the largest of max(z, 0) at (2i, 2j), (2i, 2j+1), (2i+1, 2j), (2i+1, 2j+1)
//
// A last odd row or column of z is left out. Every z is one chain of fused multiply-adds over c, u,
// v that starts from the bias and includes the zeros of the padding. The gradient goes to the first
// largest of the four, or to none if none is above 0. Outside training, a channel of an image is NaN as
// a whole if a z in it is infinite or NaN, as in ReLU.
//
// Each image is convolved and pooled before the next one, so z is never stored for a whole batch,
// and the backward pass skips the pixels that were not the largest. For finite numbers the result
// has the bits of a backward pass through all pixels (which would include 0 times infinity, NaN).
type ConvPool struct {
	Weight *Param // out channels x channels x kernel x kernel
	Bias   *Param

	w   window
	out int // channels

	biased  []float32 // bias and weights (see window)
	which   []byte    // index of the largest of four pixels in the last pass in training
	images  []float32 // up to imagesAtOnce images, interleaved (see window)
	weights []float32 // for interleaved images
	dw      []float32 // gradient of weights
	spaced  []float32 // the gradient of z summed over up to sumImages images, with padded rows
	db      []float64 // gradient of the bias

	// The nonzero elements of the gradient of z, at the places of window.place, for every channel, and for
	// up to imagesAtOnce images if dx is needed.
	lists engine.PatchLists
}

// ImageShape is the shape of images: channels of rows x cols pixels.
type ImageShape struct{ Channels, Rows, Cols int }

// NewConvPool makes a ConvPool from images of a shape to images with out channels,
// with weights of zero. Its tensors are name.weight and name.bias. It panics unless the sizes are
// positive, 0 <= padding < kernel, and the output has at least one pixel.
func NewConvPool(name string, in ImageShape, out, kernel, padding int) *ConvPool {
	w := newWindow("NewConvPool", in, out, kernel, padding, 2)
	return &ConvPool{
		Weight: NewParam(name+".weight", out, in.Channels, kernel, kernel),
		Bias:   NewParam(name+".bias", out),
		w:      w,
		out:    out,
	}
}

func (l *ConvPool) Sizes() (in, out int) {
	return l.w.channels * l.w.rows * l.w.cols, l.out * (l.w.outRows() / 2) * (l.w.outCols() / 2)
}
func (l *ConvPool) Params() []*Param { return []*Param{l.Weight, l.Bias} }
func (l *ConvPool) MACs() int        { return l.out * l.w.taps() * l.w.positions() }

// Draw draws weights and bias uniformly from +-1/sqrt(channels*kernel^2), PyTorch's default.
func (l *ConvPool) Draw(r *num.Rand) { drawDefault(r, l.Weight, l.Bias, l.w.taps()) }

func (l *ConvPool) Forward(e *engine.Engine, y, x engine.Matrix, mode Mode) {
	in, out := l.Sizes()
	checkWhole("ConvPool", x.Rows, in, x)
	checkWhole("ConvPool", x.Rows, out, y)
	var which []byte
	if mode == Training {
		which = engine.Grow(&l.which, len(y.Data))
	}
	biased := l.w.biasedWeights(&l.biased, l.Weight.Data, l.Bias.Data)
	n := y.Cols / l.out
	l.w.convolve(e, biased, x, func(t *engine.Worker, i int, c engine.Matrix) {
		for o := range l.out {
			image := engine.Matrix{Data: c.Row(o), Rows: l.w.outRows(), Cols: l.w.outCols(), RS: l.w.stride(), CS: 1}
			first := i*y.Cols + o*n
			if which != nil {
				t.ReLUPool(y.Data[first:first+n], which[first:first+n], image)
				continue
			}
			t.ReLUPool(y.Data[first:first+n], nil, image)
			if !linalg.IsFinite(t.Sum64(image.Data)) {
				for j := range n {
					y.Data[first+j] = float32(math.NaN())
				}
			}
		}
	})
}

// sumImages images are added in float32 for the gradient of the bias, before float64 takes over: their sum,
// of at most 15 roundings, is off by at most 2^-20 of the sum of magnitudes.
const sumImages = 16

// imagesAtOnce images, and the lists of their gradients, stay in a near cache from one part of a backward pass to the
// next.
const imagesAtOnce = 8 * sumImages

// Backward computes the gradient of every weight as one chain over images and positions, and that of every
// bias as the float64 sum over groups of sumImages images.
func (l *ConvPool) Backward(e *engine.Engine, dx, x, _, dy engine.Matrix) {
	in, out := l.Sizes()
	checkWhole("ConvPool, backward", len(l.which)/out, in, x)
	checkWhole("ConvPool, backward", len(l.which)/out, out, dy)
	w, taps, size := &l.w, l.w.taps(), l.w.interleaved()
	// The padding is never written and stays zero. Panels may read beyond the last image, so the
	// memory is longer.
	most := min(x.Rows, imagesAtOnce)
	images := engine.Grow(&l.images, most*size+panelCols)
	// Rows are padded to whole vectors of 16, because a load soon after a masked store stalls.
	rows, cols := w.outRows(), (w.outCols()+15)/16*16
	spaced := engine.View(engine.Grow(&l.spaced, l.out*rows*cols), l.out*rows, cols)
	clear(spaced.Data)
	db := engine.Grow(&l.db, l.out)
	clear(db)
	kept := 1
	if dx.Data != nil {
		kept = most
		w.interleaveWeights(engine.Grow(&l.weights, len(l.Weight.Data)), l.Weight.Data, false)
	}
	l.growLists(kept * l.out)
	dw := engine.Grow(&l.dw, l.out*taps)
	clear(dw)
	n, pieces := dy.Cols/l.out, min(e.Threads(), l.out) // each piece reads all images
	for first := 0; first < x.Rows; first += most {
		end := min(first+most, x.Rows)
		flops, elements := w.cost(end-first, l.out)
		e.Parallel(end-first, 0, 2*float64((end-first)*in), func(t *engine.Worker, lo, hi int) {
			work := t.Floats(in)
			for i := lo; i < hi; i++ {
				w.interleave(t, images[i*size:(i+1)*size], x.Row(first+i), work)
			}
		})
		e.Parallel(pieces, flops, elements, func(t *engine.Worker, lo, hi int) {
			lo, hi = l.out*lo/pieces, l.out*hi/pieces // channels
			gradient := engine.View(dw[lo*taps:hi*taps], (hi-lo)*w.kernel, w.patchCols())
			sums := spaced.Slice(lo*rows, hi*rows, 0, w.outCols())
			for i := first; i < end; i++ {
				lists := l.lists.Slice((i-first)%kept*l.out+lo, (i-first)%kept*l.out+hi)
				which := l.which[i*dy.Cols:][lo*n : hi*n]
				t.PoolBackward(lists, sums, dy.Row(i)[lo*n:hi*n], which, w.place(0, 1), w.place(1, 0))
				t.AddPatches(gradient, lists, images[(i-first)*size:(i-first+1)*size+panelCols], w.patchStride())
				if i%sumImages == sumImages-1 || i == x.Rows-1 {
					for o := lo; o < hi; o++ {
						all := spaced.Data[o*rows*cols : (o+1)*rows*cols]
						db[o] += t.Sum64(all)
						clear(all)
					}
				}
			}
		})
		if dx.Data == nil {
			continue
		}
		weights := engine.View(l.weights, l.out*w.kernel, w.patchCols())
		e.Parallel(end-first, flops/4, elements, func(t *engine.Worker, lo, hi int) {
			memory := t.Floats(size + in)
			image, work := memory[:size], memory[size:]
			for i := lo; i < hi; i++ {
				clear(image)
				t.SpreadPatches(image, l.lists.Slice(i*l.out, (i+1)*l.out), weights, w.patchStride())
				w.separate(t, dx.Row(first+i), image, work)
			}
		})
	}
	w.interleaveWeights(l.Weight.Grad, dw, true)
	for o, v := range db {
		l.Bias.Grad[o] = float32(v)
	}
}

// growLists makes room for n lists.
func (l *ConvPool) growLists(n int) {
	if l.lists.Lists() >= n {
		return
	}
	w := &l.w
	room := n * (w.outRows()/2*(w.outCols()/2) + engine.PoolSlack)
	l.lists = engine.NewPatchLists(n, make([]int32, room), make([]float32, room),
		w.place(w.outRows()-1, w.outCols()-1)+1)
}
