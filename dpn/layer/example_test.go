package layer_test

import (
	"fmt"

	"dpnbench/dpn/layer"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// A network learns the exclusive or.
func Example() {
	e, err := engine.New(engine.WithThreads(1))
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	x, labels := engine.View([]float32{0, 0, 0, 1, 1, 0, 1, 1}, 4, 2), []uint16{0, 1, 1, 0}
	dy, losses := engine.NewMatrix(4, 2), make([]float32, 4)

	net := layer.Stack{layer.NewLinear("0", 2, 16), layer.NewReLU(16), layer.NewLinear("2", 16, 2)}
	net.Draw(num.NewRand(1, 0))
	for _, p := range net.Params() {
		p.Prepare() // memory for gradient and moments
	}
	var tape layer.Tape
	adam := layer.NewAdam()
	for range 200 {
		y := net.Forward(e, &tape, x, layer.Training)
		e.SoftmaxCrossEntropy(dy, losses, y, labels, 1.0/4)
		net.Backward(e, &tape, engine.Matrix{}, dy)
		for _, p := range net.Params() {
			adam.Step(e, p, p.Data, 0.01, 1)
		}
		adam.Next()
	}
	classes := make([]int32, 4)
	e.ArgMax(classes, net.Forward(e, &tape, x, layer.Evaluation))
	fmt.Println(classes)
	// Output: [0 1 1 0]
}
