package array

import (
	"math"
	"testing"
)

// TestUnwantedTensors leaves out tensors that nobody asks for, whatever they are.
func TestUnwantedTensors(t *testing.T) {
	path := save(t, "x.safetensors", tensorFile(`{"x":{"dtype":"F32","shape":[2,1],"data_offsets":[0,8]},`+
		`"epoch":{"dtype":"I64","shape":[],"data_offsets":[8,16]},"q":{"dtype":"F8","shape":[2],"data_offsets":[0,2]}}`,
		make([]byte, 16)))
	f, err := Open(path, Options{Want: func(name string) bool { return name == "x" }})
	if err != nil || len(f.Arrays) != 1 || f.Arrays[0].Name != "x" {
		t.Fatalf("%+v, %v", f, err)
	}
	f.Close()
	if _, err := Open(path, Options{}); err == nil {
		t.Error("a tensor of an unknown type is wanted")
	}
}

// TestConvert converts numbers of every type of safetensors to float32.
func TestConvert(t *testing.T) {
	inf := float32(math.Inf(1))
	for _, c := range []struct {
		name string
		src  []byte
		want []float32
	}{
		{"F64", []byte{0, 0, 0, 0, 0, 0, 0xf8, 0xbf, 1, 0, 0, 0, 0, 0, 0xf0, 0x3f}, []float32{-1.5, 1}},
		{"F32", []byte{0, 0, 0xc0, 0xbf}, []float32{-1.5}},
		{"F16", []byte{0, 0xbe, 1, 0, 0xff, 0x7b, 0, 0xfc, 0, 0x80}, []float32{-1.5, 0x1p-24, 65504, -inf, 0}},
		{"BF16", []byte{0xc0, 0xbf, 0x80, 0x7f}, []float32{-1.5, inf}},
		{"I64", []byte{0xfe, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, []float32{-2}},
		{"I32", []byte{0xfe, 0xff, 0xff, 0xff}, []float32{-2}},
		{"I16", []byte{0xfe, 0xff}, []float32{-2}},
		{"I8", []byte{0xfe, 2}, []float32{-2, 2}},
		{"U64", []byte{0, 0, 0, 0, 0, 0, 0, 0x80}, []float32{0x1p63}},
		{"U32", []byte{0, 0, 0, 0x80}, []float32{0x1p31}},
		{"U16", []byte{0, 0x80}, []float32{0x8000}},
		{"U8", []byte{0xfe}, []float32{254}},
		{"BOOL", []byte{0, 1, 2}, []float32{0, 1, 1}},
	} {
		got := make([]float32, len(c.want))
		if len(c.src) != len(got)*TypeSize(c.name) {
			t.Fatalf("%s: %d bytes for %d numbers of %d", c.name, len(c.src), len(got), TypeSize(c.name))
		}
		Convert(got, c.name, c.src)
		for i, v := range got {
			if v != c.want[i] {
				t.Errorf("%s: number %d is %v, want %v", c.name, i, v, c.want[i])
			}
		}
	}
	if TypeSize("F8") != 0 {
		t.Error("a type that is unknown has a size")
	}
	long := make([]float32, 1300)
	Convert(long, "U8", make([]byte, 1299, 1300)[:1300])
}
