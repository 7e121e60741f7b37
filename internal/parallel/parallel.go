// Package parallel runs independent work on several goroutines.
package parallel

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"runtime/debug"
	"sync"
	"sync/atomic"
)

// Each calls f for 0 .. n-1 on up to threads goroutines (0: GOMAXPROCS), and returns when all calls
// have returned. f must write only to outputs of its own index, so that no result depends on the
// number of threads. If a call panics, or ends its goroutine by runtime.Goexit, no further call begins
// and Each panics with a *Panic. Where one goroutine is enough, it is the caller's, which then panics or
// ends as the call does.
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
	var failure atomic.Pointer[Panic]
	var wg sync.WaitGroup
	for range threads {
		wg.Go(func() {
			returned := false
			defer func() {
				v := recover()
				if v == nil && !returned {
					v = ErrGoexit
				}
				if v != nil {
					next.Store(int64(n)) // first, because the stack takes its time
					failure.CompareAndSwap(nil, &Panic{v, debug.Stack()})
				}
			}()
			for i := next.Add(1) - 1; i < int64(n); i = next.Add(1) - 1 { // beyond n, which may be the largest int
				f(int(i))
			}
			returned = true
		})
	}
	wg.Wait()
	if p := failure.Load(); p != nil {
		panic(p)
	}
}

// Panic is a panic on a goroutine of Each, raised again in the caller.
type Panic struct {
	Value any    // of the first panic
	Stack []byte // where it came from
}

func (p *Panic) Error() string {
	return fmt.Sprintf("%v\n\non a goroutine of Each:\n%s", p.Value, p.Stack)
}

// ErrGoexit is the value of a Panic if a call ended its goroutine by runtime.Goexit.
var ErrGoexit = errors.New("a call ended its goroutine by runtime.Goexit")

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
