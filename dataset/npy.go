package dataset

import (
	"io"

	"dpnbench/internal/array"
)

// WriteNPY writes a row-major float32 array of the given shape in NumPy's NPY format, version
// 1.0, which numpy.load reads.
func WriteNPY(w io.Writer, data []float32, shape ...int) error {
	return array.Write(w, "<f4", data, shape...)
}
