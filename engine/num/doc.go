// Package num holds the numbers that have the same bits on every machine without an engine:
// the fused multiply-add of float32 ([FMA32]), exponential and logarithm ([Exp32], [Log32]),
// and seeded streams of random numbers ([Rand]). The kernels of package engine compute the
// same functions, bit for bit, for whole slices.
//
//	random := num.NewRand(1, 0) // seed 1, stream 0
//	random.Normal(noise)
//	y := num.Exp32(noise[0])
package num
