package engine_test

import (
	"fmt"

	"dpnbench/engine"
)

// The right operand of a product is packed for repeated use.
func Example() {
	e, err := engine.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()

	numbers, weights := []float32{1, 2, 3, 4, 5, 6}, []float32{1, 0, 0, 1, 1, 1}
	x := engine.View(numbers, 2, 3)
	w := e.Pack(nil, engine.View(weights, 3, 2))
	y := engine.NewMatrix(2, 2)
	e.MatMulPacked(y, x, w, false)
	fmt.Println(y.Data)
	e.MatMul(y, x, x.T(), true) // y += x x^T, a view of the same numbers
	fmt.Println(y.Data)
	// Output:
	// [4 5 10 11]
	// [18 37 42 88]
}

func ExampleTiers() {
	for _, t := range engine.Tiers() {
		if !t.Available && t.Reason == "" {
			fmt.Println(t.Tier, "gives no reason")
		}
	}
	// Output:
}
