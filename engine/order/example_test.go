package order_test

import (
	"fmt"
	"log"

	"dpnbench/engine/order"
)

// A dot product with two partial sums.
func dot(a, b []float32) float32 {
	var even, odd float32
	for i := 0; i < len(a); i += 2 {
		even += float32(a[i] * b[i])
		odd += float32(a[i+1] * b[i+1])
	}
	return even + odd
}

// Find out how a dot product adds.
func Example() {
	o, err := order.Find(64, order.Products, dot) // a func(a, b []float32) float32, any implementation
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(o.Describe(), "of", o.Precision(), "sums; fused:", o.Fusing())
	// Output: 2 lanes, then chain of float32 sums; fused: no
}
