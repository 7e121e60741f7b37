package dataset

import (
	"bufio"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"os"
)

// FormatError reports a file whose content is not what it should be.
type FormatError struct {
	File    string
	Offset  int64  // where, in bytes of the uncompressed content; -1 when that says nothing
	Problem string // what was found and what was expected
	Err     error  // the cause, or nil
}

func (e *FormatError) Error() string {
	where := ""
	if e.Offset >= 0 {
		where = fmt.Sprintf(" offset %d:", e.Offset)
	}
	if e.Err != nil {
		return fmt.Sprintf("%s:%s %s: %v", e.File, where, e.Problem, e.Err)
	}
	return fmt.Sprintf("%s:%s %s", e.File, where, e.Problem)
}

func (e *FormatError) Unwrap() error { return e.Err }

const (
	// maxIDX bounds the content of a file, in bytes; MNIST has 47 million.
	maxIDX = 1 << 30

	// maxDeflate bounds how many bytes one compressed byte can stand for
	// (deflate reaches 1032).
	maxDeflate = 1040

	// firstRead is how much is read from a compressed file before memory is
	// set aside for more.
	firstRead = 1 << 16
)

// idxFile is a file of unsigned bytes in IDX format: two zero bytes, the type 8,
// the number of dimensions, each dimension as a big-endian 32-bit integer, then
// the bytes, the last dimension running fastest.
type idxFile struct {
	dims []int
	data []byte // of the first items along dims[0], as many as asked for
}

// start returns the offset of the first byte of the data.
func (f *idxFile) start() int64 { return int64(4 + 4*len(f.dims)) }

// loadIDX reads a file of the given number of dimensions and keeps the first n
// items along the first dimension: all when n is 0 or more than there are.
func loadIDX(path string, rank, n int) (*idxFile, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() { // opening a pipe would wait for its other end
		return nil, &FormatError{File: path, Offset: -1, Problem: "not a regular file"}
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readIDX(path, f, info.Size(), rank, n)
}

// readIDX does the work of loadIDX on the size bytes of r; name is for errors.
// The whole of r is checked, also what is not kept. Memory stays within a small
// multiple of what r really holds, whatever its header says.
func readIDX(name string, r io.Reader, size int64, rank, n int) (*idxFile, error) {
	bad := func(offset int64, err error, format string, args ...any) error {
		return &FormatError{File: name, Offset: offset, Problem: fmt.Sprintf(format, args...), Err: err}
	}

	in := bufio.NewReaderSize(r, firstRead)
	content, packed := io.Reader(in), false
	if magic, _ := in.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, bad(0, err, "broken gzip header")
		}
		content, packed = z, true
	}

	head := make([]byte, 4+4*rank)
	got, err := io.ReadFull(content, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, bad(int64(got), err, "unreadable")
	}
	switch {
	case got >= 2 && (head[0] != 0 || head[1] != 0):
		return nil, bad(0, nil, "starts with %02x %02x, expected the 00 00 of an IDX file", head[0], head[1])
	case got >= 3 && head[2] != 8:
		return nil, bad(2, nil, "element type %#02x, expected 0x08 (unsigned bytes)", head[2])
	case got >= 4 && int(head[3]) != rank:
		return nil, bad(3, nil, "number of dimensions %d, expected %d", head[3], rank)
	case got < len(head):
		return nil, bad(int64(got), nil, "ends within the header of %d bytes", len(head))
	}

	f := &idxFile{dims: make([]int, rank)}
	total := int64(1) // bytes promised; at most maxIDX * 2^32 on the way
	for i := range f.dims {
		p := head[4+4*i:]
		d := int64(p[0])<<24 | int64(p[1])<<16 | int64(p[2])<<8 | int64(p[3])
		if d == 0 {
			return nil, bad(int64(4+4*i), nil, "dimension %d is 0, expected at least 1", i)
		}
		if total *= d; total > maxIDX {
			return nil, bad(4, nil, "the dimensions promise more than %d bytes, the largest file that is read", maxIDX)
		}
		f.dims[i] = int(d)
	}
	if there := size - f.start(); !packed && there < total {
		return nil, bad(size, nil, "ends after %d of the %d bytes that its header promises", there, total)
	} else if !packed && there > total {
		return nil, bad(f.start()+total, nil, "%d bytes too many, expected the end of the file", there-total)
	} else if packed && size < total/maxDeflate {
		return nil, bad(4, nil, "%d compressed bytes cannot hold the %d bytes that the header promises", size, total)
	}

	keep := total
	if n > 0 && n < f.dims[0] {
		keep = total / int64(f.dims[0]) * int64(n)
	}
	var read int64
	if packed {
		f.data, err = readGrowing(content, int(keep))
	} else {
		f.data = make([]byte, keep)
		got, err = io.ReadFull(content, f.data)
		f.data = f.data[:got]
	}
	read = int64(len(f.data))
	if err == nil {
		var rest int64
		rest, err = io.CopyN(io.Discard, content, total-keep)
		read += rest
	}
	at := f.start() + read
	switch {
	case errors.Is(err, io.EOF):
		return nil, bad(at, nil, "ends after %d of the %d bytes that its header promises", read, total)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, bad(at, err, "cut off after %d of the %d bytes that its header promises", read, total)
	case err != nil:
		return nil, bad(at, err, "unreadable after %d of %d bytes", read, total)
	}
	// The end also makes gzip compare its checksum.
	var one [1]byte
	if k, err := io.ReadFull(content, one[:]); k > 0 {
		return nil, bad(at, nil, "more than the %d bytes that its header promises", total)
	} else if !errors.Is(err, io.EOF) {
		return nil, bad(at, err, "damaged or trailing bytes at the end of the compressed file")
	}
	return f, nil
}

// readGrowing reads n bytes into memory that grows as they come, so that a
// promise of many bytes costs no more than twice what is really there. It
// returns what it read; io.EOF means that r ended early.
func readGrowing(r io.Reader, n int) ([]byte, error) {
	data := make([]byte, 0, min(n, firstRead))
	for len(data) < n {
		if len(data) == cap(data) {
			data = append(make([]byte, 0, min(n, 2*cap(data))), data...)
		}
		k, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+k]
		if err != nil && len(data) < n {
			return data, err
		}
	}
	return data, nil
}
