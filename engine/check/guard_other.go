//go:build !unix

package check

// guards says whether buffers lie against unreadable pages.
const guards = false

// guarded returns n floats; this system has no unreadable pages, the canaries remain.
func guarded(n int) []float32 { return make([]float32, n) }
