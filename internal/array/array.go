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
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"strings"
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
	// Index is the name of a first column that was left out of a table because it holds the numbers of the rows.
	Index string
	// Labels is the name, or number, of a column that was left out of a table as that of the labels.
	Labels string

	rows, width int
	data        io.ReaderAt
	offset      int64 // of the first number in data
	element     element
	fortran     bool // the first dimension runs fastest
	chars       int  // of an array of texts: the characters of each
}

// Len returns the number of rows.
func (a *Array) Len() int { return a.rows }

// Width returns the length of a row.
func (a *Array) Width() int { return a.width }

// readBytes is how much is read at a time.
const readBytes = 1 << 18

var buffers = sync.Pool{New: func() any { b := make([]byte, readBytes); return &b }}

// number is a type in which numbers are read.
type number interface{ byte | float32 | float64 }

// ReadRows sets dst to the rows from the given one on. len(dst) is a multiple of Width. It may be called by several
// goroutines at once.
func (a *Array) ReadRows(dst []float64, from int) error {
	return readRows(a, dst, from, a.element.read)
}

// ReadFloats is ReadRows, rounded to float32.
func (a *Array) ReadFloats(dst []float32, from int) error {
	narrow := func(dst []float32, b []byte) { a.element.narrow(dst, b) }
	if a.DType == "<f4" { // nearly always
		narrow = readFloat32
	}
	return readRows(a, dst, from, narrow)
}

// ReadBytes is ReadRows for an array of bytes (|u1).
func (a *Array) ReadBytes(dst []byte, from int) error {
	if a.DType != "|u1" {
		return fmt.Errorf("%s: numbers of type %s: expected bytes, |u1", a.Title(), a.DType)
	}
	return readRows(a, dst, from, func(dst, b []byte) { copy(dst, b) })
}

func readRows[T number](a *Array, dst []T, from int, convert func(dst []T, b []byte)) error {
	if a.width == 0 || len(dst)%a.width != 0 || from < 0 || len(dst)/a.width > a.rows-from {
		return fmt.Errorf("%s: %d numbers from row %d on: expected whole rows of %d, up to row %d", a.Title(), len(dst),
			from, a.width, a.rows)
	}
	if a.chars > 0 {
		return fmt.Errorf("%s: texts, expected numbers", a.Title())
	}
	if !a.fortran || a.width == 1 {
		return read(a, dst, from*a.width, convert)
	}
	rows := len(dst) / a.width
	column := make([]T, rows)
	index := make([]int, len(a.Shape)) // of the column, but for the first dimension
	for j := range a.width {
		at, stride := 0, a.rows
		for d := 1; d < len(index); d++ {
			at += index[d] * stride
			stride *= a.Shape[d]
		}
		if err := read(a, column, at+from, convert); err != nil {
			return err
		}
		for i, v := range column {
			dst[i*a.width+j] = v
		}
		for d := len(index) - 1; d > 0; d-- {
			if index[d]++; index[d] < a.Shape[d] {
				break
			}
			index[d] = 0
		}
	}
	return nil
}

// read sets dst to the numbers of the file from the one of index at on.
func read[T number](a *Array, dst []T, at int, convert func(dst []T, b []byte)) error {
	buffer := buffers.Get().(*[]byte)
	defer buffers.Put(buffer)
	size := a.element.size
	for len(dst) > 0 {
		some := min(len(dst), readBytes/size)
		b := (*buffer)[:some*size]
		offset := a.offset + int64(at)*int64(size)
		if n, err := a.data.ReadAt(b, offset); n < len(b) {
			return fmt.Errorf("%s: offset %d: %w", a.Title(), offset+int64(n), err)
		}
		convert(dst[:some], b)
		dst, at = dst[some:], at+some
	}
	return nil
}

// Texts returns the texts of an array of them, one a row, as Options.Texts lets open.
func (a *Array) Texts() ([]string, error) {
	if a.chars == 0 || a.width != 1 {
		return nil, fmt.Errorf("%s: shape %v of type %s: expected one text a row", a.Title(), a.Shape, a.DType)
	}
	order := binary.ByteOrder(binary.LittleEndian)
	if a.DType[0] == '>' {
		order = binary.BigEndian
	}
	b := make([]byte, a.element.size)
	texts := make([]string, a.rows)
	for i := range texts {
		offset := a.offset + int64(i)*int64(len(b))
		if n, err := a.data.ReadAt(b, offset); n < len(b) {
			return nil, fmt.Errorf("%s: offset %d: %w", a.Title(), offset+int64(n), err)
		}
		if a.DType[1] == 'S' {
			texts[i] = string(bytes.TrimRight(b, "\x00"))
			continue
		}
		runes := make([]rune, a.chars)
		for j := range runes {
			runes[j] = rune(order.Uint32(b[4*j:]))
		}
		texts[i] = strings.TrimRight(string(runes), "\x00")
	}
	return texts, nil
}

// Title names the array, with its file, for errors.
func (a *Array) Title() string {
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
			return fmt.Errorf("%s: shape %v is out of range", a.Title(), shape)
		}
		n *= int64(s)
		if i > 0 && s > 0 {
			a.width *= s
		}
	}
	switch {
	case len(shape) == 0 || n == 0:
		return fmt.Errorf("%s: shape %v: expected rows of numbers", a.Title(), shape)
	case n*int64(a.element.size) != bytes:
		return fmt.Errorf("%s: offset %d: %d bytes of numbers, expected %d for shape %v of %s", a.Title(), a.offset,
			bytes, n*int64(a.element.size), shape, a.DType)
	}
	a.rows = shape[0]
	return nil
}
