package baseline_test

import (
	"context"
	"fmt"

	"dpnbench/dataset"
	"dpnbench/dpn/baseline"
	"dpnbench/dpn/layer"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// A multilayer perceptron learns which of two numbers is larger.
func Example() {
	e, err := engine.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	set := &dataset.Set{Shape: dataset.Vector(2), Values: make([]float32, 2*400), Labels: make([]uint16, 400)}
	num.NewRand(1, 0).Normal(set.Values)
	for i := range set.Labels {
		if v := set.Vector(i); v[1] > v[0] {
			set.Labels[i] = 1
		}
	}
	ctx, training := context.Background(), baseline.Training{Optimiser: baseline.Adam, LR: 1e-2,
		Schedule: layer.Cosine, Epochs: 10, Batch: 20, Seed: 1}

	rows := baseline.Rows(set, dataset.NormalizationOf(set))
	network, err := baseline.NewMLP(baseline.MLP{Widths: []int{2, 16, 2}}, 1)
	if err != nil {
		fmt.Println(err)
		return
	}
	epochs, err := network.Fit(ctx, e, rows, training, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(len(epochs), "epochs, right on more than 97%:", epochs[9].Accuracy > 0.97)
	// Output: 10 epochs, right on more than 97%: true
}

// The features of the built-in digits after each layer.
func ExampleNetwork_Activations() {
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
