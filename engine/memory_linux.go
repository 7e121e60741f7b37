package engine

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of a huge page on amd64, and on arm64 with ordinary pages of 4 KiB.
const hugePage = 2 << 20

// adviseHuge asks for huge pages for x if it is at least as long as one. With ordinary pages, a matrix
// that streams from memory needs an address translation every 4 KiB, where hardware prefetching stops,
// too. Linux ignores the advice unless transparent huge pages are enabled (madvise, the usual setting,
// or always). The range is extended to whole pages, which adjacent matrices share.
func adviseHuge(x []float32) {
	size := 4 * uintptr(len(x))
	if size < hugePage {
		return
	}
	begin := uintptr(unsafe.Pointer(&x[0]))
	first := begin &^ (hugePage - 1)
	last := (begin + size + hugePage - 1) &^ (hugePage - 1)
	// An error affects only the speed.
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, first, last-first, unix.MADV_HUGEPAGE)
}
