// Package stat has quantiles.
package stat

import (
	"math"
	"slices"
)

// Median returns the middle of x, or the mean of the two in the middle; NaN of nothing.
func Median(x []float64) float64 {
	s := slices.Clone(x)
	slices.Sort(s)
	return Quantile(s, 0.5)
}

// Quantile returns the q-quantile of sorted numbers, 0 <= q <= 1, interpolated between
// neighbours (R's type 7): the least for 0, the greatest for 1; NaN of nothing.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := float64(q * float64(len(sorted)-1)) // rounded: no machine may fuse it with what follows
	i := int(at)
	if i+1 >= len(sorted) {
		return sorted[len(sorted)-1]
	}
	f := at - float64(i)
	if f == 0 { // the next one may be infinite
		return sorted[i]
	}
	return float64((1-f)*sorted[i]) + float64(f*sorted[i+1])
}
