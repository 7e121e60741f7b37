// Package parallel runs independent work on several goroutines.
package parallel

import (
	"context"
	"runtime"
	"sync"
	"sync/atomic"
)

// Each calls f for 0 .. n-1 on up to threads goroutines (0: GOMAXPROCS), and returns when all calls
// have returned. f must write only to outputs of its own index, so that no result depends on the
// number of threads.
func Each(n, threads int, f func(i int)) {
	if threads <= 0 {
		threads = runtime.GOMAXPROCS(0)
	}
	if threads = min(threads, n); threads <= 1 {
		for i := range n {
			f(i)
		}
		return
	}
	var next atomic.Int64
	var wg sync.WaitGroup
	for range threads {
		wg.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				f(i)
			}
		})
	}
	wg.Wait()
}

// ForEach calls f for 0 .. n-1 on up to threads goroutines, at least one, and stops early if ctx
// ends. f must write only to outputs of its own index, so that no result depends on the number of
// threads. It returns the error of ctx, or the error with the lowest index.
func ForEach(ctx context.Context, n, threads int, f func(i int) error) error {
	errs := make([]error, n)
	Each(n, max(threads, 1), func(i int) {
		if ctx.Err() == nil {
			errs[i] = f(i)
		}
	})
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
