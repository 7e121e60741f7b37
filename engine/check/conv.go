package check

import (
	"math"
	"slices"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/engine/reference"
)

// patchArgs describe patches of rows x n elements that begin at random places.
var patchArgs = []arg{size("rows", 5), size("n", 40), size("patches", 7),
	{name: "places", usual: 20, min: 1, max: 1 << 16, sweep: []int{1, 8, 100}, quickSweep: []int{1, 8}},
	flagArg("padded"), offsetArg, dataArg, seedArg}

var (
	addPatchesKernel    = definition{args: patchArgs, more: longPatches, make: addPatches}
	spreadPatchesKernel = definition{args: patchArgs, more: longPatches, make: spreadPatches}
)

// longPatches are widths with special kernels, with more patches than fit into a call.
func longPatches(bool) [][]int {
	list := [][]int{
		{5, 40, 700, 1000, 0, -1, 0, 1},
		{5, 40, 700, 1000, 0, -1, 1, 1},
		{5, 5, 1400, 900, 0, -1, 0, 1},
		{5, 47, 700, 300, 0, 3, 0, 1},
		{5, 0, 3, 1, 0, -1, 0, 1},
		{0, 40, 3, 1, 0, -1, 0, 1},
		{5, 40, 0, 1, 0, -1, 0, 1},
	}
	for n := 1; n <= 49; n++ {
		list = append(list, []int{5, n, 9, 30, n % 2, n % 16, 0, 1})
	}
	return list
}

// patchSet holds the inputs that add-patches and spread-patches have in common.
type patchSet struct {
	by     engine.Matrix // one factor for each patch
	at     []int32       // index of its first element
	list   engine.PatchLists
	stride int // from one row of a patch to the next
	length int // of the vector that contains the patches; it ends with the last one
}

func newPatchSet(c Case, mem *memory, r *num.Rand, fill func() float32) patchSet {
	n, places := c.get("patches"), c.get("places")
	s := patchSet{by: mem.input(1, n, rowMajor, c.get("offset"), fill), at: make([]int32, n)}
	for p := range s.at {
		s.at[p] = int32(r.Intn(places))
	}
	if n > 0 {
		s.at[n/2] = int32(places - 1)
	}
	s.list = engine.NewPatchLists(1, s.at, vector(s.by), places)
	s.list.Fill()
	s.stride = c.get("n") + r.Intn(20)
	s.length = places - 1 + c.get("n") + max(c.get("rows")-1, 0)*s.stride
	return s
}

func addPatches(c Case, mem *memory) trial {
	rows, n := c.get("rows"), c.get("n")
	r := c.rand()
	fill := filler(r, c.get("data"))
	s := newPatchSet(c, mem, r, fill)
	b := mem.input(1, s.length, rowMajor, c.get("offset"), fill)
	out := mem.output(rows, n, layout(c.get("padded")), c.get("offset"), fill)
	var tr trial
	for u := range rows {
		list := engine.NewMatrix(len(s.at), n)
		for p, first := range s.at {
			copy(list.Row(p), vector(b)[int(first)+u*s.stride:])
		}
		want, bound := reference.MatMul(general(s.by), general(list), general(out.Slice(u, u+1, 0, n)))
		tr.expect(reference.Value{V: want.Data, E: bound.Data})
	}
	exact(c.get("data"), tr.bound)
	tr.run = onWorker(func(w *engine.Worker) { w.AddPatches(out, s.list, vector(b), s.stride) })
	return tr
}

func spreadPatches(c Case, mem *memory) trial {
	rows, n := c.get("rows"), c.get("n")
	r := c.rand()
	fill := filler(r, c.get("data"))
	s := newPatchSet(c, mem, r, fill)
	w := mem.input(rows, n, layout(c.get("padded")), c.get("offset"), fill)
	b := mem.output(1, s.length, rowMajor, c.get("offset"), fill)
	want, bound := reference.SpreadPatches(general(b).Data, general(s.by).Data, s.at, general(w), s.stride)
	exact(c.get("data"), bound)
	return trial{want: want, bound: bound, run: onWorker(func(t *engine.Worker) {
		t.SpreadPatches(vector(b), s.list, w, s.stride)
	})}
}

// untouched is the initial value of bytes and places beyond an output.
const untouched = 0x55

var convPoolKernel = definition{
	args: []arg{one(size("images", 9)), few("out", 5, 1, 1, 2, 3, 4, 6, 7, 8, 16), few("rows", 2, 1, 1, 2, 3),
		few("n", 3, 1, 1, 2, 4, 7), one(size("taps", 10)), few("places", 20, 1, 1, 9),
		few("first", 0, 0, 1, 2, 3, 5), flagArg("numbers"), offsetArg, dataArg, seedArg},
	make: convPool,
}

// few is an argument with a few values.
func few(name string, usual, least int, sweep ...int) arg {
	return arg{name: name, usual: usual, min: least, max: 64, sweep: sweep, quickSweep: sweep}
}

// convPool pools rows x n pixels of several images and output channels, with taps at random places.
func convPool(c Case, mem *memory) trial {
	m, out, k, off := c.get("images"), c.get("out"), c.get("taps"), c.get("offset")
	rows, n := c.get("rows"), c.get("n")
	r := c.rand()
	fill := filler(r, c.get("data"))
	p := &pooling{rows: rows, n: n, cols: n + r.Intn(3), first: c.get("first"), row: r.Intn(30), at: make([]int, k),
		numbers: c.get("numbers") != 0}
	for t := range p.at {
		p.at[t] = r.Intn(c.get("places"))
	}
	p.x = mem.input(m, c.get("places")+(2*rows-1)*p.row+2*n, rowMajor, off, fill)
	p.weights = mem.input(out, k, rowMajor, off, fill)
	p.bias = mem.input(1, out, rowMajor, off, fill)
	p.y = mem.output(m, out*rows*n, rowMajor, off, fill)
	p.more = mem.output(m, out*rows*n, rowMajor, off, fill)

	var tr trial
	var more reference.Value // numbers, or what bad has for the channel
	for i := range m {
		for o := range out {
			z, size := make([]float64, rows*4*n), make([]float64, rows*4*n)
			bad := 0.0
			for j := range z { // 2*rows rows of 2*n pixels
				z[j] = float64(p.bias.Data[o])
				size[j] = math.Abs(z[j])
				for t, at := range p.at {
					product := float64(p.weights.At(o, t)) * float64(p.x.At(i, at+j/(2*n)*p.row+j%(2*n)))
					z[j] += product
					size[j] += math.Abs(product)
				}
				bad += 0 * z[j]
			}
			y, number := reference.ReLUPool(z, 2*rows, 2*n)
			bound, _ := reference.ReLUPool(size, 2*rows, 2*n)
			anyNumber := make([]float64, rows*n) // rounding may change which of two pixels is larger
			for q := range rows * n {
				bound[q] = reference.Rounded(bound[q], k+1)
				anyNumber[q] = engine.NoPixel
				if !p.numbers {
					number[q], anyNumber[q] = bad, 0
				}
			}
			exact(c.get("data"), bound)
			exact(c.get("data"), anyNumber)
			tr.expect(reference.Value{V: y, E: bound})
			more.V, more.E = append(more.V, number...), append(more.E, anyNumber...)
		}
	}
	tr.expect(more)
	tr.run = func(e *engine.Engine) { p.run(e, mem) }
	return tr
}

// pooling is a case of conv-pool: as many images as rows of x, output channels as rows of weights, taps as at, and
// rows x n pooled pixels.
type pooling struct {
	x, weights, bias, y, more engine.Matrix
	at                        []int
	row, first, rows, cols, n int
	numbers                   bool
}

// run pools as many images and channels at a time as the tier takes.
func (p *pooling) run(e *engine.Engine, mem *memory) {
	images, _, _ := e.ConvPoolSizes()
	for i := 0; i < p.x.Rows; i += images {
		for o := 0; o < p.weights.Rows; {
			n := e.ConvPoolChannels(p.weights.Rows - o)
			p.pool(e, mem, i, o, n)
			o += n
		}
	}
}

// pool pools images from i0 on and channels of them from o0 on, in memory that ends at guard pages.
func (p *pooling) pool(e *engine.Engine, mem *memory, i0, o0, channels int) {
	images, most, _ := e.ConvPoolSizes()
	end := (p.rows-1)*p.cols + p.n // pixels from the first of the block to behind its last
	pixels := p.first + end + 1    // of a channel: one more, which must keep its value
	last := (channels-1)*pixels + p.first + end
	var regions []*region
	floats := func(n int) []float32 {
		r := &region{}
		mem.grow(r, n)
		regions = append(regions, r)
		return r.floats[len(r.floats)-n:]
	}
	defer func() {
		for _, r := range regions {
			r.release()
		}
	}()
	width := slices.Max(p.at) + (2*p.rows-1)*p.row + 2*p.n // of an image, up to the last pixel that is read
	a := engine.ConvPool{
		X: floats(images * width), Y: floats(images * last),
		Weights: floats(most*(len(p.at)-1) + channels), Bias: floats(channels),
		Row: images * p.row, First: p.first, Rows: p.rows, Cols: p.cols, N: p.n, Pixels: pixels, Channels: channels,
	}
	numbers, bad := floats(images*((last+3)/4)), floats(images*channels)
	clear(numbers)
	clear(bad)
	if a.Bad = bad; p.numbers {
		a.Numbers, a.Bad = numbers, nil
	}
	for j := range a.X {
		a.X[j] = p.x.At(min(i0+j%images, p.x.Rows-1), j/images)
	}
	for t, at := range p.at {
		a.Taps.Add(images*at, most*t)
	}
	for o := range channels {
		from := min(o0+o, p.weights.Rows-1)
		a.Bias[o] = p.bias.Data[from]
		for t := range p.at {
			a.Weights[t*most+o] = p.weights.At(from, t)
		}
	}
	for j := range a.Y {
		a.Y[j] = untouched
	}
	onWorker(func(w *engine.Worker) { w.ConvPool(&a) })(e)
	for j, v := range a.Y {
		at := j / images
		i, o, q := i0+j%images, o0+at/pixels, at%pixels-p.first
		number := float32(math.Float32bits(numbers[at/4*images+j%images]) >> (at % 4 * 8) & 0xff)
		if q < 0 || q >= end || q%p.cols >= p.n {
			if v != untouched || number != 0 {
				panic("ConvPool wrote pixels beside the block")
			}
		} else if i < p.x.Rows && o < p.weights.Rows {
			to := (o*p.rows+q/p.cols)*p.n + q%p.cols
			p.y.Set(i, to, v)
			extra := bad[(o-o0)*images+j%images]
			if p.numbers {
				extra = number
			}
			p.more.Set(i, to, extra)
		}
	}
}

var poolBackwardKernel = definition{
	args: []arg{one(size("rows", 3)), one(size("n", 9)), offsetArg, dataArg, seedArg},
	make: poolBackward,
}

// poolBackward checks the backward pass of pooling of rows x n blocks, with gradients half of which are 0. The outputs
// are the nonzero gradients, their places and their number, and the sums.
func poolBackward(c Case, mem *memory) trial {
	rows, cols, off := c.get("rows"), c.get("n"), c.get("offset")
	r := c.rand()
	fill := filler(r, c.get("data"))
	n := rows * cols
	room := n + engine.PoolSlack
	dy := mem.input(1, n, rowMajor, off, func() float32 {
		if v := fill(); r.Intn(2) == 0 {
			return v
		}
		return 0
	})
	v := mem.output(1, room, rowMajor, off, fill)
	places := mem.output(1, n+1, rowMajor, off, fill)
	sums := mem.output(1, n, rowMajor, off, fill)
	which := make([]byte, n)
	for i := range which {
		which[i] = byte(r.Intn(5))
	}
	const right, down = 3, 1000
	image := reference.Image{Rows: 2 * rows, Cols: 2 * cols}
	list, at, added := reference.PoolBackward(image, general(sums).Data, general(dy).Data, which)
	var tr trial
	tr.expectExactly(list...)
	tr.expectExactly(make([]float64, room-len(list))...)
	for _, p := range at {
		tr.expectExactly(float64(p/image.Cols*down + p%image.Cols*right))
	}
	tr.expectExactly(make([]float64, n-len(at))...)
	tr.expectExactly(float64(len(list)))
	tr.expectExactly(added...)
	tr.run = func(e *engine.Engine) {
		ints := make([]int32, room+16)
		for i := range ints {
			ints[i] = untouched
		}
		l := engine.NewPatchLists(1, ints[:room], vector(v), (image.Rows-1)*down+(image.Cols-1)*right+1)
		p := engine.NewPoolPlaces(rows, cols, right, down)
		onWorker(func(w *engine.Worker) { w.PoolBackward(l, vector(sums), vector(dy), which, p) })(e)
		m := l.Len()
		clear(v.Data[m:room])
		clear(places.Data[:n])
		for i, p := range ints {
			if i < m {
				places.Data[i] = float32(p)
			} else if i >= room && p != untouched {
				panic("PoolBackward wrote places outside at")
			}
		}
		places.Data[n] = float32(m)
	}
	return tr
}
