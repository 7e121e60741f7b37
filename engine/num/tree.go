package num

import "math/bits"

// TreeStep is a step of the sum of n numbers, or vectors, that come one after another, by a tree that depends on n
// only:
//
//	tree of n = tree of the first 2^j + tree of the others, 2^j the largest power of two below n
//
// Sums of 2^0, 2^1, ... of them wait at levels. To number i are added those of the levels that are bits of add, the
// lowest first; the result waits at level store or, if that is negative, is the whole sum.
func TreeStep(i, n int) (add uint, store int) {
	if i == n-1 {
		return uint(i), -1
	}
	add = uint(i &^ (i + 1))
	return add, bits.OnesCount(add)
}

// TreeSum returns the sum of at least one number by the tree of TreeStep.
func TreeSum(x []float32) float32 {
	if len(x) == 1 {
		return x[0]
	}
	first := 1 << (TreeLevels(len(x)) - 1)
	return TreeSum(x[:first]) + TreeSum(x[first:])
}

// TreeLevels returns how many sums may wait while n numbers are added.
func TreeLevels(n int) int { return bits.Len(uint(n - 1)) }
