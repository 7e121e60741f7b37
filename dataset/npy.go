package dataset

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"slices"

	"dpnbench/internal/array"
)

// WriteNPY writes a row-major float32 array of the given shape in NumPy's NPY format, version
// 1.0, which numpy.load reads.
func WriteNPY(w io.Writer, data []float32, shape ...int) error {
	if !fits(len(data), shape) {
		return fmt.Errorf("npy: %d numbers for the shape %v", len(data), shape)
	}
	header, err := array.Header("<f4", shape...)
	if err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	b.Write(header)
	for len(data) > 0 {
		some := data[:min(len(data), 4096)]
		if err := binary.Write(b, binary.LittleEndian, some); err != nil {
			return err
		}
		data = data[len(some):]
	}
	return b.Flush()
}

// fits says whether an array of that shape has n numbers. It divides, because a product of sizes may
// not be an int.
func fits(n int, shape []int) bool {
	if slices.Contains(shape, 0) {
		return n == 0 && slices.Min(shape) >= 0
	}
	for _, s := range shape {
		if s < 0 || n%s != 0 {
			return false
		}
		n /= s
	}
	return n == 1
}
