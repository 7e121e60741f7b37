package layer

import (
	"math"

	"dpnbench/engine"
)

// reluPool sets y to the largest of every 2 x 2 pixels of z, which has even sizes, or to +0 if none is above 0. NaN
// counts as 0. Unless which is empty, it becomes the number of the first largest pixel (0 and 1 in the upper row, 2
// and 3 in the lower one), or engine.NoPixel where y is 0.
//
// Positive floats have the order of their bits. So the bits, followed by two bits of 3 minus the number
// of the pixel, form an integer that is largest for the first largest pixel. A 0 that comes first has
// the integer 3.
func reluPool(y []float32, which []byte, z engine.Matrix) {
	const infinity = 0x7f800000<<2 | 3
	order := func(v float32, low int64) int64 { return int64(int32(math.Float32bits(v)))<<2 + low }
	finite := func(v float32, low int64) int64 { // NaN counts as 0
		if v != v {
			return low
		}
		return order(v, low)
	}
	w := z.Cols / 2
	for i := 0; i < z.Rows; i += 2 {
		top, bottom, to := z.Row(i), z.Row(i+1), y[i/2*w:][:w]
		for j := range to {
			a, b, c, d := top[2*j], top[2*j+1], bottom[2*j], bottom[2*j+1]
			k := max(3, order(a, 3), order(b, 2), order(c, 1), order(d, 0))
			if k > infinity {
				k = max(3, finite(a, 3), finite(b, 2), finite(c, 1), finite(d, 0))
			}
			to[j] = math.Float32frombits(uint32(k >> 2))
			if len(which) > 0 {
				which[i/2*w+j] = byte(3 - k&3 | (k>>2-1)>>63&engine.NoPixel)
			}
		}
	}
}
