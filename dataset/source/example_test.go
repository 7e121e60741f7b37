package source_test

import (
	"fmt"
	"log"
	"os"
	"path/filepath"

	"dpnbench/dataset/source"
)

// Read a table of one's own, and draw the built-in digits.
func Example() {
	dir, err := os.MkdirTemp("", "table")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	path := filepath.Join(dir, "flowers.csv")
	table := "width,height,class\n1,2,rose\n2,3,rose\n1,3,rose\n2,2,rose\n9,8,lily\n9,7,lily\n8,8,lily\n8,7,lily\n"
	if err := os.WriteFile(path, []byte(table), 0o600); err != nil {
		log.Fatal(err)
	}

	data, err := source.Open(path, source.Options{TestShare: 0.25, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(data.Train.Len(), data.Test.Len(), data.Classes, data.Features)
	digits, err := source.Open("digits", source.Options{TrainSize: 1000, TestSize: 100, Seed: 1})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(digits.Train.Len(), digits.Shape())
	// Output:
	// 6 2 [lily rose] [width height]
	// 1000 28 x 28 grey
}

// The built-in digits need no download and are the same on every machine.
func ExampleOpen() {
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
