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
