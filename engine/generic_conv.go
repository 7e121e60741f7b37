package engine

import (
	"math"
)

// reluPoolGeneric sets y (rows of w) to the largest of every 2 x 2 pixels of x (rows of 2w,
// stride apart) above 0, or +0, and which, unless it is empty, to the pixel of the four that
// is the first of the largest: 0 and 1 above, 2 and 3 below; NoPixel where y is 0.
//
// Floats above 0 are ordered as their bits are, so that the bits and, below them, 3 less
// the number of the pixel make an integer that is largest for the first of the largest; 3 is
// the integer of a 0 that comes first.
func reluPoolGeneric(y []float32, which []byte, x []float32, stride, w int) {
	const infinity = 0x7f800000<<2 | 3
	order := func(v float32, low int64) int64 { return int64(int32(math.Float32bits(v)))<<2 + low }
	finite := func(v float32, low int64) int64 { // a NaN is as 0
		if v != v {
			return low
		}
		return order(v, low)
	}
	for ; len(y) >= w && len(y) > 0; y = y[w:] {
		top, bottom := x[:2*w], x[stride:stride+2*w]
		for j := range w {
			a, b, c, d := top[2*j], top[2*j+1], bottom[2*j], bottom[2*j+1]
			k := max(3, order(a, 3), order(b, 2), order(c, 1), order(d, 0))
			if k > infinity {
				k = max(3, finite(a, 3), finite(b, 2), finite(c, 1), finite(d, 0))
			}
			y[j] = math.Float32frombits(uint32(k >> 2))
			if len(which) > 0 {
				which[j] = byte(3 - k&3 | (k>>2-1)>>63&NoPixel)
			}
		}
		if len(which) > 0 {
			which = which[w:]
		}
		if len(y) > w {
			x = x[2*stride:]
		}
	}
}

// poolBackwardGeneric hands the gradient dy of pooled pixels (rows of w) to the pixels which
// of the fours, which is NoPixel where there is none: it adds them to sums (rows of cols), and lists those that are not 0 in
// reading order of the pixels, v and where it is, at: right for every column and down for
// every row. It returns their number; at and v may be written 16 elements further.
func poolBackwardGeneric(at []int32, v, sums, dy []float32, which []byte, w, cols, right, down int) (n int) {
	pixels := [4]int{0, 1, cols, cols + 1}
	for r := range len(dy) / max(w, 1) {
		for half := range 2 {
			place := int32((2*r + half) * down)
			for j, g := range dy[r*w : (r+1)*w] {
				k := which[r*w+j]
				some := uint32(k>>2) - 1 // no bit for NoPixel, which takes -0: it adds nothing
				g = math.Float32frombits(math.Float32bits(g)&some | 1<<31&^some)
				k &= 3
				if half == 0 {
					sums[2*r*cols+2*j+pixels[k]] += g
				}
				at[n], v[n] = place+int32(k&1)*int32(right), g
				// Without branches, which would be guessed wrong.
				bits := math.Float32bits(g) << 1
				n += int((bits|-bits)>>31) & (int(k>>1) ^ half ^ 1)
				place += 2 * int32(right)
			}
		}
	}
	return n
}
