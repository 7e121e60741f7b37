// Command csv trains a network on a table and saves it: CSV or TSV, or any other file that package
// source reads. The classes are in the column of --label, or the first of label, labels, class, target and y,
// else in the last.
//
//	go run ./examples/csv table.csv model.safetensors
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"dpnbench/dataset/source"
	"dpnbench/dpn"
	"dpnbench/engine"
)

func main() {
	label := flag.String("label", "", "the `column` of labels, by name or number from 1")
	drop := flag.String("drop", "", "`columns` to leave out, by name or number from 1")
	flag.Parse()
	if flag.NArg() != 2 {
		log.Fatal("usage: csv [--label COLUMN] [--drop COLUMN,...] table.csv model.safetensors")
	}
	columns, err := source.Columns(*drop)
	check(err)
	// A fifth of the rows of every class, drawn by the seed, is for testing.
	data, err := source.Open(flag.Arg(0), source.Options{TestShare: 0.2, Seed: 1, Label: *label, Drop: columns})
	check(err)
	fmt.Printf("%d + %d rows of %v, classes %q\n", data.Train.Len(), data.Test.Len(), data.Shape(), data.Classes)

	e, err := engine.New()
	check(err)
	defer e.Close()
	config, err := dpn.Preset(dpn.DefaultPreset(data.Shape())) // every setting is a field
	check(err)
	model, err := dpn.New(config.For(data), data) // a small table has more epochs than a large one
	check(err)
	ctx := context.Background()
	_, err = model.Fit(ctx, e, data.Train, dpn.FitOptions{OnEpoch: func(r dpn.Epoch) {
		if r.Epoch%20 == 0 {
			fmt.Printf("epoch %d: loss %.3f\n", r.Epoch, r.TrainLoss)
		}
	}})
	check(err)
	score, err := model.Score(ctx, e, data.Test)
	check(err)
	fmt.Printf("test accuracy %.1f%%\n", 100*score.Accuracy)
	check(model.Save(flag.Arg(1))) // with the names of the classes and the normalisation of the features
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
