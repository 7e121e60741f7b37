package separation

import (
	"runtime"
	"sync"
	"sync/atomic"
)

// rowsPerChunk is the unit of work shared out between threads. Sums over rows
// are taken chunk by chunk and the chunks are then added in order, so the bits
// of a result depend on the number of rows and not on the number of threads.
const rowsPerChunk = 512

// chunkCount returns how many chunks of the given size cover n items.
func chunkCount(n, size int) int { return (n + size - 1) / size }

// chunkBounds returns the half-open range of items of chunk c.
func chunkBounds(n, size, c int) (from, to int) {
	return c * size, min((c+1)*size, n)
}

// forEach calls f for 0..parts-1 on up to the given number of goroutines
// (0: GOMAXPROCS). f must write only to what its part owns.
func forEach(parts, threads int, f func(part int)) {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	threads = min(threads, parts)
	if threads <= 1 {
		for p := range parts {
			f(p)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range threads {
		wg.Go(func() {
			for p := int(next.Add(1)) - 1; p < parts; p = int(next.Add(1)) - 1 {
				f(p)
			}
		})
	}
	wg.Wait()
}
