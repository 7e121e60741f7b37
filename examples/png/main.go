// Command png classifies PNG files by a model, and prints the classes and their probabilities.
//
//	go run ./examples/png model.safetensors image.png...
package main

import (
	"context"
	"fmt"
	"image/color"
	"image/png"
	"log"
	"os"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/engine"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: png model.safetensors image.png...")
	}
	model, err := dpn.Load(os.Args[1])
	check(err)
	e, err := engine.New()
	check(err)
	defer e.Close()

	for _, name := range os.Args[2:] {
		image, err := read(name)
		check(err)
		image, err = image.Resize(model.Shape.Rows, model.Shape.Cols) // by area averaging
		check(err)
		p, err := model.Predictions(context.Background(), e, image)
		check(err)
		class := p.Classes[0]
		fmt.Printf("%s: %s (%.1f%%)\n", name, model.Classes[class], 100*p.Probabilities.Row(0)[class])
	}
}

// read returns the grey levels of a PNG file, bright on dark as the training images of MNIST are, as
// a set of one image without a label.
func read(name string) (*dataset.Set, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	m, err := png.Decode(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	b := m.Bounds()
	set := &dataset.Set{Shape: dataset.Grey(b.Dy(), b.Dx())}
	for y := b.Min.Y; y < b.Max.Y; y++ {
		for x := b.Min.X; x < b.Max.X; x++ {
			set.Pixels = append(set.Pixels, color.GrayModel.Convert(m.At(x, y)).(color.Gray).Y)
		}
	}
	return set, nil
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
