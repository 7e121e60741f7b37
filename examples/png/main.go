// Command png classifies PNG files with a model, and prints the classes and their probabilities.
//
//	go run ./examples/png model.safetensors image.png...
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"dpnbench/dataset/source"
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

	// Images are scaled and coloured as the model needs them. Negatives are not: a model that was trained on bright
	// digits on a dark ground expects these.
	ctx := context.Background()
	data, names, err := source.OpenSamples(ctx, os.Args[2:], nil, model.Shape, source.Options{})
	check(err)
	p, err := model.Predictions(ctx, e, data.Test)
	check(err)
	for i, name := range names {
		class := p.Classes[i]
		fmt.Printf("%s: %s (%.1f%%)\n", name, model.Classes[class], 100*p.Probabilities.Row(i)[class])
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
