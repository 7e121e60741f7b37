// Package check runs every kernel of the engine on every available tier.
//
//	report, err := check.Run(ctx, check.Options{Kernel: "exp", Quick: true})
//	fmt.Println(report.Failed, "of", report.Cases, "cases fail")
//
// Sizes, strides and alignments are around all boundaries. It compares
//
//   - the result with the float64 oracle of package reference, within its error bound,
//   - the bits of the result with those of the pure-Go tier, which must be equal,
//   - all memory of the kernel before and after the call: only its outputs may change, and every
//     buffer lies at a guard page, which cannot be read or written.
//
// Kernels named -sparse are ascents by the sparse route, on potentials whose responsibilities are
// nearly one-hot. Their bits are compared with those of the dense route, and a case fails if its
// ascent takes another route than the requested one.
//
// [Run] returns a [Report]: a row for each kernel and tier, and for each failing case the reason
// and its arguments (a [Case], which [ParseCase] reads).
//
// A [Function] is a kernel of somebody else, in Go or behind a call to another language. [Run] checks it with
// operands of the same kinds, against bounds that hold for any order of summation (reference, anyorder.go), and
// says how its results repeat: function*.go. For programs in other languages, [Dump] writes the same cases to files,
// and [Judge] reads what a program has made of them: files.go.
//
// kernel.go holds the table of kernels. Their definitions are by family in gemm.go, vector.go,
// rowwise.go, conv.go and ascent*.go: a definition draws inputs into guarded memory (memory.go),
// computes what the reference expects, and calls the engine. testdata/sha256.txt has a hash of the
// results of each kernel, which every tier must reproduce on every machine.
package check
