package check

import (
	"math"

	"dpnbench/engine"
	"dpnbench/engine/num"
	"dpnbench/engine/reference"

	"gonum.org/v1/gonum/blas"
)

// GemmCall has the arguments of sgemm of BLAS: C = Alpha op(A) op(B) + Beta C, op(A) is M x K, op(B) is
// K x N. Where Alpha is 0, A and B hold NaN; where only Beta is 0, C holds NaN before the call.
type GemmCall struct {
	ColMajor, TransA, TransB bool
	M, N, K                  int
	Alpha, Beta              float32
	A, B, C                  []float32
	LDA, LDB, LDC            int
}

// Gemm is a product as BLAS defines it. Without rowMajor (Fortran), all matrices are column-major.
func Gemm(name string, rowMajor bool, f func(g *GemmCall)) *Function {
	d := gemmDefinition()
	if !rowMajor {
		order := &d.args[3]
		order.usual, order.min, order.sweep, order.quickSweep = 1, 1, []int{1}, []int{1}
	}
	return newFunction(name, "sgemm", d, func(c Case, m *memory) *problem { return gemmProblem(c, m, f) })
}

// Sgemm is a row-major product with the signature of gonum's blas.Float32Level3.
func Sgemm(name string, f func(tA, tB blas.Transpose, m, n, k int, alpha float32, a []float32, lda int,
	b []float32, ldb int, beta float32, c []float32, ldc int)) *Function {
	transpose := map[bool]blas.Transpose{false: blas.NoTrans, true: blas.Trans}
	fn := Gemm(name, true, func(g *GemmCall) {
		f(transpose[g.TransA], transpose[g.TransB], g.M, g.N, g.K, g.Alpha, g.A, g.LDA, g.B, g.LDB, g.Beta, g.C, g.LDC)
	})
	order := &fn.args[3]
	order.max, order.sweep, order.quickSweep = 0, []int{0}, []int{0}
	return fn
}

// MatMul is a row-major product C = A B, whose rows begin lda, ldb and ldc floats apart. C holds NaN before.
func MatMul(name string, f func(m, n, k int, a []float32, lda int, b []float32, ldb int, c []float32,
	ldc int)) *Function {
	d := gemmDefinition()
	for i := range d.args {
		switch a := &d.args[i]; a.name {
		case "order", "ta", "tb", "alpha", "beta":
			a.min, a.max, a.sweep, a.quickSweep = a.usual, a.usual, []int{a.usual}, []int{a.usual}
		}
	}
	return newFunction(name, "matmul", d, func(c Case, m *memory) *problem {
		return gemmProblem(c, m, func(g *GemmCall) { f(g.M, g.N, g.K, g.A, g.LDA, g.B, g.LDB, g.C, g.LDC) })
	})
}

// padArg is by how many floats the distance of two rows (or columns) exceeds their length.
func padArg(name string) arg {
	return arg{name: name, max: 64, sweep: []int{0, 1, 2, 3, 5, 8, 16}, quickSweep: []int{0, 1, 3}}
}

// quartersArg is a factor in quarters, so that 4 is 1.
func quartersArg(name string, usual int) arg {
	sweep := []int{0, 4, -4, 8, 3}
	return arg{name: name, usual: usual, min: -8, max: 8, sweep: sweep, quickSweep: sweep}
}

var functionDataArg = arg{name: "data", max: tinyData, sweep: []int{0, 1, 2, 3, 4, 5},
	quickSweep: []int{0, 1, 2, 3, 4, 5}}

// gemmDefinition has the arguments and cases of sgemm.
func gemmDefinition() definition {
	d := definition{args: []arg{size("m", 7), size("k", 13), size("n", 17),
		flagArg("order"), flagArg("ta"), flagArg("tb"), padArg("pada"), padArg("padb"), padArg("padc"),
		quartersArg("alpha", 4), quartersArg("beta", 0), offsetArg, functionDataArg, seedArg}}
	d.more = gemmCases
	return d
}

// gemmCases are products in all transpositions and with all kinds of factors and data, around the boundaries
// of blocks, and large enough for several threads. MatMul leaves out what it does not have.
func gemmCases(quick bool) [][]int {
	var list [][]int
	add := func(m, k, n int, form int, alpha, beta, data int) { // bits of form: order, ta, tb, padding
		pad := 3 * (form >> 3 & 1)
		order, ta, tb := form&1, form>>1&1, form>>2&1
		list = append(list, []int{m, k, n, order, ta, tb, pad, pad, pad, alpha, beta, -1, data, 1})
	}
	for form := range 16 {
		add(7, 5, 18, form, 4, 4, normalData)
		add(12, 12, 12, form, 4, 4, integerData) // where a transpose has the same size
		add(19, 21, 33, form, 4, 0, integerData)
		for _, data := range []int{specialData, tinyData} {
			add(9, 11, 16, form, 4, 4, data)
			add(9, 11, 16, form, 4, 0, data)
		}
		for _, alpha := range []int{0, 4, 3} {
			if quick && form%5 > 0 {
				break
			}
			for _, beta := range []int{0, 4, -4, 3} {
				add(6, 8, 5, form, alpha, beta, normalData)
			}
		}
	}
	add(150, 210, 190, 0, 4, 0, normalData) // enough for several threads
	add(150, 210, 190, 1, 4, 4, normalData)
	if quick {
		return list
	}
	for _, k := range []int{127, 128, 129, 255, 256, 257, 319, 320, 321, 383, 384, 385, 511, 512, 513, 1023, 1024,
		1025} {
		add(5, k, 17, 0, 4, 4, normalData)
		add(14, k, 3, 1, 4, 0, integerData)
	}
	for _, m := range []int{95, 96, 97, 127, 128, 129, 257, 700} {
		add(m, 37, 40, 0, 4, 0, normalData)
		add(40, 37, m, 1, 4, 4, normalData)
	}
	for _, large := range [][3]int{{64, 700, 128}, {128, 64, 1280}, {257, 300, 129}, {400, 17, 400}, {1, 784, 784},
		{784, 784, 1}} {
		add(large[0], large[1], large[2], 0, 4, 0, normalData)
		add(large[0], large[1], large[2], 7, 4, 0, integerData)
	}
	r := num.NewRand(12, 0)
	for range 150 {
		add(r.Intn(70), r.Intn(70), r.Intn(70), r.Intn(16), []int{4, 4, 3, -4, 0}[r.Intn(5)],
			[]int{0, 0, 4, 3, -4}[r.Intn(5)], r.Intn(6))
	}
	return list
}

// gemmProblem prepares a product. tiny data are integers times 2^-75 and 2^-74.
func gemmProblem(c Case, mem *memory, f func(g *GemmCall)) *problem {
	m, k, n, data := c.get("m"), c.get("k"), c.get("n"), c.get("data")
	colMajor, ta, tb := c.get("order") == 1, c.get("ta") == 1, c.get("tb") == 1
	alpha, beta := float32(c.get("alpha"))/4, float32(c.get("beta"))/4
	r := c.rand()
	factor := func(exponent int) func() float32 {
		if alpha == 0 {
			return func() float32 { return math.Float32frombits(unreadNaN) }
		}
		return tinyFiller(r, data, exponent)
	}
	old := tinyFiller(r, data, -149)
	if beta == 0 && alpha != 0 { // with both 0, only one of them may give NaN
		old = nanFill
	}
	place := func(rows, cols int, alongRows bool, pad string) engine.Matrix {
		if alongRows {
			return placeBLAS(mem, c, rows, cols, pad)
		}
		return placeBLAS(mem, c, cols, rows, pad).T()
	}
	a := mem.fillInput(place(m, k, ta == colMajor, "pada"), factor(-75))
	b := mem.fillInput(place(k, n, tb == colMajor, "padb"), factor(-74))
	out := mem.fillOutput(place(m, n, !colMajor, "padc"), old)
	want, bound := reference.Gemm(float64(alpha), general(a), general(b), float64(beta), general(out))
	if isExact(data, k) && (data == integerData || c.get("alpha")%4 == 0 && c.get("beta")%4 == 0) {
		clear(bound.Data)
	}
	ld := func(x engine.Matrix, alongRows bool) int {
		if alongRows {
			return x.RS
		}
		return x.CS
	}
	g := GemmCall{ColMajor: colMajor, TransA: ta, TransB: tb, N: n, K: k, Alpha: alpha, Beta: beta,
		LDA: ld(a, ta == colMajor), LDB: ld(b, tb == colMajor), LDC: ld(out, !colMajor)}
	return &problem{
		operands: []operand{{a, "A", false, true}, {b, "B", false, false}, {out, "C", true, true}},
		call: func(x []engine.Matrix) {
			call := g
			call.M, call.A, call.B, call.C = x[0].Rows, x[0].Data, x[1].Data, x[2].Data
			f(&call)
		},
		want: want.Data, bound: bound.Data,
	}
}

// placeBLAS allocates a row-major matrix. Rows without elements are still apart by their padding.
func placeBLAS(mem *memory, c Case, rows, cols int, pad string) engine.Matrix {
	ld := max(cols, 1) + c.get(pad)
	n := 0
	if rows > 0 {
		n = (rows-1)*ld + cols
	}
	return engine.Matrix{Data: mem.take(n, c.get("offset")), Rows: rows, Cols: cols, RS: ld, CS: 1}
}

// tinyFiller is a filler that also knows tinyData, whose numbers are integers times 2^exponent.
func tinyFiller(r *num.Rand, kind, exponent int) func() float32 {
	if kind != tinyData {
		return filler(r, kind)
	}
	integer := filler(r, integerData)
	return func() float32 { return float32(math.Ldexp(float64(integer()), exponent)) }
}

// isExact reports whether sums of k products of this kind have no rounding. Powers of two have products
// from 2^-8 to 2^8.
func isExact(data, k int) bool {
	return data == integerData || data == tinyData || data == powerData && k <= 64
}
