package reference_test

import (
	"fmt"
	"math"

	"dpnbench/engine"
	"dpnbench/engine/reference"
)

// Is the scalar product of the engine right?
func Example() {
	e, err := engine.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	x, y := []float32{1, 1e-4, 3}, []float32{2, 5, 0.1}
	want, bound := reference.Dot(reference.Vector(x), reference.Vector(y))
	right := math.Abs(float64(e.Dot(x, y))-want) <= bound
	fmt.Println(right, bound < 1e-6)
	// Output: true true
}

// Is a product of another library right, whatever its order of additions? C = A B - C here.
func ExampleGemm() {
	a := reference.FromFloat32([]float32{1, 2, 3, 4, 5, 6}, 2, 3, 3, 1) // rows, columns, row and column stride
	b := reference.FromFloat32([]float32{7, 8, 9, 10, 11, 12}, 3, 2, 2, 1)
	before := reference.FromFloat32([]float32{1, 1, 1, 1}, 2, 2, 2, 1)
	after := []float32{57, 63, 138, 153}
	want, bound := reference.Gemm(1, a, b, -1, before)
	for i, w := range want.Data {
		fmt.Println(w, math.Abs(float64(after[i])-w) <= bound.Data[i])
	}
	// Output:
	// 57 true
	// 63 true
	// 138 true
	// 153 true
}

// How large is the bound of a sum? Terms that cancel keep the bound of their magnitudes: 6 x 2^-24 x 2001.
func ExampleDotAnyOrder() {
	ones := []float64{1, 1, 1, 1, 1}
	sum, bound := reference.DotAnyOrder([]float64{1000, -1000, 1, 0, 0}, ones)
	fmt.Printf("%g, within %.2g\n", sum, bound)
	sum, bound = reference.DotAnyOrder([]float64{1, 0, 0, 0, 0}, ones)
	fmt.Printf("%g, within %.2g\n", sum, bound)
	// Output:
	// 1, within 0.00072
	// 1, within 3.6e-07
}
