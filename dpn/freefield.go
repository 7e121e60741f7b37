package dpn

import (
	"context"
	"errors"
	"fmt"
	"math"

	"dpnbench/engine/num"
	"dpnbench/internal/linalg"
)

// FreeField is a vector field that is the gradient of nothing: a network of two layers,
// g(x) = W2 tanh(W1 x + b1) + b2, whose Jacobian W2 diag(1 - tanh^2) W1 nothing makes
// symmetric. It is what the ascent field is compared with.
type FreeField struct {
	Dim, Hidden int
	W1          []float64 // hidden x d
	B1          []float64 // hidden
	W2          []float64 // d x hidden
	B2          []float64 // d
}

// NewFreeField draws all weights and biases of a layer from the uniform numbers within
// 1/sqrt(inputs), as the linear layers of a Model are.
func NewFreeField(dim, hidden int, seed uint64) (*FreeField, error) {
	if dim < 1 || hidden < 1 || dim > 1<<28/hidden {
		return nil, fmt.Errorf("free field of %d dimensions and %d hidden units, expected at least 1 of each and at most 2^28 weights", dim, hidden)
	}
	r := num.NewRand(seed, streamField)
	draw := func(n, in int) []float64 {
		v := make([]float32, n)
		limit := float32(1 / math.Sqrt(float64(in)))
		r.Uniform(v, -limit, limit)
		return linalg.Widen(v)
	}
	return &FreeField{Dim: dim, Hidden: hidden,
		W1: draw(hidden*dim, dim), B1: draw(hidden, dim), W2: draw(dim*hidden, hidden), B2: draw(dim, hidden)}, nil
}

// hidden sets the rows of t to tanh(W1 x + b1).
func (f *FreeField) hidden(ctx context.Context, t, x []float64, threads int) error {
	d, h := f.Dim, f.Hidden
	return forEach(ctx, len(x)/d, threads, func(b int) error {
		for u := range h {
			t[b*h+u] = math.Tanh(linalg.Dot(f.W1[u*d:(u+1)*d], x[b*d:(b+1)*d]) + f.B1[u])
		}
		return nil
	})
}

// Field returns the field, computed on so many threads.
func (f *FreeField) Field(name string, threads int) VectorField {
	d, h := f.Dim, f.Hidden
	return VectorField{Name: name, Dim: d, Rounding: 0x1p-53,
		Eval: func(ctx context.Context, g, x []float64) error {
			t := make([]float64, len(x)/d*h)
			if err := f.hidden(ctx, t, x, threads); err != nil {
				return err
			}
			return forEach(ctx, len(x)/d, threads, func(b int) error {
				for j := range d {
					g[b*d+j] = linalg.Dot(f.W2[j*h:(j+1)*h], t[b*h:(b+1)*h]) + f.B2[j]
				}
				return nil
			})
		}}
}

// Fit chooses W2 and b2 so that the field is closest to g at the points x (both n x d), by
// least squares with the penalty ridge times n on the squares of W2; W1 and b1 stay as
// they were drawn. It returns the share of the variance of g that the fit explains.
func (f *FreeField) Fit(ctx context.Context, x, g []float64, ridge float64, threads int) (r2 float64, err error) {
	d, h := f.Dim, f.Hidden
	n := len(x) / d
	if n < 2 || len(x) != n*d || len(g) != n*d {
		return 0, fmt.Errorf("free field: fit to %d and %d numbers, expected two points or more of %d features in both", len(x), len(g), d)
	}
	if !(ridge > 0) || math.IsInf(ridge, 0) {
		return 0, fmt.Errorf("free field: ridge %v, expected a number above 0", ridge)
	}
	t := make([]float64, n*h)
	if err := f.hidden(ctx, t, x, threads); err != nil {
		return 0, err
	}
	meanT, meanG := columnMeans(t, n, h), columnMeans(g, n, d)
	for b := range n {
		linalg.Axpy(-1, meanT, t[b*h:(b+1)*h])
	}
	gram := make([]float64, h*h)
	for b := range n {
		row := t[b*h : (b+1)*h]
		for u, v := range row {
			linalg.Axpy(v, row[:u+1], gram[u*h:u*h+u+1])
		}
	}
	for u := range h {
		gram[u*h+u] += ridge * float64(n)
	}
	if !linalg.Cholesky(gram, h) {
		return 0, errors.New("free field: the hidden units are not finite or not independent to rounding; a larger ridge is needed")
	}
	err = forEach(ctx, d, threads, func(j int) error {
		w := f.W2[j*h : (j+1)*h]
		clear(w)
		for b := range n {
			linalg.Axpy(g[b*d+j]-meanG[j], t[b*h:(b+1)*h], w)
		}
		linalg.SolveLower(gram, h, w, 0)
		linalg.SolveLowerT(gram, h, w)
		f.B2[j] = meanG[j] - linalg.Dot(w, meanT)
		return nil
	})
	if err != nil {
		return 0, err
	}
	var left, all float64
	for b := range n {
		for j := range d {
			v := g[b*d+j] - meanG[j]
			e := v - linalg.Dot(f.W2[j*h:(j+1)*h], t[b*h:(b+1)*h])
			left, all = left+float64(e*e), all+float64(v*v)
		}
	}
	if all == 0 {
		return 1, nil
	}
	return 1 - left/all, nil
}

// columnMeans returns the means of the columns of x (n x d).
func columnMeans(x []float64, n, d int) []float64 {
	m := make([]float64, d)
	for b := range n {
		linalg.Axpy(1/float64(n), x[b*d:(b+1)*d], m)
	}
	return m
}
