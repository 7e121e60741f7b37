package array

// TypeSize returns the bytes of a number of a type of safetensors (F32, BF16, I64, ...), 0 for an unknown one.
func TypeSize(name string) int {
	e, _ := elementOf(tensorTypes[name])
	return e.size
}

// Convert sets dst to the numbers of a known type of safetensors in b, little-endian, rounded to float32.
func Convert(dst []float32, name string, b []byte) {
	if name == "F32" { // nearly always
		readFloat32(dst, b)
		return
	}
	e, _ := elementOf(tensorTypes[name])
	e.narrow(dst, b)
}
