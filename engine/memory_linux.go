package engine

import (
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of a huge page of amd64, and of arm64 with ordinary pages of 4 KiB.
const hugePage = 2 << 20

// adviseHuge asks for huge pages where x lies, if it is as long as one: with ordinary ones every 4
// KiB of a matrix that streams from memory is another translation of addresses, at which what is
// fetched ahead ends, too. Linux ignores the advice unless transparent huge pages are on (mode
// madvise, the usual one, or always). Parts of a page at the begin and the end are taken whole:
// matrices beside each other, as P_i are, share it.
func adviseHuge(x []float32) {
	size := 4 * uintptr(len(x))
	if size < hugePage {
		return
	}
	begin := uintptr(unsafe.Pointer(&x[0]))
	first := begin &^ (hugePage - 1)
	last := (begin + size + hugePage - 1) &^ (hugePage - 1)
	// An error changes nothing but the speed.
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, first, last-first, unix.MADV_HUGEPAGE)
}
