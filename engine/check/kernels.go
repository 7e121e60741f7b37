package check

import (
	"math"
	"slices"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/engine/reference"

	"gonum.org/v1/gonum/blas/blas64"
)

// kernels is everything that is checked, in the order of the table.
var kernels = []kernel{
	matMulKernel("matmul", multiplyPlain),
	matMulKernel("matmul-packed", multiplyPacked),
	workerMatMulKernel(),
	{name: "matmul-at", args: []arg{size("m", 7), size("k", 13), size("n", 17), layoutArg("la"), {name: "slack", max: 64, sweep: []int{0, 1, 15, 16, 31, 32}, quickSweep: []int{0, 31}}, flagArg("acc"), offsetArg, dataArg, seedArg}, more: longPlaces, make: matMulAt},
	{name: "add-patches", args: patchArgs, more: longPatches, make: addPatches},
	{name: "spread-patches", args: patchArgs, more: longPatches, make: spreadPatches},
	{name: "transpose", args: []arg{size("rows", 7), size("n", 17), flagArg("padded"), flagArg("spaced"), offsetArg, dataArg, seedArg}, make: transpose},
	{name: "set-factors", args: []arg{one(size("d", 17)), {name: "k", usual: 2, min: 1, max: 64}, offsetArg, finiteArg, seedArg}, make: setFactors},
	{name: "quad-grad", args: []arg{size("rows", 7), one(size("d", 17)), layoutArg("lx"), layoutArg("lg"), offsetArg, seedArg}, make: quadGrad},
	{name: "log-sum-exp", args: []arg{size("rows", 7), one(size("k", 5)), layoutArg("lq"), {name: "spread", usual: 3, max: 1000, sweep: []int{0, 1, 10, 30, 100, 1000}, quickSweep: []int{0, 30, 1000}}, offsetArg, seedArg}, make: logSumExp},
	ascendKernel,
	sparse(ascendKernel),
	{name: "ascend-alone", args: []arg{{name: "rows", usual: 1, max: 64, sweep: []int{0, 1, 2, 3}, quickSweep: []int{0, 2}}, {name: "k", usual: 5, min: 1, max: 64, sweep: []int{1, 3, 4, 6, 8, 9, 12, 13, 16, 17, 20, 24, 36}, quickSweep: []int{1, 4, 8, 12, 36}}, {name: "d", usual: 32, min: 1, max: 256, sweep: []int{1, 16, 17, 31, 32, 33, 48, 64, 80, 128}, quickSweep: []int{16, 17, 48}}, {name: "steps", usual: 16, max: 64, sweep: []int{0, 1, 15, 16, 30}, quickSweep: []int{0, 1}}, layoutArg("lx"), offsetArg, seedArg}, make: ascend(false)},
	backwardKernel,
	sparse(backwardKernel),
	tiedKernel,
	sparse(tiedKernel),
	lowRankKernel,
	sparse(lowRankKernel),
	lowRankBackwardKernel,
	sparse(lowRankBackwardKernel),
	{name: "exp", args: []arg{size("n", 37), offsetArg, functionArg, seedArg}, make: function((*engine.Engine).Exp, math.Exp)},
	{name: "log", args: []arg{size("n", 37), offsetArg, functionArg, seedArg}, make: function((*engine.Engine).Log, math.Log)},
	{name: "add", args: vectorArgs, make: elementwise(add)},
	{name: "multiply", args: vectorArgs, make: elementwise(multiply)},
	{name: "axpy", args: vectorArgs, make: elementwise(axpy)},
	{name: "scale", args: vectorArgs, make: elementwise(scale)},
	{name: "relu", args: vectorArgs, make: elementwise(relu)},
	{name: "relu-backward", args: vectorArgs, make: elementwise(reluBackward)},
	{name: "relu-pool", args: []arg{size("rows", 7), size("n", 17), flagArg("padded"), offsetArg, dataArg, seedArg}, make: reluPool},
	{name: "pool-backward", args: []arg{size("rows", 7), size("n", 17), offsetArg, dataArg, seedArg}, make: poolBackward},
	{name: "adam", args: vectorArgs, make: adam},
	{name: "dot", args: vectorArgs, more: longVectors, make: dot},
	{name: "sum", args: vectorArgs, more: longVectors, make: sum},
	{name: "sum-squares", args: vectorArgs, more: longVectors, make: sumSquares},
	{name: "row-dots", args: []arg{size("rows", 7), size("n", 17), layoutArg("lx"), layoutArg("ly"), offsetArg, dataArg, seedArg}, make: rowDots},
	{name: "column-sums", args: []arg{size("rows", 7), size("n", 17), layoutArg("lx"), flagArg("acc"), offsetArg, dataArg, seedArg}, make: columnSums},
	{name: "squared-distances", args: []arg{size("rows", 7), size("n", 17), size("k", 3), layoutArg("lx"), layoutArg("lc"), offsetArg, dataArg, seedArg}, make: squaredDistances},
	{name: "weighted-squares", args: []arg{size("rows", 7), size("n", 17), layoutArg("lx"), offsetArg, dataArg, seedArg}, make: weightedSquares},
	{name: "arg-min", args: []arg{size("rows", 7), one(size("n", 17)), layoutArg("lx"), offsetArg, dataArg, seedArg}, more: manyRows, make: argMin},
	{name: "layer-norm", args: []arg{size("rows", 7), one(size("n", 17)), layoutArg("lx"), layoutArg("ly"), offsetArg, seedArg}, make: layerNorm},
	{name: "layer-norm-backward", args: []arg{size("rows", 7), one(size("n", 17)), offsetArg, seedArg}, make: layerNormBackward},
	{name: "softmax-cross-entropy", args: []arg{size("rows", 7), one(size("classes", 10)), layoutArg("lx"), layoutArg("lg"), {name: "spread", usual: 3, max: 1000, sweep: []int{0, 10, 100}, quickSweep: []int{100}}, offsetArg, seedArg}, make: crossEntropy},
}

// The ascents and the ways back, each by both routes.
var (
	ascendKernel          = kernel{name: "ascend", args: []arg{size("rows", 7), one(size("k", 3)), one(size("d", 17)), {name: "steps", usual: 3, max: 64, sweep: []int{0, 1, 2, 10}, quickSweep: []int{0, 1}}, layoutArg("lx"), offsetArg, seedArg}, make: ascend(true)}
	backwardKernel        = kernel{name: "ascend-backward", args: []arg{size("rows", 5), one(size("k", 3)), one(size("d", 9)), {name: "steps", usual: 2, max: 64, sweep: []int{0, 1, 2, 7}, quickSweep: []int{0, 1}}, layoutArg("lv"), offsetArg, seedArg}, more: longRows, make: ascendBackward(false)}
	tiedKernel            = kernel{name: "tied-backward", args: []arg{size("rows", 5), one(size("k", 3)), one(size("d", 9)), {name: "steps", usual: 2, max: 64, sweep: []int{0, 1, 2, 7}, quickSweep: []int{0, 1}}, layoutArg("lv"), offsetArg, seedArg}, make: ascendBackward(true)}
	lowRankKernel         = kernel{name: "low-rank-ascend", args: []arg{size("rows", 7), one(size("k", 3)), one(size("d", 17)), rankArg, flagArg("minus"), {name: "steps", usual: 3, max: 64, sweep: []int{0, 1, 2, 10}, quickSweep: []int{0, 1}}, layoutArg("lx"), offsetArg, seedArg}, more: lowRanks, make: lowRankAscend}
	lowRankBackwardKernel = kernel{name: "low-rank-backward", args: []arg{size("rows", 5), one(size("k", 3)), one(size("d", 9)), rankArg, flagArg("minus"), {name: "steps", usual: 2, max: 64, sweep: []int{0, 1, 2, 7}, quickSweep: []int{0, 1}}, layoutArg("lv"), offsetArg, seedArg}, more: lowRanks, make: lowRankBackward}
)

var (
	// apartArg is how far apart centres are: from some on, responsibilities are nearly one-hot.
	apartArg = arg{name: "apart", usual: 2, max: 100, sweep: []int{0, 1, 2, 3, 8, 50}, quickSweep: []int{0, 1, 8}}
	// evenArg says that all precisions are the same multiple of the identity, less factors of
	// low rank if there are any: the route has certificates of its own for them.
	evenArg = flagArg("even")
)

// sparse is a kernel by the sparse route, for which rows begin around centres.
func sparse(k kernel) kernel {
	dense := k
	k.name, k.route = k.name+"-sparse", engine.SparseRoute
	k.args = append(slices.Clone(k.args), apartArg, evenArg)
	k.more = func(bool) (list [][]int) {
		if dense.more != nil {
			for _, v := range dense.more(true) { // the longest rows take the reference long enough once
				list = append(list, append(v, apartArg.usual, evenArg.usual))
			}
		}
		return append(list, // rows and steps enough for straight ways and for combinations
			k.usual(map[string]int{"rows": 40, "steps": 7, "even": 1}),
			k.usual(map[string]int{"rows": 40, "steps": 7, "even": 1, "minus": 1, "apart": 3}),
			k.usual(map[string]int{"rows": 40, "steps": 7, "even": 1, "r": 0}))
	}
	return k
}

// onSparse says whether c is a case of the sparse route.
func (c Case) onSparse() bool { return c.has(apartArg.name) }

// even says whether all precisions of c are to be the same multiple of the identity.
func (c Case) even() bool { return c.onSparse() && c.get(evenArg.name) == 1 }

// centres returns a source of centres.
func (c Case) centres(normal func() float32) func() float32 {
	if !c.onSparse() {
		return normal
	}
	return func() float32 { return float32(c.get(apartArg.name)) * normal() }
}

// ascends says whether a case climbs at all.
func (c Case) ascends() bool { return c.get("rows") > 0 && c.get("steps") > 0 }

var (
	vectorArgs  = []arg{size("n", 37), offsetArg, dataArg, seedArg}
	functionArg = arg{name: "points", max: 3, sweep: []int{0, 1, 2, 3}, quickSweep: []int{0, 1, 2, 3}}
)

// rankArg is the rank of P_i - diag(w_i); ranks above d become d.
var rankArg = arg{name: "r", usual: 2, max: 64, sweep: []int{0, 1, 2, 3, 8, 15, 16, 17}, quickSweep: []int{0, 1, 8}}

// lowRanks are pairs of k and r on both sides of the edges of panels and lanes.
func lowRanks(bool) [][]int {
	return [][]int{
		{3, 2, 40, 16, 0, 2, 0, -1, 1}, {3, 4, 40, 8, 1, 2, 0, -1, 1}, {4, 3, 40, 11, 0, 2, 0, -1, 1}, {5, 33, 20, 1, 0, 1, 0, -1, 1},
	}
}

// manyRows are so many that NaN and infinities are in every column.
func manyRows(quick bool) [][]int {
	if quick {
		return nil
	}
	return [][]int{{4000, 3, 0, -1, 4, 1}}
}

// longVectors are lengths on both sides of the chunk that one kernel call handles.
func longVectors(quick bool) [][]int {
	if quick {
		return nil
	}
	var v [][]int
	for _, n := range []int{1<<14 - 1, 1 << 14, 1<<14 + 1, 5<<14 + 7} {
		v = append(v, []int{n, -1, 0, 1})
	}
	return v
}

// longRows are dimensions in which the backward pass stores W_i in strips, and splits
// their columns into blocks, and so many steps of a single component that it takes a few of them
// for all.
func longRows(quick bool) [][]int {
	v := [][]int{{3, 1, 128, 2, 0, -1, 1}, {3, 1, 129, 2, 0, -1, 1}, {1, 1, 61, 20, 0, -1, 1}, {2, 1, 83, 17, 1, -1, 1}}
	if !quick {
		v = append(v, []int{2, 2, 261, 2, 0, -1, 1}, []int{2, 1, 621, 1, 0, -1, 1})
	}
	return v
}

// filler returns a source of inputs: normal numbers (kind 0), small integers, whose
// sums of products are exact (1), numbers of very different size (2), powers of two of
// both signs, whose products are exact (3), or normal numbers among which some are
// infinite, NaN, subnormal or zeros of both signs (4).
func filler(r *num.Rand, kind int) func() float32 {
	var one [1]float32
	switch kind {
	case 1:
		return func() float32 { return float32(r.Intn(17) - 8) }
	case 2:
		return func() float32 {
			r.Normal(one[:])
			return float32(math.Ldexp(float64(one[0]), r.Intn(41)-20))
		}
	}
	if kind == 3 {
		return func() float32 { return float32(math.Ldexp(float64(1-2*r.Intn(2)), r.Intn(9)-4)) }
	}
	normal := func() float32 {
		r.Normal(one[:])
		return one[0]
	}
	if kind == 4 {
		inf := float32(math.Inf(1))
		special := []float32{inf, -inf, float32(math.NaN()), 0, float32(math.Copysign(0, -1)), 0x1p-149, -0x1p-149, 0x1.8p-127, -0x1p-126}
		return func() float32 {
			if i := r.Intn(20 * len(special)); i < len(special) {
				return special[i]
			}
			return normal()
		}
	}
	return normal
}

func (c Case) rand() *num.Rand { return num.NewRand(uint64(c.get("seed")), 0) }

func general(m engine.Matrix) blas64.General {
	return reference.FromFloat32(m.Data, m.Rows, m.Cols, m.RS, m.CS)
}

// exact replaces the bounds of sums of small integers, which have no rounding at all.
func exact(kind int, bound []float64) {
	if kind == 1 {
		clear(bound)
	}
}

// The products that have the shapes and layouts of matmul.
func multiplyPlain(e *engine.Engine, c, a, b engine.Matrix, acc bool) { e.MatMul(c, a, b, acc) }

func multiplyPacked(e *engine.Engine, c, a, b engine.Matrix, acc bool) {
	e.MatMulPacked(c, a, e.Pack(nil, b), acc)
}

// multiplyByWorkers gives each thread some rows of the product.
func multiplyByWorkers(e *engine.Engine, c, a, b engine.Matrix, acc bool) {
	e.Parallel(c.Rows, 0, 0, func(w *engine.Worker, lo, hi int) {
		w.MatMul(c.Slice(lo, hi, 0, c.Cols), a.Slice(lo, hi, 0, a.Cols), b, acc)
	})
}

// workerMatMulKernel is matmul where rows of C are contiguous.
func workerMatMulKernel() kernel {
	k := matMulKernel("worker-matmul", multiplyByWorkers)
	for i := range k.args {
		if a := &k.args[i]; a.name == "lc" {
			a.max, a.sweep, a.quickSweep = int(rowPadded), []int{0, 1}, []int{0, 1}
		}
	}
	more := k.more
	k.more = func(bool) [][]int { return more(true) }
	return k
}

func matMulKernel(name string, multiply func(e *engine.Engine, c, a, b engine.Matrix, acc bool)) kernel {
	args := []arg{size("m", 7), size("k", 13), size("n", 17), layoutArg("la"), layoutArg("lb"), layoutArg("lc"), flagArg("acc"), offsetArg, dataArg, seedArg}
	return kernel{name: name, args: args,
		more: func(quick bool) [][]int {
			var list [][]int
			usual := func(m, k, n, la, lb, lc, acc int) { list = append(list, []int{m, k, n, la, lb, lc, acc, -1, 0, 1}) }
			for lc := range 5 { // all forms of transposition, on both sides of the direct path
				for la := range 5 {
					for lb := range 5 {
						usual(7, 5, 18, la, lb, lc, 1)
						if !quick || lc == 0 {
							usual(19, 21, 33, la, lb, lc, 0)
						}
					}
				}
			}
			for _, k := range []int{287, 288, 289, 431, 432, 433, 511, 512, 513, 863, 864, 865, 1023, 1024, 1025} { // edges of inner blocks
				usual(5, k, 17, 0, 0, 0, 1)
				usual(14, k, 3, 2, 2, 0, 0)
			}
			for _, m := range []int{6, 7, 14, 15, 29, 83} { // strips: columns of A, and many panels
				usual(m, 9, 97, 2, 0, 0, 0)
				usual(m, 5, 130, 3, 0, 0, 1)
			}
			if quick {
				return list
			}
			usual(257, 33, 40, 0, 0, 0, 0)      // edges of row blocks
			for _, lb := range []int{0, 2, 4} { // B packed by the threads, and packed before
				for _, m := range []int{13, 63, 64, 65, 700} {
					usual(m, 37, 150, 0, lb, 0, 1)
				}
			}
			usual(30, 17, 512, 0, 0, 0, 0) // strides of 2048 and 4096 bytes
			usual(30, 512, 17, 0, 0, 0, 0)
			usual(30, 1024, 17, 0, 2, 0, 0)
			usual(512, 30, 17, 2, 0, 0, 1)
			usual(150, 210, 190, 0, 0, 0, 0) // enough for several threads
			usual(150, 210, 190, 2, 2, 2, 1)
			r := num.NewRand(11, 0)
			for range 200 {
				v := []int{r.Intn(70), r.Intn(70), r.Intn(70), r.Intn(5), r.Intn(5), r.Intn(5), r.Intn(2), r.Intn(17) - 1, r.Intn(5), r.Intn(1000)}
				list = append(list, v)
			}
			return list
		},
		make: func(c Case, mem *memory) trial {
			m, k, n, off := c.get("m"), c.get("k"), c.get("n"), c.get("offset")
			fill := filler(c.rand(), c.get("data"))
			a := mem.input(m, k, layout(c.get("la")), off, fill)
			b := mem.input(k, n, layout(c.get("lb")), off, fill)
			out := mem.output(m, n, layout(c.get("lc")), off, fill)
			acc := c.get("acc") == 1
			var c0 blas64.General
			if acc {
				c0 = general(out)
			}
			want, bound := reference.MatMul(general(a), general(b), c0)
			exact(c.get("data"), bound.Data)
			return trial{want: want.Data, bound: bound.Data, run: func(e *engine.Engine) {
				multiply(e, out, a, b, acc)
			}}
		}}
}

// longPlaces are products on both sides of the edges of inner blocks and blocks of rows.
func longPlaces(quick bool) [][]int {
	list := [][]int{{3, 0, 40, 0, 0, 1, -1, 0, 1}, {3, 0, 40, 0, 0, 0, -1, 0, 1}, {1, 2000, 300, 0, 0, 1, -1, 0, 1}, {16, 200, 224, 0, 0, 1, -1, 0, 1}, {8, 25, 838, 0, 26, 1, -1, 0, 1}, {14, 1025, 33, 0, 0, 0, -1, 0, 1}}
	for m := range 30 {
		list = append(list, []int{m, 65, 34, 0, 64, m % 2, -1, 0, 1}, []int{m, 63 + m%3, 34, 2, 64, m % 2, -1, 0, 1})
	}
	for _, n := range []int{0, 1, 15, 16, 17, 31, 32, 33, 63, 64, 65, 79, 80, 81, 191, 192, 200, 207, 208, 209, 400, 500} { // a single row
		list = append(list, []int{1, 5 + n%3, n, 0, 0, n % 2, -1, 0, 1})
	}
	if !quick {
		list = append(list, []int{700, 37, 40, 0, 30, 1, -1, 0, 1}, []int{20, 2100, 20, 2, 0, 1, -1, 0, 1})
	}
	return list
}

// matMulAt takes rows of B from anywhere in a vector. The slack is what the vector has
// after the last of them.
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
	var c0 blas64.General
	if acc {
		c0 = general(out)
	}
	want, bound := reference.MatMul(general(a), general(rows), c0)
	exact(c.get("data"), bound.Data)
	return trial{want: want.Data, bound: bound.Data, run: func(e *engine.Engine) {
		e.Parallel(1, 0, 0, func(w *engine.Worker, _, _ int) { w.MatMulAt(out, a, vector(b), at, acc) })
	}}
}

// patchArgs are patches, of rows x n, that begin at some of so many places.
var patchArgs = []arg{size("rows", 5), size("n", 40), size("patches", 7), {name: "places", usual: 20, min: 1, max: 1 << 16, sweep: []int{1, 8, 100}, quickSweep: []int{1, 8}}, flagArg("padded"), offsetArg, dataArg, seedArg}

// longPatches are those that have kernels of their own, and more than fit into a call.
func longPatches(quick bool) [][]int {
	list := [][]int{{5, 40, 700, 1000, 0, -1, 0, 1}, {5, 40, 700, 1000, 0, -1, 1, 1}, {5, 5, 1400, 900, 0, -1, 0, 1}, {5, 47, 700, 300, 0, 3, 0, 1}, {5, 0, 3, 1, 0, -1, 0, 1}, {0, 40, 3, 1, 0, -1, 0, 1}, {5, 40, 0, 1, 0, -1, 0, 1}}
	for n := 1; n <= 49; n++ {
		list = append(list, []int{5, n, 9, 30, n % 2, n % 16, 0, 1})
	}
	return list
}

// patches makes what add-patches and spread-patches have in common: numbers, the places of
// the patches, how far apart their rows are, and the length of the vector that holds them,
// which ends where the last patch does.
func patches(c Case, mem *memory, r *num.Rand, fill func() float32) (by engine.Matrix, at []int32, stride, length int) {
	n, places := c.get("patches"), c.get("places")
	by = mem.input(1, n, rowMajor, c.get("offset"), fill)
	at = make([]int32, n)
	for p := range at {
		at[p] = int32(r.Intn(places))
	}
	if n > 0 {
		at[n/2] = int32(places - 1)
	}
	stride = c.get("n") + r.Intn(20)
	return by, at, stride, places - 1 + c.get("n") + max(c.get("rows")-1, 0)*stride
}

func addPatches(c Case, mem *memory) trial {
	rows, n := c.get("rows"), c.get("n")
	r := c.rand()
	fill := filler(r, c.get("data"))
	by, at, stride, length := patches(c, mem, r, fill)
	b := mem.input(1, length, rowMajor, c.get("offset"), fill)
	out := mem.output(rows, n, layout(c.get("padded")), c.get("offset"), fill)
	var tr trial
	for u := range rows {
		list := engine.NewMatrix(len(at), n)
		for p, first := range at {
			copy(list.Row(p), vector(b)[int(first)+u*stride:])
		}
		want, bound := reference.MatMul(general(by), general(list), general(out.Slice(u, u+1, 0, n)))
		tr.want, tr.bound = append(tr.want, want.Data...), append(tr.bound, bound.Data...)
	}
	exact(c.get("data"), tr.bound)
	tr.run = func(e *engine.Engine) {
		e.Parallel(1, 0, 0, func(w *engine.Worker, _, _ int) { w.AddPatches(out, vector(by), vector(b), at, stride) })
	}
	return tr
}

func spreadPatches(c Case, mem *memory) trial {
	rows, n := c.get("rows"), c.get("n")
	r := c.rand()
	fill := filler(r, c.get("data"))
	by, at, stride, length := patches(c, mem, r, fill)
	w := mem.input(rows, n, layout(c.get("padded")), c.get("offset"), fill)
	b := mem.output(1, length, rowMajor, c.get("offset"), fill)
	want, bound := reference.SpreadPatches(general(b).Data, general(by).Data, at, general(w), stride)
	exact(c.get("data"), bound)
	return trial{want: want, bound: bound, run: func(e *engine.Engine) {
		e.Parallel(1, 0, 0, func(t *engine.Worker, _, _ int) { t.SpreadPatches(vector(b), vector(by), at, w, stride) })
	}}
}

func transpose(c Case, mem *memory) trial {
	rows, n, off := c.get("rows"), c.get("n"), c.get("offset")
	fill := filler(c.rand(), c.get("data"))
	x := mem.input(rows, n, layout(c.get("padded")), off, fill)
	y := mem.output(n, rows, layout(c.get("spaced")), off, fill)
	return trial{want: reference.Transpose(general(x)).Data, bound: make([]float64, rows*n), run: func(e *engine.Engine) {
		e.Parallel(1, 0, 0, func(w *engine.Worker, _, _ int) { w.Transpose(y, x) })
	}}
}

// setFactors reads the packed P_i back by multiplying it with the identity.
func setFactors(c Case, mem *memory) trial {
	k, d, off := c.get("k"), c.get("d"), c.get("offset")
	fill := filler(c.rand(), c.get("data"))
	a := mem.input(1, k*d*d, rowMajor, off, fill)
	out := mem.output(k*d, d, rowMajor, off, fill)
	zero := func() float32 { return 0 }
	x := mem.input(d, d, rowMajor, off, zero)
	for i := range d {
		x.Set(i, i, 1)
	}
	var tr trial
	for i := range k {
		ai := reference.FromFloat32(vector(a)[i*d*d:], d, d, d, 1)
		p, b := reference.MatMul(reference.Transpose(ai), ai, blas64.General{})
		exact(c.get("data"), b.Data)
		tr.want = append(tr.want, p.Data...)
		tr.bound = append(tr.bound, b.Data...)
	}
	tr.run = func(e *engine.Engine) {
		m := engine.NewMixture(k, d, make([]float32, k*d), make([]float32, k))
		e.SetFactors(m, vector(a))
		q := make([]float32, d)
		for i := range k {
			e.QuadGrad(out.Slice(i*d, (i+1)*d, 0, d), q, x, m, i)
		}
	}
	return tr
}

// mixtureCase is a potential with inputs in guarded memory: symmetric precisions, of
// which P_i = A_i^T A_i as the engine's products compute it, or one for all components.
type mixtureCase struct {
	k, d     int
	tied     bool
	sparse   bool // the route
	mu, c, a engine.Matrix
	p        []float32
	alpha    float32
	oracle   *reference.Potential
	factors  []blas64.General
}

func newMixtureCase(cs Case, mem *memory, k, d int, tied bool, r *num.Rand) *mixtureCase {
	n := k // matrices
	if tied {
		n = 1
	}
	off := cs.get("offset")
	normal := filler(r, 0)
	scaled := func(s float32) func() float32 { return func() float32 { return s * normal() } }
	m := &mixtureCase{k: k, d: d, tied: tied, sparse: cs.onSparse(), alpha: 0.25}
	m.mu = mem.input(1, k*d, rowMajor, off, cs.centres(normal))
	m.c = mem.input(1, k, rowMajor, off, scaled(0.5))
	scale := float32(0.5 / math.Sqrt(float64(d)))
	if cs.even() {
		scale = 0
	}
	m.a = mem.input(1, n*d*d, rowMajor, off, scaled(scale))
	m.p = make([]float32, n*d*d)
	m.oracle = &reference.Potential{K: k, D: d, C: reference.Vector(vector(m.c)), Alpha: float64(m.alpha),
		Mu: reference.FromFloat32(vector(m.mu), k, d, d, 1)}
	for i := range n {
		a := vector(m.a)[i*d*d : (i+1)*d*d]
		for j := range d {
			a[j*d+j] += 0.7
		}
		p := engine.View(m.p[i*d*d:(i+1)*d*d], d, d)
		chains(p, engine.View(a, d, d))
		m.oracle.P = append(m.oracle.P, general(p))
		m.factors = append(m.factors, reference.FromFloat32(a, d, d, d, 1))
	}
	for len(m.oracle.P) < k {
		m.oracle.P = append(m.oracle.P, m.oracle.P[0])
	}
	return m
}

// chains sets p = a^T a as the engine defines it, element by element.
func chains(p, a engine.Matrix) {
	for i := range a.Cols {
		for j := range a.Cols {
			var s float32
			for l := range a.Rows {
				s = num.FMA32(a.At(l, i), a.At(l, j), s)
			}
			p.Set(i, j, s)
		}
	}
}

func (m *mixtureCase) engine(e *engine.Engine) *engine.Mixture {
	x := engine.NewMixture(m.k, m.d, vector(m.mu), vector(m.c))
	if m.tied {
		x = engine.NewTiedMixture(m.k, m.d, vector(m.mu), vector(m.c))
	}
	if m.sparse {
		e.SetFactors(x, vector(m.a)) // certificates are of factors
	} else {
		e.SetPrecisions(x, m.p)
	}
	return x
}

// begin returns a source of rows to climb from, element by element: on the sparse route one
// around each centre in turn.
func (m *mixtureCase) begin(normal func() float32) func() float32 {
	if !m.sparse {
		return normal
	}
	n, mu := 0, vector(m.mu)
	return func() float32 {
		n++
		return mu[(n-1)%len(mu)] + normal()
	}
}

func quadGrad(c Case, mem *memory) trial {
	rows, d, r := c.get("rows"), c.get("d"), c.rand()
	m := newMixtureCase(c, mem, 1, d, false, r)
	fill := filler(r, 0)
	x := mem.input(rows, d, layout(c.get("lx")), c.get("offset"), fill)
	g := mem.output(rows, d, layout(c.get("lg")), c.get("offset"), fill)
	q := mem.output(1, rows, rowMajor, c.get("offset"), fill)
	var tr trial
	var wq, bq []float64
	gx := general(x)
	for i := range rows {
		ev := m.oracle.At(gx.Data[i*gx.Stride : i*gx.Stride+d])
		tr.want, tr.bound = append(tr.want, ev.G.V...), append(tr.bound, ev.G.E...)
		wq, bq = append(wq, ev.Q.V[0]), append(bq, ev.Q.E[0])
	}
	tr.want, tr.bound = append(tr.want, wq...), append(tr.bound, bq...)
	tr.run = func(e *engine.Engine) { e.QuadGrad(g, vector(q), x, m.engine(e), 0) }
	return tr
}

func logSumExp(c Case, mem *memory) trial {
	rows, k, off, r := c.get("rows"), c.get("k"), c.get("offset"), c.rand()
	normal := filler(r, 0)
	spread := float32(c.get("spread"))
	q := mem.output(k, rows, layout(c.get("lq")), off, func() float32 { v := normal(); return spread * v * v })
	cc := mem.input(1, k, rowMajor, off, normal)
	phi := mem.output(1, rows, rowMajor, off, normal)
	tr := trial{want: make([]float64, k*rows+rows), bound: make([]float64, k*rows+rows)}
	for b := range rows {
		col := make([]float64, k)
		for i := range k {
			col[i] = float64(q.At(i, b))
		}
		rv, pv := reference.LogSumExp(col, reference.Vector(vector(cc)))
		for i := range k {
			tr.want[i*rows+b], tr.bound[i*rows+b] = rv.V[i], rv.E[i]
		}
		tr.want[k*rows+b], tr.bound[k*rows+b] = pv.V[0], pv.E[0]
	}
	tr.run = func(e *engine.Engine) { e.LogSumExp(q, vector(cc), vector(phi)) }
	return tr
}

// ascend holds every step of the trajectory against one step of the reference from the
// engine's own x_t, so that the bound of one step is enough. The reference needs the
// trajectory, which the tiers share bit by bit: it is computed once, by pure Go. Unless recorded the
// engine makes none, and what is compared is x_n.
func ascend(recorded bool) func(Case, *memory) trial {
	return func(c Case, mem *memory) trial { return ascendCase(c, mem, recorded) }
}

func ascendCase(c Case, mem *memory, recorded bool) trial {
	rows, k, d, steps, r := c.get("rows"), c.get("k"), c.get("d"), c.get("steps"), c.rand()
	m := newMixtureCase(c, mem, k, d, false, r)
	fill := filler(r, 0)
	x := mem.output(rows, d, layout(c.get("lx")), c.get("offset"), m.begin(fill))
	var path, phi, res engine.Matrix
	if recorded {
		path = mem.output(steps+1, rows*d, rowMajor, -1, fill)
		phi = mem.output(steps, rows, rowMajor, -1, fill)
		res = mem.output(steps, k*rows, rowMajor, -1, fill)
	}

	base, _ := engine.New(engine.WithTier(engine.Generic), engine.WithRoute(engine.DenseRoute), engine.WithThreads(1))
	defer base.Close()
	first := engine.NewMatrix(rows, d)
	for i := range rows {
		for j := range d {
			first.Set(i, j, x.At(i, j))
		}
	}
	var known engine.Trajectory
	base.Ascend(m.engine(base), m.alpha, steps, first, &known, false)
	tr := trial{ascends: c.ascends()}
	var wp, bp []float64
	wr, br := make([]float64, steps*k*rows), make([]float64, steps*k*rows)
	last, lastBound := general(known.XAt(0)).Data, make([]float64, rows*d)
	for t := range steps {
		xt := general(known.XAt(t))
		tr.want, tr.bound = append(tr.want, last...), append(tr.bound, lastBound...)
		last, lastBound = nil, nil
		for b := range rows {
			row := xt.Data[b*d : (b+1)*d]
			v := m.oracle.Step(row)
			last, lastBound = append(last, v.V...), append(lastBound, v.E...)
			ev := m.oracle.At(row)
			wp, bp = append(wp, ev.Phi.V[0]), append(bp, ev.Phi.E[0])
			for i := range k {
				at := (t*k+i)*rows + b
				wr[at], br[at] = ev.R.V[i], ev.R.E[i]
			}
		}
	}
	tr.want, tr.bound = append(tr.want, last...), append(tr.bound, lastBound...)
	if !recorded {
		tr.want, tr.bound = last, lastBound
		tr.run = func(e *engine.Engine) { e.Ascend(m.engine(e), m.alpha, steps, x, nil, false) }
		return tr
	}
	// The outputs come in the order x, path, phi, res.
	tr.want = slices.Concat(last, tr.want, wp, wr)
	tr.bound = slices.Concat(lastBound, tr.bound, bp, br)
	tr.run = func(e *engine.Engine) {
		var t engine.Trajectory
		e.Ascend(m.engine(e), m.alpha, steps, x, &t, false)
		copy(path.Data, t.X)
		copy(phi.Data, t.Phi)
		copy(res.Data, t.R)
	}
	return tr
}

// ascendBackward checks the backward pass of full or of tied precisions.
func ascendBackward(tied bool) func(Case, *memory) trial {
	return func(c Case, mem *memory) trial { return backwardTrial(c, mem, tied) }
}

func backwardTrial(c Case, mem *memory, tied bool) trial {
	rows, k, d, steps, r := c.get("rows"), c.get("k"), c.get("d"), c.get("steps"), c.rand()
	m := newMixtureCase(c, mem, k, d, tied, r)
	fill := filler(r, 0)
	x := mem.input(rows, d, rowMajor, c.get("offset"), m.begin(fill))
	v := mem.output(rows, d, layout(c.get("lv")), c.get("offset"), fill)
	dmu := mem.output(1, k*d, rowMajor, -1, fill)
	dc := mem.output(1, k, rowMajor, -1, fill)
	da := mem.output(1, len(m.p), rowMajor, -1, fill)
	dalpha := mem.output(1, 1, rowMajor, -1, fill)

	base, _ := engine.New(engine.WithTier(engine.Generic), engine.WithRoute(engine.DenseRoute), engine.WithThreads(1))
	defer base.Close()
	first := engine.NewMatrix(rows, d)
	copy(first.Data, x.Data)
	var known engine.Trajectory
	base.Ascend(m.engine(base), m.alpha, steps, first, &known, false)
	var path []blas64.General
	for t := range steps + 1 {
		path = append(path, general(known.XAt(t)))
	}
	g := m.oracle.Backward(path, general(v))
	if tied {
		g.P = reference.SumOver(k, g.P)
	}
	wa := reference.FactorGradient(m.factors, g.P)
	tr := trial{ascends: c.ascends()}
	for _, w := range []reference.Value{g.V, g.Mu, g.C, wa, g.Alpha} {
		tr.want, tr.bound = append(tr.want, w.V...), append(tr.bound, w.E...)
	}
	tr.run = func(e *engine.Engine) {
		mix := m.engine(e)
		var t engine.Trajectory
		y := engine.NewMatrix(rows, d)
		copy(y.Data, x.Data)
		e.Ascend(mix, m.alpha, steps, y, &t, true)
		grad := engine.NewMixtureGradient(k, d)
		if tied {
			grad = engine.NewTiedGradient(k, d)
		}
		e.AscendBackward(mix, m.alpha, vector(m.a), &t, v, grad)
		copy(dmu.Data, grad.Mu)
		copy(dc.Data, grad.C)
		copy(da.Data, grad.A)
		dalpha.Data[0] = grad.Alpha
	}
	return tr
}

// lowRankCase is a potential with precisions diag(w_i) +- F_i^T F_i.
type lowRankCase struct {
	*mixtureCase
	r    int
	sign float32
	w, f engine.Matrix
	low  *reference.LowRank
}

func newLowRankCase(cs Case, mem *memory, k, d int, r *num.Rand) *lowRankCase {
	off, normal := cs.get("offset"), filler(r, 0)
	l := &lowRankCase{mixtureCase: &mixtureCase{k: k, d: d, sparse: cs.onSparse(), alpha: 0.25}, r: min(cs.get("r"), d), sign: 1}
	if cs.get("minus") == 1 {
		l.sign = -1
	}
	l.mu = mem.input(1, k*d, rowMajor, off, cs.centres(normal))
	l.c = mem.input(1, k, rowMajor, off, func() float32 { return 0.5 * normal() })
	l.w = mem.input(1, k*d, rowMajor, off, func() float32 {
		if cs.even() {
			return 1
		}
		return 0.5 + r.Float32()
	})
	scale := float32(0.5 / math.Sqrt(float64(d)*float64(l.r+1)))
	l.f = mem.input(1, k*l.r*d, rowMajor, off, func() float32 { return scale * normal() })
	l.oracle = &reference.Potential{K: k, D: d, C: reference.Vector(vector(l.c)), Alpha: float64(l.alpha),
		Mu: reference.FromFloat32(vector(l.mu), k, d, d, 1)}
	l.low = &reference.LowRank{Sign: float64(l.sign),
		W: reference.FromFloat32(vector(l.w), k, d, d, 1), F: reference.FromFloat32(vector(l.f), k*l.r, d, d, 1)}
	return l
}

func (l *lowRankCase) engine(e *engine.Engine) *engine.Mixture {
	m := engine.NewLowRankMixture(l.k, l.d, l.r, vector(l.mu), vector(l.c))
	e.SetLowRank(m, vector(l.w), vector(l.f), l.sign)
	return m
}

// trajectory ascends from the rows of x in pure Go.
func (l *lowRankCase) trajectory(x engine.Matrix, steps int) *engine.Trajectory {
	base, _ := engine.New(engine.WithTier(engine.Generic), engine.WithRoute(engine.DenseRoute), engine.WithThreads(1))
	defer base.Close()
	first := engine.NewMatrix(x.Rows, x.Cols)
	for i := range x.Rows {
		for j := range x.Cols {
			first.Set(i, j, x.At(i, j))
		}
	}
	var known engine.Trajectory
	base.Ascend(l.engine(base), l.alpha, steps, first, &known, false)
	return &known
}

// lowRankAscend is ascend for precisions of low rank, with their own formulas and bounds.
func lowRankAscend(c Case, mem *memory) trial {
	rows, k, d, steps, r := c.get("rows"), c.get("k"), c.get("d"), c.get("steps"), c.rand()
	l := newLowRankCase(c, mem, k, d, r)
	fill := filler(r, 0)
	x := mem.output(rows, d, layout(c.get("lx")), c.get("offset"), l.begin(fill))
	path := mem.output(steps+1, rows*d, rowMajor, -1, fill)
	res := mem.output(steps, k*rows, rowMajor, -1, fill)
	phi := mem.output(steps, rows, rowMajor, -1, fill)
	known := l.trajectory(x, steps)
	last, lastBound := general(known.XAt(0)).Data, make([]float64, rows*d)
	wr, br := make([]float64, steps*k*rows), make([]float64, steps*k*rows)
	var wx, bx, wp, bp []float64
	for t := range steps {
		xt := general(known.XAt(t))
		wx, bx = append(wx, last...), append(bx, lastBound...)
		last, lastBound = nil, nil
		for b := range rows {
			row := xt.Data[b*d : (b+1)*d]
			v, ev := l.oracle.StepLowRank(l.low, row), l.oracle.AtLowRank(l.low, row)
			last, lastBound = append(last, v.V...), append(lastBound, v.E...)
			wp, bp = append(wp, ev.Phi.V[0]), append(bp, ev.Phi.E[0])
			for i := range k {
				at := (t*k+i)*rows + b
				wr[at], br[at] = ev.R.V[i], ev.R.E[i]
			}
		}
	}
	tr := trial{ascends: c.ascends()}
	for _, p := range [][2][]float64{{last, lastBound}, {wx, bx}, {last, lastBound}, {wr, br}, {wp, bp}} {
		tr.want, tr.bound = append(tr.want, p[0]...), append(tr.bound, p[1]...)
	}
	tr.run = func(e *engine.Engine) {
		var t engine.Trajectory
		e.Ascend(l.engine(e), l.alpha, steps, x, &t, false)
		copy(path.Data, t.X)
		copy(res.Data, t.R)
		copy(phi.Data, t.Phi)
	}
	return tr
}

// lowRankBackward is ascendBackward for precisions of low rank.
func lowRankBackward(c Case, mem *memory) trial {
	rows, k, d, steps, r := c.get("rows"), c.get("k"), c.get("d"), c.get("steps"), c.rand()
	l := newLowRankCase(c, mem, k, d, r)
	fill := filler(r, 0)
	x := mem.input(rows, d, rowMajor, c.get("offset"), l.begin(fill))
	v := mem.output(rows, d, layout(c.get("lv")), c.get("offset"), fill)
	var outs []engine.Matrix
	for _, n := range []int{k * d, k, k * d, k * l.r * d, 1} {
		outs = append(outs, mem.output(1, n, rowMajor, -1, fill))
	}
	known := l.trajectory(x, steps)
	var path []blas64.General
	for t := range steps + 1 {
		path = append(path, general(known.XAt(t)))
	}
	g := l.oracle.BackwardLowRank(l.low, path, general(v))
	tr := trial{ascends: c.ascends()}
	for _, w := range []reference.Value{g.V, g.Mu, g.C, g.W, g.F, g.Alpha} {
		tr.want, tr.bound = append(tr.want, w.V...), append(tr.bound, w.E...)
	}
	tr.run = func(e *engine.Engine) {
		mix := l.engine(e)
		var t engine.Trajectory
		y := engine.NewMatrix(rows, d)
		copy(y.Data, x.Data)
		e.Ascend(mix, l.alpha, steps, y, &t, true)
		grad := engine.NewLowRankGradient(k, d, l.r)
		e.AscendBackward(mix, l.alpha, nil, &t, v, grad)
		for i, from := range [][]float32{grad.Mu, grad.C, grad.W, grad.F, {grad.Alpha}} {
			copy(outs[i].Data, from)
		}
	}
	return tr
}

// function checks exp or log on numbers of usual size (points 0), all exponents (1),
// the neighbourhood of its limits (2) and special values (3), to one ULP.
func function(call func(*engine.Engine, []float32, []float32), oracle func(float64) float64) func(Case, *memory) trial {
	limits := []float32{0, 1, 88.72284, 89, -87.33655, -103.97208, -104.5, 0x1p-126, 0x1p-149, math.MaxFloat32, 0x1.6a09e6p-1}
	nan, inf := float32(math.NaN()), float32(math.Inf(1))
	special := []float32{nan, inf, -inf, 0, float32(math.Copysign(0, -1)), -1, 0x1p-149, -0x1p-149, -math.MaxFloat32, -0x1p-126}
	return func(c Case, mem *memory) trial {
		r := c.rand()
		normal := filler(r, 0)
		fill := func() float32 { return 10 * normal() }
		switch c.get("points") {
		case 1:
			fill = func() float32 { return math.Float32frombits(uint32(r.Uint64())) }
		case 2:
			fill = func() float32 {
				b := math.Float32bits(limits[r.Intn(len(limits))])
				return math.Float32frombits(b + uint32(r.Intn(7)) - 3)
			}
		case 3:
			fill = func() float32 { return special[r.Intn(len(special))] }
		}
		n, off := c.get("n"), c.get("offset")
		x := mem.input(1, n, rowMajor, off, fill)
		out := mem.output(1, n, rowMajor, off, normal)
		tr := trial{run: func(e *engine.Engine) { call(e, vector(out), vector(x)) }}
		for _, v := range vector(x) {
			tr.want, tr.bound = append(tr.want, oracle(float64(v))), append(tr.bound, -1)
		}
		return tr
	}
}

// elementwise checks a function of a factor and two vectors; f returns the exact value.
func elementwise(f elementFunction) func(Case, *memory) trial {
	return func(c Case, mem *memory) trial {
		n, off := c.get("n"), c.get("offset")
		fill := filler(c.rand(), c.get("data"))
		a := fill()
		x := mem.input(1, n, rowMajor, off, fill)
		y := mem.input(1, n, rowMajor, off, fill)
		out := mem.output(1, n, rowMajor, off, fill)
		var tr trial
		for i := range n {
			v, roundings := f.exact(float64(a), float64(x.Data[i]), float64(y.Data[i]), float64(out.Data[i]))
			tr.want, tr.bound = append(tr.want, v), append(tr.bound, reference.Rounded(v, roundings))
		}
		tr.run = func(e *engine.Engine) { f.call(e, vector(out), a, vector(x), vector(y)) }
		return tr
	}
}

type elementFunction struct {
	exact func(a, x, y, old float64) (value float64, roundings int)
	call  func(e *engine.Engine, out []float32, a float32, x, y []float32)
}

var (
	add = elementFunction{
		func(_, x, y, _ float64) (float64, int) { return x + y, 1 },
		func(e *engine.Engine, out []float32, _ float32, x, y []float32) { e.Add(out, x, y) }}
	multiply = elementFunction{
		func(_, x, y, _ float64) (float64, int) { return x * y, 1 },
		func(e *engine.Engine, out []float32, _ float32, x, y []float32) { e.Multiply(out, x, y) }}
	axpy = elementFunction{
		func(a, x, _, old float64) (float64, int) { return a*x + old, 1 },
		func(e *engine.Engine, out []float32, a float32, x, _ []float32) { e.Axpy(a, x, out) }}
	scale = elementFunction{
		func(a, x, _, _ float64) (float64, int) { return a * x, 1 },
		func(e *engine.Engine, out []float32, a float32, x, _ []float32) { e.Scale(out, a, x) }}
	relu = elementFunction{
		func(_, x, _, _ float64) (float64, int) {
			if x > 0 {
				return x, 0
			}
			return 0, 0 // also for NaN
		},
		func(e *engine.Engine, out []float32, _ float32, x, _ []float32) { e.ReLU(out, x) }}
	reluBackward = elementFunction{
		func(_, x, y, _ float64) (float64, int) {
			if x > 0 {
				return y, 0
			}
			return 0, 0
		},
		func(e *engine.Engine, out []float32, _ float32, x, y []float32) { e.ReLUBackward(out, x, y) }}
)

// untouched is what bytes and places beyond an output hold.
const untouched = 0x55

// reluPool pools one picture, whose numbers are often the same, so that maxima are tied.
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
	want, from := reference.ReLUPool(general(x).Data, rows, cols)
	tr := trial{want: append(want, from...), bound: make([]float64, 2*n)}
	tr.run = func(e *engine.Engine) {
		bytes := make([]byte, n+64)
		for i := range bytes {
			bytes[i] = untouched
		}
		e.Parallel(1, 0, 0, func(w *engine.Worker, _, _ int) { w.ReLUPool(vector(y), bytes[:n], x) })
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

// poolBackward is the way back, for gradients of which many are 0.
func poolBackward(c Case, mem *memory) trial {
	rows, cols, off := c.get("rows"), c.get("n"), c.get("offset")
	r := c.rand()
	fill := filler(r, c.get("data"))
	n := rows / 2 * (cols / 2)
	dy := mem.input(1, n, rowMajor, off, func() float32 {
		if v := fill(); r.Intn(2) == 0 {
			return v
		}
		return 0
	})
	sums := mem.output(rows, cols, rowPadded, off, fill)
	v := mem.output(1, n+engine.PoolSlack, rowMajor, off, fill)
	places := mem.output(1, n+1, rowMajor, off, fill)
	which := make([]byte, n)
	for i := range which {
		which[i] = byte(r.Intn(5))
	}
	const right, down = 3, 1000
	list, at, full := reference.PoolBackward(general(sums).Data, general(dy).Data, which, rows, cols)
	tr := trial{want: full, bound: make([]float64, rows*cols)}
	for i := range full {
		tr.bound[i] = math.Abs(full[i]) * 0x1p-24
	}
	tr.want = append(tr.want, list...)
	tr.want = append(tr.want, make([]float64, n+engine.PoolSlack-len(list))...)
	for _, p := range at {
		tr.want = append(tr.want, float64(p/cols*down+p%cols*right))
	}
	tr.want = append(tr.want, make([]float64, n-len(at))...)
	tr.want = append(tr.want, float64(len(list)))
	tr.bound = append(tr.bound, make([]float64, len(tr.want)-len(tr.bound))...)
	tr.run = func(e *engine.Engine) {
		ints := make([]int32, n+engine.PoolSlack+16)
		for i := range ints {
			ints[i] = untouched
		}
		var m int
		e.Parallel(1, 0, 0, func(w *engine.Worker, _, _ int) {
			m = w.PoolBackward(ints[:n+engine.PoolSlack], vector(v), sums, vector(dy), which, right, down)
		})
		clear(v.Data[m : n+engine.PoolSlack])
		clear(places.Data[:n])
		for i, p := range ints {
			if i < m {
				places.Data[i] = float32(p)
			} else if i >= n+engine.PoolSlack && p != untouched {
				panic("PoolBackward wrote places outside at")
			}
		}
		places.Data[n] = float32(m)
	}
	return tr
}

func adam(c Case, mem *memory) trial {
	n, off := c.get("n"), c.get("offset")
	fill := filler(c.rand(), c.get("data"))
	p := mem.output(1, n, rowMajor, off, fill)
	g := mem.input(1, n, rowMajor, off, fill)
	m := mem.output(1, n, rowMajor, off, fill)
	v := mem.output(1, n, rowMajor, off, func() float32 { x := fill(); return x * x })
	co := &engine.AdamCoefficients{Clip: 0.7, Beta1: 0.9, OneMinusBeta1: 0.1, Beta2: 0.999, OneMinusBeta2: 0.001, Step: 2e-3, RBC2: 3.2, Eps: 1e-8}
	tr := trial{want: make([]float64, 3*n), bound: make([]float64, 3*n)}
	for i := range n {
		np, nm, nv := reference.Adam(float64(p.Data[i]), float64(g.Data[i]), float64(m.Data[i]), float64(v.Data[i]),
			float64(co.Clip), float64(co.Beta1), float64(co.OneMinusBeta1), float64(co.Beta2), float64(co.OneMinusBeta2),
			float64(co.Step), float64(co.RBC2), float64(co.Eps))
		for j, x := range []reference.Value{np, nm, nv} {
			tr.want[j*n+i], tr.bound[j*n+i] = x.V[0], x.E[0]
		}
	}
	tr.run = func(e *engine.Engine) { e.Adam(vector(p), vector(g), vector(m), vector(v), co) }
	return tr
}

func dot(c Case, mem *memory) trial {
	n, off := c.get("n"), c.get("offset")
	fill := filler(c.rand(), c.get("data"))
	x := mem.input(1, n, rowMajor, off, fill)
	y := mem.input(1, n, rowMajor, off, fill)
	out := mem.output(1, 1, rowMajor, off, fill)
	v, b := reference.Dot(reference.Vector(vector(x)), reference.Vector(vector(y)))
	tr := trial{want: []float64{v}, bound: []float64{b}}
	exact(c.get("data"), tr.bound)
	tr.run = func(e *engine.Engine) { out.Data[0] = e.Dot(vector(x), vector(y)) }
	return tr
}

func sum(c Case, mem *memory) trial {
	n, off := c.get("n"), c.get("offset")
	fill := filler(c.rand(), c.get("data"))
	x := mem.input(1, n, rowMajor, off, fill)
	out := mem.output(1, 1, rowMajor, off, fill)
	v, b := reference.Sum(reference.Vector(vector(x)))
	tr := trial{want: []float64{v}, bound: []float64{b}}
	exact(c.get("data"), tr.bound)
	tr.run = func(e *engine.Engine) { out.Data[0] = e.Sum(vector(x)) }
	return tr
}

// sumSquares returns two float32 whose sum is the float64 result, so that its bits count.
func sumSquares(c Case, mem *memory) trial {
	n, off := c.get("n"), c.get("offset")
	fill := filler(c.rand(), c.get("data"))
	x := mem.input(1, n, rowMajor, off, fill)
	out := mem.output(1, 2, rowMajor, off, fill)
	xs := reference.Vector(vector(x))
	v, _ := reference.Dot(xs, xs)
	low := func(v float64) float64 { return v - float64(float32(v)) }
	tr := trial{want: []float64{v, low(v)}, bound: []float64{reference.Gamma(1<<10+5) * v, reference.Gamma(1<<10+5)*v + math.Abs(low(v))}}
	tr.run = func(e *engine.Engine) {
		s := e.SumSquares(vector(x))
		out.Data[0], out.Data[1] = float32(s), float32(low(s))
	}
	return tr
}

func rowDots(c Case, mem *memory) trial {
	rows, n, off := c.get("rows"), c.get("n"), c.get("offset")
	fill := filler(c.rand(), c.get("data"))
	x := mem.input(rows, n, layout(c.get("lx")), off, fill)
	y := mem.input(rows, n, layout(c.get("ly")), off, fill)
	out := mem.output(1, rows, rowMajor, off, fill)
	gx, gy := general(x), general(y)
	tr := trial{want: []float64{}, bound: []float64{}}
	for i := range rows {
		v, b := reference.Dot(gx.Data[i*n:(i+1)*n], gy.Data[i*n:(i+1)*n])
		tr.want, tr.bound = append(tr.want, v), append(tr.bound, b)
	}
	exact(c.get("data"), tr.bound)
	tr.run = func(e *engine.Engine) { e.RowDots(vector(out), x, y) }
	return tr
}

func columnSums(c Case, mem *memory) trial {
	rows, n, off := c.get("rows"), c.get("n"), c.get("offset")
	fill := filler(c.rand(), c.get("data"))
	x := mem.input(rows, n, layout(c.get("lx")), off, fill)
	out := mem.output(1, n, rowMajor, off, fill)
	acc := c.get("acc") == 1
	tr := trial{want: make([]float64, n), bound: make([]float64, n)}
	for j := range n {
		size := 0.0
		if acc {
			tr.want[j] = float64(out.Data[j])
			size = math.Abs(tr.want[j])
		}
		for i := range rows {
			tr.want[j] += float64(x.At(i, j))
			size += math.Abs(float64(x.At(i, j)))
		}
		tr.bound[j] = reference.Gamma(rows+1) * size
	}
	exact(c.get("data"), tr.bound)
	tr.run = func(e *engine.Engine) { e.ColumnSums(vector(out), x, acc) }
	return tr
}

func squaredDistances(c Case, mem *memory) trial {
	rows, n, k, off := c.get("rows"), c.get("n"), c.get("k"), c.get("offset")
	fill := filler(c.rand(), c.get("data"))
	x := mem.input(rows, n, layout(c.get("lx")), off, fill)
	y := mem.input(k, n, layout(c.get("lc")), off, fill)
	out := mem.output(rows, k, layout(c.get("lx")), off, fill)
	gx, gy := general(x), general(y)
	tr := trial{want: []float64{}, bound: []float64{}}
	for i := range rows {
		for j := range k {
			v, b := reference.SquaredDistance(gx.Data[i*n:(i+1)*n], gy.Data[j*n:(j+1)*n])
			tr.want, tr.bound = append(tr.want, v), append(tr.bound, b)
		}
	}
	exact(c.get("data"), tr.bound)
	tr.run = func(e *engine.Engine) { e.SquaredDistances(out, x, y) }
	return tr
}

func weightedSquares(c Case, mem *memory) trial {
	rows, n, off := c.get("rows"), c.get("n"), c.get("offset")
	fill := filler(c.rand(), c.get("data"))
	x := mem.input(rows, n, layout(c.get("lx")), off, fill)
	y := mem.input(1, n, rowMajor, off, fill)
	w := mem.input(1, n, rowMajor, off, fill)
	out := mem.output(1, rows, rowMajor, off, fill)
	gx, gy, gw := general(x), reference.Vector(vector(y)), reference.Vector(vector(w))
	tr := trial{want: []float64{}, bound: []float64{}}
	for i := range rows {
		v, b := reference.WeightedSquares(gx.Data[i*n:(i+1)*n], gy, gw)
		tr.want, tr.bound = append(tr.want, v), append(tr.bound, b)
	}
	exact(c.get("data"), tr.bound)
	tr.run = func(e *engine.Engine) { e.WeightedSquares(vector(out), x, vector(y), vector(w)) }
	return tr
}

// argMin checks ArgMin and ArgMax; integers (data 1) have many ties.
func argMin(c Case, mem *memory) trial {
	rows, n, off := c.get("rows"), c.get("n"), c.get("offset")
	fill := filler(c.rand(), c.get("data"))
	x := mem.input(rows, n, layout(c.get("lx")), off, fill)
	out := mem.output(2, rows, rowMajor, off, fill)
	tr := trial{want: make([]float64, 2*rows), bound: make([]float64, 2*rows)}
	for i := range rows {
		least, most := float32(math.Inf(1)), float32(math.Inf(-1)) // of column 0, should it be NaN
		for j := range n {
			if v := x.At(i, j); v < least {
				least, tr.want[i] = v, float64(j)
			}
			if v := x.At(i, j); v > most {
				most, tr.want[rows+i] = v, float64(j)
			}
		}
	}
	tr.run = func(e *engine.Engine) {
		idx := make([]int32, rows)
		e.ArgMin(idx, x)
		for i, v := range idx {
			out.Set(0, i, float32(v))
		}
		e.ArgMax(idx, x)
		for i, v := range idx {
			out.Set(1, i, float32(v))
		}
	}
	return tr
}

const normEps = 1e-5

func layerNorm(c Case, mem *memory) trial {
	rows, n, off := c.get("rows"), c.get("n"), c.get("offset")
	fill := filler(c.rand(), 0)
	x := mem.input(rows, n, layout(c.get("lx")), off, fill)
	y := mem.output(rows, n, layout(c.get("ly")), off, fill)
	rstd := mem.output(1, rows, rowMajor, off, fill)
	gx := general(x)
	var tr trial
	var wr, br []float64
	for i := range rows {
		v, r := reference.LayerNorm(gx.Data[i*n:(i+1)*n], float64(float32(normEps)))
		tr.want, tr.bound = append(tr.want, v.V...), append(tr.bound, v.E...)
		wr, br = append(wr, r.V[0]), append(br, r.E[0])
	}
	tr.want, tr.bound = append(tr.want, wr...), append(tr.bound, br...)
	tr.run = func(e *engine.Engine) { e.LayerNorm(y, vector(rstd), x, normEps) }
	return tr
}

func layerNormBackward(c Case, mem *memory) trial {
	rows, n, off := c.get("rows"), c.get("n"), c.get("offset")
	r := c.rand()
	fill := filler(r, 0)
	y := mem.input(rows, n, rowPadded, off, fill)
	rstd := mem.input(1, rows, rowMajor, off, func() float32 { return 0.5 + r.Float32() })
	dy := mem.input(rows, n, rowMajor, off, fill)
	dx := mem.output(rows, n, rowPadded, off, fill)
	gy, gd := general(y), general(dy)
	var tr trial
	for i := range rows {
		v := reference.LayerNormBackward(gy.Data[i*n:(i+1)*n], float64(rstd.Data[i]), gd.Data[i*n:(i+1)*n])
		tr.want, tr.bound = append(tr.want, v.V...), append(tr.bound, v.E...)
	}
	tr.run = func(e *engine.Engine) { e.LayerNormBackward(dx, y, vector(rstd), dy) }
	return tr
}

func crossEntropy(c Case, mem *memory) trial {
	rows, classes, off := c.get("rows"), c.get("classes"), c.get("offset")
	r := c.rand()
	normal := filler(r, 0)
	spread := float32(c.get("spread"))
	logits := mem.input(rows, classes, layout(c.get("lx")), off, func() float32 { return spread * normal() })
	grad := mem.output(rows, classes, layout(c.get("lg")), off, normal)
	losses := mem.output(1, rows, rowMajor, off, normal)
	labels := make([]byte, rows)
	const scale = 0.125
	g := general(logits)
	var tr trial
	var wl, bl []float64
	for i := range rows {
		labels[i] = byte(r.Intn(min(classes, 256)))
		l, d := reference.SoftmaxCrossEntropy(g.Data[i*classes:(i+1)*classes], int(labels[i]))
		for j := range d.V {
			tr.want, tr.bound = append(tr.want, scale*d.V[j]), append(tr.bound, scale*d.E[j]+0x1p-149)
		}
		wl, bl = append(wl, l.V[0]), append(bl, l.E[0])
	}
	tr.want, tr.bound = append(tr.want, wl...), append(tr.bound, bl...)
	tr.run = func(e *engine.Engine) { e.SoftmaxCrossEntropy(grad, vector(losses), logits, labels, scale) }
	return tr
}
