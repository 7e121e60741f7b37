package parallel

import (
	"math"
	"runtime"
	"sync/atomic"
	"testing"
)

// TestPanic checks that a call that panics, or ends its goroutine, becomes a panic in the caller.
func TestPanic(t *testing.T) {
	for _, c := range []struct {
		end  func()
		want any
	}{{func() { panic("broken") }, "broken"}, {runtime.Goexit, ErrGoexit}} {
		const n = math.MaxInt32 // more than other goroutines could make until the end is known
		var calls atomic.Int32
		func() {
			defer func() {
				p, ok := recover().(*Panic)
				if !ok || p.Value != c.want || len(p.Stack) == 0 {
					t.Errorf("recovered %v, want a *Panic with %v", p, c.want)
				}
			}()
			Each(n, 3, func(i int) {
				if calls.Add(1); i == 5 {
					c.end()
				}
				runtime.Gosched()
			})
			t.Error("Each returned")
		}()
		if got := calls.Load(); got == n {
			t.Errorf("%v: all of %d calls were made", c.want, got)
		}
	}
}
