package guardpages

import (
	"errors"
	"runtime/debug"
	"testing"
	"unsafe"
)

// TestFloats checks that all of the memory can be written, and that the bytes on both sides of
// it cannot be read.
func TestFloats(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for _, n := range []int{0, 1, 1000, 100000} {
		x, free, err := Floats(n)
		if errors.Is(err, errors.ErrUnsupported) {
			t.Skip(err)
		}
		if err != nil || len(x) < n {
			t.Fatalf("%d floats of %d, %v", len(x), n, err)
		}
		for i := range x {
			x[i] = 1
		}
		first := unsafe.Pointer(unsafe.SliceData(x))
		for _, at := range []int{-1, 4 * len(x)} {
			func() {
				defer func() {
					if recover() == nil {
						t.Errorf("%d floats: byte %d can be read", n, at)
					}
				}()
				sink = *(*byte)(unsafe.Add(first, at))
			}()
		}
		if err := free(); err != nil {
			t.Error(err)
		}
	}
}

var sink byte
