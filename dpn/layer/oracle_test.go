package layer

import (
	"fmt"
	"math"
	"testing"

	"dpnbench/engine/num"
	"dpnbench/engine/reference"
)

// oracle computes a layer in float64 from x (n x in) and the parameters.
type oracle func(x []float64, n int, params [][]float64) []float64

// specimen is a layer of a size that is quick to test, with its definition in float64.
type specimen struct {
	name string
	make func() Layer
	want oracle
}

func specimens() []specimen {
	list := []specimen{
		{"linear 7-5", func() Layer { return NewLinear("l", 7, 5) }, linear64(7, 5)},
		{"linear 33-1", func() Layer { return NewLinear("l", 33, 1) }, linear64(33, 1)},
		{"relu 19", func() Layer { return NewReLU(19) }, relu64},
		{"layernorm 9", func() Layer { return NewLayerNorm(9) }, norm64(9)},
		{"batchnorm 6", func() Layer { return NewBatchNorm("b", 6) }, batch64(6)},
		{"dropout 8", func() Layer { return NewDropout(8, 0.3, 11) }, dropout64(0.3, 11)},
		{"residual 6", func() Layer {
			return NewResidual(NewLinear("a", 6, 9), NewLayerNorm(9), NewLinear("b", 9, 6))
		}, residual64(6, 9)},
	}
	for _, s := range pooledSizes {
		list = append(list,
			specimen{fmt.Sprintf("convpool %dx%dx%d to %d, kernel %d, padding %d", s[0], s[1], s[2], s[3], s[4], s[5]),
				func() Layer { return NewConvPool("c", ImageShape{s[0], s[1], s[2]}, s[3], s[4], s[5]) },
				convPool64(s)})
	}
	for _, s := range convSizes {
		list = append(list,
			specimen{fmt.Sprintf("conv %dx%dx%d to %d, kernel %d, padding %d", s[0], s[1], s[2], s[3], s[4], s[5]),
				func() Layer { return NewConv("c", ImageShape{s[0], s[1], s[2]}, s[3], s[4], s[5]) }, conv64(s)})
	}
	return list
}

func linear64(in, out int) oracle {
	return func(x []float64, n int, p [][]float64) []float64 {
		y := make([]float64, n*out)
		for i := range n {
			for o := range out {
				y[i*out+o] = p[1][o]
				for j := range in {
					y[i*out+o] += x[i*in+j] * p[0][o*in+j]
				}
			}
		}
		return y
	}
}

func relu64(x []float64, _ int, _ [][]float64) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = max(v, 0)
	}
	return y
}

// residual64 is a block of two products around a LayerNorm of the given width, added to its input.
func residual64(d, hidden int) oracle {
	return func(x []float64, n int, p [][]float64) []float64 {
		h := norm64(hidden)(linear64(d, hidden)(x, n, p[:2]), n, nil)
		y := linear64(hidden, d)(h, n, p[2:])
		for i, v := range x {
			y[i] += v
		}
		return y
	}
}

func norm64(d int) oracle {
	return func(x []float64, n int, _ [][]float64) []float64 {
		y := make([]float64, len(x))
		for i := range n {
			normalise64(y[i*d:(i+1)*d], x[i*d:(i+1)*d])
		}
		return y
	}
}

func normalise64(y, x []float64) (mean, variance float64) {
	for _, v := range x {
		mean += v / float64(len(x))
	}
	for _, v := range x {
		variance += (v - mean) * (v - mean) / float64(len(x))
	}
	for i, v := range x {
		y[i] = (v - mean) / math.Sqrt(variance+Eps)
	}
	return mean, variance
}

func batch64(d int) oracle {
	return func(x []float64, n int, p [][]float64) []float64 {
		y, col := make([]float64, len(x)), make([]float64, n)
		for j := range d {
			for i := range n {
				col[i] = x[i*d+j]
			}
			normalise64(col, col)
			for i := range n {
				y[i*d+j] = col[i]*p[0][j] + p[1][j]
			}
		}
		return y
	}
}

func dropout64(p float64, seed uint64) oracle {
	return func(x []float64, n int, _ [][]float64) []float64 {
		r := num.NewRand(seed, 0)
		y := make([]float64, len(x))
		for i, v := range x {
			if float64(r.Float32()) >= p {
				y[i] = v / (1 - p)
			}
		}
		return y
	}
}

// pooledSizes lists channels, rows, columns, output channels, kernel and padding.
var pooledSizes = [][6]int{
	{
		1,
		8,
		8,
		8,
		5,
		2,
	}, {2, 7, 9, 1, 3, 1}, {3, 6, 5, 16, 4, 0}, {1, 3, 3, 33, 1, 0}, {2, 3, 2, 2, 5, 3}, {2, 1, 4, 3, 2, 1},
	{2, 2, 1, 2, 5, 4},
}

// convSizes lists the same of convolutions without pooling.
var convSizes = [][6]int{{1, 8, 8, 8, 3, 0}, {2, 7, 9, 1, 3, 1}, {3, 6, 5, 16, 4, 0}, {1, 1, 3, 33, 1, 0},
	{2, 3, 2, 2, 5, 4}, {2, 1, 1, 3, 5, 2}}

func conv64(s [6]int) oracle {
	return func(x []float64, n int, p [][]float64) []float64 {
		conv := reference.Conv2D{In: reference.Image{Channels: s[0], Rows: s[1], Cols: s[2]},
			Weight: p[0], Bias: p[1], Kernel: s[4], Padding: s[5]}
		return conv.Apply(x, n)
	}
}

func convPool64(s [6]int) oracle {
	return func(x []float64, n int, p [][]float64) []float64 {
		conv := reference.Conv2D{In: reference.Image{Channels: s[0], Rows: s[1], Cols: s[2]},
			Weight: p[0], Bias: p[1], Kernel: s[4], Padding: s[5]}
		return reference.MaxPool(conv.Out(), relu64(conv.Apply(x, n), n, nil), n)
	}
}

// convolved returns rows and columns of the images before pooling.
func convolved(s [6]int) (rows, cols int) { return s[1] + 2*s[5] - s[4] + 1, s[2] + 2*s[5] - s[4] + 1 }

// drawn returns the layer with normally distributed parameters, ready to train.
func (s specimen) drawn() Layer {
	l := s.make()
	r := num.NewRand(7, 1)
	for _, p := range l.Params() {
		p.Prepare()
		r.Normal(p.Data)
	}
	return l
}

func doubles(x []float32) []float64 {
	y := make([]float64, len(x))
	for i, v := range x {
		y[i] = float64(v)
	}
	return y
}

// within checks that two vectors agree to tol times the largest element.
func within(t *testing.T, what string, got []float32, want []float64, tol float64) {
	t.Helper()
	if len(got) != len(want) {
		t.Fatalf("%s: %d numbers, want %d", what, len(got), len(want))
	}
	largest := 0.0
	for _, v := range want {
		largest = max(largest, math.Abs(v))
	}
	for i, v := range want {
		if !(math.Abs(float64(got[i])-v) <= tol*(largest+1e-3)) {
			t.Fatalf("%s[%d] is %.9g, want %.9g", what, i, got[i], v)
		}
	}
}
