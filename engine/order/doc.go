// Package order finds out in which order a sum or a sum of products is added, by calling it with
// chosen numbers.
//
//	o, err := order.Find(64, order.Products, dot) // a func(a, b []float32) float32, any implementation
//	fmt.Println(o.Describe(), "of", o.Precision(), "sums; fused:", o.Fusing())
//
// [Order.Equal] reports whether two implementations can have equal bits, [Order.Draw] draws the tree.
//
// # How it works
//
// With M = 2^100 at position i, -M at position j and small numbers elsewhere, a small number
// survives unless it is added to M, or to -M, before the two meet: M + 1 rounds to M. What is lost
// are therefore the leaves of the smallest subtree that holds i and j. The small numbers are powers
// of two, so that the result says which of them are lost, not only how many. From such sets follows
// the tree, with about n calls for a chain and n log n for a balanced tree (FPRev: Xu and others,
// Revealing Floating-Point Accumulation Orders in Software/Hardware Implementations, 2025; with
// counts instead of sets).
//
//   - The smallest M that swallows 1 says how many significant bits the sum has: 24 for float32,
//     53 for float64, 11 for float16, 8 for bfloat16.
//   - An operation that adds more than two numbers with a single rounding (a matrix unit) is a node
//     with more than two children. If it drops what is small beside its largest term, as matrix
//     units do (Fasi and others, Numerical Behavior of NVIDIA Tensor Cores, 2021), a set holds the
//     whole node; if it is exact, only the two children with i and j.
//   - The product (1 + 2^-12)^2 = 1 + 2^-11 + 2^-24, added to -(1 + 2^-11), leaves 2^-24 if it is
//     fused with the addition, and 0 if it was rounded to float32 before.
//
// At the end the order that was found adds random numbers (Order.Eval) and must give the bits of the
// implementation: Order.Verified. It does not where the rounding is another one, or where precisions
// are mixed.
//
// A sum whose terms all have the same sign (of exponentials, of squares) cannot be probed this way.
package order
