package dpn_test

import (
	"context"
	"fmt"

	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/engine"
)

// Train a small network on built-in digits and evaluate it.
func Example() {
	data, err := source.Open("digits", source.Options{TrainSize: 800, TestSize: 300, Seed: 1})
	if err != nil {
		fmt.Println(err)
		return
	}
	e, err := engine.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()

	config, err := dpn.Preset("compact")
	if err != nil {
		fmt.Println(err)
		return
	}
	config.Dim, config.Batch, config.Epochs = 32, 32, 3
	model, err := dpn.New(config, data)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if _, err := model.Fit(ctx, e, data.Train, dpn.FitOptions{}); err != nil {
		fmt.Println(err)
		return
	}
	score, err := model.Score(ctx, e, data.Test)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("better than 70%:", score.Accuracy > 0.7)
	// Output: better than 70%: true
}
