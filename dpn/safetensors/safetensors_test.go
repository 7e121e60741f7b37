package safetensors

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"maps"
	"math"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"dpnbench/internal/fuzzlimit"
)

func sample() *File {
	return &File{
		Tensors: []Tensor{
			{"a.weight", []int{2, 3}, []float32{1, 2, 3, 4, 5, float32(math.Inf(-1))}},
			{"b", nil, []float32{0.1}},
			{"empty", []int{0, 4}, []float32{}},
			{"z", []int{2}, []float32{-0x1p-149, 7}},
		},
		Metadata: map[string]string{"preset": "paper", "note": "ä \"quoted\""},
	}
}

func encode(t testing.TB, f *File) []byte {
	var b bytes.Buffer
	if err := Write(&b, f); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

func TestRoundTrip(t *testing.T) {
	want := sample()
	path := filepath.Join(t.TempDir(), "m.safetensors")
	if err := WriteFile(path, want); err != nil {
		t.Fatal(err)
	}
	got, err := ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if !got.Checked {
		t.Error("a file with a checksum is not Checked")
	}
	want.Checked = true
	if !reflect.DeepEqual(got, want) {
		t.Errorf("read %+v, wrote %+v", got, want)
	}
	b := encode(t, want)
	if n := binary.LittleEndian.Uint64(b); n%8 != 0 {
		t.Errorf("header of %d bytes, expected a multiple of 8", n)
	}
	if got.Tensor("b").Data[0] != 0.1 || got.Tensor("none") != nil {
		t.Error("Tensor returns wrong tensors")
	}
}

// raw returns a file with a header and the given number of data bytes.
func raw(header string, data int) []byte {
	b := binary.LittleEndian.AppendUint64(nil, uint64(len(header)))
	b = append(b, header...)
	return append(b, make([]byte, data)...)
}

func TestBadFiles(t *testing.T) {
	good := encode(t, sample())
	for _, c := range []struct {
		name string
		file []byte
		want string
	}{
		{"empty", nil, "0 bytes"},
		{"no header", raw("", 0), "header"},
		{"huge header", binary.LittleEndian.AppendUint64(nil, 1<<40),
			"not a safetensors file: its first 8 bytes stand for a header of 1099511627776 bytes, expected at most"},
		{"JSON text", []byte(`{"loss": 0.25}`), "not a safetensors file: "},
		{"torch.save", append([]byte("PK\x03\x04\x00\x00\x08\x08"), make([]byte, 60)...),
			"not a safetensors file, but a zip archive"},
		{"short zip archive", append([]byte("PK\x03\x04\x00\x00\x00\x00"), make([]byte, 60)...),
			"not a safetensors file, but a zip archive"},
		{"header past the end", binary.LittleEndian.AppendUint64(nil, 100),
			"not a safetensors file, or cut: its first 8 bytes stand for a header of 100 bytes, and 0 follow"},
		{"not JSON", raw("{x", 0), "not a safetensors file, or damaged: header: "},
		{"null", raw("null", 0), "expected a JSON object"},
		{"shape of text", raw(`{"a":{"dtype":"F32","shape":"2","data_offsets":[0,8]}}`, 8),
			"shape: got string in JSON, expected an array"},
		{"cut", good[:len(good)-1], "cut off"},
		{"longer", append(append([]byte(nil), good...), 0), "bytes of data, the tensors take"},
		{"type", raw(`{"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}`, 4), `has type "BF16", expected F32`},
		{"out of range", raw(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 4),
			`cut off, or damaged: tensor "a" ends at byte 8 of the data, of which there are 4`},
		{"negative", raw(`{"a":{"dtype":"F32","shape":[-1],"data_offsets":[0,4]}}`, 4), "shape [-1]"},
		{"backwards", raw(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[4,0]}}`, 4), "data_offsets [4 0]"},
		{"overflow", raw(`{"a":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,4]}}`, 4),
			"does not fit"},
		{"shape and range", raw(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}}`, 8), "takes 8 bytes"},
		{"overlap", raw(`{"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]},`+
			`"b":{"dtype":"F32","shape":[2],"data_offsets":[4,12]}}`, 12), "overlaps"},
		{"hole", raw(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},`+
			`"b":{"dtype":"F32","shape":[1],"data_offsets":[8,12]}}`, 12), "hole"},
		{"two tensors of one name", raw(`{"a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},`+
			`"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}}`, 8), `two members named "a"`},
		{"two names that differ in escapes", raw(`{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},`+
			`"\u0061":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`, 0), `two members named "a"`},
		{"two __metadata__", raw(`{"__metadata__":{},"__metadata__":{"a":"b"}}`, 0),
			`two members named "__metadata__"`},
		{"two keys of metadata", raw(`{"__metadata__":{"a":"b","a":"c"}}`, 0), `__metadata__: two members named "a"`},
		{"two shapes", raw(`{"a":{"dtype":"F32","shape":[2],"shape":[1],"data_offsets":[0,4]}}`, 4),
			`tensor "a": two members named "shape"`},
		{"another case", raw(`{"a":{"DType":"F32","shape":[1],"data_offsets":[0,4]}}`, 4), `has type "", expected F32`},
		{"two objects", raw(`{}{}`, 0), "more than one JSON object"},
		{"no object", raw(`[]`, 0), "expected a JSON object"},
		{"a number for a tensor", raw(`{"a":1}`, 0), `tensor "a": expected a JSON object`},
		{"metadata", raw(`{"__metadata__":{"a":1}}`, 0), "__metadata__"},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := Read(bytes.NewReader(c.file), int64(len(c.file)))
			if err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("error %v, want one with %q", err, c.want)
			}
			if err != nil && strings.Contains(err.Error(), "\n") {
				t.Errorf("more than one line: %v", err)
			}
		})
	}
	if _, err := ReadFile(t.TempDir()); err == nil {
		t.Error("no error for a folder")
	}
}

// TestChecksum flips every bit of a file in turn. The file is refused, unless the bit has no
// meaning (in a space, or in the name of the checksum's key).
func TestChecksum(t *testing.T) {
	f := sample()
	f.Metadata["path"] = "\xff\xfe no UTF-8" // possible in a file name; the header replaces it
	good := encode(t, f)
	want, err := Read(bytes.NewReader(good), int64(len(good)))
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := want.Metadata[ChecksumKey]; ok || len(want.Metadata) != 3 {
		t.Errorf("metadata %v, want those that were written", want.Metadata)
	}
	refused := 0
	for bit := range 8 * len(good) {
		bad := bytes.Clone(good)
		bad[bit/8] ^= 1 << (bit % 8)
		got, err := Read(bytes.NewReader(bad), int64(len(bad)))
		if err != nil {
			refused++
			continue
		}
		if got.Checked != (len(got.Metadata) == len(want.Metadata)) {
			t.Fatalf("bit %d of byte %d flipped: Checked is %t, with the metadata %v", bit%8, bit/8, got.Checked,
				got.Metadata)
		}
		got.Checked = true
		maps.DeleteFunc(got.Metadata, func(key, _ string) bool { return want.Metadata[key] == "" })
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("bit %d of byte %d flipped: read %+v, wrote %+v", bit%8, bit/8, got, want)
		}
	}
	if data := 8 * 4 * (6 + 1 + 2); refused < data {
		t.Errorf("%d flipped bits were refused, and %d are of numbers", refused, data)
	}
	// Files of other programs have no checksum.
	foreign := raw(`{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 4)
	if f, err := Read(bytes.NewReader(foreign), int64(len(foreign))); err != nil || f.Checked {
		t.Errorf("a file without a checksum: %+v, error %v", f, err)
	}
}

func TestBadTensors(t *testing.T) {
	for _, f := range []*File{
		{Tensors: []Tensor{{"a", []int{2}, []float32{1}}}},
		{Tensors: []Tensor{{"a", []int{1}, []float32{1}}, {"a", []int{1}, []float32{1}}}},
	} {
		if Write(&bytes.Buffer{}, f) == nil {
			t.Errorf("wrote %+v", f)
		}
	}
}

// TestReadConverted reads tensors of other types.
func TestReadConverted(t *testing.T) {
	b := raw(`{"h":{"dtype":"F16","shape":[2],"data_offsets":[0,4]},`+
		`"i":{"dtype":"I64","shape":[],"data_offsets":[4,12]},`+
		`"f":{"dtype":"F32","shape":[1],"data_offsets":[12,16]}}`, 0)
	b = append(b, 0, 0x3c, 0, 0xc0, 0xfd, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0, 0, 0, 0x3f)
	f, err := ReadConverted(bytes.NewReader(b), int64(len(b)))
	if err != nil {
		t.Fatal(err)
	}
	want := &File{
		Tensors: []Tensor{
			{"f", []int{1}, []float32{0.5}}, {"h", []int{2}, []float32{1, -2}}, {"i", nil, []float32{-3}},
		},
		Converted: map[string]string{"h": "F16", "i": "I64"},
	}
	if !reflect.DeepEqual(f, want) {
		t.Errorf("%+v, want %+v", f, want)
	}
	for header, problem := range map[string]string{
		`{"a":{"dtype":"F8_E4M3","shape":[2],"data_offsets":[0,2]}}`:                `has type "F8_E4M3"`,
		`{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,2]}}`:                    "shape [2]",
		`{"a":{"dtype":"F16","shape":[2],"data_offsets":[0,8]}}`:                    "ends at byte 8",
		`{"a":{"dtype":"U8","shape":[9223372036854775807,2],"data_offsets":[0,2]}}`: "does not fit",
		`{"a":{"dtype":"F64","shape":[2305843009213693953],"data_offsets":[0,8]}}`:  "ends at byte 8",
		`{"a":{"dtype":"I8","shape":[1],"data_offsets":[0,1]},"b":{"dtype":"I8"}}`:  "data_offsets",
		`{"a":{"dtype":"I8","shape":[0,9223372036854775807],"data_offsets":[0,0]}}`: "bytes of data",
		`{"a":{"dtype":"I8","shape":[4294967296,4294967296],"data_offsets":[0,0]}}`: "does not fit",
		`{"a":{"dtype":"bf16","shape":[1],"data_offsets":[0,2]}}`:                   `has type "bf16"`,
	} {
		b := raw(header, 2)
		if _, err := ReadConverted(bytes.NewReader(b), int64(len(b))); err == nil ||
			!strings.Contains(err.Error(), problem) {
			t.Errorf("%s: error %v, want one with %q", header, err, problem)
		}
	}
}

// FuzzRead: any input is refused or read into what it writes again.
func FuzzRead(f *testing.F) {
	f.Add(encode(f, sample()))
	f.Add(raw(`{}`, 0))
	f.Add(raw(`{"a":{"dtype":"F32","shape":[],"data_offsets":[0,4]}}`, 4))
	f.Add(raw(
		`{"a":{"dtype":"F32","shape":[0],"data_offsets":[0,0]},"b":{"dtype":"F32","shape":[0],"data_offsets":[0,0]}}`,
		0,
	))
	f.Add(raw(`{"a":{"dtype":"BF16","shape":[2],"data_offsets":[0,4]}}`, 4))
	f.Fuzz(func(t *testing.T, b []byte) {
		var file, converted *File
		var err error
		limit := 64*len(b) + 4<<20
		fuzzlimit.Check(t, limit, func() { converted, _ = ReadConverted(bytes.NewReader(b), int64(len(b))) })
		fuzzlimit.Check(t, limit, func() { file, err = Read(bytes.NewReader(b), int64(len(b))) })
		if err != nil {
			return
		}
		if converted == nil || len(converted.Converted) > 0 || len(converted.Tensors) != len(file.Tensors) {
			t.Fatalf("with conversion %+v", converted)
		}
		var again bytes.Buffer
		if err := Write(&again, file); err != nil {
			t.Fatal(err)
		}
		back, err := Read(&again, int64(again.Len()))
		if err != nil {
			t.Fatal(err)
		}
		for i, x := range file.Tensors {
			y := back.Tensors[i]
			if x.Name != y.Name || len(x.Data) != len(y.Data) {
				t.Fatalf("tensor %q with %d numbers became %q with %d", x.Name, len(x.Data), y.Name, len(y.Data))
			}
			for j := range x.Data {
				if math.Float32bits(x.Data[j]) != math.Float32bits(y.Data[j]) {
					t.Fatalf("tensor %q: number %d changed", x.Name, j)
				}
			}
		}
	})
}

// TestReservedNames checks that Write refuses what Read would not return as it is.
func TestReservedNames(t *testing.T) {
	one := func(names ...string) *File {
		f := &File{}
		for _, n := range names {
			f.Tensors = append(f.Tensors, Tensor{Name: n, Shape: []int{1}, Data: []float32{1}})
		}
		return f
	}
	shaped := func(shape ...int) *File {
		return &File{Tensors: []Tensor{{Name: "a", Shape: shape, Data: []float32{1}}}}
	}
	const half = math.MaxInt/2 + 1
	for want, f := range map[string]*File{
		`"__metadata__" is reserved`:   one("__metadata__"),
		`two tensors named "a"`:        one("a", "b", "a"),
		`tensor "a\xff" is not UTF-8`:  one("a\xff", "a\xfe"),
		"reserved for the checksum":    {Metadata: map[string]string{ChecksumKey: "mine"}},
		`"k\xff" is not UTF-8`:         {Metadata: map[string]string{"k\xff": "1"}},
		"shape [-1 -1]":                shaped(-1, -1),
		fmt.Sprintf("shape [%d", half): shaped(half, 4), // the product is 0
	} {
		var b bytes.Buffer
		if err := Write(&b, f); err == nil || !strings.Contains(err.Error(), want) || b.Len() > 0 {
			t.Errorf("error %v after %d bytes, want one with %q before the first", err, b.Len(), want)
		}
	}
}
