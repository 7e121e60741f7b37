package engine

import (
	"errors"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
)

// finishes fails the test if f takes longer than ten seconds.
func finishes(t *testing.T, what string, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() { defer close(done); f() }()
	select {
	case <-done:
	case <-time.After(10 * time.Second):
		t.Fatalf("%s hangs", what)
	}
}

// allThreads fails the test unless every thread of the engine takes part in a job, and every unit
// runs once.
func allThreads(t *testing.T, e *Engine) {
	t.Helper()
	n := e.Threads()
	runs := make([]atomic.Int32, n)
	var begun atomic.Int32
	finishes(t, "the next call", func() {
		e.Parallel(n, 0, 1e9, func(w *Worker, lo, hi int) {
			for i := lo; i < hi; i++ {
				runs[i].Add(1)
				begun.Add(1)
			}
			for begun.Load() < int32(n) { // so that no thread takes two
				time.Sleep(time.Millisecond)
			}
		})
	})
	for i := range runs {
		if got := runs[i].Load(); got != 1 {
			t.Errorf("unit %d ran %d times", i, got)
		}
	}
}

// TestUnitsThatDoNotReturn ends units by runtime.Goexit or a panic, on the calling thread and on
// helpers. The call ends, and the next ones use all threads.
func TestUnitsThatDoNotReturn(t *testing.T) {
	for _, pinned := range []bool{false, true} {
		options := []Option{WithThreads(2), WithEagerThreads()}
		if pinned {
			options = append(options, WithPinnedThreads())
		}
		e, err := New(options...)
		if err != nil && pinned {
			t.Logf("no pinned threads: %v", err)
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			name   string
			worker int // the worker that ends its unit, -1: every worker
			end    func()
			value  any // of the TaskPanic; nil: the goroutine of the caller ends
		}{
			{"Goexit on the caller", 0, runtime.Goexit, nil},
			{"Goexit on a helper", 1, runtime.Goexit, ErrGoexit},
			{"Goexit on each thread", -1, runtime.Goexit, nil},
			{"panic on the caller", 0, func() { panic("broken") }, "broken"},
			{"panic on a helper", 1, func() { panic("broken") }, "broken"},
		} {
			for range 10 {
				var begun atomic.Int32
				var value any
				returned := false
				finishes(t, c.name, func() {
					defer func() { value = recover() }()
					e.Parallel(2, 0, 1e9, func(w *Worker, lo, hi int) {
						for begun.Add(1); begun.Load() < 2; {
							time.Sleep(time.Millisecond) // until both threads are here
						}
						if c.worker < 0 || w.index == c.worker {
							c.end()
						}
						time.Sleep(time.Millisecond)
					})
					returned = true
				})
				var got any
				if p, ok := value.(*TaskPanic); ok {
					got = p.Value
				}
				if returned || got != c.value {
					t.Errorf("%s: returned %t, recovered %v, want a panic with %v", c.name, returned, value, c.value)
				}
				allThreads(t, e)
			}
		}
		e.Close()
	}
}

// TestGoexitDropsUnits ends the calling goroutine in its first unit: its other units do not run, and
// no unit runs after the call.
func TestGoexitDropsUnits(t *testing.T) {
	e := newTestEngine(t, WithThreads(2), WithEagerThreads())
	var after, late atomic.Bool
	finishes(t, "the call", func() {
		defer after.Store(true)
		e.Parallel(1000, 0, 1e9, func(w *Worker, lo, hi int) {
			if after.Load() {
				late.Store(true)
			}
			if w.index == 0 {
				runtime.Goexit()
			}
			time.Sleep(time.Millisecond)
		})
	})
	allThreads(t, e)
	if late.Load() {
		t.Error("a unit ran after the call had ended")
	}
}

// TestGoexitOnOneThread leaves the engine usable if all units run on the caller.
func TestGoexitOnOneThread(t *testing.T) {
	e := newTestEngine(t, WithThreads(1))
	finishes(t, "the call", func() { e.Parallel(3, 0, 0, func(*Worker, int, int) { runtime.Goexit() }) })
	allThreads(t, e)
	if e.parallel.f != nil {
		t.Error("the engine keeps the function")
	}
}

// TestDroppedEngines makes engines, uses them and drops them without Close: their threads end and
// their memory is freed.
func TestDroppedEngines(t *testing.T) {
	before := runtime.NumGoroutine()
	var collected atomic.Int32
	const engines = 20
	for range engines {
		func() {
			e, err := New(WithThreads(4), WithEagerThreads())
			if err != nil {
				t.Fatal(err)
			}
			runtime.AddCleanup(e, func(struct{}) { collected.Add(1) }, struct{}{})
			a := NewMatrix(64, 64)
			e.MatMul(NewMatrix(64, 64), a, a, false)
			func() {
				defer func() { _ = recover() }()
				e.Parallel(4, 0, 1e9, func(*Worker, int, int) { panic(errors.New("broken")) })
			}()
		}()
	}
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		runtime.GC()
		if collected.Load() == engines && runtime.NumGoroutine() <= before {
			return
		}
	}
	t.Errorf("%d of %d dropped engines are collected, %d goroutines more than before", collected.Load(), engines,
		runtime.NumGoroutine()-before)
}
