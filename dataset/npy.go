package dataset

import (
	"bufio"
	"encoding/binary"
	"fmt"
	"io"
	"slices"
	"strings"
)

// WriteNPY writes a row-major float32 array of the given shape in NumPy's NPY format, version
// 1.0, which numpy.load reads.
func WriteNPY(w io.Writer, data []float32, shape ...int) error {
	if !fits(len(data), shape) {
		return fmt.Errorf("npy: %d numbers for the shape %v", len(data), shape)
	}
	sizes := make([]string, len(shape))
	for i, s := range shape {
		sizes[i] = fmt.Sprint(s)
	}
	tuple := strings.Join(sizes, ", ")
	if len(shape) == 1 {
		tuple += "," // a tuple of one in Python
	}
	header := fmt.Sprintf("{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }", tuple)
	const before = 10 // bytes of magic, version and length
	// The numbers begin at a multiple of 64 bytes.
	header += strings.Repeat(" ", 63-(before+len(header))%64) + "\n"
	if len(header) >= 1<<16 {
		return fmt.Errorf("npy: %d dimensions, expected fewer", len(shape))
	}
	b := bufio.NewWriter(w)
	b.WriteString("\x93NUMPY\x01\x00")
	b.Write(binary.LittleEndian.AppendUint16(nil, uint16(len(header))))
	b.WriteString(header)
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
