package reference

import (
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
)

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
	addProduct(a, b, c)
	addProduct(Abs(a), Abs(b), bound)
	k := a.Cols + 1
	for i := range bound.Data {
		bound.Data[i] = Gamma(k)*bound.Data[i] + float64(k)*tiny
	}
	return c, bound
}

// addProduct adds a b to c.
func addProduct(a, b, c blas64.General) {
	if len(c.Data) == 0 || a.Cols == 0 {
		return
	}
	if finite(b) {
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, a, b, 1, c)
		return
	}
	// blas64 leaves out products with 0, which are NaN here
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
