package order

import (
	"fmt"

	"dpnbench/engine"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/gonum"
)

// Implementation is a sum to probe.
type Implementation struct {
	Operation string // such as matmul
	Name      string // of the implementation, such as gonum
	Place     string // the element of a matrix; empty: there is one result
	Kind      Kind
	F         Func
}

// product computes C = A B of m x k and k x n matrices whose rows are contiguous; with transposed, B is n x k.
type product func(c, a, b []float32, m, k, n int, transposed bool)

// The shape of the products that are probed: its elements are in whole tiles and at their edges.
const productRows, productCols = 7, 17

// place is an element of a product, its row and column.
type place [2]int

var places = []place{{0, 0}, {productRows - 1, 0}, {0, productCols - 1}, {productRows - 1, productCols - 1}}

func (at place) String() string {
	return fmt.Sprintf("(%d, %d) of %d x %d", at[0], at[1], productRows, productCols)
}

// products returns an implementation for each of some elements of a matrix product.
func products(operation, name string, transposed bool, f product) []Implementation {
	var list []Implementation
	for _, at := range places {
		f := element(f, at[0], at[1], transposed)
		list = append(list, Implementation{operation, name, at.String(), Products, f})
	}
	return list
}

// element returns element (i, j) of a product whose other operands are 0.
func element(f product, i, j int, transposed bool) Func {
	var a, b []float32
	c := make([]float32, productRows*productCols)
	return func(x, y []float32) float32 {
		k := len(x)
		if len(a) != productRows*k {
			a, b = make([]float32, productRows*k), make([]float32, k*productCols)
		}
		copy(a[i*k:], x)
		for p, v := range y {
			if transposed {
				b[j*k+p] = v
			} else {
				b[p*productCols+j] = v
			}
		}
		f(c, a, b, productRows, k, productCols, transposed)
		return c[i*productCols+j]
	}
}

// OfEngine returns the sums of an engine.
func OfEngine(e *engine.Engine) []Implementation {
	name := "engine, " + e.Tier().String()
	operands := func(c, a, b []float32, m, k, n int, transposed bool) (cm, am, bm engine.Matrix) {
		bm = engine.View(b, k, n)
		if transposed {
			bm = engine.View(b, n, k).T()
		}
		return engine.View(c, m, n), engine.View(a, m, k), bm
	}
	plain := func(c, a, b []float32, m, k, n int, transposed bool) {
		cm, am, bm := operands(c, a, b, m, k, n, transposed)
		e.MatMul(cm, am, bm, false)
	}
	packed := func(c, a, b []float32, m, k, n int, transposed bool) {
		cm, am, bm := operands(c, a, b, m, k, n, transposed)
		e.MatMulPacked(cm, am, e.Pack(nil, bm), false)
	}
	var one [1]float32
	list := products("matmul", name, false, plain)
	list = append(list, products("matmul-transposed", name, true, plain)...)
	list = append(list, products("matmul-packed", name, false, packed)...)
	return append(list,
		Implementation{"row-dots", name, "", Products, func(a, b []float32) float32 {
			e.RowDots(one[:], engine.View(a, 1, len(a)), engine.View(b, 1, len(b)))
			return one[0]
		}},
		Implementation{"weighted-squares", name, "", Terms, func(a, b []float32) float32 { // of 1, weighted with a
			e.WeightedSquares(one[:], engine.View(b, 1, len(b)), make([]float32, len(b)), a)
			return one[0]
		}},
		Implementation{"dot", name, "", Products, e.Dot},
		Implementation{"sum", name, "", Terms, func(a, _ []float32) float32 { return e.Sum(a) }},
		Implementation{"column-sums", name, "", Terms, func(a, _ []float32) float32 {
			e.ColumnSums(one[:], engine.View(a, len(a), 1), false)
			return one[0]
		}})
}

// OfGonum returns the sums of gonum's BLAS in Go.
func OfGonum() []Implementation {
	var g gonum.Implementation
	gemm := func(c, a, b []float32, m, k, n int, transposed bool) {
		t, ldb := blas.NoTrans, n
		if transposed {
			t, ldb = blas.Trans, k
		}
		g.Sgemm(blas.NoTrans, t, m, n, k, 1, a, k, b, ldb, 0, c, n)
	}
	return append(OfGemm("gonum", true, gemm), OfDot("gonum", func(a, b []float32) float32 {
		return g.Sdot(len(a), a, 1, b, 1)
	})...)
}

// OfGemm returns the elements to probe of a product C = A B of row-major m x k and k x n matrices; if transposed, B is
// n x k. It is called so only if it knows transposes.
func OfGemm(name string, transposes bool, f func(c, a, b []float32, m, k, n int, transposed bool)) []Implementation {
	list := products("matmul", name, false, f)
	if transposes {
		list = append(list, products("matmul-transposed", name, true, f)...)
	}
	return list
}

// OfDot returns a dot product.
func OfDot(name string, f Func) []Implementation {
	return []Implementation{{"dot", name, "", Products, f}}
}
