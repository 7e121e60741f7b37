// Package bench measures how fast this machine is, how close the engine comes to that, and
// whether a change made it faster. [Run] times the suites and returns a [Report]; [Compare]
// compares two reports; [WritePage] and [WriteGoBench] show one. [Peak] and [Clock] measure the
// FMA units and the clock on their own.
//
//	r, err := bench.Run(ctx, settings, nil) // settings: bench.Settings{Extent: "quick"}, for example
//	err = bench.WritePage(w, r)
//
// The words are those of google/benchmark: a benchmark is a piece of work of a suite; its setup
// makes what all engines share; an instance is a benchmark on one config (a tier and a number
// of threads), with its fixture, and becomes a row of the report; a repetition is a timed
// sequence of calls.
//
// The result of a row is compared with a reference before it is timed, the repetitions of all
// rows take turns, and the peak is measured beside each; docs/benchmarks.md describes the
// method and every column. All rows except cold ones are also Go benchmarks:
//
//	go test -run NONE -bench Gemm ./bench/
//
// To add a row, add a benchmark to the function of its suite (gemmSuite and so on): what a
// call does, what it counts, and how its result is checked.
package bench
