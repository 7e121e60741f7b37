// Package bench says how fast this machine is, how near the engine comes to that, and
// whether a change made it faster. [Run] times the suites and returns a [Report]; [Compare]
// compares two. [WritePage] and [WriteGoBench] show a report. [ReadMachine], [Peak] and
// [Clock] serve on their own.
//
// What a row computes is compared with a reference before it is timed, repetitions of all
// rows take turns, and the peak is measured beside each of them; docs/benchmarks.md has the
// method and the meaning of every column. The rows, except cold ones, are Go benchmarks, too:
//
//	go test -run NONE -bench Gemm ./bench/
//
// To add a row, add a group to the function of its suite (gemmSuite and so on): what a call
// does, what it counts, and how its result is checked.
package bench
