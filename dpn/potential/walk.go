package potential

import (
	"math"

	"dpnbench/internal/linalg"
)

// RoundingAllowance is the fall of phi from a to b that counts as rounding in d
// dimensions: 4 sqrt(d) u (1 + max(|a|, |b|)) with u = 2^-24, the size of the rounding of
// q_i as a sum of d products with independent errors, four times over.
func RoundingAllowance(d int, a, b float64) float64 {
	return 4 * math.Sqrt(float64(d)) * 0x1p-24 * (1 + max(math.Abs(a), math.Abs(b)))
}

// Rises says whether phi rises from a to b in d dimensions, or falls by no more than
// RoundingAllowance. It does not if either is not finite.
func Rises(d int, a, b float64) bool {
	fall := a - b
	return linalg.IsFinite(fall) && fall <= RoundingAllowance(d, a, b)
}
