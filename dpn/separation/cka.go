package separation

import (
	"context"
	"fmt"
	"math"
	"slices"

	"dpnbench/engine"
	"dpnbench/internal/linalg"
)

// ckaBatch is the number of samples of a Gram matrix, and ckaRows the largest number of samples used.
const (
	ckaBatch = 512
	ckaRows  = 40 * ckaBatch
)

// CKA returns the linear centred kernel alignment (Kornblith et al., ICML 2019) between all pairs of
// layers, L x L numbers of the same samples: 1 if their features are equal up to rotation and scale. It
// uses the unbiased estimate of HSIC (Song et al., JMLR 13, 2012), summed over minibatches as by
// Nguyen, Raghu and Kornblith (ICLR 2021), whose expectation does not depend on the number of samples;
// rows says how many were used: all, or about 20,000 evenly spaced ones. A layer that does not vary has
// NaN, with itself and with every other: its CKA is undefined.
func CKA(ctx context.Context, e *engine.Engine, layers []Source) (cka []float64, rows int, err error) {
	if len(layers) == 0 {
		return nil, 0, nil
	}
	if e == nil {
		return nil, 0, errNoEngine
	}
	if l := slices.Index(layers, nil); l >= 0 {
		return nil, 0, fmt.Errorf("separation: CKA: layer %d: no features: the source is nil", l)
	}
	n := layers[0].Len()
	for l, s := range layers {
		if s.Len() != n {
			return nil, 0, fmt.Errorf("separation: CKA: %d rows in layer %d, %d in the first one", s.Len(), l, n)
		}
	}
	if n < 4 {
		return nil, 0, fmt.Errorf("separation: CKA: %d rows: at least 4 are needed", n)
	}
	rows = min(n, ckaRows)
	batches := (rows + ckaBatch - 1) / ckaBatch
	count := len(layers)
	hsic := make([]float64, count*count)
	grams := make([]gram, count)
	for b := range batches {
		var at []int
		for i := b; i < rows; i += batches { // samples are often sorted by class
			at = append(at, int(int64(i)*int64(n)/int64(rows)))
		}
		for l, s := range layers {
			if err := ctx.Err(); err != nil {
				return nil, 0, err
			}
			if err := grams[l].set(e, part{s, at}); err != nil {
				return nil, 0, fmt.Errorf("separation: CKA: layer %d: %w", l, err)
			}
		}
		for i := range grams {
			for j := range i + 1 {
				hsic[i*count+j] += grams[i].hsic(grams[j])
			}
		}
	}
	cka = make([]float64, count*count)
	for i := range count {
		for j := range i + 1 {
			ii, jj := hsic[i*count+i], hsic[j*count+j]
			v := hsic[i*count+j] / math.Sqrt(ii*jj)
			switch {
			case !(ii > 0 && jj > 0):
				v = math.NaN()
			case i == j:
				v = 1
			}
			cka[i*count+j], cka[j*count+i] = v, v
		}
	}
	return cka, rows, nil
}

// gram is the products of a batch of rows, with a diagonal of zeros.
type gram struct {
	scale float64 // of the layer, a power of two; 0: not known yet
	k     engine.Matrix
	sums  []float64 // of each row of k
	all   float64   // of all of k
}

// set computes the products of rows minus their mean, which changes no HSIC, in float32.
func (g *gram) set(e *engine.Engine, src Source) error {
	n, dim := src.Len(), src.Width()
	x := make([]float64, n*dim)
	if err := src.ReadRows(x, 0); err != nil {
		return err
	}
	varies := !slices.Equal(x[dim:], x[:len(x)-dim]) // whether a row differs from the one before
	mean := make([]float64, dim)
	for i := range n {
		linalg.Axpy(1/float64(n), x[i*dim:(i+1)*dim], mean)
	}
	var square float64
	for i := range n {
		row := x[i*dim : (i+1)*dim]
		linalg.Axpy(-1, mean, row)
		square += linalg.Dot(row, row)
	}
	if !varies { // what is left is the rounding of the mean
		clear(x)
		square = 0
	}
	if g.scale == 0 && square > 0 { // products have to stay within the range of float32
		_, exponent := math.Frexp(math.Sqrt(square / float64(n)))
		g.scale = math.Ldexp(1, -exponent)
	}
	z := engine.NewMatrix(n, dim)
	for i, v := range x {
		z.Data[i] = float32(v * g.scale)
	}
	g.k = engine.NewMatrix(n, n)
	e.MatMul(g.k, z, z.T(), false)
	g.sums, g.all = make([]float64, n), 0
	for i := range n {
		row := g.k.Row(i)
		row[i] = 0
		for _, v := range row {
			g.sums[i] += float64(v)
		}
		g.all += g.sums[i]
	}
	return nil
}

// hsic returns the unbiased estimate of HSIC of two layers (Song et al., equation 5).
func (g *gram) hsic(h gram) float64 {
	n := float64(g.k.Rows)
	var trace, both float64
	for i := range g.k.Rows {
		trace += dot32(g.k.Row(i), h.k.Row(i))
		both += float64(g.sums[i] * h.sums[i])
	}
	return (trace + g.all*h.all/((n-1)*(n-2)) - float64(2/(n-2)*both)) / (n * (n - 3))
}
