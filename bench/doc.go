// Package bench says how fast this machine is and how near the engine comes to that: it
// describes the machine ([ReadMachine]) and measures its peak ([Peak]), and its Go
// benchmarks run the products, the ascent and whole training steps, each with its share
// of the peak measured in the same run:
//
//	go test -run NONE -bench . ./bench/
package bench
