package exchange_test

import (
	"bytes"
	"fmt"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/dpn/exchange"
)

// Write a network for vectors of one's own for NumPy, and look for one of PyTorch.
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
	var file bytes.Buffer
	err = exchange.WriteNPZ(&file, model) // any io.Writer
	if err != nil {
		fmt.Println(err)
		return
	}
	in, err := exchange.Import("reference.pth", dpn.Published)
	fmt.Println(file.Len() > 1000, in == nil, err != nil)
	// Output: true true true
}
