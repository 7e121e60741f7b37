package engine

import (
	"bytes"
	"os"
	"runtime"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"
)

// hugePage is the size of a huge page on amd64, and on arm64 with ordinary pages of 4 KiB.
const hugePage = 2 << 20

// adviseHuge asks for huge pages for x if it is at least as long as one. With ordinary pages, a matrix
// that streams from memory needs an address translation every 4 KiB, where hardware prefetching stops,
// too, and each of many images that are read in random order needs another one. Linux ignores the advice
// unless transparent huge pages are enabled (madvise, the usual setting, or always). The range is extended
// to whole pages, which adjacent matrices share. The advice is taken back when the garbage collector has
// freed x: otherwise one small object that comes to lie there would keep 2 MiB.
func adviseHuge[T byte | float32](x []T) {
	size := uintptr(len(x)) * unsafe.Sizeof(*new(T))
	if size < hugePage {
		return
	}
	begin := uintptr(unsafe.Pointer(&x[0]))
	first := begin / hugePage
	last := (begin + size + hugePage - 1) / hugePage
	hugePages.add(first, last)
	runtime.AddCleanup(&x[0], func(pages [2]uintptr) { hugePages.remove(pages[0], pages[1]) }, [2]uintptr{first, last})
}

// hugePages counts the slices that lie in each advised page of the process.
var hugePages = pageCounts{users: map[uintptr]int{}}

type pageCounts struct {
	mu    sync.Mutex
	users map[uintptr]int // by the number of the page
}

// add counts another slice in the pages [first, last) and asks for huge pages.
func (c *pageCounts) add(first, last uintptr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for p := first; p < last; p++ {
		c.users[p]++
	}
	advise(first, last, unix.MADV_HUGEPAGE)
}

// remove is the opposite of add. Pages that hold no other slice become ordinary ones. (Memory that is
// in use stays as it is; what the collector returns to the system and gets back comes in small pages.)
func (c *pageCounts) remove(first, last uintptr) {
	c.mu.Lock()
	defer c.mu.Unlock()
	unused := first // the begin of a run of pages without a user
	for p := first; p < last; p++ {
		if c.users[p]--; c.users[p] > 0 {
			c.withdraw(unused, p)
			unused = p + 1
			continue
		}
		delete(c.users, p)
	}
	c.withdraw(unused, last)
}

// withdraw takes the advice for the pages [first, last) back, unless the system gives huge pages to
// all memory anyway.
func (c *pageCounts) withdraw(first, last uintptr) {
	if first < last && !hugeByDefault() {
		advise(first, last, unix.MADV_NOHUGEPAGE)
	}
}

// advise calls madvise for the pages [first, last). An error affects only speed and memory.
func advise(first, last, advice uintptr) {
	_, _, _ = unix.Syscall(unix.SYS_MADVISE, first*hugePage, (last-first)*hugePage, advice)
}

// hugeByDefault reports whether the system makes huge pages without advice.
var hugeByDefault = sync.OnceValue(func() bool {
	mode, err := os.ReadFile("/sys/kernel/mm/transparent_hugepage/enabled")
	return err == nil && bytes.Contains(mode, []byte("[always]"))
})
