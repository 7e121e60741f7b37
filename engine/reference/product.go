package reference

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

// U is the unit roundoff of float32.
const U = 0x1p-24

// tiny is the smallest positive float32: no rounding in the subnormal range errs by more.
const tiny = 0x1p-149

// Gamma bounds the relative error of a chain of n roundings: n u / (1 - n u).
func Gamma(n int) float64 { return float64(n) * U / (1 - float64(n)*U) }

// laneRoundings is the number of roundings on the longest path of a reduction in sixteen
// lanes: one for every element of a lane and four for the tree.
func laneRoundings(n int) int { return (n+15)/16 + 4 }

// New returns a rows x cols matrix of zeros.
func New(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: max(cols, 1), Data: make([]float64, rows*cols)}
}

// FromFloat32 converts the matrix whose element (i, j) is data[i*rs+j*cs].
func FromFloat32(data []float32, rows, cols, rs, cs int) blas64.General {
	m := New(rows, cols)
	for i := range rows {
		for j := range cols {
			m.Data[i*m.Stride+j] = float64(data[i*rs+j*cs])
		}
	}
	return m
}

// Vector converts x.
func Vector(x []float32) []float64 {
	v := make([]float64, len(x))
	for i, f := range x {
		v[i] = float64(f)
	}
	return v
}

// Abs returns |m|, element by element.
func Abs(m blas64.General) blas64.General {
	a := New(m.Rows, m.Cols)
	for i, v := range m.Data {
		a.Data[i] = math.Abs(v)
	}
	return a
}

// Transpose returns the transpose of m.
func Transpose(m blas64.General) blas64.General {
	t := New(m.Cols, m.Rows)
	for i := range m.Rows {
		for j := range m.Cols {
			t.Data[j*t.Stride+i] = m.Data[i*m.Stride+j]
		}
	}
	return t
}

// MatMul returns c0 + a b and the bound Gamma(k+1) (|c0| + |a| |b|) on the float32
// result; k is the inner size. An empty c0 (Rows 0) counts as zero.
func MatMul(a, b, c0 blas64.General) (c, bound blas64.General) {
	c, bound = New(a.Rows, b.Cols), New(a.Rows, b.Cols)
	if c0.Rows != 0 {
		copy(c.Data, c0.Data)
		copy(bound.Data, Abs(c0).Data)
	}
	if len(c.Data) == 0 {
		return c, bound
	}
	switch {
	case a.Cols == 0:
	case !finite(b): // blas64 leaves out products with 0, which are NaN here
		multiply(a, b, c)
		multiply(Abs(a), Abs(b), bound)
	default:
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, a, b, 1, c)
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, Abs(a), Abs(b), 1, bound)
	}
	k := a.Cols + 1
	for i := range bound.Data {
		bound.Data[i] = Gamma(k)*bound.Data[i] + float64(k)*tiny
	}
	return c, bound
}

// multiply adds a b to c by plain loops.
func multiply(a, b, c blas64.General) {
	for i := range a.Rows {
		for p := range a.Cols {
			for j := range b.Cols {
				c.Data[i*c.Stride+j] += a.Data[i*a.Stride+p] * b.Data[p*b.Stride+j]
			}
		}
	}
}

// finite reports whether all elements of m are.
func finite(m blas64.General) bool {
	for i := range m.Rows {
		for _, v := range m.Data[i*m.Stride : i*m.Stride+m.Cols] {
			if v-v != 0 {
				return false
			}
		}
	}
	return true
}

// Dot returns the dot product and its bound in sixteen lanes.
func Dot(x, y []float64) (dot, bound float64) {
	for i := range x {
		dot += x[i] * y[i]
		bound += math.Abs(x[i] * y[i])
	}
	n := laneRoundings(len(x))
	return dot, Gamma(n)*bound + float64(len(x))*tiny
}

// Sum returns the sum and its bound in sixteen lanes.
func Sum(x []float64) (sum, bound float64) {
	for _, v := range x {
		sum += v
		bound += math.Abs(v)
	}
	return sum, Gamma(laneRoundings(len(x))) * bound
}

// SquaredDistance returns the sum of (x-y)^2 and its bound in sixteen lanes.
func SquaredDistance(x, y []float64) (d, bound float64) {
	for i := range x {
		d += (x[i] - y[i]) * (x[i] - y[i])
	}
	return d, Gamma(laneRoundings(len(x))+2)*d + float64(len(x))*tiny
}

// WeightedSquares returns the sum of w (x-y)^2 and its bound in sixteen lanes.
func WeightedSquares(x, y, w []float64) (q, bound float64) {
	for i := range x {
		v := w[i] * (x[i] - y[i]) * (x[i] - y[i])
		q += v
		bound += math.Abs(v)
	}
	return q, Gamma(laneRoundings(len(x))+3)*bound + float64(len(x))*tiny*(1+maxAbs(x)+maxAbs(y))
}

func maxAbs(x []float64) float64 {
	var m float64
	for _, v := range x {
		m = max(m, math.Abs(v))
	}
	return m
}

// Rounded is the bound of a result that is computed exactly and rounded n times.
func Rounded(v float64, n int) float64 { return Gamma(n)*math.Abs(v) + float64(n)*tiny }

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
