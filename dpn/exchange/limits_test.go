package exchange

import (
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"dpnbench/dataset"
	"dpnbench/dpn"

	"github.com/nlpodyssey/gopickle/types"
)

// TestArchives writes an archive of torch.save anew: with other bytes, compressed, and without checksums, which
// PyTorch may leave out.
func TestArchives(t *testing.T) {
	b, err := os.ReadFile("testdata/state.pth")
	if err != nil {
		t.Fatal(err)
	}
	z, err := zip.NewReader(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	again := func(edit func(h *zip.FileHeader, data []byte) []byte) []byte {
		var out bytes.Buffer
		w := zip.NewWriter(&out)
		for _, f := range z.File {
			data, err := member(f, b)
			if err != nil {
				t.Fatal(err)
			}
			h := zip.FileHeader{Name: f.Name, CRC32: f.CRC32}
			data = edit(&h, slices.Clone(data))
			h.CompressedSize64, h.UncompressedSize64 = uint64(len(data)), uint64(len(data))
			to, err := w.CreateRaw(&h)
			if err == nil {
				_, err = to.Write(data)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if err := w.Close(); err != nil {
			t.Fatal(err)
		}
		return out.Bytes()
	}
	storage := func(h *zip.FileHeader) bool { return path.Base(path.Dir(h.Name)) == "data" }
	for _, c := range []struct {
		what string
		edit func(h *zip.FileHeader, data []byte) []byte
		want string
	}{
		{"as it is", func(_ *zip.FileHeader, data []byte) []byte { return data }, ""},
		{"no checksum", func(h *zip.FileHeader, data []byte) []byte { h.CRC32 = 0; return data }, ""},
		{"another byte", func(h *zip.FileHeader, data []byte) []byte {
			if storage(h) {
				data[0]++
			}
			return data
		}, "its CRC-32 differs"},
		{"compressed", func(h *zip.FileHeader, data []byte) []byte {
			if storage(h) {
				h.Method = zip.Deflate
			}
			return data
		}, "is compressed, or damaged"},
		{"another order of bytes", func(h *zip.FileHeader, data []byte) []byte {
			if path.Base(h.Name) == "version" { // what else it says is not read
				h.Name, h.CRC32 = path.Dir(h.Name)+"/byteorder", 0
				return []byte("big")
			}
			return data
		}, `numbers in "big" byte order`},
		{"a number less", func(h *zip.FileHeader, data []byte) []byte {
			if storage(h) {
				h.CRC32 = 0
				return data[4:]
			}
			return data
		}, "bytes, expected"},
	} {
		f, err := readState(again(c.edit))
		if c.want == "" && (err != nil || len(f.Tensors) == 0) || c.want != "" &&
			(err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: %v, want %q", c.what, err, c.want)
		}
	}
	if _, err := Import(filepath.Join(t.TempDir(), "none"), published); err == nil ||
		!strings.HasSuffix(err.Error(), "none: no such file") {
		t.Errorf("no file: %v", err)
	}
	if _, err := Import(t.TempDir(), published); err == nil ||
		!strings.Contains(err.Error(), "a folder; expected a file") {
		t.Errorf("a folder: %v", err)
	}
}

// TestStorages fills storages of before PyTorch 1.6 from bytes that are too few, too many numbers or of another key.
func TestStorages(t *testing.T) {
	const two = "\x02\x00\x00\x00\x00\x00\x00\x00"
	for _, c := range []struct {
		keys []any
		b    string
		ok   bool
	}{
		{[]any{"a"}, two + "12345678", true},
		{[]any{"a"}, two + "12345678 and more", true},
		{[]any{"a"}, two + "1234567", false},
		{[]any{"a"}, "\x01" + two[1:] + "12345678", false},
		{[]any{"a"}, "\x03" + two[1:] + "123456789012", false},
		{[]any{"b"}, two + "12345678", false},
		{[]any{}, two + "12345678", false},
		{[]any{"a"}, "\x02", false},
	} {
		s := map[string]*storage{"a": {kind: "F32", count: 2}}
		if err := fill(s, c.keys, []byte(c.b)); (err == nil) != c.ok || c.ok && string(s["a"].data) != "12345678" {
			t.Errorf("%q of keys %v: %v", c.b, c.keys, err)
		}
	}
}

// TestTensorArguments refuses tensors and references whose numbers are negative or do not fit together, and texts in
// pickles from 1,001 bytes on.
func TestTensorArguments(t *testing.T) {
	tuple := func(v ...int) *types.Tuple {
		var x types.Tuple
		for _, i := range v {
			x = append(x, i)
		}
		return &x
	}
	s := &storage{kind: "F32", count: 6}
	for _, c := range []struct {
		args []any
		ok   bool
	}{
		{[]any{s, 0, tuple(2, 3), tuple(3, 1)}, true},
		{[]any{s, 0, tuple(2, 3), tuple(3)}, false},
		{[]any{s, 0, tuple(2), tuple(3, 1)}, false},
		{[]any{s, -1, tuple(2), tuple(1)}, false},
		{[]any{s, 0, tuple(-2), tuple(1)}, false},
		{[]any{s, 0, tuple(2), tuple(-1)}, false},
		{[]any{s, 0, tuple(2)}, false},
	} {
		if _, err := rebuildTensor(c.args); (err == nil) != c.ok {
			t.Errorf("%v: %v", c.args, err)
		}
	}
	for _, c := range []struct {
		id types.Tuple
		ok bool
	}{
		{types.Tuple{"storage", storageType("F32"), "0", "cpu", 6}, true},
		{types.Tuple{"storage", storageType("F32"), "0", "cpu", -6}, false},
		{types.Tuple{"module", storageType("F32"), "0", "cpu", 6}, false},
		{types.Tuple{"storage", "F32", "0", "cpu", 6}, false},
	} {
		if _, _, _, err := reference(&c.id); (err == nil) != c.ok {
			t.Errorf("reference %v: %v", c.id, err)
		}
	}
	for n, ok := range map[int]bool{1000: true, 1001: false} {
		length, message := []byte{byte(n), byte(n >> 8), 0, 0, 0, 0, 0, 0}, fmt.Sprintf("a text of %d bytes", n)
		for _, prefix := range []string{"X" + string(length[:4]), "\x8d" + string(length)} {
			_, err := scan(pickled(prefix + strings.Repeat("x", n)))
			if (err == nil) != ok || !ok && !strings.Contains(err.Error(), message) {
				t.Errorf("%q and %d bytes: %v", prefix, n, err)
			}
		}
	}
}

// TestNPZSettings reads what networks of images that are preprocessed, of colours and of vectors compute with.
func TestNPZSettings(t *testing.T) {
	e := newEngine(t)
	c := preset(t, "clean")
	c.Contrast, c.RMS, c.Centre, c.Eps, c.Scale = true, true, dataset.CentreMoments, 0.25, 2
	grey := digits(t, 60, 10)
	resize(t, grey, 13, 18)
	plain, vectors := preset(t, "compact"), preset(t, "compact")
	plain.LayerNorm = false
	vectors.Extractor = "linear"
	for _, n := range []struct {
		what string
		c    dpn.Config
		d    *dataset.Data
		want string
	}{
		{"grey", c, grey, "rows 13, cols 18, channels [], features [], contrast 1, centre 2, rms 1, " +
			"layer_norm 1, scale 2, eps 0.25"},
		{"colours", plain, recast(t, digits(t, 60, 10), false), "rows 16, cols 16, channels 3, features [], " +
			"contrast [], centre [], rms [], layer_norm 0"},
		{"vectors", vectors, recast(t, digits(t, 60, 10), true), "rows [], cols [], channels [], " +
			"features 36, contrast []"},
	} {
		m := trained(t, e, n.c, n.d, 1)
		arrays := npzOf(t, m)
		var got []string
		for _, name := range []string{"rows", "cols", "channels", "features", "contrast", "centre", "rms", "layer_norm",
			"scale", "eps"} {
			v := fmt.Sprint(arrays[name])
			if len(arrays[name]) == 1 {
				v = fmt.Sprint(arrays[name][0])
			}
			got = append(got, name+" "+v)
		}
		if s := strings.Join(got, ", "); !strings.HasPrefix(s, n.want) {
			t.Errorf("%s: %s, want %s", n.what, s, n.want)
		}
		if !slices.Equal(arrays["mean"], m.Norm.Mean) || !slices.Equal(arrays["std"], m.Norm.Std) {
			t.Errorf("%s: normalised by %v and %v, want %v", n.what, arrays["mean"], arrays["std"], m.Norm)
		}
	}
}

// full is a disk that is full after some bytes.
type full struct{ left int }

func (f *full) Write(b []byte) (int, error) {
	if f.left -= len(b); f.left < 0 {
		return 0, errors.New("no space left")
	}
	return len(b), nil
}

// TestFullDisk writes graphs to disks that are full at some place: the error is reported.
func TestFullDisk(t *testing.T) {
	e := newEngine(t)
	m := trained(t, e, preset(t, "compact"), digits(t, 60, 10), 1)
	var all bytes.Buffer
	if err := WriteONNX(&all, e, m); err != nil {
		t.Fatal(err)
	}
	for left := range 40 {
		for _, write := range []func(io.Writer) error{
			func(w io.Writer) error { return WriteONNX(w, e, m) }, func(w io.Writer) error { return WriteNPZ(w, m) },
		} {
			if err := write(&full{left: left * all.Len() / 50}); err == nil {
				t.Errorf("no error on a disk that is full after %d of 50 parts", left)
			}
		}
	}
	if err := WriteONNX(&full{left: all.Len() - 1}, e, m); err == nil {
		t.Error("no error on a disk that lacks a byte")
	}
}

// TestLiterals writes settings as Python reads them: a whole number that is a float stays one.
func TestLiterals(t *testing.T) {
	for want, v := range map[string]any{"True": true, "False": false, "2.0": 2.0, "0.5": 0.5, "1e-7": 1e-7, "3": 3,
		`"mass"`: "mass"} {
		if got, err := literal(v); err != nil || got != want {
			t.Errorf("%v: %s, %v; want %s", v, got, err, want)
		}
	}
}
