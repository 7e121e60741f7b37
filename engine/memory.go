package engine

import "unsafe"

// AlignedFloats allocates n floats that begin on a cache line (64 bytes). Large slices use huge pages
// where the system supports them.
func AlignedFloats(n int) []float32 {
	if n == 0 {
		return nil
	}
	b := make([]float32, n+15)
	adviseHuge(b)
	skip := int(-uintptr(unsafe.Pointer(&b[0])) & 63 / 4)
	return b[skip : skip+n : skip+n]
}

// Bytes allocates n bytes, as AlignedFloats floats: for the pixels of many images.
func Bytes(n int) []byte {
	b := make([]byte, n)
	adviseHuge(b)
	return b
}
