package check

import (
	"math"

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

var reluPoolKernel = definition{
	args: []arg{size("rows", 7), size("n", 17), flagArg("padded"), offsetArg, dataArg, seedArg},
	make: reluPool,
}

// reluPool pools one image in which a third of the pixels are 1, so that maxima are often tied.
func reluPool(c Case, mem *memory) trial {
	rows, cols, off := c.get("rows"), c.get("n"), c.get("offset")
	r := c.rand()
	fill := filler(r, c.get("data"))
	x := mem.input(rows, cols, layout(c.get("padded")), off, func() float32 {
		v := fill()
		switch {
		case r.Intn(3) == 0:
			return 1
		case r.Intn(20) == 0:
			return float32(math.NaN())
		}
		return v
	})
	n := rows / 2 * (cols / 2)
	y := mem.output(1, n, rowMajor, off, fill)
	which := mem.output(1, n, rowMajor, off, fill)
	var tr trial
	want, from := reference.ReLUPool(general(x).Data, rows, cols)
	tr.expectExactly(want...)
	tr.expectExactly(from...)
	tr.run = func(e *engine.Engine) {
		bytes := make([]byte, n+64)
		for i := range bytes {
			bytes[i] = untouched
		}
		onWorker(func(w *engine.Worker) { w.ReLUPool(vector(y), bytes[:n], x) })(e)
		for i, b := range bytes {
			if i < n {
				which.Data[i] = float32(b)
			} else if b != untouched {
				panic("ReLUPool wrote bytes outside which")
			}
		}
	}
	return tr
}

var poolBackwardKernel = definition{
	args: []arg{size("rows", 7), size("n", 17), offsetArg, dataArg, seedArg},
	make: poolBackward,
}

// poolBackward checks the backward pass of ReLUPool with gradients half of which are 0. The outputs
// are the sums, the nonzero gradients, their places and their number.
func poolBackward(c Case, mem *memory) trial {
	rows, cols, off := c.get("rows"), c.get("n"), c.get("offset")
	r := c.rand()
	fill := filler(r, c.get("data"))
	n := rows / 2 * (cols / 2)
	room := n + engine.PoolSlack
	dy := mem.input(1, n, rowMajor, off, func() float32 {
		if v := fill(); r.Intn(2) == 0 {
			return v
		}
		return 0
	})
	sums := mem.output(rows, cols, rowPadded, off, fill)
	v := mem.output(1, room, rowMajor, off, fill)
	places := mem.output(1, n+1, rowMajor, off, fill)
	which := make([]byte, n)
	for i := range which {
		which[i] = byte(r.Intn(5))
	}
	const right, down = 3, 1000
	image := reference.Image{Rows: rows, Cols: cols}
	list, at, added := reference.PoolBackward(image, general(sums).Data, general(dy).Data, which)
	var tr trial
	for _, g := range added {
		tr.expectOne(g, math.Abs(g)*0x1p-24)
	}
	tr.expectExactly(list...)
	tr.expectExactly(make([]float64, room-len(list))...)
	for _, p := range at {
		tr.expectExactly(float64(p/cols*down + p%cols*right))
	}
	tr.expectExactly(make([]float64, n-len(at))...)
	tr.expectExactly(float64(len(list)))
	tr.run = func(e *engine.Engine) {
		ints := make([]int32, room+16)
		for i := range ints {
			ints[i] = untouched
		}
		l := engine.NewPatchLists(1, ints[:room], vector(v), max(rows-1, 0)*down+max(cols-1, 0)*right+1)
		onWorker(func(w *engine.Worker) { w.PoolBackward(l, sums, vector(dy), which, right, down) })(e)
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
