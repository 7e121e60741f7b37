package ascent_test

import (
	"fmt"

	"dpnbench/engine"
	"dpnbench/engine/ascent"
)

// One step uphill on the potential of two Gaussians: each point moves towards the nearer centre. Then the
// gradient of a loss, here the first coordinate of both points, goes back to where they began.
func Example() {
	e, err := engine.New(engine.WithThreads(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()

	centres := []float32{-4, 0, 4, 0}
	m := ascent.NewMixture(2, 2, centres, []float32{0, 0})
	factors := []float32{1, 0, 0, 1, 1, 0, 0, 1} // A_i = I
	m.SetFactors(e, factors)
	x := engine.View([]float32{-3, 1, 5, -2}, 2, 2)
	var path ascent.Trajectory
	m.Ascend(e, 0.5, 1, x, &path, true)
	fmt.Println(x.Row(0), x.Row(1))

	v := engine.View([]float32{1, 0, 1, 0}, 2, 2)
	grad := ascent.NewGradient(2, 2)
	m.Backward(e, 0.5, factors, &path, v, grad)
	fmt.Println(v.Row(0), v.Row(1))
	fmt.Println(grad.Mu)
	// Output:
	// [-3.5 0.5] [4.5 -1]
	// [0.5 0] [0.5 0]
	// [0.5 0 0.5 0]
}
