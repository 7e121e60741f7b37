// Package engine computes with float32 numbers on CPUs: matrix products, elementwise functions,
// reductions, normalisation and Adam, in assembly for AVX-512, AVX2 and NEON and in pure Go. It
// chooses the instruction set at run time, shares the work among threads, and knows nothing of
// networks or training.
//
//	e, err := engine.New()                       // the fastest tier, a thread for each CPU
//	x := engine.View(numbers, 2, 3)              // a matrix of one's own numbers, 2 rows of 3
//	w := e.Pack(nil, engine.View(weights, 3, 2)) // laid out once, for many products
//	y := engine.NewMatrix(2, 2)
//	e.MatMulPacked(y, x, w, false) // y = x w
//
// An [Engine] holds a tier and a pool of threads; there is no global state. A [Matrix] is a view
// with any strides, so a transpose or a part of a matrix costs nothing. A [Packed] matrix is a
// right operand in the order in which the kernels read it. Functions of single numbers and random
// numbers are in package dpnbench/engine/num, the ascent on a mixture of Gaussians is in
// dpnbench/engine/ascent, and dpnbench/engine/check tests all of them.
//
// # The same bits everywhere
//
// The same input gives the same bits on every tier, with any number of threads, and with any
// number of other rows in the batch:
//
//   - Each element of a product is one chain of fused multiply-adds (num.FMA32) in increasing inner
//     index, from +0 or from the old value. Vectors and threads split the outputs, never the inner
//     index; blocks of it store and reload the float32 partial sum.
//   - A reduction of a vector has sixteen partial sums, the lanes: element j is added to lane
//     j mod 16, as if the vector were padded with +0, and the lanes are added 8 apart, then 4, 2, 1.
//   - Sums over rows and over all elements (ColumnSums, AddColumns, Sum, Dot, SumSquares), and the
//     statistics of LayerNorm, are float64: a chain in increasing row, or lanes in increasing element.
//     Products of two float32 are exact in float64. The end is rounded once. The reductions over the
//     features of a row that an ascent or a distance needs (RowDots, SquaredDistances, WeightedSquares)
//     have float32 lanes.
//   - Sums over classes and components are float32 chains in increasing index.
//   - Exponential and logarithm (num.Exp32, num.Log32) are at most 1 ULP from correctly rounded.
//     Divisions and square roots are correctly rounded. There are no estimates. Adam and Decay count
//     numbers below a stated floor as 0; nothing else flushes subnormal numbers to zero.
//   - Maxima ignore NaN. Among equal elements the lower index wins.
//
// A committed hash of the results of each kernel (check/testdata/sha256.txt) holds every tier and
// machine to it. Sign and payload of a NaN are not specified: a NaN in an operand gives some NaN,
// except in functions that say that they ignore it (ReLU and pooling, forward and backward, ArgMin
// and ArgMax).
//
// # Sums of many numbers
//
// A float64 sum of n numbers in any order is off by at most (n-1) 2^-53/(1 - n 2^-53) times the sum of
// their magnitudes (Higham, Accuracy and Stability of Numerical Algorithms, 4.2), and rounding it to
// float32 adds 2^-24 of the result. For a billion (2^30) numbers that is 2^-23 + 2^-24, less than 2e-7
// of the sum of the magnitudes; relative to the result where all have one sign. Lanes make the first part
// sixteen times smaller. A float32 chain would be useless: it stops growing at 2^24 ones. Sums of equal
// numbers, n up to 2^29, are exact, so their mean is the number itself: n times a float32 of 24 bits has at
// most 53.
//
// Matrix products keep their float32 chains also where the inner index is a row, as in the gradients of
// weights: off by at most n 2^-24 of the sum of the magnitudes of the products. So do the sums over the rows of
// a minibatch that the gradients of centres are made of (Worker.GradDeltas; package ascent has their bound).
//
// # Threads
//
// Waking a thread takes several microseconds. Work of less than about 100 microseconds therefore
// stays on the calling thread, or of 20 if the others are still spinning after earlier work.
// [Engine.Parallel] shares Go code among the threads; a [Worker] computes on one of them. The
// methods of an engine exclude each other; several engines can run at the same time.
//
// One call of an assembly function takes at most about 100 microseconds, because Go cannot preempt
// it. If an engine occupies all CPUs, its threads yield between calls about ten times a
// millisecond, so that a garbage collection during a long product finishes within milliseconds
// (go test -run NONE -bench Collection ./engine/ascent). Pinned threads do not yield.
//
// # Memory
//
// No kernel accesses memory outside its slices, at any length and alignment; package check runs
// every kernel against inaccessible pages. (Prefetches beyond a slice access nothing.) Methods
// panic with the name of the operand if shapes do not fit. They allocate nothing once their scratch
// memory has grown to the largest size in use. On Linux, large matrices use huge pages where
// /sys/kernel/mm/transparent_hugepage/enabled is madvise or always.
//
// # Measuring
//
// [Engine.RunFMA] executes multiply-adds on registers and [Engine.RunStream] moves memory: upper
// bounds for every kernel on this machine. [RunAdditions] measures the clock frequency.
// [WithPinnedThreads] and [PinCaller] keep threads on their CPUs meanwhile.
//
// # Tiers
//
// A [Tier] is a table of functions and block sizes (table.go). The pure-Go functions
// (generic_*.go) define what the assembly (asm_*.s) computes. The build tags purego and noasm leave
// the assembly out. Without a fused multiply-add that the compiler uses (it does on arm64, ppc64le,
// riscv64, s390x, and amd64 with GOAMD64=v3), bit-exact pure Go is slow: about 1.7 instead of 7
// GFLOP/s per core, where assembly reaches 100 (AVX2) to 200 (AVX-512).
//
// To read the source, begin with engine.go and table.go, then gemm.go for a product from the call
// to the kernel, or vector.go for an elementwise function. How to add a kernel or a tier is in
// docs/contributing.md.
//
// # Glossary
//
//   - arena: the scratch memory of a worker, kept from call to call
//   - block: a part of a product that fits into a cache: kc inner indices, mc rows of A
//   - chain: fused multiply-adds of which each adds to the result of the one before
//   - chunk: the elements that one call of an elementwise kernel handles
//   - inner index: the index that a product sums over
//   - job, task: work for the threads, and a piece of it with outputs of its own
//   - kernel: a function of a table, checked (type kernels) or unchecked (type table)
//   - lane: one of the sixteen partial sums of a reduction
//   - packed: stored panel by panel (B) or tile by tile (A)
//   - panel: nr columns of B, which a tile multiplies with
//   - tall tile: a tile with one row more than the others, because the rows do not divide evenly
//   - tier: an instruction set with its kernels
//   - tile: up to mr rows of C in one panel, held in registers
//   - worker: a thread of an engine; worker 0 is the caller
package engine
