package dpn

import (
	"context"

	"dpnbench/internal/parallel"
)

// forEach calls f for 0 .. n-1 on so many goroutines, at least one, and stops early when
// ctx ends. f must write only to what its number owns, so that no result depends on threads.
// It returns ctx's error, or that of the lowest number that failed.
func forEach(ctx context.Context, n, threads int, f func(i int) error) error {
	errs := make([]error, n)
	parallel.Each(n, max(threads, 1), func(i int) {
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
