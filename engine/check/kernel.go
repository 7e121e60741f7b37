package check

import (
	"math"

	"dpnbench/engine"
	"dpnbench/engine/ascent"
	"dpnbench/engine/num"
)

// kernels lists everything that is checked, in the order of the report: the name for --kernel and
// --case, and the definition, which is in the file of its family.
var kernels = []kernel{
	// gemm.go
	{"matmul", matMulKernel(plainProduct)},
	{"matmul-packed", matMulKernel(packedProduct)},
	{"worker-matmul", workerMatMulKernel()},
	{"matmul-at", matMulAtKernel},
	{"matmul-nonzero", matMulNonzeroKernel},
	// conv.go
	{"add-patches", addPatchesKernel},
	{"spread-patches", spreadPatchesKernel},
	// gemm.go
	{"transpose", transposeKernel},
	// ascent.go, ascent_backward.go, ascent_lowrank.go
	{"set-factors", setFactorsKernel},
	{"quad-grad", quadGradKernel},
	{"log-sum-exp", logSumExpKernel},
	{"ascend", ascendKernel},
	{"ascend-sparse", sparse(ascendKernel)},
	{"ascend-final", finalOnlyKernel},
	{"ascend-backward", backwardKernel},
	{"ascend-backward-sparse", sparse(backwardKernel)},
	{"tied-backward", tiedKernel},
	{"tied-backward-sparse", sparse(tiedKernel)},
	{"low-rank-ascend", lowRankKernel},
	{"low-rank-ascend-sparse", sparse(lowRankKernel)},
	{"low-rank-backward", lowRankBackwardKernel},
	{"low-rank-backward-sparse", sparse(lowRankBackwardKernel)},
	// vector.go
	{"exp", functionKernel((*engine.Engine).Exp, math.Exp)},
	{"log", functionKernel((*engine.Engine).Log, math.Log)},
	{"normal", normalKernel},
	{"add", elementwise(add)},
	{"multiply", elementwise(multiply)},
	{"axpy", elementwise(axpy)},
	{"scale", elementwise(scale)},
	{"relu", elementwise(relu)},
	{"relu-backward", elementwise(reluBackward)},
	// conv.go
	{"conv-pool", convPoolKernel},
	{"pool-backward", poolBackwardKernel},
	// vector.go
	{"decay", decayKernel},
	{"adam", adamKernel},
	{"dot", dotKernel},
	{"sum", sumKernel},
	{"sum-squares", sumSquaresKernel},
	// rowwise.go
	{"row-dots", rowDotsKernel},
	{"column-sums", columnSumsKernel},
	{"squared-distances", squaredDistancesKernel},
	{"weighted-squares", weightedSquaresKernel},
	{"arg-min", argMinKernel},
	{"layer-norm", layerNormKernel},
	{"layer-norm-backward", layerNormBackwardKernel},
	{"softmax-cross-entropy", crossEntropyKernel},
}

// kernel is a definition with its name.
type kernel struct {
	name string
	definition
}

// definition describes how a kernel is checked.
type definition struct {
	args []arg

	// more lists cases besides the sweeps over one argument each: values in the order of args.
	// Those out of range are skipped.
	more func(quick bool) [][]int

	// make draws the inputs of a case and computes the expected results.
	make func(c Case, m *memory) trial

	route ascent.Route // of ascents; AutoRoute stands for DenseRoute
}

// Kernels lists the names of all kernels.
func Kernels() []string {
	var names []string
	for _, k := range kernels {
		names = append(names, k.name)
	}
	return names
}

func find(name string) *kernel {
	for i := range kernels {
		if kernels[i].name == name {
			return &kernels[i]
		}
	}
	return nil
}

// cases lists the cases of k without duplicates: its usual arguments with one swept at a time,
// those of more, and, unless quick, random combinations.
func (k *kernel) cases(quick bool) []Case {
	var list []Case
	seen := map[string]bool{}
	add := func(values []int) {
		c, ok := k.newCase(values)
		if ok && !seen[c.String()] {
			seen[c.String()] = true
			list = append(list, c)
		}
	}
	usual := k.usual(nil)
	add(usual)
	for i, a := range k.args {
		sweep := a.sweep
		if quick {
			sweep = a.quickSweep
		}
		for _, v := range sweep {
			values := append([]int(nil), usual...)
			values[i] = v
			add(values)
		}
	}
	if k.more != nil {
		for _, v := range k.more(quick) {
			add(v)
		}
	}
	if quick {
		return list
	}
	r := num.NewRand(11, 0)
	for n := 0; n < combinations; {
		if values := k.draw(r); values != nil {
			add(values)
			n++
		}
	}
	return list
}

// newCase returns the case with these arguments, or false if one is out of range.
func (k *kernel) newCase(values []int) (c Case, ok bool) {
	c.Kernel = k.name
	for i, a := range k.args {
		if values[i] < a.min || values[i] > a.max {
			return Case{}, false
		}
		c.names = append(c.names, a.name)
		c.values = append(c.values, values[i])
	}
	return c, true
}

// usual returns the usual arguments, except for those in named.
func (d *definition) usual(named map[string]int) []int {
	values := make([]int, len(d.args))
	for i, a := range d.args {
		var given bool
		if values[i], given = named[a.name]; !given {
			values[i] = a.usual
		}
	}
	return values
}

const (
	// combinations is the number of cases with random arguments, which find mistakes that need two
	// unusual arguments at once.
	combinations = 50
	// drawnSizes limits the product of all sizes of such a case, so that the slow reference takes
	// less than a second.
	drawnSizes = 1 << 12
)

// draw returns random arguments, or nil if they are too large or too small.
func (d *definition) draw(r *num.Rand) []int {
	values := make([]int, len(d.args))
	sizes := 1
	for i, a := range d.args {
		switch {
		case a.name == seedArg.name:
			values[i] = r.Intn(1000)
		case len(a.sweep) == 0:
			values[i] = a.usual
		default:
			values[i] = a.sweep[r.Intn(len(a.sweep))]
		}
		if values[i] < a.min {
			return nil
		}
		if a.isSize {
			sizes *= values[i]
		}
	}
	if sizes > drawnSizes {
		return nil
	}
	return values
}
