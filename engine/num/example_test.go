package num_test

import (
	"fmt"

	"dpnbench/engine/num"
)

// Noise and its exponential, with the same bits on every machine.
func Example() {
	noise := make([]float32, 2)
	random := num.NewRand(1, 0)
	random.Normal(noise)
	y := num.Exp32(noise[0])
	fmt.Println(noise, y, num.Log32(y))
	// Output: [0.9621318 -0.014790006] 2.61727 0.9621318
}
