package engine

import (
	"fmt"
	"math"

	"github.com/klauspost/cpuid/v2"
)

// Sharing is a way for threads to share an ascent. It changes no bit.
type Sharing int

const (
	// ByRows gives every thread blocks of rows, which it takes through all steps on its
	// own, without meeting the others.
	ByRows Sharing = iota
	// ByComponents has all threads work on the same block of rows: in every step they
	// share the products with P_i over the components, meet, and share the movement over
	// the rows.
	ByComponents
)

func (s Sharing) String() string {
	if s == ByComponents {
		return "components"
	}
	return "rows"
}

// AscentPlan is how an ascent will be run. The cost model is this. A step multiplies a
// block of b rows with all P_i, 2 b k d^2 flop, and reads all P_i, 4 k d^2 bytes.
//
//   - Where all P_i fit into half of the second-level cache, reading them costs little:
//     the blocks are small enough for x and D_i to stay in the first level, but at least
//     four tiles high.
//   - Otherwise blocks are as high as they can be, up to 128 rows, but where they have more than
//     twice StreamRows rows, D_i fills at most half of that cache. Below StreamRows rows
//     reading P_i takes longer than multiplying, so where sharing the rows leaves a thread
//     fewer, the threads share the components instead, of up to 128 rows: each P_i is then read
//     once, by one thread, at the price of two meetings a step. Even the shortest steps that so
//     large P_i leave, 20 microseconds, are worth it (see together).
//   - Of single rows (with AVX2 of two, too) reading P_i takes longer than multiplying even where
//     they are near. Such rows climb one by one and read little more than half of each P_i, which
//     is symmetric (triangle.go). Two threads that share the components lose to one that does so (a row of 128
//     to 512 features, k 20, AVX2: 1.4 to 1.7 times slower).
//
// Ascents of less than about 100 microseconds are planned for one thread; where they come in
// several blocks all the same, threads that are awake share those.
type AscentPlan struct {
	Sharing   Sharing
	Threads   int // that take part
	Blocks    int // of rows; by components, one after the other
	BlockRows int // rows of the largest block

	// Halves says whether the rows of a block climb one by one, reading half of each P_i, if they
	// are symmetric to the bit, and not in the first few steps after they were set. Ascents with
	// a trajectory never do.
	Halves bool

	// KeepsG says whether an ascent for the backward pass keeps G_i of all steps. Otherwise
	// they are computed a second time there: the same bits, for a third more products.
	KeepsG bool

	Flops          float64 // of the products, all steps
	PrecisionBytes float64 // of all P_i
	Cache          float64 // bytes of second-level cache that P_i may fill, and D_i
	StreamRows     int     // rows a block from which on multiplying takes longer than reading P_i
}

const (
	maxBlockRows  = 128      // more rows at a time gain nothing
	maxBlockBytes = 16 << 20 // scratch memory for G_i of all components

	// streamBytesAMicrosecond is what a thread reads from the third-level cache or from
	// memory while it multiplies, roughly: 5 GB/s. It decides the sharing, and no result. On
	// two cores with AVX-512, 48 rows a thread are as fast either way, 32 a tenth and 16 a
	// quarter faster by components.
	streamBytesAMicrosecond = 5e3
)

// PlanAscent returns how Ascend would run on so many rows, without a trajectory.
func (e *Engine) PlanAscent(rows, k, d, steps int) AscentPlan {
	return e.planFull(rows, k, d, steps, true)
}

// planFull is PlanAscent where P_i may be read in halves, or may not.
func (e *Engine) planFull(rows, k, d, steps int, halves bool) AscentPlan {
	p := AscentPlan{
		Threads:        e.Threads(),
		Flops:          ascentFlops(rows, k, d, steps),
		PrecisionBytes: 4 * float64(k) * float64(d) * float64(d),
		Cache:          secondLevelShare(),
		KeepsG:         keepsG(rows, k, d, steps),
		StreamRows:     e.streamRows(),
	}
	if p.Flops < e.wakeFlop {
		p.Threads = 1
	}
	if rows == 0 {
		return p
	}
	near := p.PrecisionBytes <= p.Cache
	most := min(maxBlockRows, max(maxBlockBytes/(4*k*paddedLD(d)), e.kern.mr))
	if near {
		l1 := cacheSize(cpuid.CPU.Cache.L1D, 32<<10)
		most = min(most, max(l1/(8*paddedLD(d)), 4*e.kern.mr))
	}
	each := (rows + p.Threads - 1) / p.Threads
	halves = halves && each <= e.kern.aloneRows && e.kern.halves(k, d)
	if p.Threads > 1 && !near && each < p.StreamRows && k >= p.Threads && !(halves && p.Threads == 2) {
		p.Sharing = ByComponents
		p.Blocks = (rows + most - 1) / most
	} else {
		if !near {
			most = min(most, max(int(p.Cache)/(4*paddedLD(d)), 2*p.StreamRows, 4*e.kern.mr))
		}
		p.Blocks = rowBlocks(rows, most, p.Threads)
		p.Threads = min(p.Threads, p.Blocks)
	}
	p.BlockRows = (rows + p.Blocks - 1) / p.Blocks
	p.Halves = halves && p.Sharing == ByRows
	return p
}

// PlanMixture returns how Ascend would run so many rows on m, without a trajectory. Precisions of
// low rank are shared by rows, in blocks as high as they can be; nothing of size d is kept for each
// component, so that KeepsG does not matter. One P for all is planned for as k of them.
func (e *Engine) PlanMixture(m *Mixture, rows, steps int) AscentPlan {
	return e.plan(m, rows, steps, true)
}

// plan is PlanMixture where nothing but the ends of an ascent is asked for, or more.
func (e *Engine) plan(m *Mixture, rows, steps int, ends bool) AscentPlan {
	if m.low == nil {
		t := &m.triangles
		return e.planFull(rows, m.K, m.D, steps, ends && len(m.p) == m.K && (t.symmetric || !t.packed))
	}
	p := AscentPlan{
		Threads:        e.Threads(),
		Flops:          lowRankFlops(rows, m.K, m.D, m.low.r, steps),
		PrecisionBytes: 8 * float64(m.inner()+m.K) * float64(m.D),
		Cache:          secondLevelShare(),
		StreamRows:     e.streamRows(),
	}
	if p.Flops < e.wakeFlop {
		p.Threads = 1
	}
	if rows == 0 {
		return p
	}
	p.Blocks = rowBlocks(rows, maxBlockRows, p.Threads)
	p.Threads = min(p.Threads, p.Blocks)
	p.BlockRows = (rows + p.Blocks - 1) / p.Blocks
	return p
}

// secondLevelShare is how many bytes of the second-level cache precisions may fill.
func secondLevelShare() float64 { return float64(cacheSize(cpuid.CPU.Cache.L2, 512<<10)) / 2 }

// streamRows is AscentPlan.StreamRows.
func (e *Engine) streamRows() int {
	return int(math.Ceil(2 * e.kern.flopPerMicrosecond / streamBytesAMicrosecond))
}

// String explains the plan in a line.
func (p AscentPlan) String() string {
	if p.Blocks == 0 {
		return "no rows"
	}
	where := fmt.Sprintf("P_i take %s, which stays in the second-level cache", size(p.PrecisionBytes))
	if p.PrecisionBytes > p.Cache {
		where = fmt.Sprintf("P_i take %s, more than %s of second-level cache, and reading them is hidden from %d rows a block on",
			size(p.PrecisionBytes), size(p.Cache), p.StreamRows)
	}
	threads, blocks, rows := plural(p.Threads, "thread"), plural(p.Blocks, "block"), plural(p.BlockRows, "row")
	if p.Sharing == ByComponents {
		return fmt.Sprintf("by components: %s share the components of every step, %s of up to %s (%s)", threads, blocks, rows, where)
	}
	if p.Halves {
		where += "; of single rows half of them is read"
	}
	return fmt.Sprintf("by rows: %s of up to %s, each taken through all steps by one of %s (%s)", blocks, rows, threads, where)
}

func plural(n int, unit string) string {
	if n == 1 {
		return "1 " + unit
	}
	return fmt.Sprintf("%d %ss", n, unit)
}

func size(bytes float64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%.0f KiB", math.Ceil(bytes/(1<<10)))
	}
	return fmt.Sprintf("%.1f MiB", bytes/(1<<20))
}

// maxKeptG is the size in bytes up to which the G_i of all steps are kept.
var maxKeptG = 512 << 20

func keepsG(rows, k, d, steps int) bool {
	return 4*float64(rows)*float64(k)*float64(d)*float64(steps) <= float64(maxKeptG) // beyond an int of 32 bits
}

// KeptBytes returns the bytes of G_i that ascents of so many rows for the backward pass keep at
// most, with precisions that are matrices: those of all steps if AscentPlan.KeepsG, by the dense
// route, and those of the first step of the rows that climb at a time, by the sparse one.
func KeptBytes(rows, k, d, steps int) float64 {
	bytes := 4 * float64(min(rows, sparseRows(k*d))) * float64(k) * float64(d)
	if keepsG(rows, k, d, steps) {
		bytes += 4 * float64(rows) * float64(k) * float64(d) * float64(steps)
	}
	return bytes
}

// ascentFlops counts the products of steps of ascent of rows.
func ascentFlops(rows, k, d, steps int) float64 {
	return 2 * float64(rows) * float64(k) * float64(d) * float64(d) * float64(steps)
}

// rowBlocks returns into how many blocks of up to most rows to split rows, as many for
// every thread.
func rowBlocks(rows, most, threads int) int {
	n := (rows + most - 1) / most
	n = (n + threads - 1) / threads * threads
	return min(n, rows)
}
