package source

import (
	"bufio"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"dpnbench/engine"
	"dpnbench/internal/array"
	"dpnbench/internal/regular"
)

// FormatError reports a file with invalid content.
type FormatError struct {
	File    string
	Offset  int64  // position in the uncompressed content, in bytes; -1: none
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

	// firstRead is how many bytes are read from a compressed file before more memory is
	// allocated.
	firstRead = 1 << 16
)

// idxTypes are the types of numbers, as NumPy calls them.
var idxTypes = map[byte]string{0x08: "|u1", 0x09: "|i1", 0x0b: ">i2", 0x0c: ">i4", 0x0d: ">f4", 0x0e: ">f8"}

// mostRank bounds the number of dimensions.
const mostRank = 4

// idxFile is a file in IDX format: two zero bytes, the type of the numbers, the number of dimensions, each
// dimension as a big-endian 32-bit integer, then the numbers, big-endian, the last dimension running fastest.
type idxFile struct {
	kind string // one of idxTypes
	dims []int
	data []byte // of the items along dims[0] that were asked for
}

// width returns the bytes of a number.
func (f *idxFile) width() int { return int(f.kind[2] - '0') }

// start returns the offset of the first byte of the data.
func (f *idxFile) start() int64 { return int64(4 + 4*len(f.dims)) }

// loadIDX reads a file of the given number of dimensions (0: any) and keeps the first n
// items along the first dimension: all when n is 0 or more than there are. Of opt only the memory
// and the context count.
func loadIDX(path string, rank, n int, opt Options) (*idxFile, error) {
	f, size, err := regular.Open(path)
	if errors.Is(err, regular.ErrNot) {
		return nil, &FormatError{File: path, Offset: -1, Problem: regular.Cause(err).Error()}
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	return readIDX(path, opt.reader(f), size, rank, n, opt)
}

// readIDX reads size bytes from r; name is for errors. All of r is checked, including what is
// not kept. Memory stays within a small multiple of what r really holds, whatever its header
// says, and within opt.Memory.
func readIDX(name string, r io.Reader, size int64, rank, n int, opt Options) (*idxFile, error) {
	in, err := openIDX(name, r, size)
	if err != nil {
		return nil, err
	}
	f, err := in.header(rank)
	if err != nil {
		return nil, err
	}
	total := int64(f.width())
	for _, d := range f.dims {
		total *= int64(d)
	}
	if err := in.checkSize(f.start(), total); err != nil {
		return nil, err
	}
	keep := total
	if n > 0 && n < f.dims[0] {
		keep = total / int64(f.dims[0]) * int64(n)
	}
	if problem := opt.tooLarge(float64(keep)); problem != "" {
		return nil, in.fail(4, nil, "%s", problem)
	}
	if f.data, err = in.content(f.start(), keep, total); err != nil {
		return nil, err
	}
	return f, in.end(f.start()+total, total)
}

// idxReader reads an IDX file, compressed or not, and reports what is wrong with it.
type idxReader struct {
	io.Reader        // the content, uncompressed
	name      string // for errors
	size      int64  // of the file as stored, in bytes
	packed    bool   // compressed by gzip
}

// fail returns a *FormatError.
func (r *idxReader) fail(offset int64, err error, format string, args ...any) error {
	return &FormatError{File: r.name, Offset: offset, Problem: fmt.Sprintf(format, args...), Err: err}
}

// openIDX detects gzip by its first two bytes.
func openIDX(name string, r io.Reader, size int64) (*idxReader, error) {
	in := bufio.NewReaderSize(r, firstRead)
	x := &idxReader{in, name, size, false}
	if magic, _ := in.Peek(2); len(magic) == 2 && magic[0] == 0x1f && magic[1] == 0x8b {
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, x.fail(0, err, "broken gzip header")
		}
		x.Reader, x.packed = z, true
	}
	return x, nil
}

// header reads the header of a file with the given number of dimensions; 0: any.
func (r *idxReader) header(rank int) (*idxFile, error) {
	head := make([]byte, 4+4*rank, 4+4*mostRank)
	got, err := io.ReadFull(r, head)
	if rank == 0 && got == len(head) && head[3] >= 1 && head[3] <= mostRank {
		head = head[:4+4*int(head[3])]
		var more int
		more, err = io.ReadFull(r, head[got:])
		got += more
	}
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return nil, r.fail(int64(got), err, "unreadable")
	}
	f := &idxFile{}
	if got >= 3 {
		f.kind = idxTypes[head[2]]
	}
	switch {
	case got >= 2 && (head[0] != 0 || head[1] != 0):
		return nil, r.fail(0, nil, "starts with %02x %02x, expected the 00 00 of an IDX file", head[0], head[1])
	case got >= 3 && f.kind == "":
		return nil, r.fail(2, nil, "element type %#02x, expected 0x08, 0x09 or 0x0b to 0x0e", head[2])
	case got >= 4 && (head[3] < 1 || head[3] > mostRank):
		return nil, r.fail(3, nil, "number of dimensions %d, expected 1 to %d", head[3], mostRank)
	case got >= 4 && rank > 0 && int(head[3]) != rank:
		return nil, r.fail(3, nil, "number of dimensions %d, expected %d", head[3], rank)
	case got < len(head):
		return nil, r.fail(int64(got), nil, "ends within the header of %d bytes", len(head))
	}
	f.dims = make([]int, head[3])
	total := int64(f.width()) // at most maxIDX * 2^32 before the check, which fits
	for i := range f.dims {
		d := int64(binary.BigEndian.Uint32(head[4+4*i:]))
		if d == 0 {
			return nil, r.fail(int64(4+4*i), nil, "dimension %d is 0, expected at least 1", i)
		}
		if total *= d; total > maxIDX {
			return nil, r.fail(4, nil, "the dimensions promise more than %d bytes, the largest supported size", maxIDX)
		}
		f.dims[i] = int(d)
	}
	return f, nil
}

// checkSize compares the file's size with the total bytes of data that the header promises
// from start on.
func (r *idxReader) checkSize(start, total int64) error {
	switch there := r.size - start; {
	case r.packed && r.size < total/array.MaxDeflate:
		return r.fail(4, nil, "%d compressed bytes cannot hold the %d bytes that the header promises", r.size, total)
	case !r.packed && there < total:
		return r.fail(r.size, nil, "ends after %d of the %d bytes that its header promises", there, total)
	case !r.packed && there > total:
		return r.fail(start+total, nil, "%d bytes too many, expected the end of the file", there-total)
	}
	return nil
}

// content returns the first keep bytes of data and skips the others, up to total.
func (r *idxReader) content(start, keep, total int64) (data []byte, err error) {
	if r.packed {
		data, err = readGrowing(r, int(keep))
	} else {
		data = engine.Bytes(int(keep))
		var got int
		got, err = io.ReadFull(r, data)
		data = data[:got]
	}
	read := int64(len(data))
	if err == nil {
		var rest int64
		rest, err = io.CopyN(io.Discard, r, total-keep)
		read += rest
	}
	at := start + read
	switch {
	case errors.Is(err, io.EOF):
		return nil, r.fail(at, nil, "ends after %d of the %d bytes that its header promises", read, total)
	case errors.Is(err, io.ErrUnexpectedEOF):
		return nil, r.fail(at, err, "cut off after %d of the %d bytes that its header promises", read, total)
	case err != nil:
		return nil, r.fail(at, err, "unreadable after %d of %d bytes", read, total)
	}
	return data, nil
}

// end expects the end of the file, which also makes gzip compare its checksum.
func (r *idxReader) end(at, total int64) error {
	var one [1]byte
	if k, err := io.ReadFull(r, one[:]); k > 0 {
		return r.fail(at, nil, "more than the %d bytes that its header promises", total)
	} else if !errors.Is(err, io.EOF) {
		return r.fail(at, err, "damaged or trailing bytes at the end of the compressed file")
	}
	return nil
}

// readGrowing reads n bytes into memory that grows as they arrive, so that a header that
// promises too much costs at most twice what is really there. It returns what it read; io.EOF
// means that r ended early.
func readGrowing(r io.Reader, n int) ([]byte, error) {
	data := engine.Bytes(min(n, firstRead))[:0]
	for len(data) < n {
		if len(data) == cap(data) {
			data = append(engine.Bytes(min(n, 2*cap(data)))[:0], data...)
		}
		k, err := r.Read(data[len(data):cap(data)])
		data = data[:len(data)+k]
		if err != nil && len(data) < n {
			return data, err
		}
	}
	return data, nil
}
