package reproduce_test

import (
	"fmt"

	"dpnbench/reproduce"
)

// Without any experiment no claim is tested.
func Example() {
	verdicts := map[string]int{}
	var r reproduce.Results
	for _, c := range reproduce.Claims(r) {
		verdicts[c.Verdict]++
	}
	fmt.Println("untested:", verdicts["untested"] > 40)
	// Output: untested: true
}
