package source

import (
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"dpnbench/engine/num"
	"dpnbench/internal/array"
	"dpnbench/internal/fuzzlimit"
)

// idxBytes returns an IDX file of unsigned bytes with the given dimensions in
// its header.
func idxBytes(data []byte, dims ...uint32) []byte {
	b := []byte{0, 0, 8, byte(len(dims))}
	for _, d := range dims {
		b = binary.BigEndian.AppendUint32(b, d)
	}
	return append(b, data...)
}

func gzipped(t testing.TB, b []byte) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	if _, err := z.Write(b); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func counting(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i * 7)
	}
	return b
}

func TestReadIDX(t *testing.T) {
	data := counting(5 * 3 * 4)
	plain := idxBytes(data, 5, 3, 4)
	for name, file := range map[string][]byte{"plain": plain, "gzip": gzipped(t, plain)} {
		for _, n := range []int{0, 1, 4, 5, 6} {
			f, err := readIDX(name, bytes.NewReader(file), int64(len(file)), 3, n, Options{})
			if err != nil {
				t.Errorf("%s, first %d: %v", name, n, err)
				continue
			}
			want := data
			if n > 0 && n < 5 {
				want = data[:n*12]
			}
			if f.dims[0] != 5 || f.dims[1] != 3 || f.dims[2] != 4 || !bytes.Equal(f.data, want) {
				t.Errorf("%s, first %d: dimensions %v, %d bytes, want 5 3 4 and %d bytes", name, n, f.dims, len(f.data),
					len(want))
			}
		}
	}
}

func TestReadIDXInSteps(t *testing.T) {
	data := counting(5*firstRead + 17) // grows several times
	file := gzipped(t, idxBytes(data, uint32(len(data))))
	f, err := readIDX("labels", bytes.NewReader(file), int64(len(file)), 1, 0, Options{})
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(f.data, data) || cap(f.data) > len(data) {
		t.Errorf("%d bytes in memory of %d, want the %d bytes written", len(f.data), cap(f.data), len(data))
	}
}

func TestReadIDXErrors(t *testing.T) {
	good := idxBytes(counting(12), 3, 2, 2)
	zipped := gzipped(t, good)
	flipped := bytes.Clone(zipped)
	flipped[len(flipped)-6] ^= 1 // in the checksum
	noise := counting(20000)
	for i := range noise {
		noise[i] = byte(num.NewRand(1, uint64(i)).Uint64())
	}
	bigZip := gzipped(t, idxBytes(noise, 200, 10, 10))

	for name, c := range map[string]struct {
		file   []byte
		offset int64
		want   string // part of the message
	}{
		"empty":                    {nil, 0, "within the header of 16 bytes"},
		"short header":             {good[:9], 9, "within the header"},
		"text":                     {[]byte("label,pixel\n1,2\n3,4\n"), 0, "6c 61"},
		"floats":                   {append([]byte{0, 0, 13, 3}, good[4:]...), 28, "12 of the 48 bytes"},
		"no type":                  {append([]byte{0, 0, 10, 3}, good[4:]...), 2, "0x0a"},
		"labels for images":        {idxBytes(counting(30), 30), 3, "number of dimensions 1, expected 3"},
		"no images":                {idxBytes(nil, 0, 28, 28), 4, "dimension 0 is 0"},
		"no columns":               {idxBytes(nil, 1, 28, 0), 12, "dimension 2 is 0"},
		"too large":                {idxBytes(nil, 1<<31, 1<<31, 1<<31), 4, "promise more than"},
		"truncated":                {good[:len(good)-1], 27, "11 of the 12 bytes"},
		"trailing":                 {append(bytes.Clone(good), 1, 2), 28, "2 bytes too many"},
		"gzip: header only":        {zipped[:5], 0, "broken gzip header"},
		"gzip: truncated":          {bigZip[:len(bigZip)/2], -2, "cut off after"},
		"gzip: truncated at end":   {zipped[:len(zipped)-3], 28, "damaged or trailing"},
		"gzip: wrong checksum":     {flipped, 28, "checksum"},
		"gzip: trailing garbage":   {append(bytes.Clone(zipped), "more"...), 28, "damaged or trailing"},
		"gzip: content too short":  {gzipped(t, good[:20]), 20, "4 of the 12 bytes"},
		"gzip: content too long":   {gzipped(t, append(bytes.Clone(good), 9)), 28, "more than the 12 bytes"},
		"gzip: header too short":   {gzipped(t, good[:7]), 7, "within the header"},
		"gzip: lies about content": {gzipped(t, idxBytes(counting(64), 1<<10, 1<<10, 1<<10)), 4, "cannot hold"},
	} {
		f, err := readIDX("some/file", bytes.NewReader(c.file), int64(len(c.file)), 3, 0, Options{})
		bad, ok := errors.AsType[*FormatError](err)
		if !ok {
			t.Errorf("%s: got %v and %v, want a *FormatError", name, f, err)
			continue
		}
		if bad.File != "some/file" || c.offset != -2 && bad.Offset != c.offset {
			t.Errorf("%s: file %q, offset %d, want some/file and %d", name, bad.File, bad.Offset, c.offset)
		}
		if msg := err.Error(); !strings.HasPrefix(msg, "some/file: ") || !strings.Contains(msg, c.want) ||
			strings.Contains(msg, "\n") {
			t.Errorf("%s: message %q, want one line from the file's name on with %q", name, msg, c.want)
		}
	}
	_, err := readIDX("f", bytes.NewReader(bigZip[:len(bigZip)/2]), int64(len(bigZip)/2), 3, 0, Options{})
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("truncated gzip: %v does not wrap io.ErrUnexpectedEOF", err)
	}
	// What is not kept is checked, too.
	_, err = readIDX("f", bytes.NewReader(bigZip[:len(bigZip)/2]), int64(len(bigZip)/2), 3, 1, Options{})
	if err == nil {
		t.Error("a truncated gzip is accepted when only its first image is wanted")
	}
}

// TestDeflateLimit has the headers of compressed files promise as much as their bytes can hold, and a byte more.
func TestDeflateLimit(t *testing.T) {
	stored := func(promised int) []byte { // as many bytes, whatever they promise
		var out bytes.Buffer
		z, err := gzip.NewWriterLevel(&out, gzip.NoCompression)
		if err != nil {
			t.Fatal(err)
		}
		z.Write(idxBytes(counting(64), uint32(promised)))
		z.Close()
		return out.Bytes()
	}
	most := 1040*(len(stored(1))+1) - 1
	for _, c := range []struct {
		promised int
		want     string
	}{{most, fmt.Sprintf("64 of the %d bytes", most)}, {most + 1, "cannot hold"}} {
		file := stored(c.promised)
		if _, err := readIDX("f", bytes.NewReader(file), int64(len(file)), 1, 0, Options{}); err == nil ||
			!strings.Contains(err.Error(), c.want) {
			t.Errorf("%d bytes promise %d: %v, want %q", len(file), c.promised, err, c.want)
		}
	}
}

// A header may promise a gigabyte; memory must follow what is really there.
func TestReadIDXDoesNotTrustItsHeader(t *testing.T) {
	const promised = 1 << 30
	body := make([]byte, promised/array.MaxDeflate+1) // random, hence not compressible
	for i := range body {
		body[i] = byte(num.NewRand(1, uint64(i)).Uint64())
	}
	for name, file := range map[string][]byte{
		"plain": idxBytes(body, promised),
		"gzip":  gzipped(t, idxBytes(body, promised)),
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := readIDX(name, bytes.NewReader(file), int64(len(file)), 1, 0, Options{})
		runtime.ReadMemStats(&after)
		if err == nil {
			t.Errorf("%s: a header that lies is accepted", name)
		}
		// All steps of the growing memory together: under four times the file.
		if used := after.TotalAlloc - before.TotalAlloc; used > uint64(5*len(file)) {
			t.Errorf("%s: %d bytes set aside for a file of %d", name, used, len(file))
		}
	}
}

func TestIDXFileMustBeRegular(t *testing.T) {
	dir := t.TempDir()
	if err := os.Mkdir(filepath.Join(dir, trainLabels), 0o755); err != nil {
		t.Fatal(err)
	}
	_, err := loadIDX(filepath.Join(dir, trainLabels), 1, 0, Options{})
	if err == nil || !strings.Contains(err.Error(), "not a regular file") {
		t.Errorf("a folder in place of a file gives %v", err)
	}
}

func FuzzReadIDX(f *testing.F) {
	good := idxBytes(counting(12), 3, 2, 2)
	zipped := gzipped(f, good)
	f.Add(good, 3, 0)
	f.Add(good[:20], 3, 2)
	f.Add(append(bytes.Clone(good), 0), 3, 1)
	f.Add(idxBytes(counting(9), 9), 1, 4)
	f.Add(zipped, 3, 0)
	f.Add(zipped[:len(zipped)-9], 3, 0)
	f.Add(append(bytes.Clone(zipped), zipped...), 3, 0)
	f.Add(idxBytes(nil, 1<<31, 1<<31, 1<<31), 3, 0)
	f.Add(idxBytes(nil, 1<<16, 1, 1), 3, 0)
	f.Add([]byte{0x1f, 0x8b}, 1, 0)
	f.Fuzz(func(t *testing.T, file []byte, rank, n int) {
		rank, n = 1+int(uint(rank-1)%4), n&math.MaxInt // what callers ask for
		var got *idxFile
		var err error
		fuzzlimit.Check(t, 4*array.MaxDeflate*len(file)+1<<20, func() {
			got, err = readIDX("f", bytes.NewReader(file), int64(len(file)), rank, n, Options{})
		})
		if err != nil {
			if !errors.As(err, new(*FormatError)) || strings.Contains(err.Error(), "\n") {
				t.Errorf("error %q, want one line and a *FormatError", err)
			}
			return
		}
		total := 1
		for _, d := range got.dims {
			total *= d
		}
		if n > 0 && n < got.dims[0] {
			total = total / got.dims[0] * n
		}
		if len(got.data) != total || len(got.dims) != rank {
			t.Errorf("dimensions %v, %d bytes, first %d", got.dims, len(got.data), n)
		}
		if plain := file[0] == 0; plain && !bytes.HasPrefix(file[4+4*rank:], got.data) {
			t.Error("the data are not those of the file")
		}
		if cap(got.data) > array.MaxDeflate*len(file)+firstRead {
			t.Errorf("%d bytes set aside for a file of %d", cap(got.data), len(file))
		}
	})
}
