package engine

import (
	"math"
)

// reluPoolGeneric sets y (rows of w) to the largest of every 2 x 2 pixels of x (rows of 2w, stride
// apart), or to +0 if none is above 0. Unless which is empty, it becomes the number of the first largest
// pixel (0 and 1 in the upper row, 2 and 3 in the lower one), or NoPixel where y is 0.
//
// Positive floats have the order of their bits. So the bits, followed by two bits of 3 minus the number
// of the pixel, form an integer that is largest for the first largest pixel. A 0 that comes first has
// the integer 3.
func reluPoolGeneric(y []float32, which []byte, x []float32, stride, w int) {
	const infinity = 0x7f800000<<2 | 3
	order := func(v float32, low int64) int64 { return int64(int32(math.Float32bits(v)))<<2 + low }
	finite := func(v float32, low int64) int64 { // NaN counts as 0
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

// poolBackwardGeneric passes a gradient to the selected pixels: see poolBackwardArgs.
func poolBackwardGeneric(args *poolBackwardArgs) (n int) { return poolBackwardRows(args, 0, 0) }

// poolBackwardRows is poolBackwardGeneric from a row on, with n elements in the list so far.
func poolBackwardRows(args *poolBackwardArgs, first, n int) int {
	at, v, sums, dy, which := args.at, args.v, args.sums, args.dy, args.which
	w, cols, right, down := args.w, args.cols, args.right, args.down
	pixels := [4]int{0, 1, cols, cols + 1}
	for r := first; r < args.rows; r++ {
		for half := range 2 {
			place := int32((2*r + half) * down)
			for j, g := range dy[r*w : (r+1)*w] {
				k := which[r*w+j]
				some := uint32(k>>2) - 1 // no bits for NoPixel: it adds -0, which changes nothing
				g = math.Float32frombits(math.Float32bits(g)&some | 1<<31&^some)
				k &= 3
				if half == 0 {
					sums[2*r*cols+2*j+pixels[k]] += g
				}
				at[n], v[n] = place+int32(k&1)*int32(right), g
				// Without a branch, which would be mispredicted.
				bits := math.Float32bits(g) << 1
				n += int((bits|-bits)>>31) & (int(k>>1) ^ half ^ 1)
				place += 2 * int32(right)
			}
		}
	}
	return n
}
