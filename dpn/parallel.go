package dpn

import (
	"context"
	"sync"
	"sync/atomic"
)

// forEach calls f for 0 .. n-1 on so many goroutines, and stops early when ctx ends. f
// must write only to what its number owns, so that no result depends on threads. It
// returns ctx's error, or that of the lowest number that failed.
func forEach(ctx context.Context, n, threads int, f func(i int) error) error {
	errs := make([]error, n)
	var next atomic.Int64
	var wg sync.WaitGroup
	for range max(min(threads, n), 1) {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n && ctx.Err() == nil; i = int(next.Add(1)) - 1 {
				errs[i] = f(i)
			}
		})
	}
	wg.Wait()
	if err := ctx.Err(); err != nil {
		return err
	}
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
