// Package array reads arrays of numbers from files of other programs: NPY and NPZ of NumPy,
// safetensors, CSV and TSV.
//
// NPY files, NPZ members that are not compressed, and safetensors are read in place, some rows at a
// time, so an array may be larger than memory. Compressed NPZ members and text are read into memory,
// within a limit. Headers are checked before anything of the size that they claim is allocated, and
// no code in a file is ever run: arrays of Python objects are refused.
//
// Errors are one line that names the file and, where there is one, the array, offset, line or column.
package array

import (
	"fmt"
	"io"
	"math"
	"sync"
)

// Array is rows of numbers in a file. A shape of more than two dimensions is read as rows of all
// dimensions but the first; one of one dimension is rows of one number.
type Array struct {
	// File is the path, Name that of the array within it, or empty.
	File, Name string
	// Shape is that of the file, in rows of numbers of DType, such as <f4.
	Shape []int
	DType string

	rows, width int
	data        io.ReaderAt
	offset      int64 // of the first number in data
	element     element
	fortran     bool // the first dimension runs fastest
}

// Len returns the number of rows.
func (a *Array) Len() int { return a.rows }

// Width returns the length of a row.
func (a *Array) Width() int { return a.width }

// readBytes is how much is read at a time.
const readBytes = 1 << 18

var buffers = sync.Pool{New: func() any { b := make([]byte, readBytes); return &b }}

// ReadRows sets dst to the rows from the given one on. len(dst) is a multiple of Width. It may be called by several
// goroutines at once.
func (a *Array) ReadRows(dst []float64, from int) error {
	if a.width == 0 || len(dst)%a.width != 0 || from < 0 || len(dst)/a.width > a.rows-from {
		return fmt.Errorf("%s: %d numbers from row %d on: expected whole rows of %d, up to row %d", a.name(), len(dst),
			from, a.width, a.rows)
	}
	if !a.fortran || a.width == 1 {
		return a.read(dst, from*a.width)
	}
	rows := len(dst) / a.width
	column := make([]float64, rows)
	for j := range a.width {
		if err := a.read(column, j*a.rows+from); err != nil {
			return err
		}
		for i, v := range column {
			dst[i*a.width+j] = v
		}
	}
	return nil
}

// read sets dst to the numbers of the file from the one of index at on.
func (a *Array) read(dst []float64, at int) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	size := a.element.size
	for len(dst) > 0 {
		some := min(len(dst), readBytes/size)
		b := (*buffer)[:some*size]
		offset := a.offset + int64(at)*int64(size)
		if n, err := a.data.ReadAt(b, offset); n < len(b) {
			return fmt.Errorf("%s: offset %d: %w", a.name(), offset+int64(n), err)
		}
		a.element.read(dst[:some], b)
		dst, at = dst[some:], at+some
	}
	return nil
}

// name names the array in errors.
func (a *Array) name() string {
	if a.Name == "" {
		return a.File
	}
	return a.File + ":" + a.Name
}

// setShape sets the shape, and checks that it has numbers, in as many bytes as the file has for it
// from the offset on.
func (a *Array) setShape(shape []int, bytes int64) error {
	a.Shape, a.width = shape, 1
	n := int64(1)
	for i, s := range shape {
		if s < 0 || s > 0 && n > math.MaxInt64/16/int64(s) {
			return fmt.Errorf("%s: shape %v is out of range", a.name(), shape)
		}
		n *= int64(s)
		if i > 0 && s > 0 {
			a.width *= s
		}
	}
	switch {
	case len(shape) == 0 || n == 0:
		return fmt.Errorf("%s: shape %v: expected rows of numbers", a.name(), shape)
	case a.fortran && len(shape) > 2:
		return fmt.Errorf("%s: shape %v in Fortran order: expected at most 2 dimensions, or C order "+
			"(numpy.ascontiguousarray)", a.name(), shape)
	case n*int64(a.element.size) != bytes:
		return fmt.Errorf("%s: offset %d: %d bytes of numbers, expected %d for shape %v of %s", a.name(), a.offset,
			bytes, n*int64(a.element.size), shape, a.DType)
	}
	a.rows = shape[0]
	return nil
}
