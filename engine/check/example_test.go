package check_test

import (
	"context"
	"fmt"

	"dpnbench/engine"
	"dpnbench/engine/check"
)

// Check one kernel on the tier without assembly.
func Example() {
	ctx := context.Background()
	report, err := check.Run(ctx, check.Options{Kernel: "exp", Quick: true})
	if err != nil {
		fmt.Println(err)
		return
	}
	if report.Cases < len(engine.Tiers()) {
		fmt.Println("too few cases:", report.Cases)
	}
	report.Cases = 0 // depends on the machine
	fmt.Println(report.Failed, "of", report.Cases, "cases fail")
	// Output: 0 of 0 cases fail
}

// Check a function of one's own, a scalar product. Its last, incomplete group of four is left out.
func ExampleFunction() {
	f := check.Dot("mine", func(x, y []float32) float32 {
		var s [4]float32
		for i := 0; i+4 <= len(x); i += 4 {
			for j := range s {
				s[j] += x[i+j] * y[i+j]
			}
		}
		return (s[0] + s[1]) + (s[2] + s[3])
	})
	report, err := check.Run(context.Background(), check.Options{Function: f})
	if err != nil {
		fmt.Println(err)
		return
	}
	row := report.Functions[0]
	first := row.Findings[0]
	fmt.Printf("%s where %s\n", first.Kind, first.Common)
	for _, way := range row.Repeats {
		if way.Cases > 0 {
			fmt.Printf("bits over %s: %d of %d cases differ\n", way.Over, way.Differ, way.Cases)
		}
	}
	// Output:
	// error where n not a multiple of 4
	// bits over calls: 0 of 106 cases differ
	// bits over alignment: 0 of 34 cases differ
}
