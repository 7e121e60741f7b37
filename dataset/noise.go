package dataset

import (
	"fmt"

	"dpnbench/engine/num"
)

// Noise draws the n images first, first+1, ... of rows x cols pixels with independent,
// uniformly distributed grey levels 0 to 255. An image depends on its number and the seed only,
// with the same bytes on every machine. All labels are 0 and carry no meaning. It panics if an
// argument is negative.
func Noise(seed uint64, first, n, rows, cols int) *Set {
	if first < 0 || n < 0 || rows < 0 || cols < 0 {
		panic(fmt.Sprintf("dataset: Noise(seed, %d, %d, %d, %d): negative", first, n, rows, cols))
	}
	s := &Set{Images: make([]byte, n*rows*cols), Labels: make([]byte, n), Rows: rows, Cols: cols}
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
