package layer

import (
	"math"

	"dpnbench/engine"
)

// reluPool sets y to the largest of every 2 x 2 pixels of z, which has even sizes, or to +0 if none is above 0. NaN
// counts as 0. Unless which is empty, it becomes the number of the first largest pixel (0 and 1 in the upper row, 2
// and 3 in the lower one), or engine.NoPixel where y is 0.
//
// Floats above 0 have the order of their bits, as integers; those of other floats are at most 0, those of NaN above
// infinity's. Without branches, which would be mispredicted.
func reluPool(y []float32, which []byte, z engine.Matrix) {
	const infinity = 0x7f800000
	w := z.Cols / 2
	for i := 0; i < z.Rows; i += 2 {
		top, bottom := z.Row(i)[:2*w], z.Row(i + 1)[:2*w]
		to := y[i/2*w:][:w]
		var numbers []byte
		if len(which) > 0 {
			numbers = which[i/2*w:][:w]
		}
		for j := range to {
			a, b := int32(math.Float32bits(top[2*j])), int32(math.Float32bits(top[2*j+1]))
			c, d := int32(math.Float32bits(bottom[2*j])), int32(math.Float32bits(bottom[2*j+1]))
			if max(a, b, c, d) > infinity {
				a, b, c, d = finiteBits(a), finiteBits(b), finiteBits(c), finiteBits(d)
			}
			most := max(a, b, c, d, 0)
			to[j] = math.Float32frombits(uint32(most))
			if j < len(numbers) {
				first, second, third := different(a, most), different(b, most), different(c, most)
				k := first + first&second + first&second&third
				some := different(most, 0)
				numbers[j] = byte(k*some + engine.NoPixel*(1-some))
			}
		}
	}
}

// different returns 1, or 0 if a and b are equal.
func different(a, b int32) uint32 {
	v := a ^ b
	return uint32(v|-v) >> 31
}

// finiteBits returns the bits of a float32, and 0 for those of NaN.
func finiteBits(v int32) int32 {
	if v > 0x7f800000 {
		return 0
	}
	return v
}
