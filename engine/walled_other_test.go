//go:build !unix

package engine

import "testing"

// walled returns n floats; this system cannot keep anyone from what is around them.
func walled(_ *testing.T, n int) []float32 { return make([]float32, n) }
