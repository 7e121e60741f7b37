package engine_test

import (
	"fmt"

	"dpnbench/engine"
)

// The right operand of a product is packed for repeated use.
func Example() {
	e, err := engine.New() // the fastest tier, all threads
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()

	a := engine.View([]float32{1, 2, 3, 4}, 2, 2)
	b := engine.View([]float32{5, 6, 7, 8}, 2, 2)
	c := engine.NewMatrix(2, 2)
	e.MatMulPacked(c, a, e.Pack(nil, b), false)
	fmt.Println(c.Data)
	e.MatMul(c, a.T(), b, true) // c += a^T b
	fmt.Println(c.Data)
	// Output:
	// [19 22 43 50]
	// [45 52 81 94]
}

func ExampleTiers() {
	for _, t := range engine.Tiers() {
		if !t.Available && t.Reason == "" {
			fmt.Println(t.Tier, "gives no reason")
		}
	}
	// Output:
}
