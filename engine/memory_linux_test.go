package engine

import (
	"bufio"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestHugePages checks that all of a large matrix lies where Linux has been asked for huge pages.
// Whether there are any is another matter.
func TestHugePages(t *testing.T) {
	own, err := unix.Mmap(-1, 0, 2*hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(own) }()
	if err := unix.Madvise(own, unix.MADV_HUGEPAGE); err != nil || !advised(t, uintptr(unsafe.Pointer(&own[0]))) {
		t.Skipf("this system takes no such advice, or does not tell (%v)", err)
	}
	for _, n := range []int{hugePage / 4, 3*hugePage/4 + 5, 10 * hugePage / 4} {
		m := NewMatrix(1, n)
		for _, at := range []int{0, n / 2, n - 1} {
			if !advised(t, uintptr(unsafe.Pointer(&m.Data[at]))) {
				t.Errorf("%d floats: number %d does not lie where huge pages are wanted", n, at)
			}
		}
	}
}

// advised says whether the mapping with the address has the flag of MADV_HUGEPAGE.
func advised(t *testing.T, address uintptr) bool {
	f, err := os.Open("/proc/self/smaps")
	if err != nil {
		t.Skip(err)
	}
	defer f.Close()
	within := false
	for lines := bufio.NewScanner(f); lines.Scan(); {
		var begin, end uintptr
		if n, _ := fmt.Sscanf(lines.Text(), "%x-%x ", &begin, &end); n == 2 {
			within = begin <= address && address < end
		} else if flags, ok := strings.CutPrefix(lines.Text(), "VmFlags:"); ok && within {
			return slices.Contains(strings.Fields(flags), "hg")
		}
	}
	return false
}
