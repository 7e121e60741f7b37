// Command separation measures how the layers of any network separate the classes: it reads the
// features at each layer, in order, and the labels of the samples, as flat little-endian files:
// float32 numbers, sample after sample, and a byte for each label. NumPy writes them by
// x.astype("<f4").tofile("layer0.f32") and y.astype("u1").tofile("labels.u8").
//
//	go run ./examples/separation labels.u8 layer0.f32 layer1.f32...
package main

import (
	"context"
	"encoding/binary"
	"fmt"
	"log"
	"os"

	"dpnbench/dpn/separation"
	"dpnbench/engine"
)

func main() {
	if len(os.Args) < 3 {
		log.Fatal("usage: separation labels.u8 layer0.f32...")
	}
	bytes, err := os.ReadFile(os.Args[1])
	check(err)
	labels := make([]uint16, len(bytes))
	for i, y := range bytes {
		labels[i] = uint16(y)
	}
	var layers []separation.LayerInput
	for _, name := range os.Args[2:] {
		bytes, err := os.ReadFile(name)
		check(err)
		x := make([]float32, len(bytes)/4)
		_, err = binary.Decode(bytes, binary.LittleEndian, x)
		check(err)
		if len(labels) == 0 || len(x)%len(labels) != 0 {
			log.Fatalf("%s: %d numbers for %d labels", name, len(x), len(labels))
		}
		set := separation.Set{X: x, Dim: len(x) / len(labels), Labels: labels}
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
