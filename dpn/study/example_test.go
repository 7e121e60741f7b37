package study_test

import (
	"context"
	"fmt"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/study"
	"dpnbench/engine"
)

// The shape of the potential of a network for vectors of one's own.
func Example() {
	values, labels := []float32{0, 0, 1, 0, 0, 9, 1, 9}, []uint16{0, 0, 1, 1}
	train := &dataset.Set{Shape: dataset.Vector(2), Values: values, Labels: labels}
	data, err := dataset.New("mine", train, nil, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	config, err := dpn.Preset("compact")
	if err != nil {
		fmt.Println(err)
		return
	}
	config.Dim, config.Components = 4, 2
	model, err := dpn.New(config, data)
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	e, err := engine.New()
	if err != nil {
		fmt.Println(err)
		return
	}
	defer e.Close()
	l, err := study.MeasureLandscape(ctx, e, model.Potential())
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Printf("%d components, steps are safe up to alpha %.3g\n", l.Components, l.StableAlpha)
	// Output: 2 components, steps are safe up to alpha 22.2
}
