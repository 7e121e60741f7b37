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
