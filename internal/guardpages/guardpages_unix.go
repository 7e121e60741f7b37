//go:build unix

package guardpages

import (
	"fmt"
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Floats returns at least n floats that fill whole pages, with a guard page on each side, and a
// function that frees them.
func Floats(n int) (x []float32, free func() error, err error) {
	page := os.Getpagesize()
	size := max((4*n+page-1)/page, 1) * page
	b, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, fmt.Errorf("guardpages: mmap of %d bytes: %w", size+2*page, err)
	}
	free = func() error { return unix.Munmap(b) }
	for _, guard := range [][]byte{b[:page], b[page+size:]} {
		if err := unix.Mprotect(guard, unix.PROT_NONE); err != nil {
			free()
			return nil, nil, fmt.Errorf("guardpages: mprotect: %w", err)
		}
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[page])), size/4), free, nil
}
