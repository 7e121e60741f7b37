package source_test

import (
	"fmt"
	"log"

	"dpnbench/dataset/source"
)

// The built-in digits need no download and are the same on every machine.
func Example() {
	data, err := source.Open("digits", source.Options{TrainSize: 1000, TestSize: 100, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(data.Name, data.Train.Len(), data.Test.Len(), data.Train.Shape, len(data.Classes))
	fmt.Println("labels", data.Train.Labels[:10])

	// The first image as a network sees it.
	table := data.Norm.Table(0)
	x := make([]float32, data.Train.Shape.Len())
	for j, v := range data.Train.Image(0) {
		x[j] = table[v]
	}
	fmt.Printf("background %.4f\n", x[0])
	// Output:
	// digits 1000 100 28 x 28 grey 10
	// labels [3 5 6 0 9 6 2 1 4 0]
	// background -0.4229
}
