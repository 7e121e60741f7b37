package bench

import (
	"cmp"
	"math"

	"dpnbench/internal/sysinfo"
)

// hierarchy is the memory as far as the machine tells; what it does not tell has a
// typical size.
type hierarchy struct {
	cores  int // each has a first- and a second-level cache of its own
	l1, l2 int // bytes of one
	l3     int // bytes of one
	l3s    int // how many
	free   int // bytes of memory that streams may take at a time
}

// memoryOf returns what the machine tells, with at most so many bytes of memory for
// streams (0: a quarter of what is available).
func memoryOf(m *sysinfo.Machine, most int) hierarchy {
	known := func(reported, typical int) int {
		if reported <= 0 {
			return typical
		}
		return reported
	}
	return hierarchy{
		cores: m.PhysicalCores(),
		l1:    known(m.Caches.L1D, 32<<10), l2: known(m.Caches.L2, 512<<10),
		l3: known(m.Caches.L3, 16<<20), l3s: known(m.Caches.L3Count, 1),
		free: cmp.Or(most, int(min(sysinfo.AvailableMemory()/4, math.MaxInt/2))),
	}
}

// levels of the memory, the nearest first.
var levels = []string{"L1", "L2", "L3", "memory"}

// shared says whether cores share a level, so that their kernels matter little.
func shared(level string) bool { return level == "L3" || level == "memory" }

// capacity returns how many bytes a level holds for so many threads, which run on a core,
// and beside a third-level cache, of their own as long as there are any.
func (h hierarchy) capacity(level string, threads int) int {
	switch level {
	case "L1":
		return h.l1 * min(threads, h.cores)
	case "L2":
		return h.l2 * min(threads, h.cores)
	case "L3":
		return h.l3 * min(threads, h.l3s)
	}
	return math.MaxInt
}

// array returns how many bytes each of so many threads streams to measure a level, all
// arrays together:
//
//   - L1 and L2: half of the caches;
//   - L3: four times the second-level caches if that is half of the third level or less,
//     since a virtual machine may have little of what it sees, and otherwise at least
//     twice; 0 where that does not fit into the third level, which then cannot be measured;
//   - memory: four times all caches, or what may be taken of it.
func (h hierarchy) array(level string, threads int) int {
	l2, l3 := h.capacity("L2", threads), h.capacity("L3", threads)
	all := 0
	switch level {
	case "L1", "L2":
		all = h.capacity(level, threads) / 2
	case "L3":
		if all = max(2*l2, min(4*l2, l3/2)); all > l3 {
			return 0
		}
	case "memory":
		all = int(min(4*float64(max(l2, l3)), float64(h.free)))
	}
	return all / threads
}
