// Package stat computes medians and quantiles.
package stat

import (
	"math"
	"slices"
)

// Median returns the median of x, the mean of the two middle elements for an even number; NaN if x
// is empty.
func Median(x []float64) float64 {
	s := slices.Clone(x)
	slices.Sort(s)
	return Quantile(s, 0.5)
}

// Quantile returns the q-quantile of sorted numbers, 0 <= q <= 1, interpolated between neighbours
// (R's type 7): the smallest for 0, the largest for 1; NaN if there are none.
func Quantile(sorted []float64, q float64) float64 {
	if len(sorted) == 0 {
		return math.NaN()
	}
	at := float64(q * float64(len(sorted)-1)) // rounded, so that no machine fuses the product with the subtraction
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
