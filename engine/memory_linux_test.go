package engine

import (
	"bufio"
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// TestHugePages checks that Linux has been asked for huge pages for all of a large matrix (not that
// it provided any).
func TestHugePages(t *testing.T) {
	own, err := unix.Mmap(-1, 0, 2*hugePage, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_ANON|unix.MAP_PRIVATE)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = unix.Munmap(own) }()
	if err := unix.Madvise(own, unix.MADV_HUGEPAGE); err != nil || !advised(t, uintptr(unsafe.Pointer(&own[0]))) {
		t.Skipf("this system does not support the advice, or does not report it (%v)", err)
	}
	for _, n := range []int{hugePage / 4, 3*hugePage/4 + 5, 10 * hugePage / 4} {
		m := NewMatrix(1, n)
		for _, at := range []int{0, n / 2, n - 1} {
			if !advised(t, uintptr(unsafe.Pointer(&m.Data[at]))) {
				t.Errorf("%d floats: huge pages are not requested for number %d", n, at)
			}
		}
		b := Bytes(4 * n)
		for _, at := range []int{0, len(b) / 2, len(b) - 1} {
			if !advised(t, uintptr(unsafe.Pointer(&b[at]))) {
				t.Errorf("%d bytes: huge pages are not requested for number %d", len(b), at)
			}
		}
	}
}

// TestHugePagesEnd checks that memory of large matrices is ordinary memory again after the garbage
// collector has freed it, except for pages that hold another large matrix.
func TestHugePagesEnd(t *testing.T) {
	if hugeByDefault() {
		t.Log("the system makes huge pages without advice; the counts are checked all the same")
	}
	const n = 10 * hugePage / 4
	kept := NewMatrix(1, n)
	var addresses []uintptr
	for range 20 {
		m := NewMatrix(1, n)
		addresses = append(addresses, uintptr(unsafe.Pointer(&m.Data[n/2])))
	}
	users := func(address uintptr) int {
		hugePages.mu.Lock()
		defer hugePages.mu.Unlock()
		return hugePages.users[address/hugePage]
	}
	left := func() (counted, flagged int) {
		for _, a := range addresses {
			if users(a) > 0 {
				counted++
			}
			if !hugeByDefault() && advised(t, a) {
				flagged++
			}
		}
		return counted, flagged
	}
	var counted, flagged int
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		runtime.GC()
		if counted, flagged = left(); counted+flagged == 0 {
			break
		}
	}
	if counted+flagged > 0 {
		t.Errorf("after they were freed, %d of 20 matrices are counted and %d have the advice", counted, flagged)
	}
	if users(uintptr(unsafe.Pointer(&kept.Data[n/2]))) == 0 {
		t.Error("a matrix in use is not counted")
	}
	runtime.KeepAlive(kept)
}

// TestPageCounts checks which pages lose the advice: those without another user.
func TestPageCounts(t *testing.T) {
	c := pageCounts{users: map[uintptr]int{}}
	const far = 1 << 30 // pages that no process has, where madvise fails and does nothing
	c.add(far, far+4)
	c.add(far+3, far+6)
	c.remove(far, far+4)
	for p := uintptr(far); p < far+6; p++ {
		want := 0
		if p >= far+3 {
			want = 1
		}
		if got := c.users[p]; got != want {
			t.Errorf("page %d has %d users, want %d", p-far, got, want)
		}
	}
	if c.remove(far+3, far+6); len(c.users) > 0 {
		t.Errorf("%d pages are left", len(c.users))
	}
}

// advised reports whether the mapping that contains the address has the flag of MADV_HUGEPAGE.
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
