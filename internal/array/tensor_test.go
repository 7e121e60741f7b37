package array

import (
	"math"
	"testing"
)

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
