package array

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"math"
	"slices"
	"strconv"
	"strings"
)

// Write writes a row-major array as an NPY file of version 1.0. dtype is what NumPy calls the type of data.
func Write[T float32 | float64](w io.Writer, dtype string, data []T, shape ...int) error {
	if !fits(len(data), shape) {
		return fmt.Errorf("npy: %d numbers for the shape %v", len(data), shape)
	}
	header, err := Header(dtype, shape...)
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

// WriteFloats writes the bits of x, little-endian.
func WriteFloats(w io.Writer, x []float32) error {
	const most = 1 << 14
	b := make([]byte, 0, 4*min(most, len(x)))
	for some := range slices.Chunk(x, most) {
		b = b[:0]
		for _, v := range some {
			b = binary.LittleEndian.AppendUint32(b, math.Float32bits(v))
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return nil
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

// Header returns the beginning of an NPY file of version 1.0, up to the first number: of row-major numbers of a type as
// NumPy calls it. Its length is a multiple of 64 bytes.
func Header(dtype string, shape ...int) ([]byte, error) {
	sizes := make([]string, len(shape))
	for i, s := range shape {
		sizes[i] = strconv.Itoa(s)
	}
	tuple := strings.Join(sizes, ", ")
	if len(shape) == 1 {
		tuple += "," // a tuple of one in Python
	}
	text := fmt.Sprintf("{'descr': '%s', 'fortran_order': False, 'shape': (%s), }", dtype, tuple)
	const before = 10 // bytes of magic, version and length
	text += strings.Repeat(" ", 63-(before+len(text))%64) + "\n"
	if len(text) >= 1<<16 {
		return nil, fmt.Errorf("npy: %d dimensions, expected fewer", len(shape))
	}
	b := binary.LittleEndian.AppendUint16([]byte("\x93NUMPY\x01\x00"), uint16(len(text)))
	return append(b, text...), nil
}
