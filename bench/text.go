package bench

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteGoBench writes the report in the format of Go benchmarks, a line per repetition, for
// benchstat. The names are those of the Go benchmarks of the same rows.
func WriteGoBench(w io.Writer, r *Report) error {
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "goos: %s\ngoarch: %s\npkg: dpnbench/bench\ncpu: %s\n", r.Machine.OS, r.Machine.Arch,
		r.Machine.Brand)
	processors := "" // the suffix that Go adds to names
	if n := r.Machine.ThreadsAllowed; n > 1 {
		processors = fmt.Sprintf("-%d", n)
	}
	for i := range r.Results {
		res := &r.Results[i]
		for _, t := range res.Samples {
			fmt.Fprintf(b, "Benchmark%s/%s%s\t%d\t%.6g ns/op", title(res.Suite), res.benchmark(), processors, res.Calls,
				1e9*t)
			if res.Flop > 0 {
				fmt.Fprintf(b, "\t%.6g GFLOP/s", res.Flop/t/1e9)
			}
			if res.Bytes > 0 {
				fmt.Fprintf(b, "\t%.6g MB/s", res.Bytes/t/1e6)
			}
			fmt.Fprintln(b)
		}
	}
	return b.Flush()
}

// benchmark is the name of the row within the Go benchmark of its suite.
func (r *Result) benchmark() string {
	return strings.ReplaceAll(fmt.Sprintf("%s/%s/%s/threads=%d", r.Name, r.Tier, r.Shape, r.Threads), " ", "-")
}

// title turns the name of a suite into that of its Go benchmark, such as AscentSparse.
func title(s string) string {
	t := ""
	for _, word := range strings.Split(s, "-") {
		if word != "" {
			t += strings.ToUpper(word[:1]) + word[1:]
		}
	}
	return t
}
