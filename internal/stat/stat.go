// Package stat computes medians, quantiles, the intervals of shares and rank correlations.
package stat

import (
	"cmp"
	"math"
	"slices"
	"sort"
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

// Normal95 is the normal quantile of 0.975.
const Normal95 = 1.95996398454005

// Wilson returns Wilson's 95% interval (J. Am. Stat. Assoc. 22, 1927) of a share p observed in n samples.
// It holds for few samples and for shares of 0 and 1, too.
func Wilson(p float64, n int) (low, high float64) {
	f := Normal95 * Normal95 / float64(n)
	centre := (p + f/2) / (1 + f)
	half := math.Sqrt(f*(float64(p*(1-p))+f/4)) / (1 + f)
	return max(0, min(p, centre-half)), min(1, max(p, centre+half))
}

// ranked returns the ranks of x from 1, the mean rank for equal numbers.
func ranked(x []float64) []float64 {
	order := Order(len(x), func(a, b int) bool { return cmp.Less(x[a], x[b]) })
	ranks := make([]float64, len(x))
	for from := 0; from < len(order); {
		to := from + 1
		for to < len(order) && x[order[to]] == x[order[from]] {
			to++
		}
		for _, i := range order[from:to] {
			ranks[i] = float64(from+1+to) / 2
		}
		from = to
	}
	return ranks
}

// Spearman returns the rank correlation of x and y, which have equal lengths: NaN if either is constant.
func Spearman(x, y []float64) float64 {
	a, b := ranked(x), ranked(y)
	mean := float64(len(x)+1) / 2
	var xx, yy, xy float64
	for i := range a {
		u, v := a[i]-mean, b[i]-mean
		xx, yy, xy = xx+float64(u*u), yy+float64(v*v), xy+float64(u*v)
	}
	return xy / math.Sqrt(xx*yy)
}

// Order returns the numbers 0 to n-1, sorted by less, equal ones in increasing order.
func Order(n int, less func(a, b int) bool) []int {
	order := make([]int, n)
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(i, j int) bool { return less(order[i], order[j]) })
	return order
}
