package array

import (
	"encoding/binary"
	"math"
)

// element is a type of numbers: their size in bytes, and how some are read.
type element struct {
	size int
	read func(dst []float64, b []byte)
}

// narrow reads numbers rounded to float32.
func (e element) narrow(dst []float32, b []byte) {
	var some [512]float64
	for at := 0; at < len(dst); at += len(some) {
		x := some[:min(len(some), len(dst)-at)]
		e.read(x, b[at*e.size:(at+len(x))*e.size])
		for i, v := range x {
			dst[at+i] = float32(v)
		}
	}
}

// readFloat32 reads little-endian numbers of float32.
func readFloat32(dst []float32, b []byte) {
	for i := range dst {
		dst[i] = math.Float32frombits(binary.LittleEndian.Uint32(b[4*i : 4*i+4]))
	}
}

// elementOf returns the type that NumPy calls descr, such as <f4 or |u1. A type of more than one byte
// begins with its byte order.
func elementOf(descr string) (element, bool) {
	if len(descr) != 3 {
		return element{}, false
	}
	switch kind := descr[1:]; {
	case descr[0] == '>':
		e, ok := bigEndian[kind]
		return e, ok
	case descr[0] == '<', descr[0] == '=', descr[0] == '|' && kind[1] == '1':
		e, ok := littleEndian[kind]
		return e, ok
	}
	return element{}, false
}

var littleEndian, bigEndian = elements(binary.LittleEndian), elements(binary.BigEndian)

func init() {
	// The usual types of features have loops in which the compiler reads a number by one instruction.
	littleEndian["f4"] = element{4, func(dst []float64, b []byte) {
		for i := range dst {
			dst[i] = float64(math.Float32frombits(binary.LittleEndian.Uint32(b[4*i : 4*i+4])))
		}
	}}
	littleEndian["f8"] = element{8, func(dst []float64, b []byte) {
		for i := range dst {
			dst[i] = math.Float64frombits(binary.LittleEndian.Uint64(b[8*i : 8*i+8]))
		}
	}}
}

// elements returns the types by their NumPy names without the byte order, and bf (bfloat16).
func elements(o binary.ByteOrder) map[string]element {
	return map[string]element{
		"b1": {1, each(1, func(b []byte) float64 { return float64(min(b[0], 1)) })},
		"u1": {1, each(1, func(b []byte) float64 { return float64(b[0]) })},
		"i1": {1, each(1, func(b []byte) float64 { return float64(int8(b[0])) })},
		"u2": {2, each(2, func(b []byte) float64 { return float64(o.Uint16(b)) })},
		"i2": {2, each(2, func(b []byte) float64 { return float64(int16(o.Uint16(b))) })},
		"u4": {4, each(4, func(b []byte) float64 { return float64(o.Uint32(b)) })},
		"i4": {4, each(4, func(b []byte) float64 { return float64(int32(o.Uint32(b))) })},
		"u8": {8, each(8, func(b []byte) float64 { return float64(o.Uint64(b)) })},
		"i8": {8, each(8, func(b []byte) float64 { return float64(int64(o.Uint64(b))) })},
		"f2": {2, each(2, func(b []byte) float64 { return half(o.Uint16(b)) })},
		"bf": {2, each(2, func(b []byte) float64 {
			return float64(math.Float32frombits(uint32(o.Uint16(b)) << 16))
		})},
		"f4": {4, each(4, func(b []byte) float64 { return float64(math.Float32frombits(o.Uint32(b))) })},
		"f8": {8, each(8, func(b []byte) float64 { return math.Float64frombits(o.Uint64(b)) })},
	}
}

// each reads numbers of a size one by one.
func each(size int, number func(b []byte) float64) func(dst []float64, b []byte) {
	return func(dst []float64, b []byte) {
		for i := range dst {
			dst[i] = number(b[size*i : size*i+size])
		}
	}
}

// half returns the value of a float16 of IEEE 754.
func half(h uint16) float64 {
	sign, exponent, fraction := uint32(h&0x8000)<<16, uint32(h>>10)&31, uint32(h&1023)
	switch exponent {
	case 0:
		return math.Copysign(float64(fraction)*0x1p-24, float64(math.Float32frombits(sign|0x3f800000)))
	case 31:
		exponent += 112 // infinite or NaN in float32, too
	}
	return float64(math.Float32frombits(sign | (exponent+112)<<23 | fraction<<13))
}
