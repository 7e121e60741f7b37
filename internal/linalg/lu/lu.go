// Package lu inverts float32 matrices by LU factorisation, with the engine's products for most of
// the work. It is not part of package linalg, which the engine imports.
package lu

import (
	"math"
	"slices"

	"dpnbench/engine"
	"dpnbench/internal/linalg"
)

// Inverter inverts matrices by Gaussian elimination with partial pivoting, one block of columns at
// a time. It factors the block in float64 and updates the other columns with the engine's products,
// which have the same bits on every machine. It keeps its scratch memory.
type Inverter struct {
	m     []float32 // [a | 1], which becomes [U | L^-1] and then [U | a^-1], n x 2n
	panel []float64 // the columns of the block, from its first row on
	left  []float32 // left operand of a product
	right []float32
	pivot []float64
	block []float64 // inverse of a triangle
}

// Multiplier is an Engine or one of its Workers.
type Multiplier interface {
	MatMul(c, a, b engine.Matrix, acc bool)
	Scale(dst []float32, a float32, x []float32)
}

// invertBlock is the number of columns in a block.
const invertBlock = 32

// Invert sets inverse to the inverse of a, both n x n, and returns log|det a|. If a is singular it
// returns -Inf, and inverse is undefined.
func (v *Inverter) Invert(e Multiplier, inverse, a engine.Matrix) (logDet float64) {
	n := a.Rows
	m := v.load(a, 2*n)
	for i := range n {
		clear(m.Row(i)[n:])
		m.Set(i, n+i, 1)
	}
	if !v.factor(e, m) {
		return math.Inf(-1)
	}
	for k := (n - 1) / invertBlock * invertBlock; k >= 0; k -= invertBlock {
		h := min(invertBlock, n-k)
		x := m.Slice(k, k+h, n, 2*n)
		if rest := n - k - h; rest > 0 {
			by := engine.View(v.left[:h*rest], h, rest)
			for i := range h {
				e.Scale(by.Row(i), -1, m.Row(k + i)[k+h:n])
			}
			e.MatMul(x, by, m.Slice(k+h, n, n, 2*n), true)
		}
		v.solve(e, x, func(b []float64) { upper(m, k, h, b) })
	}
	for i := range n {
		copy(inverse.Row(i), m.Row(i)[n:])
	}
	return linalg.LogProduct(v.pivot)
}

// Singular reports whether the n x n matrix a is singular to the precision of float32: whether
// elimination in float64 has a pivot of at most 2^-24 times the largest. The engine's products
// round to float32, which can turn a zero into a pivot of that size, or a larger one in a large
// matrix. So elimination with them only proves that a matrix is regular, if the ratio of pivots is
// above 2^-10. Other matrices are eliminated again in float64, which takes about 20 times longer.
func (v *Inverter) Singular(e Multiplier, a engine.Matrix) bool {
	n := a.Rows
	if v.factor(e, v.load(a, n)) && v.pivotRatio() > 0x1p-10 {
		return false
	}
	m := v.load(a, n)
	v.pivot = v.pivot[:0]
	return !v.eliminate(m, linalg.Widen(m.Data), 0, n) || !(v.pivotRatio() > 0x1p-24)
}

// pivotRatio returns the smallest pivot over the largest.
func (v *Inverter) pivotRatio() float64 { return slices.Min(v.pivot) / slices.Max(v.pivot) }

// load returns m with cols columns and a copy of a in the first ones, and allocates the memory for
// its elimination.
func (v *Inverter) load(a engine.Matrix, cols int) engine.Matrix {
	n := a.Rows
	m := engine.View(engine.Grow(&v.m, n*cols), n, cols)
	engine.Grow(&v.panel, n*invertBlock)
	engine.Grow(&v.left, n*invertBlock)
	engine.Grow(&v.right, cols*invertBlock)
	for i := range n {
		copy(m.Row(i), a.Row(i))
	}
	return m
}

// factor eliminates below the diagonal of the first n columns of m, which has n rows. They become
// U; the columns on their right are multiplied by L^-1. It reports whether all pivots differ from
// 0.
func (v *Inverter) factor(e Multiplier, m engine.Matrix) bool {
	n := m.Rows
	v.pivot = v.pivot[:0]
	for k := 0; k < n; k += invertBlock {
		h := min(invertBlock, n-k)
		p := v.panel[:(n-k)*h]
		for i := range n - k {
			for j, x := range m.Row(k + i)[k : k+h] {
				p[i*h+j] = float64(x)
			}
		}
		if !v.eliminate(m, p, k, h) {
			return false
		}
		for i := range h {
			for j := i; j < h; j++ {
				m.Set(k+i, k+j, float32(p[i*h+j]))
			}
		}
		if k+h == m.Cols {
			break
		}
		v.solve(e, m.Slice(k, k+h, k+h, m.Cols), func(b []float64) { lowerUnit(p, h, b) })
		if rest := n - k - h; rest > 0 {
			by := engine.View(v.left[:rest*h], rest, h)
			for i := range by.Data {
				by.Data[i] = -float32(p[h*h+i])
			}
			e.MatMul(m.Slice(k+h, n, k+h, m.Cols), by, m.Slice(k, k+h, k+h, m.Cols), true)
		}
	}
	return true
}

// eliminate factors p, the columns of the block from row k on, into L (below the diagonal; its own
// diagonal is 1) and U, and swaps rows of m in the same way. The pivot is the element of largest
// magnitude, the first among equals. It reports whether all pivots differ from 0.
func (v *Inverter) eliminate(m engine.Matrix, p []float64, k, h int) bool {
	rows := len(p) / h
	for j := range h {
		best := j
		for i := j + 1; i < rows; i++ {
			if math.Abs(p[i*h+j]) > math.Abs(p[best*h+j]) {
				best = i
			}
		}
		top := p[j*h : (j+1)*h]
		if best != j {
			swap(top, p[best*h:(best+1)*h])
			swap(m.Row(k+j), m.Row(k+best))
		}
		if !(math.Abs(top[j]) > 0) {
			return false
		}
		v.pivot = append(v.pivot, math.Abs(top[j]))
		for i := j + 1; i < rows; i++ {
			row := p[i*h : (i+1)*h]
			row[j] /= top[j]
			linalg.Axpy(-row[j], top[j+1:], row[j+1:])
		}
	}
	return true
}

func swap[T any](a, b []T) {
	for i := range a {
		a[i], b[i] = b[i], a[i]
	}
}

// solve sets x to T^-1 x, for a triangular T with as many rows as x. invert turns the identity into
// T^-1, in place.
func (v *Inverter) solve(e Multiplier, x engine.Matrix, invert func(b []float64)) {
	h := x.Rows
	engine.Grow(&v.block, h*h)
	clear(v.block)
	for j := range h {
		v.block[j*h+j] = 1
	}
	invert(v.block)
	t := engine.View(v.left[:h*h], h, h)
	for i, y := range v.block {
		t.Data[i] = float32(y)
	}
	y := engine.View(v.right[:h*x.Cols], h, x.Cols)
	e.MatMul(y, t, x, false)
	for i := range h {
		copy(x.Row(i), y.Row(i))
	}
}

// lowerUnit replaces B = 1 (h x h) by L^-1, where L is the lower triangle of p with ones on the
// diagonal. It proceeds row by row; the elements right of the diagonal stay 0.
func lowerUnit(p []float64, h int, b []float64) {
	for i := range h {
		for j := range i {
			linalg.Axpy(-p[i*h+j], b[j*h:j*h+j+1], b[i*h:i*h+j+1])
		}
	}
}

// upper replaces B = 1 (h x h) by U^-1, where U is the upper triangle of m at (k, k). It proceeds
// from the last row to the first; the elements left of the diagonal stay 0.
func upper(m engine.Matrix, k, h int, b []float64) {
	for i := h - 1; i >= 0; i-- {
		row := m.Row(k + i)[k : k+h]
		for j := i + 1; j < h; j++ {
			linalg.Axpy(-float64(row[j]), b[j*h+j:(j+1)*h], b[i*h+j:(i+1)*h])
		}
		for j := i; j < h; j++ {
			b[i*h+j] /= float64(row[i])
		}
	}
}
