// Package engine is a hand-vectorised float32 engine for CPUs: matrix products, the
// ascent on a mixture of Gaussians and its exact backward pass, elementary functions,
// reductions, normalisation, Adam and random numbers, in assembly for AVX-512, AVX2 and
// NEON with pure-Go twins, chosen at run time. It knows nothing of networks or training.
//
// An [Engine] holds a tier and a pool of threads; there is no global state. A [Matrix] is
// a view with any strides, so transposes and parts of matrices cost nothing; a [Packed]
// matrix is laid out once for many products; a [Mixture] is a potential with its packed
// precisions: full ones, one for all components, or diagonal up to a low rank
// ([NewLowRankMixture]). See example_test.go.
//
// # The same bits everywhere
//
// The same input gives the same bits, whatever the tier, the number of threads and the
// number of other rows in the batch:
//
//   - Every element of a product is one chain of fused multiply-adds ([num.FMA32]) in
//     increasing inner index, from +0 or from the old value. Vectors and threads split
//     outputs, never the inner index; blocks store and reload the float32 partial sum.
//   - The reduction of a vector uses sixteen lanes: element j goes to lane j mod 16, the
//     vector counts as padded with +0, and the lanes are combined 8 apart, 4, 2, 1.
//   - Sums over components, classes and rows of a matrix are chains in increasing index,
//     computed side by side for many outputs.
//   - [num.Exp32] and [num.Log32] are the engine's own, at most 1 ULP from correctly rounded.
//     Square roots and divisions are correctly rounded. No estimates, no flush to zero.
//   - A responsibility below 2^-30 of the largest is exactly 0 ([ResponsibilityCut]), and
//     a component with responsibility 0 is left out of every sum of finite numbers.
//   - A row of dL/dx_t that is below 2^-100 everywhere is 0 ([Engine.AscendBackward]).
//   - Maxima ignore NaN; ties go to the lower index.
//
// Tests hold every tier and machine to it: a hash of the results of each kernel
// (check/testdata/sha256.txt), of exp and log at all inputs (check.Sweep) and of trained
// weights.
//
// Not promised: the sign and payload of a NaN. A NaN that goes in comes out as some NaN, but
// for the methods that ignore it and say so: maxima and what selects by them (ReLU and ReLUPool,
// forward and backward, ArgMin, ArgMax).
//
// # Threads
//
// Work is split over outputs and stays on one thread where it takes less than about 100
// microseconds, or 20 right after other work, while the others are still awake.
// [Engine.PlanAscent] says how an ascent is shared: by rows, or by components where P_i of
// many dimensions serve few rows; [AscentPlan] has the cost model ([Engine.PlanMixture]
// for all precisions). [Engine.Parallel] shares Go code among the threads, with products
// on each of them ([Worker.MatMul]).
// Where all processors are its threads, which have tasks, an engine lets others run ten times a
// millisecond, so that a collection beside a long product takes one to two milliseconds
// (go test -run NONE -bench Collection ./engine), unless its threads are pinned.
//
// # Routes
//
// Where the responsibilities of rows are nearly one-hot, an ascent need not compute all
// components (route.go, sparse.go). A component whose responsibility is 0 adds exact zeros
// to the gradient and to everything of the backward pass, so leaving it out changes no bit.
// What may be left out is proved, not guessed: certificate.go bounds sqrt(q_i) from below by
// how far the row has moved, or by a plane that supports it where it was last computed, with
// the roundings of the kernels added (Higham's gamma_n); where all precisions are the same
// multiple of the identity, straight.go proves it for the whole way to a centre at once; where they
// are the same multiple less a low rank, and many rows climb, gram.go knows q_i from dot products
// of factors and centres. A row that no certificate covers is computed; rows with a NaN or an
// infinity always are.
//
// [WithRoute] sets the route; [AutoRoute] tries some rows of the first ascent on a mixture, and
// of every thirty-second after it, and goes by a cost model ([Engine.ExplainRoute]); where
// that leaves it open which route is faster, it times both on ascents that are made anyway.
// [Engine.CountWork] counts what the sparse route computes. Certificates exist for precisions
// of SetFactors and SetLowRank.
//
// # Memory
//
// No kernel reads or writes outside its slices, at any length and alignment; package
// check holds every kernel against unreadable pages. (Kernels ask the cache to prefetch
// what comes next, which touches nothing.) One call of an assembly function takes about
// a hundred microseconds at most, because nothing can interrupt it (of a single row with
// hundreds of features as long as reading half of eight P_i, which may be a millisecond);
// between the calls of a long product the scheduler and the collector can.
// On Linux large matrices lie on huge pages where the system has them on advice
// (/sys/kernel/mm/transparent_hugepage/enabled: madvise or always).
// Methods panic when shapes do not fit, with a message that names the operand.
//
// # Measuring
//
// [Engine.RunFMA] and [Engine.RunStream] do nothing but multiply-adds, or memory traffic:
// the most that a kernel can reach on this machine. [RunAdditions] counts cycles of the
// clock. [WithPinnedThreads] and [PinCaller] keep threads where they are.
//
// # Tiers
//
// A tier is a table of functions and block sizes (table.go). The pure-Go functions of generic_*.go
// define what each does. The assembly of a tier is in asm_gemm_*.s (products), asm_*.s (vectors),
// asm_ascent_*.s and asm_conv_*.s, in the same order in every tier; *_amd64.h and *_arm64.h hold what
// such files share. The build tags purego and noasm leave the assembly out.
//
// The same bits cost pure Go dear where the processor's fused multiply-add is out of
// reach: a product runs at about 1.7 GFLOP/s on a core that does 7 where the compiler
// fuses (arm64, ppc64le, riscv64, s390x, and amd64 built with GOAMD64=v3; found out at
// start), and some 200 in assembly. Measure it with
//
//	go test -tags purego -run NONE -bench Gemm/packed/generic/m=128,k=64,n=1280 ./bench
//
// To add a kernel:
//
//  1. Write its pure-Go twin in asm_generic.go, with the loop that it stands for.
//  2. Write the assembly, and declare it with the same signature and doc comment.
//  3. Add a field to the table and a method that checks every length before the call,
//     and a line to twins_test.go, which holds the raw function against its twin.
//  4. Call it from an Engine method that splits the work over outputs.
//  5. Add an oracle to package reference and a case to package check, which compares all
//     tiers over awkward sizes, strides and alignments, and add the hash of its results
//     (go test ./engine/check -run TestHashes -update, which adds what is missing and
//     replaces only a kernel that it names: -update=matmul).
package engine
