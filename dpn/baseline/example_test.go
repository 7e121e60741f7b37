package baseline_test

import (
	"context"
	"fmt"

	"dpnbench/dataset"
	"dpnbench/dpn/baseline"
	"dpnbench/dpn/layer"
	"dpnbench/engine"
)

// A multilayer perceptron is trained on the built-in digits.
func Example() {
	e, err := engine.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	s := baseline.Rows(dataset.Digits(1, 0, 500), dataset.DigitsNorm)
	n, err := baseline.NewMLP(baseline.MLP{Widths: []int{784, 32, 10}}, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	training := baseline.Training{
		Optimiser: baseline.Adam,
		LR:        3e-3,
		Schedule:  layer.Cosine,
		Epochs:    5,
		Batch:     32,
		Seed:      1,
	}
	if _, err := n.Fit(ctx, e, s, training, nil); err != nil {
		fmt.Println(err)
		return
	}
	features, err := n.Activations(ctx, e, s, 0)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, f := range features {
		fmt.Println(f.Name, f.X.Cols)
	}
	fmt.Println(n.MACs(), "multiply-adds an image")
	// Output:
	// input 784
	// hidden 1 32
	// logits 10
	// 25408 multiply-adds an image
}
