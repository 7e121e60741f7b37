//go:build unix

package check

import (
	"os"
	"unsafe"

	"golang.org/x/sys/unix"
)

// guards says whether buffers lie against unreadable pages.
const guards = true

// guarded returns at least n floats between two pages without access, or plain memory
// where the system refuses.
func guarded(n int) []float32 {
	page := os.Getpagesize()
	size := (4*n + page - 1) / page * page
	b, err := unix.Mmap(-1, 0, size+2*page, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		return make([]float32, n)
	}
	if unix.Mprotect(b[:page], unix.PROT_NONE) != nil || unix.Mprotect(b[page+size:], unix.PROT_NONE) != nil {
		return make([]float32, n)
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[page])), size/4)
}
