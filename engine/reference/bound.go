package reference

import "math"

// U is the unit roundoff of float32.
const U = 0x1p-24

// tiny is the smallest positive float32: no rounding in the subnormal range errs by more.
const tiny = 0x1p-149

// sumError bounds the error of adding n float64 numbers, in any order, whose magnitudes add up to size: that of
// the engine and that of the reference itself. The result still has to be rounded to float32.
func sumError(n int, size float64) float64 { return float64(2*n+8) * 0x1p-53 * size }

// Gamma bounds the relative error of a chain of n roundings: n u / (1 - n u).
func Gamma(n int) float64 { return float64(n) * U / (1 - float64(n)*U) }

// laneRoundings is the number of roundings on the longest path of a reduction in sixteen
// lanes: one for every element of a lane and four for the tree.
func laneRoundings(n int) int { return (n+15)/16 + 4 }

// Rounded is the bound of a result that is computed exactly and rounded n times.
func Rounded(v float64, n int) float64 { return Gamma(n)*math.Abs(v) + float64(n)*tiny }

// Value is a number with a bound on the error of the engine's float32 result.
type Value struct {
	V []float64
	E []float64
}

func newValue(n int) Value { return Value{make([]float64, n), make([]float64, n)} }

// number is a float64 value with a bound on the error of the engine's float32 result, and
// the rules by which such errors go on through sums and products (running error analysis).
type number struct{ v, e float64 }

func exactly(v float64) number { return number{v: v} }

// sum adds numbers up, in any order of that many roundings.
func sum(roundings int, terms ...number) number {
	var s number
	var size float64
	for _, t := range terms {
		s.v += t.v
		s.e += t.e
		size += math.Abs(t.v) + t.e
	}
	s.e += Gamma(roundings) * size
	return s
}

// product multiplies numbers, with a rounding after each.
func product(x number, more ...number) number {
	for _, y := range more {
		e := math.Abs(x.v)*y.e + x.e*math.Abs(y.v) + x.e*y.e
		x = number{x.v * y.v, e}
		x.e += U*(math.Abs(x.v)+e) + tiny
	}
	return x
}

func (x number) negative() number { return number{-x.v, x.e} }

// ULPs returns by how many units in the last place of float32 got differs from the
// correctly rounded want: 0 for the same number, 1 for a neighbour. NaN equals NaN; NaN
// against a number is the largest distance.
func ULPs(got float32, want float64) uint32 {
	w := float32(want)
	if got != got || w != w {
		if got != got && w != w {
			return 0
		}
		return math.MaxUint32
	}
	a, b := ordered(got), ordered(w)
	if a > b {
		return uint32(a - b)
	}
	return uint32(b - a)
}

// ordered maps float32 to integers in the same order, neighbours to neighbours.
func ordered(x float32) int64 {
	b := math.Float32bits(x)
	if b>>31 != 0 {
		return -int64(b & 0x7fffffff)
	}
	return int64(b)
}
