package parallel

import (
	"sync/atomic"
	"testing"
)

// TestEach checks that every index is passed once, and that no more goroutines than requested run
// at the same time.
func TestEach(t *testing.T) {
	for _, n := range []int{0, 1, 2, 7, 100} {
		for _, threads := range []int{-1, 0, 1, 2, 3, 200} {
			calls := make([]atomic.Int32, n)
			var now atomic.Int32
			Each(n, threads, func(i int) {
				if active := now.Add(1); threads > 0 && int(active) > threads {
					t.Errorf("%d of %d goroutines", active, threads)
				}
				calls[i].Add(1)
				now.Add(-1)
			})
			for i := range calls {
				if got := calls[i].Load(); got != 1 {
					t.Errorf("n %d, %d threads: %d calls for %d", n, threads, got, i)
				}
			}
		}
	}
}
