// Command separation measures how the layers of any network separate the classes: it reads a file for
// each layer, in order, with the features of the same samples and their labels: CSV, NPZ, or any other
// that package source reads, also X.npy,y.npy. Labels of a table are in the column of --label, or the
// first of label, labels, class, target and y, else in the last.
//
//	go run ./examples/separation layer0.npy,labels.npy layer1.npy,labels.npy
package main

import (
	"context"
	"flag"
	"fmt"
	"log"

	"dpnbench/dataset/source"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
)

func main() {
	label := flag.String("label", "", "the `column` of labels, by name or number from 1")
	drop := flag.String("drop", "", "`columns` to leave out, by name or number from 1")
	flag.Parse()
	if flag.NArg() < 1 {
		log.Fatal("usage: separation [--label COLUMN] [--drop COLUMN,...] layer0.csv layer1.csv...")
	}
	columns, err := source.Columns(*drop)
	check(err)
	var layers []separation.LayerInput
	for _, name := range flag.Args() {
		data, err := source.Open(name, source.Options{Label: *label, Drop: columns})
		check(err)
		if data.Shape().IsImage() {
			log.Fatalf("%s: %s; expected features, a row for each sample", name, data.Train.Samples())
		}
		set := separation.Set{X: data.Train.Values, Dim: data.Shape().Len(), Labels: data.Train.Labels}
		layers = append(layers, separation.LayerInput{Name: name, Input: set})
	}

	e, err := engine.New() // for intervals and CKA
	check(err)
	defer e.Close()
	depth, err := separation.MeasureDepth(context.Background(), layers,
		separation.Options{Engine: e, Draws: 200, Seed: 1}, nil)
	check(err)
	for i, l := range depth.Layers {
		fmt.Printf("%s: width %d, D %.3f", l.Name, l.Dim, l.Fuzziness)
		if i > 0 {
			fmt.Printf(", CKA with the layer before %.2f", depth.CKA[i-1][i])
		}
		fmt.Println()
	}
	if law := depth.Law; law != nil {
		fmt.Printf("each layer multiplies D by %.3f (r = %.3f)\n", law.Rho, law.Pearson)
	}
}

func check(err error) {
	if err != nil {
		log.Fatal(err)
	}
}
