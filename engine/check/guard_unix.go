//go:build unix

package check

import (
	"os"
	"syscall"
	"unsafe"
)

// guards says whether buffers lie against unreadable pages.
const guards = true

// guarded returns at least n floats between two pages without access, or plain memory
// where the system refuses.
func guarded(n int) []float32 {
	page := os.Getpagesize()
	size := (4*n + page - 1) / page * page
	b, err := syscall.Mmap(-1, 0, size+2*page, syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return make([]float32, n)
	}
	if syscall.Mprotect(b[:page], syscall.PROT_NONE) != nil || syscall.Mprotect(b[page+size:], syscall.PROT_NONE) != nil {
		return make([]float32, n)
	}
	return unsafe.Slice((*float32)(unsafe.Pointer(&b[page])), size/4)
}
