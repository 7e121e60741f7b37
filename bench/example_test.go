package bench_test

import (
	"bytes"
	"context"
	"fmt"

	"dpnbench/bench"
)

// Measure one row, too short for figures to quote, and make a page of it.
func Example() {
	ctx, w := context.Background(), &bytes.Buffer{}
	settings := bench.Settings{Extent: "quick", Suites: []string{"gemm"}, Filter: "m=128,k=64,n=64$",
		Passes: 1, Repetitions: 6, MinTime: 1e-4, Threads: []int{1}, Memory: 4 << 20}

	r, err := bench.Run(ctx, settings, nil)
	if err != nil {
		fmt.Println(err)
		return
	}
	err = bench.WritePage(w, r)
	fmt.Println(len(r.Results) > 0, w.Len() > 1000, err)
	// Output: true true <nil>
}
