package dataset

import (
	"fmt"

	"dpnbench/engine/num"
)

// Noise draws the n images first, first+1, ... of a shape with independent, uniformly distributed
// levels 0 to 255. An image depends on its number and the seed only, with the same bytes on every
// machine. They have no labels. It panics if a number is negative, or if the shape is no image's.
func Noise(seed uint64, first, n int, shape Shape) *Set {
	if first < 0 || n < 0 || shape.check() != nil || !shape.IsImage() {
		panic(fmt.Sprintf("dataset: Noise(seed, %d, %d, %v): expected no negative numbers and an image", first, n,
			shape))
	}
	s := &Set{Shape: shape, Pixels: make([]byte, n*shape.Len())}
	for i := range n {
		r := num.NewRand(seed, uint64(first+i))
		var bits uint64
		for j, x := 0, s.Image(i); j < len(x); j++ {
			if j%8 == 0 {
				bits = r.Uint64()
			}
			x[j] = byte(bits)
			bits >>= 8
		}
	}
	return s
}
