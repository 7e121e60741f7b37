//go:build unix

package walls

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Floats returns at least n floats that fill the pages between two without access, and a
// function that gives them back.
func Floats(n int) (x []float32, free func() error, err error) {
	page := os.Getpagesize()
	size := max((4*n+page-1)/page, 1) * page
	b, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, fmt.Errorf("walls: mmap of %d bytes: %w", size+2*page, err)
	}
	free = func() error { return unix.Munmap(b) }
	for _, wall := range [][]byte{b[:page], b[page+size:]} {
		if err := unix.Mprotect(wall, unix.PROT_NONE); err != nil {
			free()
			return nil, nil, fmt.Errorf("walls: mprotect: %w", err)
		}
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[page])), size/4), free, nil
}
