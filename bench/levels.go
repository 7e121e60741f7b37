package bench

import (
	"cmp"
	"math"

	"dpnbench/internal/sysinfo"
)

// hierarchy is the memory hierarchy; sizes that the machine does not report are typical ones.
type hierarchy struct {
	cores  int // each with its own L1 and L2
	l1, l2 int // bytes of one
	l3     int // bytes of one
	l3s    int // how many
	free   int // bytes of memory for streams
}

// memoryOf returns the hierarchy of a machine, with at most most bytes of memory for streams (0:
// a quarter of what is available).
func memoryOf(m *sysinfo.Machine, most int) hierarchy {
	known := func(reported, typical int) int {
		if reported <= 0 {
			return typical
		}
		return reported
	}
	return hierarchy{
		cores: min(m.PhysicalCores(), m.CPUs), // taskset may allow fewer
		l1:    known(m.Caches.L1D, 32<<10), l2: known(m.Caches.L2, 512<<10),
		l3: known(m.Caches.L3, 16<<20), l3s: known(m.Caches.L3Count, 1),
		free: cmp.Or(most, int(min(sysinfo.AvailableMemory()/4, math.MaxInt/2))),
	}
}

// levels of the memory, nearest first.
var levels = []string{"L1", "L2", "L3", "memory"}

// shared reports whether cores share a level; kernels then matter little.
func shared(level string) bool { return level == "L3" || level == "memory" }

// capacity returns the bytes of a level for a number of threads, which use separate cores and L3
// caches as long as there are enough.
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

// array returns the bytes, over all arrays, that each thread streams to measure a level:
//
//   - L1 and L2: half of the caches;
//   - L3: four times L2 if that is at most half of L3 (a virtual machine may own only part of
//     the L3 that it sees), otherwise at least twice L2; 0 if that exceeds L3, which then
//     cannot be measured;
//   - memory: four times the L2 or L3 caches, whichever are larger, at most what is free.
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
