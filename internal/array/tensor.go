package array

import (
	"encoding/binary"
	"math"
)

// TypeSize returns the bytes of a number of a type of safetensors (F32, BF16, I64, ...), 0 for an unknown one.
func TypeSize(name string) int {
	e, _ := elementOf(tensorTypes[name])
	return e.size
}

// Convert sets dst to the numbers of a known type of safetensors in b, little-endian, rounded to float32.
func Convert(dst []float32, name string, b []byte) {
	if name == "F32" { // nearly always
		for i := range dst {
			dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i : 4*i+4]))
		}
		return
	}
	e, _ := elementOf(tensorTypes[name])
	var some [512]float64
	for at := 0; at < len(dst); at += len(some) {
		x := some[:min(len(some), len(dst)-at)]
		e.read(x, b[at*e.size:(at+len(x))*e.size])
		for i, v := range x {
			dst[at+i] = float32(v)
		}
	}
}
