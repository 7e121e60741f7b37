package array

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"
	"strings"

	"codeberg.org/sbinet/npyio/npy"
)

// mostHeader is the largest header of an NPY file, in bytes. NumPy itself reads up to 10,000.
const mostHeader = 1 << 16

// readNPY returns the array in size bytes of r.
func readNPY(file, name string, r io.ReaderAt, size int64, texts bool) (*Array, error) {
	a := &Array{File: file, Name: name, data: r}
	h, start, err := readHeader(r, size)
	switch {
	case err != nil && strings.HasSuffix(name, "/data.pkl"):
		return nil, fmt.Errorf("%s: a file of torch.save: expected one of numpy.savez(FILE, X=x.numpy(), y=y.numpy())",
			file)
	case err != nil:
		return nil, fmt.Errorf("%s: %w", a.Title(), err)
	}
	a.DType = strings.Trim(h.Descr.Type, "'\"")
	var known bool
	if a.element, known = elementOf(a.DType); !known && texts {
		a.element.size, a.chars = textOf(a.DType)
		known = a.chars > 0
	}
	switch {
	case !known && texts && strings.HasSuffix(a.DType, "O"):
		return nil, fmt.Errorf("%s: Python objects (type %.40q): expected numbers, or texts as of y.astype(str)",
			a.Title(), a.DType)
	case !known:
		return nil, fmt.Errorf("%s: numbers of type %.40q: expected whole or floating-point numbers of up to 8 bytes",
			a.Title(), a.DType)
	}
	a.offset, a.fortran = start, h.Descr.Fortran
	return a, a.setShape(h.Descr.Shape, size-start)
}

// mostChars bounds the characters of a text in an array.
const mostChars = 1 << 16

// textOf returns the size in bytes and in characters of a type of texts, such as <U12 or |S12; 0 for another type.
func textOf(descr string) (size, chars int) {
	if len(descr) < 3 {
		return 0, 0
	}
	n, err := strconv.Atoi(descr[2:])
	switch {
	case err != nil || n < 1 || n > mostChars:
		return 0, 0
	case descr[1] == 'S' && descr[0] == '|':
		return n, n
	case descr[1] == 'U' && (descr[0] == '<' || descr[0] == '>'):
		return 4 * n, n
	}
	return 0, 0
}

// readHeader returns the header, and the offset of the first number.
func readHeader(r io.ReaderAt, size int64) (h npy.Header, start int64, err error) {
	var prefix [12]byte
	n, _ := r.ReadAt(prefix[:min(size, int64(len(prefix)))], 0)
	if n == 0 || !bytes.HasPrefix(prefix[:n], npy.Magic[:min(n, len(npy.Magic))]) {
		return h, 0, errors.New("offset 0: expected an NPY file, which begins with \\x93NUMPY")
	}
	if n < len(prefix) {
		return h, 0, fmt.Errorf("cut off after %d bytes, within its header", size)
	}
	length := int64(binary.LittleEndian.Uint16(prefix[8:]))
	start = 10 + length
	switch version := prefix[6]; {
	case version == 2 || version == 3: // 3 is 2 in UTF-8
		length = int64(binary.LittleEndian.Uint32(prefix[8:]))
		start = 12 + length
	case version != 1:
		return h, 0, fmt.Errorf("offset 6: NPY version %d, expected 1 to 3", version)
	}
	if length > mostHeader {
		return h, 0, fmt.Errorf("offset 8: a header of %d bytes, expected at most %d", length, mostHeader)
	}
	if start > size {
		return h, 0, fmt.Errorf("cut off after %d bytes, within its header, which ends at offset %d", size, start)
	}
	b := make([]byte, start)
	if n, err := r.ReadAt(b, 0); n < len(b) {
		return h, 0, fmt.Errorf("offset %d: %w", n, err)
	}
	b[6] = min(b[6], 2)
	if h, err = parseHeader(b); err == nil && !inRange(h.Descr.Shape) {
		err = errors.New("a shape out of range")
	}
	if err != nil {
		return h, 0, fmt.Errorf("offset 10: the header is not that of an NPY file: %w", err)
	}
	return h, start, nil
}

// parseHeader parses the header. The parser takes it for granted that the parts of the dictionary are
// in NumPy's order, and panics if not.
func parseHeader(b []byte) (h npy.Header, err error) {
	defer func() {
		if recover() != nil {
			err = errors.New("expected a dictionary of descr, fortran_order and shape")
		}
	}()
	r, err := npy.NewReader(bytes.NewReader(b))
	if err != nil {
		return h, err
	}
	return r.Header, nil
}

// inRange reports whether no dimension is negative, or too large for 32 bits.
func inRange(shape []int) bool {
	for _, s := range shape {
		if s < 0 || int64(s) > math.MaxInt32*int64(1024) {
			return false
		}
	}
	return true
}
