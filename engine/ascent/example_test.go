package ascent_test

import (
	"fmt"

	"dpnbench/engine"
	"dpnbench/engine/ascent"
)

// One step uphill on the potential of two Gaussians: each point moves towards the
// nearer centre.
func ExampleMixture_Ascend() {
	e, err := engine.New(engine.WithThreads(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()

	centres := []float32{-4, 0, 4, 0}
	m := ascent.NewMixture(2, 2, centres, []float32{0, 0})
	m.SetFactors(e, []float32{1, 0, 0, 1, 1, 0, 0, 1}) // A_i = I
	x := engine.View([]float32{-3, 1, 5, -2}, 2, 2)
	m.Ascend(e, 0.5, 1, x, nil, false)
	fmt.Println(x.Row(0), x.Row(1))
	// Output: [-3.5 0.5] [4.5 -1]
}
