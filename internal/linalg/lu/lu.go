// Package lu inverts matrices of float32 by LU factors, most of it in the engine's products.
// It stands apart from package linalg because the engine itself uses that.
package lu

import (
	"math"
	"slices"

	"dpnbench/engine"
	"dpnbench/internal/linalg"
)

// Inverter inverts matrices by Gaussian elimination with partial pivoting, block by block of
// columns: the block itself in float64, the update of the other columns by the engine's products,
// which have the same bits on every machine. It holds the memory for that.
type Inverter struct {
	m     []float32 // [a | 1], which becomes [U | L^-1] and then [U | a^-1], n x 2n
	panel []float64 // the columns, of the rows from the block on
	left  []float32 // what a product has on its left
	right []float32
	pivot []float64
	block []float64 // a triangle's inverse
}

// Multiplier is an Engine, or one of its threads.
type Multiplier interface {
	MatMul(c, a, b engine.Matrix, acc bool)
	Scale(dst []float32, a float32, x []float32)
}

// invertBlock is the number of columns in a block.
const invertBlock = 32

// Invert sets inverse to that of a, both n x n, and returns log|det a|. If a is
// singular it returns -Inf, and inverse is undefined.
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

// Singular says whether the n x n matrix a has no inverse as far as float32 can tell: one of
// its pivots is no more than 2^-24 of the largest, as elimination in float64 finds them.
// The engine's products round to float32, which can make that much of a zero, or more in a large
// matrix. So a first elimination with them only proves matrices regular, if the ratio is above
// 2^-10; the others are eliminated again in float64, which takes about 20 times longer.
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

// load returns m of so many columns with a in the first ones, and makes room for its
// elimination.
func (v *Inverter) load(a engine.Matrix, cols int) engine.Matrix {
	n := a.Rows
	v.m, v.panel = sized(v.m, n*cols), sized(v.panel, n*invertBlock)
	v.left, v.right = sized(v.left, n*invertBlock), sized(v.right, cols*invertBlock)
	m := engine.View(v.m, n, cols)
	for i := range n {
		copy(m.Row(i), a.Row(i))
	}
	return m
}

// sized returns n numbers, in the memory of x where that is enough.
func sized[T any](x []T, n int) []T { return slices.Grow(x[:0], n)[:n] }

// factor eliminates below the diagonal of the first n columns of m, which has n rows: they
// become U, and those on their right L^-1 times what they were. It says whether all pivots
// differ from 0.
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

// eliminate factors the columns p of the rows of m from k on into L (below the diagonal,
// whose own is 1) and U, and swaps rows of m as it goes: the largest element becomes the
// pivot, the first among equals. It says whether there is one.
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

// solve sets x to T^-1 x, for a triangular T of as many rows. invert turns the identity into
// T^-1, in place.
func (v *Inverter) solve(e Multiplier, x engine.Matrix, invert func(b []float64)) {
	h := x.Rows
	v.block = sized(v.block, h*h)
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

// lowerUnit solves L B = 1 in place of B = 1, h x h, L the lower half of p with ones on the
// diagonal: row after row, whose numbers right of the diagonal are 0.
func lowerUnit(p []float64, h int, b []float64) {
	for i := range h {
		for j := range i {
			linalg.Axpy(-p[i*h+j], b[j*h:j*h+j+1], b[i*h:i*h+j+1])
		}
	}
}

// upper solves U B = 1 in place of B = 1, U the h x h upper triangle of m at (k, k): from the last
// row up, whose numbers left of the diagonal are 0.
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
