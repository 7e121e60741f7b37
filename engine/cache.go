package engine

import (
	"github.com/klauspost/cpuid/v2"
)

// innerBlock returns kc, the longest block of the inner index, of a tier whose panels
// have nr columns. Panels stream from the second-level cache, of which one takes an eighth:
// the tiles leave time for it, and a longer block stores and reloads fewer partial sums.
// Where that level is small they live in the first one, of which they take about half, and rows
// of A the rest. Partial sums are float32, so blocks change no bit.
func innerBlock(nr int) int {
	bytes := max(cacheSize(cpuid.CPU.Cache.L1D, 32<<10)*9/16, cacheSize(cpuid.CPU.Cache.L2, 512<<10)/8)
	return min(max(bytes/4/nr, 64), 1024)
}

// outerBlock returns mc, the rows of A that are multiplied with all panels of a block of kc inner
// indices before the next rows: a quarter of the second-level cache, beside which panels and C pass.
func outerBlock(kc int) int {
	return max(cacheSize(cpuid.CPU.Cache.L2, 512<<10)/4/4/kc, 64)
}

// cacheSize is what cpuid reports, or typical where it reports nothing.
func cacheSize(reported, typical int) int {
	if reported <= 0 {
		return typical
	}
	return reported
}

// blocks is the number of blocks of an inner size.
func (kern *kernels) blocks(inner int) int { return (inner + kern.kc - 1) / kern.kc }

// rowBlocks is the number of blocks of m rows of A: of mc rows where a block of the inner index is
// as long as it may be, of more where it is shorter, so that all take as much of the cache.
func (kern *kernels) rowBlocks(m, inner int) int {
	longest := (inner + kern.blocks(inner) - 1) / max(kern.blocks(inner), 1)
	most := kern.mc * kern.kc / max(longest, 1)
	return (m + most - 1) / most
}

// conflictStride is the distance, in floats, from which on rows fall into so few sets of the
// first-level cache that they push each other out. A way of it is 4 KiB: rows half of that apart
// fall into two sets, for which 12 ways (48 KiB) are enough.
var conflictStride = func() int {
	if firstLevelWays() < 12 {
		return 512
	}
	return 1024
}()

// firstLevelWays is the number of ways of the first-level cache, of 4 KiB each.
func firstLevelWays() int { return cacheSize(cpuid.CPU.Cache.L1D, 32<<10) / (4 << 10) }

// crowded says whether the rows of the longest tile, so far apart, take more than two thirds of the
// ways of a set.
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

// aliased says whether rows so far apart fall into the same sets of the first-level cache.
func conflicts(stride int) bool { return stride >= conflictStride && stride%conflictStride == 0 }

// leading returns a row distance of at least n that is whole cache lines and not aliased.
func paddedLD(n int) int {
	n = (n + 15) / 16 * 16
	if conflicts(n) {
		n += 16
	}
	return n
}

// spread returns a row distance of at least n whose cache lines are odd in number. Columns that are
// a line wide then take all sets of the first-level cache, and not a half of them or less.
func oddLineLD(n int) int { return (n+15)/16/2*32 + 16 }
