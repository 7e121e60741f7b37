package bench

import (
	"math"
	"testing"

	"dpnbench/internal/sysinfo"
)

// TestArrays holds the arrays of streams on all kinds of machines to the caches that they
// are for: those of L1 and L2 fit, those of L3 lie beyond all second-level caches and fit
// into the third level, those of the memory lie far beyond all caches.
func TestArrays(t *testing.T) {
	const kib, mib, far = 1 << 10, 1 << 20, math.MaxInt32
	for _, c := range []struct {
		name    string
		h       hierarchy
		threads int
		hasL3   bool
	}{
		{"a laptop", hierarchy{4, 48 * kib, 1280 * kib, 8 * mib, 1, far}, 1, true},
		{"two threads a core", hierarchy{8, 32 * kib, mib, 32 * mib, 1, far}, 16, true},
		{"96 cores with 12 third-level caches", hierarchy{96, 32 * kib, mib, 32 * mib, 12, far}, 192, true},
		{"one thread of them", hierarchy{96, 32 * kib, mib, 32 * mib, 12, far}, 1, true},
		{"192 cores, third level unknown", hierarchy{192, 32 * kib, mib, 32 * mib, 1, far}, 192, false},
		{"second level larger than the third", hierarchy{56, 48 * kib, 2 * mib, 105 * mib, 1, far}, 112, false},
		{"64 cores that report nothing", hierarchy{64, 32 * kib, 512 * kib, 16 * mib, 1, far}, 64, false},
		{"two third-level caches", hierarchy{16, 32 * kib, 512 * kib, 32 * mib, 2, far}, 32, true},
		{"a virtual machine", hierarchy{2, 48 * kib, 2 * mib, 480 * mib, 1, far}, 2, true},
	} {
		n := c.threads
		all := func(level string) int { return n * c.h.array(level, n) }
		cores := min(n, c.h.cores)
		for level, cache := range map[string]int{"L1": c.h.l1, "L2": c.h.l2} {
			if got := all(level); got > cache*cores/2 || got < cache*cores/2-n {
				t.Errorf("%s: %d bytes in %s", c.name, got, level)
			}
		}
		l2, l3 := c.h.l2*cores, c.h.l3*min(n, c.h.l3s)
		if got := all("L3"); got > 0 != c.hasL3 || got > 0 && (got < 2*l2-n || got > l3) {
			t.Errorf("%s: %d bytes in L3, of %d, second level %d", c.name, got, l3, l2)
		}
		if got := all("memory"); got < 4*max(l2, l3)-n {
			t.Errorf("%s: %d bytes in memory, caches %d and %d", c.name, got, l2, l3)
		}
		c.h.free = 16 * mib
		if got := all("memory"); got > c.h.free || got < c.h.free-n {
			t.Errorf("%s: %d bytes in memory where %d may be taken", c.name, got, c.h.free)
		}
	}
}

// TestHierarchy checks that what the machine does not report has a typical size.
func TestHierarchy(t *testing.T) {
	silent := sysinfo.Caches{L1D: -1, L2: -1, L3: -1, Line: 64, L3Count: -1}
	known := sysinfo.Caches{L1D: 48 << 10, L2: 2 << 20, L3: 16 << 20, Line: 64, L3Count: 2}
	for _, c := range []struct {
		m    sysinfo.Machine
		want hierarchy
	}{
		{sysinfo.Machine{Cores: 4, LogicalCores: 8, CPUs: 8, Caches: known},
			hierarchy{4, 48 << 10, 2 << 20, 16 << 20, 2, 1 << 20}},
		{sysinfo.Machine{Cores: 2, LogicalCores: 4, CPUs: 8, Caches: silent},
			hierarchy{8, 32 << 10, 512 << 10, 16 << 20, 1, 1 << 20}},
		{sysinfo.Machine{Cores: 4, LogicalCores: 8, CPUs: 1, Caches: known},
			hierarchy{1, 48 << 10, 2 << 20, 16 << 20, 2, 1 << 20}},
	} {
		if h := memoryOf(&c.m, 1<<20); h != c.want {
			t.Errorf("hierarchy %+v, want %+v", h, c.want)
		}
	}
}
