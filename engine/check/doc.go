// Package check runs every kernel of the engine on every tier that the machine has,
// over awkward sizes, strides and alignments, and compares
//
//   - the result with the float64 oracle of package reference, within its error bound,
//   - the bits of the result with those of the pure-Go tier: equal, or the case fails,
//   - all memory that the kernel was given before and after: nothing but its outputs may
//     change, and every buffer lies against a page that cannot be read or written.
//
// Kernels named -sparse are ascents by the sparse route, on potentials that have certificates
// and responsibilities that are nearly one-hot: their bits are compared with those of the dense
// route, and one that takes another route than the one asked for fails.
//
// [Run] makes a [Report]: a row for each kernel and tier, and for each failing case
// what failed and the arguments that repeat it (a [Case], which [ParseCase] reads).
package check
