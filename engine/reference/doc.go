// Package reference is the oracle of the engine: the same functions in float64, as plain loops and
// blas64 calls, each with a bound on the error of the engine's float32 result.
//
//	want, bound := reference.Dot(reference.Vector(x), reference.Vector(y))
//	right := math.Abs(float64(e.Dot(x, y))-want) <= bound
//
// # What a bound is
//
// A function returns a value v and a bound e, as a [Value] or a pair of results. v is what exact
// arithmetic would give, up to the rounding of float64, which is 2^29 times finer than that of
// float32 and is neglected. e is the most by which a correct float32 result may differ:
//
//	|engine - v| <= e
//
// A result outside its bound is wrong: there is a mistake in the engine or in the bound. A result
// within it may still have the wrong bits; package check finds those by comparing tiers. The
// ratio |engine - v| / e, which the check reports as error/bound, is usually well below 1, since
// roundings rarely all err in the same direction.
//
// # How bounds are proven
//
// Each float32 operation is correctly rounded: its result is off by at most u = 2^-24 ([U]) times
// its size, plus 2^-149 where the result is subnormal. From this follows, step by step:
//
//   - A chain of n roundings changes a sum of products by at most [Gamma](n) = n u / (1 - n u) times
//     the sum of their absolute values (Higham, Accuracy and Stability of Numerical Algorithms,
//     2nd ed. 2002, chapter 3). n counts the roundings on the longest path from an input to the
//     result. It depends on the order of the sum: n for one accumulator, n/16 + 4 for sixteen
//     lanes and a tree.
//   - Errors of inputs that are results themselves are carried along: that of a sum is the sum of
//     errors, that of a product x y is |x| e_y + |y| e_x + e_x e_y, plus the rounding of the
//     operation. This is running error analysis (the same book, section 3.3).
//   - exp and log are within one unit in the last place ([ULPs]). A relative error of the argument of
//     exp is an absolute one of its exponent.
//
// The bounds follow the formulas and the order of the operations that the engine defines, which
// are the same on every tier. They need no measurement and hold for all inputs without overflow.
//
// These are the bounds of the engine. Those of anyorder.go hold for float32 kernels of others, in any order of
// additions, with or without fused multiply-add or wider accumulators: [Gemm], [DotAnyOrder], [SoftmaxAnyOrder],
// [LogSumExpAnyOrder], [LayerNormAnyOrder] and [QuadFormAnyOrder].
//
// # What is here
//
// Matrices are blas64.General, vectors are []float64. [Potential] is the mixture of Gaussians with
// its ascent and exact backward pass, [LowRank] its precisions of low rank. The gradients here
// are checked against central differences, and those of packages engine/ascent and dpn/potential against these.
package reference
