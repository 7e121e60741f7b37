package array

import (
	"bytes"
	"fmt"
)

// InMemory returns an array of the numbers in data, of a type as NumPy calls it. file is for errors.
func InMemory(file, dtype string, shape []int, data []byte) (*Array, error) {
	a := &Array{File: file, DType: dtype, data: bytes.NewReader(data)}
	var known bool
	if a.element, known = elementOf(dtype); !known {
		return nil, fmt.Errorf("%s: numbers of type %.40q: expected whole or floating-point numbers", file, dtype)
	}
	return a, a.setShape(shape, int64(len(data)))
}
