// Package reference is the oracle of the engine: the same functions written as plain
// float64 loops and blas64 calls, each with a bound on what float32 arithmetic in the
// engine's order may differ from them.
//
// Bounds are running error bounds (Higham, Accuracy and Stability of Numerical
// Algorithms, 2002, chapter 3): with u = 2^-24, a chain of n roundings changes a sum of
// products by at most Gamma(n) times the sum of their absolute values; the error of
// every intermediate result is carried along. An engine that breaks a bound is wrong; one
// that keeps it may still have the wrong bits, which is for the comparison of tiers to
// find. Elementary functions are measured in units in the last place (ULPs).
//
// The types are [blas64.General] for matrices and []float64 for vectors. [Potential]
// is the mixture of Gaussians in float64, with its ascent and exact backward pass: the
// gradients of package dpn are checked against it, and it against central differences.
package reference
