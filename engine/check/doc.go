// Package check runs every kernel of the engine on every tier that the machine has,
// over awkward sizes, strides and alignments, and compares
//
//   - the result with the float64 oracle of package reference, within its error bound,
//   - the bits of the result with those of the pure-Go tier: equal, or the case fails,
//   - all memory that the kernel was given before and after: nothing but its outputs may
//     change, and every buffer lies against a guard page, which cannot be read or written.
//
// Kernels named -sparse are ascents by the sparse route, on potentials whose responsibilities are
// nearly one-hot. Their bits are compared with those of the dense route, and an ascent that takes
// another route than the one asked for fails.
//
// [Run] makes a [Report]: a row for each kernel and tier, and for each failing case
// what failed and the arguments that repeat it (a [Case], which [ParseCase] reads).
//
// kernel.go holds the table of kernels. Their definitions are by family in gemm.go, vector.go,
// rowwise.go, conv.go and ascent*.go: a definition draws inputs into guarded memory (memory.go),
// computes what the reference expects, and calls the engine. testdata/sha256.txt has a hash of the
// results of each kernel, which every tier and machine must reproduce.
package check
