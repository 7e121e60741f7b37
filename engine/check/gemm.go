package check

import (
	"slices"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/engine/reference"

	"gonum.org/v1/gonum/blas/blas64"
)

// product computes C = A B, or C += A B if acc.
type product func(e *engine.Engine, c, a, b engine.Matrix, acc bool)

func plainProduct(e *engine.Engine, c, a, b engine.Matrix, acc bool) { e.MatMul(c, a, b, acc) }

func packedProduct(e *engine.Engine, c, a, b engine.Matrix, acc bool) {
	e.MatMulPacked(c, a, e.Pack(nil, b), acc)
}

// workerProduct computes some rows of the product on each thread.
func workerProduct(e *engine.Engine, c, a, b engine.Matrix, acc bool) {
	e.Parallel(c.Rows, 0, 0, func(w *engine.Worker, lo, hi int) {
		w.MatMul(c.SliceRows(lo, hi), a.SliceRows(lo, hi), b, acc)
	})
}

// matMulKernel checks a product in all layouts of its operands.
func matMulKernel(multiply product) definition {
	return definition{
		args: []arg{size("m", 7), size("k", 13), size("n", 17),
			layoutArg("la"), layoutArg("lb"), layoutArg("lc"), flagArg("acc"), offsetArg, dataArg, seedArg},
		more: productCases,
		make: func(c Case, mem *memory) trial {
			m, k, n, off := c.get("m"), c.get("k"), c.get("n"), c.get("offset")
			fill := filler(c.rand(), c.get("data"))
			a := mem.input(m, k, layout(c.get("la")), off, fill)
			b := mem.input(k, n, layout(c.get("lb")), off, fill)
			out := mem.output(m, n, layout(c.get("lc")), off, fill)
			acc := c.get("acc") == 1
			tr := expectProduct(c, out, a, b)
			tr.run = func(e *engine.Engine) { multiply(e, out, a, b, acc) }
			return tr
		},
	}
}

// expectProduct expects a b, or out + a b if the case has acc set.
func expectProduct(c Case, out, a, b engine.Matrix) trial {
	var c0 blas64.General
	if c.get("acc") == 1 {
		c0 = general(out)
	}
	want, bound := reference.MatMul(general(a), general(b), c0)
	exact(c.get("data"), bound.Data)
	return trial{want: want.Data, bound: bound.Data}
}

// workerMatMulKernel is a product by workers, which require contiguous rows of C.
func workerMatMulKernel() definition {
	k := matMulKernel(workerProduct)
	for i := range k.args {
		if a := &k.args[i]; a.name == "lc" {
			a.max, a.sweep, a.quickSweep = int(rowPadded), []int{0, 1}, []int{0, 1}
		}
	}
	k.more = func(bool) [][]int { return productCases(true) }
	return k
}

// productCases are products on both sides of every boundary between blocks, panels and code paths.
func productCases(quick bool) [][]int {
	var list [][]int
	add := func(m, k, n int, layouts [3]int, acc int) { // the layouts of A, B and C
		list = append(list, []int{m, k, n, layouts[0], layouts[1], layouts[2], acc, -1, 0, 1})
	}
	for i := range 125 { // all forms of transposition, with and without packing of B
		lc, la, lb := i/25, i/5%5, i%5
		add(7, 5, 18, [3]int{la, lb, lc}, 1)
		if !quick || lc == 0 {
			add(19, 21, 33, [3]int{la, lb, lc}, 0)
		}
	}
	// boundaries of inner blocks
	for _, k := range []int{287, 288, 289, 431, 432, 433, 511, 512, 513, 863, 864, 865, 1023, 1024, 1025} {
		add(5, k, 17, [3]int{0, 0, 0}, 1)
		add(14, k, 3, [3]int{2, 2, 0}, 0)
	}
	for _, m := range []int{6, 7, 14, 15, 29, 83} { // column-major A, and many panels
		add(m, 9, 97, [3]int{2, 0, 0}, 0)
		add(m, 5, 130, [3]int{3, 0, 0}, 1)
	}
	if quick {
		return list
	}
	add(257, 33, 40, [3]int{0, 0, 0}, 0) // boundaries of row blocks
	for _, lb := range []int{0, 2, 4} {  // B packed by the threads, and packed in advance
		for _, m := range []int{13, 63, 64, 65, 700} {
			add(m, 37, 150, [3]int{0, lb, 0}, 1)
		}
	}
	add(30, 17, 512, [3]int{0, 0, 0}, 0) // strides of 2048 and 4096 bytes
	add(30, 512, 17, [3]int{0, 0, 0}, 0)
	add(30, 1024, 17, [3]int{0, 2, 0}, 0)
	add(512, 30, 17, [3]int{2, 0, 0}, 1)
	add(150, 210, 190, [3]int{0, 0, 0}, 0) // enough for several threads
	add(150, 210, 190, [3]int{2, 2, 2}, 1)
	return append(list, randomProducts()...)
}

// randomProducts are products with random arguments.
func randomProducts() [][]int {
	var list [][]int
	r := num.NewRand(11, 0)
	for range 200 {
		sizes := []int{r.Intn(70), r.Intn(70), r.Intn(70)}
		layouts := []int{r.Intn(5), r.Intn(5), r.Intn(5)}
		acc, offset, data, seed := r.Intn(2), r.Intn(17)-1, r.Intn(5), r.Intn(1000)
		list = append(list, slices.Concat(sizes, layouts, []int{acc, offset, data, seed}))
	}
	return list
}

// matMulAtKernel checks products whose rows of B begin at arbitrary indices of a vector. slack is
// the number of floats of the vector after the last row.
var matMulAtKernel = definition{
	args: []arg{size("m", 7), size("k", 13), size("n", 17), layoutArg("la"),
		{name: "slack", max: 64, sweep: []int{0, 1, 15, 16, 31, 32}, quickSweep: []int{0, 31}},
		flagArg("acc"), offsetArg, dataArg, seedArg},
	more: longMatMulAt,
	make: matMulAt,
}

// longMatMulAt are products on both sides of the boundaries of inner blocks and blocks of rows.
func longMatMulAt(quick bool) [][]int {
	list := [][]int{
		{3, 0, 40, 0, 0, 1, -1, 0, 1},
		{3, 0, 40, 0, 0, 0, -1, 0, 1},
		{1, 2000, 300, 0, 0, 1, -1, 0, 1},
		{16, 200, 224, 0, 0, 1, -1, 0, 1},
		{8, 25, 838, 0, 26, 1, -1, 0, 1},
		{14, 1025, 33, 0, 0, 0, -1, 0, 1},
	}
	for m := range 30 {
		list = append(list,
			[]int{m, 65, 34, 0, 64, m % 2, -1, 0, 1},
			[]int{m, 63 + m%3, 34, 2, 64, m % 2, -1, 0, 1})
	}
	lengths := []int{0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 79, 80, 81, 191, 192, 200, 207, 208, 209, 400, 500}
	for _, n := range lengths { // a single row
		list = append(list, []int{1, 5 + n%3, n, 0, 0, n % 2, -1, 0, 1})
	}
	if !quick {
		list = append(list, []int{700, 37, 40, 0, 30, 1, -1, 0, 1}, []int{20, 2100, 20, 2, 0, 1, -1, 0, 1})
	}
	return list
}

func matMulAt(c Case, mem *memory) trial {
	m, k, n, off := c.get("m"), c.get("k"), c.get("n"), c.get("offset")
	r := c.rand()
	fill := filler(r, c.get("data"))
	a := mem.input(m, k, layout(c.get("la")), off, fill)
	b := mem.input(1, n+c.get("slack")+k/2, rowMajor, off, fill)
	at := make([]int32, k)
	rows := engine.NewMatrix(k, n)
	for p := range at {
		at[p] = int32(r.Intn(k/2 + 1))
		copy(rows.Row(p), vector(b)[at[p]:])
	}
	out := mem.output(m, n, rowMajor, off, fill)
	acc := c.get("acc") == 1
	tr := expectProduct(c, out, a, rows)
	tr.run = onWorker(func(w *engine.Worker) { w.MatMulAt(out, a, vector(b), at, acc) })
	return tr
}

// matMulNonzeroKernel checks products with the transpose of a B in which the rows of a panel share zeros.
var matMulNonzeroKernel = definition{
	args: []arg{size("m", 7), size("k", 13), size("n", 17), layoutArg("la"), layoutArg("lb"),
		{name: "zeros", max: 100, usual: 50, sweep: []int{0, 50, 90, 100}, quickSweep: []int{0, 50, 100}},
		flagArg("padded"), offsetArg, seedArg},
	more: func(bool) [][]int {
		return [][]int{
			{13, 700, 33, 0, 0, 0, 0, -1, 1}, // blocks of the inner index and of rows
			{200, 1500, 17, 0, 0, 30, 0, -1, 1},
			{13, 700, 70, 2, 2, 40, 1, -1, 1},
		}
	},
	make: matMulNonzero,
}

func matMulNonzero(c Case, mem *memory) trial {
	m, k, n, off := c.get("m"), c.get("k"), c.get("n"), c.get("offset")
	r := c.rand()
	fill := filler(r, normalData)
	a := mem.input(m, k, layout(c.get("la")), off, fill)
	b := mem.input(n, k, layout(c.get("lb")), off, fill)
	for i := range n {
		for j := range k {
			if i%16 == 0 && r.Intn(100) < c.get("zeros") || i%16 > 0 && b.At(i-1, j) == 0 {
				b.Set(i, j, 0)
			}
		}
	}
	out := mem.output(m, n, layout(c.get("padded")), off, fill)
	want, bound := reference.MatMul(general(a), general(b.T()), general(out))
	tr := trial{want: want.Data, bound: bound.Data}
	tr.run = onWorker(func(w *engine.Worker) { w.MatMulNonzero(out, a, b) })
	return tr
}

var transposeKernel = definition{
	args: []arg{size("rows", 7), size("n", 17), flagArg("padded"), flagArg("spaced"), offsetArg, dataArg, seedArg},
	make: func(c Case, mem *memory) trial {
		rows, n, off := c.get("rows"), c.get("n"), c.get("offset")
		fill := filler(c.rand(), c.get("data"))
		x := mem.input(rows, n, layout(c.get("padded")), off, fill)
		y := mem.output(n, rows, layout(c.get("spaced")), off, fill)
		var tr trial
		tr.expectExactly(reference.Transpose(general(x)).Data...)
		tr.run = onWorker(func(w *engine.Worker) { w.Transpose(y, x) })
		return tr
	},
}
