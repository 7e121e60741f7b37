//go:build !unix

package check

// guarded returns n floats; this system has no unreadable pages, the canaries remain.
func guarded(n int) []float32 { return make([]float32, n) }
