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

	const k, d, alpha, steps = 2, 2, 0.5, 1
	mu, c := []float32{-4, 0, 4, 0}, []float32{0, 0}
	a := []float32{1, 0, 0, 1, 1, 0, 0, 1} // A_i = I
	x := engine.View([]float32{-3, 1, 5, -2}, 2, 2)
	var tr ascent.Trajectory
	m := ascent.NewMixture(k, d, mu, c)
	m.SetFactors(e, a)
	m.Ascend(e, alpha, steps, x, &tr, true)
	fmt.Println(x.Row(0), x.Row(1))

	v := engine.View([]float32{1, 0, 1, 0}, 2, 2)
	grad := ascent.NewGradient(2, 2)
	m.Backward(e, alpha, a, &tr, v, grad)
	fmt.Println(v.Row(0), v.Row(1))
	fmt.Println(grad.Mu)
	// Output:
	// [-3.5 0.5] [4.5 -1]
	// [0.5 0] [0.5 0]
	// [0.5 0 0.5 0]
}
