package separation_test

import (
	"context"
	"fmt"
	"log"

	"dpnbench/dpn/separation"
)

// Features of one's own, of two classes.
func Example() {
	ctx, features, labels := context.Background(), []float32{0, 1, 2, 1, 8, 1, 10, 1}, []uint16{0, 0, 1, 1}
	hidden := separation.Set{X: features, Dim: 2, Labels: labels}
	layer, err := separation.Measure(ctx, "hidden", hidden, separation.Options{})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("D %.4f, rank %d\n", layer.Fuzziness, layer.Rank)
	// Output: D 0.0625, rank 1
}

// Two classes on a line: their standard deviation is halved from layer to layer, while their means
// stay at 0 and 8.
func ExampleFitLaw() {
	layers := []struct {
		name string
		x    []float32
	}{
		{"input", []float32{-8, 8, 0, 16}},
		{"hidden", []float32{-4, 4, 4, 12}},
		{"output", []float32{-2, 2, 6, 10}},
	}
	var names []string
	var d []float64
	for _, l := range layers {
		m, err := separation.Measure(context.Background(), l.name,
			separation.Set{X: l.x, Dim: 1, Labels: []uint16{0, 0, 1, 1}}, separation.Options{})
		if err != nil {
			log.Fatal(err)
		}
		fmt.Printf("%-6s  D %.4f  rank %d  between/within %.2f\n", m.Name, m.Fuzziness, m.Rank, m.BetweenWithinRatio)
		names = append(names, m.Name)
		d = append(d, float64(m.Fuzziness))
	}
	law, err := separation.FitLaw(names, d)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("rho %.3f, Pearson r %.3f\n", law.Rho, law.Pearson)
	// Output:
	// input   D 4.0000  rank 1  between/within 0.25
	// hidden  D 1.0000  rank 1  between/within 1.00
	// output  D 0.2500  rank 1  between/within 4.00
	// rho 0.250, Pearson r -1.000
}
