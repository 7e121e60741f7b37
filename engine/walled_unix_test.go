//go:build unix

package engine

import (
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// walled returns at least n floats between two pages without access.
func walled(t *testing.T, n int) []float32 {
	t.Helper()
	page := unix.Getpagesize()
	size := (4*n + page - 1) / page * page
	b, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { unix.Munmap(b) })
	for _, wall := range [][]byte{b[:page], b[page+size:]} {
		if err := unix.Mprotect(wall, unix.PROT_NONE); err != nil {
			t.Fatal(err)
		}
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[page])), size/4)
}
