package array

import (
	"archive/zip"
	"bytes"
	"fmt"
	"hash/crc32"
	"io"
	"math"
	"strings"
)

// MaxDeflate bounds the compression ratio (deflate reaches 1032).
const MaxDeflate = 1040

// readNPZ returns the arrays in a zip archive, in its order. Members that are not compressed stay in
// the file; o.Memory bounds, in bytes, what the others unpack to.
func readNPZ(file string, r io.ReaderAt, size int64, only string, o Options) ([]*Array, error) {
	z, err := zip.NewReader(r, size)
	if err != nil && begins(r, 0, "PK\x03\x04") { // the directory of a zip archive is at its end
		return nil, fmt.Errorf("%s: cut off, or damaged: expected an NPZ file: %w", file, err)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: expected an NPZ file: %w", file, err)
	}
	var out []*Array
	var names []string // of all arrays
	seen := map[string]bool{}
	for _, f := range z.File {
		name := strings.TrimSuffix(f.Name, ".npy")
		if seen[name] {
			return nil, fmt.Errorf("%s: two arrays are called %.60q", file, name)
		}
		seen[name] = true
		names = append(names, name)
		if only != "" && name != only || o.Want != nil && !o.Want(name) {
			continue
		}
		a, err := readMember(file, name, io.NewSectionReader(r, 0, size), f, &o)
		if err != nil {
			return nil, err
		}
		out = append(out, a)
	}
	if len(out) == 0 && len(names) > 0 && only != "" {
		return nil, missing(file, only, names)
	}
	return out, nil
}

// missing is the error of a file that has arrays of other names.
func missing(file, name string, names []string) error {
	const most = 8
	more := ""
	if n := len(names) - most; n > 0 {
		names, more = names[:most], fmt.Sprintf(" and %d more", n)
	}
	return fmt.Errorf("%s: no array %.60q in the file: expected one of %.60q%s", file, name, names, more)
}

// readMember returns the array of a member. The sizes that the archive claims are checked against its own.
func readMember(file, name string, r *io.SectionReader, f *zip.File, o *Options) (*Array, error) {
	size := int64(f.UncompressedSize64)
	start, err := f.DataOffset()
	if err != nil || size < 0 || f.Method == zip.Store && f.CompressedSize64 != f.UncompressedSize64 {
		return nil, fmt.Errorf("%s:%s: expected a member of an NPZ file", file, name)
	}
	if start > r.Size() || f.CompressedSize64 > uint64(r.Size()-start) {
		return nil, fmt.Errorf("%s:%s: %d bytes from offset %d on, expected at most the %d of the file", file, name,
			f.CompressedSize64, start, r.Size())
	}
	if f.Method == zip.Store {
		stored := io.NewSectionReader(r, start, size)
		if err := checkCRC(stored, f.CRC32); err != nil {
			return nil, fmt.Errorf("%s:%s: %w", file, name, err)
		}
		return readNPY(file, name, stored, size, o.Texts)
	}
	if float64(size) > MaxDeflate*(float64(f.CompressedSize64)+1) {
		return nil, fmt.Errorf("%s:%s: %d bytes unpack to %d, which cannot be", file, name, f.CompressedSize64,
			f.UncompressedSize64)
	}
	if o.Memory -= float64(size); o.Memory < 0 || size > math.MaxInt {
		return nil, fmt.Errorf("%s:%s: compressed, and unpacks to %.1f GB, more than there is memory for: "+
			"expected an array that is not compressed (numpy.savez)", file, name, float64(size)/1e9)
	}
	c, err := f.Open()
	if err != nil {
		return nil, fmt.Errorf("%s:%s: %w", file, name, err)
	}
	defer c.Close()
	b := make([]byte, size) // not io.ReadAll, which holds it twice where it grows
	if _, err = io.ReadFull(c, b); err == nil {
		_, err = io.Copy(io.Discard, c) // the end, where the sum is compared
	}
	if err != nil {
		return nil, fmt.Errorf("%s:%s: %w", file, name, err)
	}
	return readNPY(file, name, bytes.NewReader(b), int64(len(b)), o.Texts)
}

// checkCRC reads r once, in parts, for the numbers are read in place later on, in any order. Some writers leave the sum
// out: 0.
func checkCRC(r io.Reader, want uint32) error {
	if want == 0 {
		return nil
	}
	sum := crc32.NewIEEE()
	if _, err := io.CopyBuffer(sum, r, make([]byte, readBytes)); err != nil {
		return err
	}
	if got := sum.Sum32(); got != want {
		return fmt.Errorf("damaged: CRC-32 %08x, expected %08x as the archive says", got, want)
	}
	return nil
}
