package reference

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
)

// Image is the size of images: channels x rows x cols, in this order in memory. Channels 0
// counts as 1.
type Image struct{ Channels, Rows, Cols int }

func (im Image) channels() int { return max(im.Channels, 1) }

// inside says whether pixel (r, c) is part of the image.
func (im Image) inside(r, c int) bool { return r >= 0 && r < im.Rows && c >= 0 && c < im.Cols }

// at is the index of pixel (r, c) of channel ch in image b of several.
func (im Image) at(b, ch, r, c int) int {
	return ((b*im.channels()+ch)*im.Rows+r)*im.Cols + c
}

// Conv2D is a convolution (in fact a correlation) of stride 1 with a border of zeros.
type Conv2D struct {
	In      Image
	Weight  []float64 // out x In.Channels x Kernel x Kernel
	Bias    []float64 // out
	Kernel  int
	Padding int // width of the border
}

// Out is the size of the results.
func (c Conv2D) Out() Image {
	more := 2*c.Padding - c.Kernel + 1
	return Image{len(c.Bias), c.In.Rows + more, c.In.Cols + more}
}

// Apply returns the convolutions of n images.
func (c Conv2D) Apply(x []float64, n int) []float64 {
	var y []float64
	out := c.Out()
	for b := range n {
		for o := range out.Channels {
			for i := range out.Rows {
				for j := range out.Cols {
					y = append(y, c.pixel(x, b, o, [2]int{i, j}))
				}
			}
		}
	}
	return y
}

// pixel returns the result at one pixel of output channel o of image b.
func (c Conv2D) pixel(x []float64, b, o int, pixel [2]int) float64 {
	sum := c.Bias[o]
	window := Image{c.In.channels(), c.Kernel, c.Kernel}
	for ch := range window.Channels {
		for u := range c.Kernel {
			for v := range c.Kernel {
				r, q := pixel[0]+u-c.Padding, pixel[1]+v-c.Padding
				if c.In.inside(r, q) {
					sum += c.Weight[window.at(o, ch, u, v)] * x[c.In.at(b, ch, r, q)]
				}
			}
		}
	}
	return sum
}

// MaxPool returns the largest of every 2 x 2 pixels of n images, without a last odd row or
// column.
func MaxPool(im Image, x []float64, n int) []float64 {
	var y []float64
	for b := range n {
		for ch := range im.channels() {
			for r := range im.Rows / 2 {
				for c := range im.Cols / 2 {
					y = append(y, max(
						x[im.at(b, ch, 2*r, 2*c)], x[im.at(b, ch, 2*r, 2*c+1)],
						x[im.at(b, ch, 2*r+1, 2*c)], x[im.at(b, ch, 2*r+1, 2*c+1)]))
				}
			}
		}
	}
	return y
}

// ReLUPool returns the largest of every 2 x 2 pixels of an image, or 0 if none is above 0, and
// which of the four it is: the first of equal ones, 4 if none is above 0. NaN counts as 0.
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

// PoolBackward lists the gradients dy of the pooled pixels of an image that are not 0, and the pixels that they belong
// to. which says from which of four pixels each pooled one came, 4 being none. sums is before plus the gradients that
// have a pixel.
func PoolBackward(im Image, before, dy []float64, which []byte) (v []float64, at []int, sums []float64) {
	w := im.Cols / 2
	sums = slices.Clone(before)
	for i, g := range dy {
		k := int(which[i])
		if k >= 4 {
			continue
		}
		sums[i] += g
		if g != 0 {
			v, at = append(v, g), append(at, (2*(i/w)+k/2)*im.Cols+2*(i%w)+k%2)
		}
	}
	return v, at, sums
}

// SpreadPatches adds the matrix w, multiplied by r[p], to the patch of b that begins at at[p] and
// has rows stride apart, for all p. The bound is that of chains of multiply-adds, one for each
// element of b, as long as the number of patches that cover it.
func SpreadPatches(b, r []float64, at []int32, w blas64.General, stride int) (sum, bound []float64) {
	sum, bound = append(sum, b...), make([]float64, len(b))
	for i, v := range b {
		bound[i] = math.Abs(v)
	}
	covered := make([]int, len(b)) // by how many patches
	for p, first := range at {
		for u := range w.Rows {
			for j := range w.Cols {
				k, v := int(first)+u*stride+j, r[p]*w.Data[u*w.Stride+j]
				sum[k] += v
				bound[k] += math.Abs(v)
				covered[k]++
			}
		}
	}
	for i, n := range covered {
		if n == 0 {
			bound[i] = 0
		} else {
			bound[i] = Gamma(n+1)*bound[i] + float64(n+1)*tiny
		}
	}
	return sum, bound
}
