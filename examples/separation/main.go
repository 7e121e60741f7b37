// Command separation measures how the layers of any network separate the classes: it reads a file for
// each layer, in order, with the features of the same samples and their labels: CSV, NPZ, or any other
// that package source reads, also X.npy,y.npy.
//
//	go run ./examples/separation layer0.npy,labels.npy layer1.npy,labels.npy
package main

import (
	"context"
	"fmt"
	"log"
	"os"

	"dpnbench/dataset/source"
	"dpnbench/dpn/separation"
	"dpnbench/engine"
)

func main() {
	if len(os.Args) < 2 {
		log.Fatal("usage: separation layer0.csv layer1.csv...")
	}
	var layers []separation.LayerInput
	for _, name := range os.Args[1:] {
		data, err := source.Open(name, source.Options{})
		check(err)
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
