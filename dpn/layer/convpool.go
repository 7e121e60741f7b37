package layer

import (
	"dpnbench/engine"
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
// a whole if one of those z is infinite or NaN, as in ReLU.
//
// A group of images, or of tiles of a few, is convolved and pooled at once where the tier has a kernel for that, and
// otherwise each image before the next one: z is never stored for a whole batch. The bits are the same. The backward
// pass skips pixels that were not the largest and gradients that are 0: there 0 times infinity adds no NaN.
type ConvPool struct {
	Weight *Param // out channels x channels x kernel x kernel
	Bias   *Param

	w   window
	out int // channels

	groups  *groupPool
	biased  []float32 // bias and weights (see window)
	which   []float32 // numbers of the largest of four pixels in the last pass in training: words of bytes per image
	images  []float32 // up to imagesAtOnce images, interleaved (see window)
	weights []float32 // for interleaved images
	dw      []float32 // gradient of weights
	db      []float64 // gradient of the bias

	// The nonzero elements of the gradient of z, at the places of window.place, for every channel, and for
	// up to imagesAtOnce images if dx is needed.
	lists  engine.PatchLists
	places *engine.PoolPlaces

	forward *convolution
	run     poolRun

	// Shares, stored because each call would allocate them.
	interleave, byChannels, byImages func(t *engine.Worker, lo, hi int)
}

// poolRun is what the shares of a pass of ConvPool read.
type poolRun struct {
	y, x, dy, dx engine.Matrix
	which        []float32 // nil outside training
	first, end   int       // images
	pieces       int
}

// ImageShape is the shape of images: channels of rows x cols pixels.
type ImageShape struct{ Channels, Rows, Cols int }

// NewConvPool makes a ConvPool from images of a shape to images with out channels,
// with weights of zero. Its tensors are name.weight and name.bias. It panics unless the sizes are
// positive, 0 <= padding < kernel, the output has at least one pixel, and an image with its padding fewer than 2^31
// numbers.
func NewConvPool(name string, in ImageShape, out, kernel, padding int) *ConvPool {
	w := newWindow("NewConvPool", in, out, kernel, padding, 2)
	l := &ConvPool{
		Weight: NewParam(name+".weight", out, in.Channels, kernel, kernel),
		Bias:   NewParam(name+".bias", out),
		w:      w,
		out:    out,
	}
	rows, cols := w.pooled()
	l.places = engine.NewPoolPlaces(rows, cols, w.place(0, 1), w.place(1, 0))
	l.groups = newGroupPool(&l.w, out)
	l.forward = l.w.convolution()
	l.interleave, l.byChannels, l.byImages = l.interleaveImages, l.backwardChannels, l.backwardImages
	return l
}

func (l *ConvPool) Sizes() (in, out int) {
	return l.w.channels * l.w.rows * l.w.cols, l.out * (l.w.outRows() / 2) * (l.w.outCols() / 2)
}
func (l *ConvPool) Params() []*Param { return []*Param{l.Weight, l.Bias} }
func (l *ConvPool) MACs() int        { return l.out * l.w.taps() * l.w.positions() }

// Draw draws weights and bias uniformly from +-1/sqrt(channels*kernel^2), PyTorch's default.
func (l *ConvPool) Draw(r Uniform) { drawDefault(r, l.Weight, l.Bias, l.w.taps()) }

func (l *ConvPool) Forward(e *engine.Engine, y, x engine.Matrix, mode Mode) {
	in, out := l.Sizes()
	checkWhole("ConvPool", x.Rows, in, x)
	checkWhole("ConvPool", x.Rows, out, y)
	var which []float32
	if mode == Training {
		which = engine.Grow(&l.which, x.Rows*words(y.Cols))
	}
	if l.groups.setWeights(e, l.Weight.Data, l.Bias.Data) {
		l.groups.run(e, y, which, x)
		return
	}
	l.run = poolRun{y: y, which: which}
	l.forward.run(e, l.w.biasedWeights(&l.biased, l.Weight.Data, l.Bias.Data), x, l)
	l.run = poolRun{}
}

// take pools image i of the forward pass. In training it prefetches where the next one goes: other threads may have
// read what is there.
func (l *ConvPool) take(t *engine.Worker, i int, c engine.Matrix) {
	r, n := &l.run, l.run.y.Cols/l.out
	y, next := r.y.Row(i), i+1
	var which []byte
	if r.which != nil {
		w := words(r.y.Cols)
		which = engine.BytesOf(r.which[i*w : (i+1)*w])
		if next < r.y.Rows {
			engine.PrefetchToWrite(r.y.Row(next))
			engine.PrefetchToWrite(r.which[next*w : (next+1)*w])
		}
	}
	rows, cols := l.w.outRows()/2, l.w.outCols()/2
	for o := range l.out {
		z := engine.Matrix{Data: c.Row(o), Rows: 2 * rows, Cols: 2 * cols, RS: l.w.stride(), CS: 1}
		if which != nil {
			reluPool(y[o*n:(o+1)*n], which[o*n:(o+1)*n], z)
			continue
		}
		reluPool(y[o*n:(o+1)*n], nil, z)
		// The memory between the rows of z has numbers that are no pixels.
		if !linalg.IsFinite(t.Sum64(z.Data)) && !finite(z) {
			fillNaN(y[o*n : (o+1)*n])
		}
	}
}

// finite reports whether all elements of m are.
func finite(m engine.Matrix) bool {
	for i := range m.Rows {
		for _, v := range m.Row(i) {
			if !linalg.IsFinite(v) {
				return false
			}
		}
	}
	return true
}

// sumImages images are added in float32 for the gradient of the bias, before float64 takes over: their sum,
// of at most 15 roundings, is off by at most 2^-20 of the sum of magnitudes.
const sumImages = 16

// A backward pass takes imagesPerThread images at once for each thread, and imagesAtOnce at most: so many stay in a
// near cache from one part of the pass to the next, with the lists of their gradients. Both are multiples of sumImages,
// so no group is cut.
const (
	imagesPerThread = 2 * sumImages
	imagesAtOnce    = 8 * sumImages
)

// Backward computes the gradient of every weight as one chain over images and pooled pixels, that of every bias as the
// float64 sum over groups of sumImages images, and each element of dx as one chain over output channels and pooled
// pixels.
func (l *ConvPool) Backward(e *engine.Engine, dx, x, y, dy engine.Matrix) {
	in, out := l.Sizes()
	checkWhole("ConvPool, backward", len(l.which)/words(out), in, x)
	checkWhole("ConvPool, backward", x.Rows, out, y, dy)
	if dx.Data != nil {
		checkWhole("ConvPool, backward", x.Rows, in, dx)
	}
	w := &l.w
	// The padding is never written and stays zero. Panels may read beyond the last image, so the
	// memory is longer.
	most := min(x.Rows, imagesAtOnce, imagesPerThread*e.Threads())
	engine.Grow(&l.images, most*w.interleaved()+panelCols)
	clear(engine.Grow(&l.db, l.out))
	// Each piece reads all images. Without dx, it has the lists of one image to itself, of which it uses those of its
	// channels, so that pieces do not write to the same cache lines.
	l.run = poolRun{x: x, dy: dy, dx: dx, pieces: min(e.Threads(), l.out)}
	kept := l.run.pieces // images whose lists are kept
	if dx.Data != nil {
		kept = most
		w.interleaveWeights(engine.Grow(&l.weights, len(l.Weight.Data)), l.Weight.Data)
	}
	l.growLists(kept * l.out)
	clear(engine.Grow(&l.dw, l.out*w.kernel*w.gradientLD()))
	for first := 0; first < x.Rows; first += most {
		n := min(most, x.Rows-first)
		l.run.first, l.run.end = first, first+n
		flops, elements := w.cost(n, l.out)
		e.Parallel(n, 0, 2*float64(n*in), l.interleave)
		e.Parallel(l.run.pieces, flops, elements, l.byChannels)
		if dx.Data != nil {
			e.Parallel(n, flops/4, elements, l.byImages)
		}
	}
	l.run = poolRun{}
	w.separateWeights(l.Weight.Grad, l.dw)
	for o, v := range l.db {
		l.Bias.Grad[o] = float32(v)
	}
}

// interleaveImages interleaves images from l.run.first + lo on.
func (l *ConvPool) interleaveImages(t *engine.Worker, lo, hi int) {
	size, work := l.w.interleaved(), t.Floats(l.run.x.Cols)
	for i := lo; i < hi; i++ {
		l.w.interleave(t, l.images[i*size:(i+1)*size], l.run.x.Row(l.run.first+i), work)
	}
}

// backwardChannels computes the gradients of the weights and biases of pieces of the channels, and their lists.
func (l *ConvPool) backwardChannels(t *engine.Worker, lo, hi int) {
	w, r, size := &l.w, &l.run, l.w.interleaved()
	piece := lo
	lo, hi = l.out*lo/r.pieces, l.out*hi/r.pieces
	gradient := engine.View(l.dw, l.out*w.kernel, w.gradientLD()).Slice(lo*w.kernel, hi*w.kernel, 0, w.patchCols())
	n, numbers := r.dy.Cols/l.out, words(r.dy.Cols)
	sums := t.Floats((hi - lo) * n) // gradients of biases at pooled pixels, of a group of images
	for i := r.first; i < r.end; i++ {
		at := piece // among the images whose lists are kept
		if r.dx.Data != nil {
			at = i - r.first
		}
		lists := l.lists.Slice(at*l.out+lo, at*l.out+hi)
		if next := i + 1; next < r.end {
			engine.Prefetch(l.images[(next-r.first)*size : (next-r.first+1)*size])
			if r.dx.Data != nil {
				l.lists.Slice((at+1)*l.out+lo, (at+1)*l.out+hi).PrefetchToWrite()
			}
		}
		if i%sumImages == 0 {
			clear(sums)
		}
		which := engine.BytesOf(l.which[i*numbers : (i+1)*numbers])
		t.PoolBackward(lists, sums, r.dy.Row(i)[lo*n:hi*n], which[lo*n:hi*n], l.places)
		t.AddPatches(gradient, lists, l.images[(i-r.first)*size:(i-r.first+1)*size+panelCols], w.patchStride())
		if i%sumImages == sumImages-1 || i == r.x.Rows-1 {
			for o := lo; o < hi; o++ {
				l.db[o] += t.Sum64(sums[(o-lo)*n : (o-lo+1)*n])
			}
		}
	}
}

// backwardImages computes dx of images from l.run.first + lo on, from the lists of all channels.
func (l *ConvPool) backwardImages(t *engine.Worker, lo, hi int) {
	size := l.w.interleaved()
	memory := t.Floats(size + l.run.dx.Cols)
	image, work := memory[:size], memory[size:]
	weights := engine.View(l.weights, l.out*l.w.kernel, l.w.patchCols())
	for i := lo; i < hi; i++ {
		clear(image)
		t.SpreadPatches(image, l.lists.Slice(i*l.out, (i+1)*l.out), weights, l.w.patchStride())
		l.w.separate(t, l.run.dx.Row(l.run.first+i), image, work)
	}
}

// growLists makes room for n lists, in whole cache lines: pieces, which run beside each other, share none.
func (l *ConvPool) growLists(n int) {
	if l.lists.Lists() >= n {
		return
	}
	w := &l.w
	_, out := l.Sizes()
	room := n * engine.PaddedLD(out/l.out+engine.PoolSlack)
	l.lists = engine.NewPatchLists(n, make([]int32, room), make([]float32, room),
		w.place(w.outRows()-1, w.outCols()-1)+1)
}
