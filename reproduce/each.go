package reproduce

import (
	"context"
	"sync"

	"dpnbench/engine"
	"dpnbench/internal/parallel"
)

// eachOn calls f for 0 .. n-1, as many at a time as e has threads, each with an engine of one thread: trainings that
// are too small to be shared among threads run side by side. Results do not depend on the number of threads. After
// an error, or when ctx has ended, no further call begins.
func eachOn(ctx context.Context, e *engine.Engine, n int, f func(e *engine.Engine, i int) error) error {
	engines := make(chan *engine.Engine, e.Threads())
	for range cap(engines) {
		one, err := engine.New(engine.WithTier(e.Tier()), engine.WithThreads(1))
		if err != nil {
			return err
		}
		defer one.Close()
		engines <- one
	}
	var mu sync.Mutex
	var first error
	parallel.Each(n, cap(engines), func(i int) {
		mu.Lock()
		ended := first != nil || ctx.Err() != nil
		mu.Unlock()
		if ended {
			return
		}
		one := <-engines
		defer func() { engines <- one }()
		if err := f(one, i); err != nil {
			mu.Lock()
			defer mu.Unlock()
			if first == nil {
				first = err
			}
		}
	})
	if first == nil {
		return ctx.Err()
	}
	return first
}
