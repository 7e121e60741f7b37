package engine

import "github.com/klauspost/cpuid/v2"

// innerBlock returns kc, the largest number of inner indices of a block, for panels of nr columns. A
// panel takes an eighth of the second-level cache and streams from there, which the tiles leave time
// for; a longer block stores and reloads fewer partial sums. If the second level is small, a panel
// takes about half of the first level, beside the rows of A. Partial sums are float32, so blocks
// change no bit.
func innerBlock(nr int) int {
	bytes := max(cacheSize(cpuid.CPU.Cache.L1D, 32<<10)*9/16, cacheSize(cpuid.CPU.Cache.L2, 512<<10)/8)
	return min(max(bytes/4/nr, 64), 1024)
}

// outerBlock returns mc, the number of rows of A that are multiplied with all panels of a block of kc
// inner indices before the next rows. They take a quarter of the second-level cache; panels and C
// pass through the rest.
func outerBlock(kc int) int {
	return max(cacheSize(cpuid.CPU.Cache.L2, 512<<10)/4/4/kc, 64)
}

// cacheSize is the size that cpuid reports, or a typical one if it reports none.
func cacheSize(reported, typical int) int {
	if reported <= 0 {
		return typical
	}
	return reported
}

// blocks is the number of blocks of an inner size.
func (kern *kernels) blocks(inner int) int { return (inner + kern.kc - 1) / kern.kc }

// rowBlocks is the number of blocks of m rows of A: mc rows each if the block has kc inner indices,
// more if it has fewer, so that a block always takes as much of the cache.
func (kern *kernels) rowBlocks(m, inner int) int {
	longest := (inner + kern.blocks(inner) - 1) / max(kern.blocks(inner), 1)
	most := kern.mc * kern.kc / max(longest, 1)
	return (m + most - 1) / most
}

// conflictStride is the least row stride, in floats, at which rows fall into so few sets of the
// first-level cache that they evict each other. A way holds 4 KiB; rows 2 KiB apart fall into two
// sets, for which 12 ways (48 KiB) are enough.
var conflictStride = func() int {
	if firstLevelWays() < 12 {
		return 512
	}
	return 1024
}()

// firstLevelWays is the number of ways of the first-level cache, of 4 KiB each.
func firstLevelWays() int { return cacheSize(cpuid.CPU.Cache.L1D, 32<<10) / (4 << 10) }

// tileConflicts reports whether the rows of the highest tile, at this stride, take more than two
// thirds of the ways of a cache set.
func (kern *kernels) tileConflicts(stride int) bool {
	if stride < 512 || stride%512 != 0 {
		return false
	}
	rows := kern.mr
	if stride%1024 != 0 {
		rows = (rows + 1) / 2
	}
	return 3*rows > 2*firstLevelWays()
}

// conflicts reports whether rows at this stride fall into the same sets of the first-level cache.
func conflicts(stride int) bool { return stride >= conflictStride && stride%conflictStride == 0 }

// PaddedLD returns a row stride of at least n that is a whole number of cache lines and does not conflict.
func PaddedLD(n int) int {
	n = (n + 15) / 16 * 16
	if conflicts(n) {
		n += 16
	}
	return n
}

// OddLineLD returns a row stride of at least n that is an odd number of cache lines. A column one
// line wide then uses all sets of the first-level cache, and not at most half of them.
func OddLineLD(n int) int { return (n+15)/16/2*32 + 16 }

// FirstLevelCache returns the size of the first-level data cache in bytes.
func FirstLevelCache() int { return cacheSize(cpuid.CPU.Cache.L1D, 32<<10) }

// SecondLevelCache returns the size of the second-level cache in bytes.
func SecondLevelCache() int { return cacheSize(cpuid.CPU.Cache.L2, 512<<10) }
