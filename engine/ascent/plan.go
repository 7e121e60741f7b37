package ascent

// How the threads share an ascent.

import (
	"fmt"
	"math"

	"dpnbench/engine"
	"dpnbench/internal/format"
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

// Plan is how an ascent will be run. The cost model: a step multiplies a block of b rows with all P_i, 2 b k
// d^2 flop, and reads all P_i, 4 k d^2 bytes.
//
//   - If all P_i fit into half of the second-level cache, reading them costs little: the blocks are small
//     enough for x and D_i to stay in the first level, but at least four tiles high.
//   - Otherwise blocks are as high as they can be, up to 128 rows; if they have more than twice StreamRows
//     rows, D_i fills at most half of that cache. Below StreamRows rows reading P_i takes longer than
//     multiplying. If sharing the rows would leave a thread fewer, the threads share the components
//     instead, of up to 128 rows: each P_i is then read once, by one thread, for two synchronisations a
//     step.
//   - For single rows (with AVX2 for two, too) reading P_i takes longer than multiplying even from the
//     cache. Such rows climb one by one and read little more than half of each P_i, which is symmetric
//     (single_row.go). Two threads that share the components are slower than one that does so.
//
// Ascents of less than about 100 microseconds are planned for one thread; if they come in several blocks all
// the same, threads that are awake share those.
type Plan struct {
	Sharing   Sharing
	Threads   int // that take part
	Blocks    int // of rows; by components, one after the other
	BlockRows int // rows of the largest block

	// SingleRows says that the rows of a block climb one by one and read half of each P_i, if the P_i are
	// symmetric to the bit, and not in the first few steps after they were set. Ascents with a trajectory
	// never do.
	SingleRows bool

	// KeptRows is the number of first rows, whole blocks of them, whose G_i of all steps an ascent for the backward
	// pass keeps. Those of the other rows are computed a second time there: the same bits, for a third more products.
	KeptRows int

	Flops          float64 // of the products, all steps
	PrecisionBytes float64 // of all P_i
	Cache          float64 // bytes of second-level cache that P_i may fill, and D_i
	StreamRows     int     // rows a block from which on multiplying takes longer than reading P_i
}

const (
	maxBlockRows  = 128      // more rows at a time gain nothing
	maxBlockBytes = 16 << 20 // scratch memory for G_i of all components

	// streamBytesPerMicrosecond is roughly what a thread reads from the third-level cache or from memory
	// while it multiplies, 5 GB/s. It decides the sharing, and no result.
	streamBytesPerMicrosecond = 5e3
)

// Plan returns how Ascend would run for the given number of rows on m, without a trajectory. Precisions of
// low rank share the work by rows, in blocks as high as possible; they keep nothing of size d for each
// component, so KeptRows does not matter. One P for all components is planned like k of them.
func (m *Mixture) Plan(e *engine.Engine, rows, steps int) Plan {
	return m.precision.plan(e, rows, steps, true)
}

// planDense is Plan for k matrices P_i, with single rows allowed or not.
func planDense(e *engine.Engine, rows, k, d, steps int, single bool) Plan {
	p := newPlan(e, ascentFlops(rows, k, d, steps), 4*float64(k)*float64(d)*float64(d))
	if rows == 0 {
		return p
	}
	near := p.PrecisionBytes <= p.Cache
	ld, tile := engine.PaddedLD(d), e.TileRows()
	most := min(maxBlockRows, max(maxBlockBytes/(4*k*ld), tile))
	if near {
		most = min(most, max(engine.FirstLevelCache()/(8*ld), 4*tile))
	}
	each := (rows + p.Threads - 1) / p.Threads
	single = single && each <= e.SingleRows() && hasSingleRows(e, k, d)
	if p.Threads > 1 && !near && each < p.StreamRows && k >= p.Threads && !(single && p.Threads == 2) {
		p.Sharing = ByComponents
		p.Blocks = (rows + most - 1) / most
	} else {
		if !near {
			most = min(most, max(int(p.Cache)/(4*ld), 2*p.StreamRows, 4*tile))
		}
		p.Blocks = rowBlocks(rows, most, p.Threads)
		p.Threads = min(p.Threads, p.Blocks)
	}
	p.BlockRows = (rows + p.Blocks - 1) / p.Blocks
	p.SingleRows = single && p.Sharing == ByRows
	p.KeptRows = wholeBlocks(rows, p.Blocks, keptRows(rows, k, d, steps))
	return p
}

// newPlan returns a plan without blocks.
func newPlan(e *engine.Engine, flops, precisionBytes float64) Plan {
	p := Plan{
		Threads: e.Threads(), Flops: flops, PrecisionBytes: precisionBytes,
		Cache: secondLevelShare(), StreamRows: streamRows(e),
	}
	if p.Flops < e.WakeFlops() {
		p.Threads = 1
	}
	return p
}

// secondLevelShare is how many bytes of the second-level cache precisions may fill.
func secondLevelShare() float64 { return float64(engine.SecondLevelCache()) / 2 }

// streamRows is Plan.StreamRows.
func streamRows(e *engine.Engine) int {
	return int(math.Ceil(2 * e.FlopsPerMicrosecond() / streamBytesPerMicrosecond))
}

// String explains the plan in a line.
func (p Plan) String() string {
	if p.Blocks == 0 {
		return "no rows"
	}
	where := fmt.Sprintf("P_i take %s, which stays in the second-level cache", size(p.PrecisionBytes))
	if p.PrecisionBytes > p.Cache {
		where = fmt.Sprintf("P_i take %s, more than %s of second-level cache, "+
			"and reading them is hidden from %d rows a block on",
			size(p.PrecisionBytes), size(p.Cache), p.StreamRows)
	}
	threads, blocks, rows := format.Count(p.Threads, "thread"), format.Count(p.Blocks, "block"),
		format.Count(p.BlockRows, "row")
	if p.Sharing == ByComponents {
		return fmt.Sprintf("by components: %s share the components of every step, %s of up to %s (%s)", threads,
			blocks, rows, where)
	}
	if p.SingleRows {
		where += "; single rows read half of them"
	}
	return fmt.Sprintf("by rows: %s of up to %s, each taken through all steps by one of %s (%s)", blocks, rows,
		threads, where)
}

func size(bytes float64) string {
	if bytes < 1<<20 {
		return fmt.Sprintf("%.0f KiB", math.Ceil(bytes/(1<<10)))
	}
	return fmt.Sprintf("%.1f MiB", bytes/(1<<20))
}

// maxKeptG is how many bytes of G_i of all steps are kept at most.
var maxKeptG = 1 << 30

func keptRows(rows, k, d, steps int) int {
	each := 4 * float64(k) * float64(engine.MostPaddedD(d)) * float64(max(steps, 1)) // may be beyond an int
	return min(rows, int(float64(maxKeptG)/each))
}

// wholeBlocks returns how many of the first rows are in blocks that have no others.
func wholeBlocks(all, blocks, rows int) int {
	whole := 0
	for n := range blocks {
		_, end := engine.Part(all, blocks, n)
		if end > rows {
			break
		}
		whole = end
	}
	return whole
}

// KeptBytes returns the most bytes of G_i that an ascent keeps for the backward pass if its precisions are
// matrices. The dense route keeps G_i of all steps of Plan.KeptRows, the sparse route those of the first step of
// the rows that it handles at a time.
func KeptBytes(rows, k, d, steps int) float64 {
	each := 4 * float64(k) * float64(engine.MostPaddedD(d))
	return each * (float64(min(rows, sparseRows(k*d))) + float64(keptRows(rows, k, d, steps))*float64(steps))
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
