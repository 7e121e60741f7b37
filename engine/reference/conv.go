package reference

import (
	"math"

	"gonum.org/v1/gonum/blas/blas64"
)

// Conv2D returns the convolution (correlation) of n pictures of channels x rows x cols with
// weights of out x channels x kernel x kernel and a bias for each output channel, stride 1
// and a border of padding zeros: n pictures of out channels.
func Conv2D(x []float64, n int, weight, bias []float64, channels, rows, cols, kernel, padding int) []float64 {
	var y []float64
	for b := range n {
		for o, start := range bias {
			for i := range rows + 2*padding - kernel + 1 {
				for j := range cols + 2*padding - kernel + 1 {
					sum := start
					for c := range channels {
						for u := range kernel {
							for v := range kernel {
								if r, q := i+u-padding, j+v-padding; r >= 0 && r < rows && q >= 0 && q < cols {
									sum += weight[((o*channels+c)*kernel+u)*kernel+v] * x[((b*channels+c)*rows+r)*cols+q]
								}
							}
						}
					}
					y = append(y, sum)
				}
			}
		}
	}
	return y
}

// MaxPool returns the largest of every 2 x 2 pixels of n pictures of channels x rows x cols,
// without a last odd row or column.
func MaxPool(x []float64, n, channels, rows, cols int) []float64 {
	var y []float64
	for i := range n * channels {
		for r := range rows / 2 {
			for c := range cols / 2 {
				at := i*rows*cols + 2*r*cols + 2*c
				y = append(y, max(x[at], x[at+1], x[at+cols], x[at+cols+1]))
			}
		}
	}
	return y
}

// ReLUPool returns the largest of every 2 x 2 pixels of a picture of rows x cols above 0, or
// 0, and which of the four it is: the first of them, 4 where all are 0. NaN is taken for 0.
func ReLUPool(x []float64, rows, cols int) (y, which []float64) {
	for r := range rows / 2 {
		for c := range cols / 2 {
			at := 2*r*cols + 2*c
			most, first := 0.0, 4.0
			for i, v := range []float64{x[at], x[at+1], x[at+cols], x[at+cols+1]} {
				if v > most {
					most, first = v, float64(i)
				}
			}
			y, which = append(y, most), append(which, first)
		}
	}
	return y, which
}

// PoolBackward adds the gradient dy of pooled pixels to those of rows x cols pixels, sums,
// which of the fours say which (4 is none), and lists those that are not 0 with their places in reading
// order.
func PoolBackward(sums, dy []float64, which []byte, rows, cols int) (v []float64, at []int, added []float64) {
	full := make([]float64, rows*cols)
	added = append(added, sums...)
	for i, g := range dy {
		w, k := cols/2, int(which[i])
		if k > 3 {
			continue
		}
		p := (2*(i/w)+k/2)*cols + 2*(i%w) + k%2
		full[p] = g
		added[p] += g
	}
	for p, g := range full {
		if g != 0 {
			v, at = append(v, g), append(at, p)
		}
	}
	return v, at, added
}

// SpreadPatches adds the matrix w, multiplied by r[p], to the patch of b that begins at at[p]
// and has rows stride apart, for all p. The bound is that of chains of multiply-adds.
func SpreadPatches(b, r []float64, at []int32, w blas64.General, stride int) (sum, bound []float64) {
	sum, bound = append(sum, b...), make([]float64, len(b))
	for i, v := range b {
		bound[i] = math.Abs(v)
	}
	met := make([]int, len(b))
	for p, first := range at {
		for u := range w.Rows {
			for j := range w.Cols {
				k, v := int(first)+u*stride+j, r[p]*w.Data[u*w.Stride+j]
				sum[k] += v
				bound[k] += math.Abs(v)
				met[k]++
			}
		}
	}
	for i, n := range met {
		if n == 0 {
			bound[i] = 0
		} else {
			bound[i] = Gamma(n+1)*bound[i] + float64(n+1)*tiny
		}
	}
	return sum, bound
}
