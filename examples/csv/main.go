// Command csv trains a network on a table: numbers, and in the last column the class.
//
//	go run ./examples/csv table.csv model.safetensors
package main

import (
	"context"
	"encoding/csv"
	"fmt"
	"log"
	"os"
	"slices"
	"strconv"

	"dpnbench/dataset"
	"dpnbench/dpn"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

func main() {
	if len(os.Args) != 3 {
		log.Fatal("usage: csv table.csv model.safetensors")
	}
	set, classes := read(os.Args[1])
	// A fifth of the rows, drawn at random, is for testing.
	rows := make([]int32, set.Len())
	num.NewRand(1, 0).Permutation(rows)
	data, err := dataset.New(os.Args[1], set.Pick(rows[len(rows)/5:]), set.Pick(rows[:len(rows)/5]), classes)
	check(err)
	fmt.Printf("%d rows of %v, %d classes\n", set.Len(), data.Shape(), len(classes))

	e, err := engine.New()
	check(err)
	defer e.Close()
	config, err := dpn.Preset("compact")
	check(err)
	config.Dim, config.Batch, config.Epochs = 16, 16, 40
	model, err := dpn.New(config, data)
	check(err)
	ctx := context.Background()
	_, err = model.Fit(ctx, e, data.Train, dpn.FitOptions{})
	check(err)
	score, err := model.Score(ctx, e, data.Test)
	check(err)
	fmt.Printf("test accuracy %.1f%%\n", 100*score.Accuracy)
	check(model.Save(os.Args[2])) // with the names of the classes and the normalisation of the features
}

// read returns the rows of a table without a header, and the names of the classes.
func read(name string) (set *dataset.Set, classes []string) {
	f, err := os.Open(name)
	check(err)
	defer f.Close()
	table, err := csv.NewReader(f).ReadAll()
	check(err)
	last := len(table[0]) - 1
	set = &dataset.Set{Shape: dataset.Vector(last)}
	for _, row := range table {
		for _, cell := range row[:last] {
			v, err := strconv.ParseFloat(cell, 32)
			check(err)
			set.Values = append(set.Values, float32(v))
		}
		if !slices.Contains(classes, row[last]) {
			classes = append(classes, row[last])
		}
		set.Labels = append(set.Labels, uint16(slices.Index(classes, row[last])))
	}
	return set, classes
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
