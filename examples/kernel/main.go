// Command kernel uses the engine alone: a product with a packed operand, and k-means, of numbers of
// one's own.
//
//	go run ./examples/kernel
package main

import (
	"context"
	"fmt"
	"log"
	"time"

	"dpnbench/dpn/potential"
	"dpnbench/engine"
	"dpnbench/engine/num"
)

func main() {
	e, err := engine.New() // the fastest tier of this CPU, a thread for each CPU
	if err != nil {
		log.Fatal(err)
	}
	defer e.Close()
	fmt.Printf("tier %s, %d threads\n", e.Tier(), e.Threads())

	// A product y = x w of 512 rows, many times with the same w: w is laid out once.
	const rows, inner, cols = 512, 784, 256
	x, w, y := engine.NewMatrix(rows, inner), engine.NewMatrix(inner, cols), engine.NewMatrix(rows, cols)
	random := num.NewRand(1, 0) // the same numbers on every machine
	random.Normal(x.Data)
	random.Normal(w.Data)
	packed := e.Pack(nil, w)
	const times = 20
	start := time.Now()
	for range times {
		e.MatMulPacked(y, x, packed, false)
	}
	flop := 2.0 * rows * inner * cols * times
	log.Printf("%.1f GFLOP/s", flop/time.Since(start).Seconds()/1e9)
	fmt.Println("y[0][0] is", y.Row(0)[0]) // the same bits on every tier, with any number of threads

	// The right operand may be a transpose, or any part of a matrix: a view costs nothing.
	gram := engine.NewMatrix(rows, rows)
	e.MatMul(gram, x, x.T(), false)
	fmt.Println("the squared length of row 0 is", gram.Row(0)[0])

	// Three clouds of points in a plane, and the centres that k-means finds.
	points := engine.NewMatrix(3000, 2)
	random.Normal(points.Data)
	for i := range points.Rows {
		points.Row(i)[0] += float32(10 * (i % 3))
		points.Row(i)[1] += 5
	}
	clusters, err := potential.KMeans(context.Background(), e, points, 3, 1)
	if err != nil {
		log.Fatal(err)
	}
	count := make([]int, 3)
	for _, c := range clusters.Assignment {
		count[c]++
	}
	for c := range count {
		centre := clusters.Centres.Row(c)
		fmt.Printf("centre (%.1f, %.1f) of %d points\n", centre[0], centre[1], count[c])
	}
}
