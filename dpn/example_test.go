package dpn_test

import (
	"context"
	"fmt"
	"log"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

// Train a small network on vectors of one's own and evaluate it.
func Example() {
	ctx := context.Background()
	e, err := engine.New()
	check(err)
	defer e.Close()
	train, test := clouds(1, 300), clouds(2, 100)

	data, err := dataset.New("mine", train, test, nil)
	check(err)
	config, err := dpn.Preset("compact")
	check(err)
	config = config.For(data)
	config.Dim, config.Components, config.Epochs = 8, 3, 100
	model, err := dpn.New(config, data)
	check(err)
	_, err = model.Fit(ctx, e, data.Train, dpn.FitOptions{})
	check(err)
	score, err := model.Score(ctx, e, data.Test)
	check(err)
	fmt.Println("better than 95%:", score.Accuracy > 0.95)
	// Output: better than 95%: true
}

// clouds draws three clouds of points, 5 apart, in four dimensions.
func clouds(seed uint64, n int) *dataset.Set {
	s := &dataset.Set{Shape: dataset.Vector(4), Values: make([]float32, 4*n), Labels: make([]uint16, n)}
	num.NewRand(seed, 0).Normal(s.Values)
	for i := range n {
		s.Labels[i] = uint16(i % 3)
		s.Vector(i)[i%3] += 5
	}
	return s
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
