package parallel

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"testing"
	"time"
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

// TestMeet checks that two calls run at the same time where two goroutines are asked for: each waits for the other.
func TestMeet(t *testing.T) {
	for name, each := range map[string]func(f func(i int)){
		"Each": func(f func(i int)) { Each(2, 2, f) },
		"ForEach": func(f func(i int)) {
			if err := ForEach(context.Background(), 2, 2, func(i int) error { f(i); return nil }); err != nil {
				t.Error(err)
			}
		},
	} {
		began := [2]chan struct{}{make(chan struct{}), make(chan struct{})}
		var met atomic.Int32
		each(func(i int) {
			close(began[i])
			select {
			case <-began[1-i]:
				met.Add(1)
			case <-time.After(10 * time.Second):
			}
		})
		if got := met.Load(); got != 2 {
			t.Errorf("%s: %d of 2 calls met the other", name, got)
		}
	}
}

// TestForEach checks that every index is passed once, which error is returned, and that calls end with the context.
func TestForEach(t *testing.T) {
	for _, n := range []int{0, 1, 2, 100} {
		for _, threads := range []int{-1, 0, 1, 3} {
			calls := make([]atomic.Int32, n)
			var now atomic.Int32
			err := ForEach(context.Background(), n, threads, func(i int) error {
				if active := now.Add(1); int(active) > max(threads, 1) {
					t.Errorf("%d of %d goroutines", active, threads)
				}
				calls[i].Add(1)
				time.Sleep(time.Microsecond) // others can begin
				now.Add(-1)
				return nil
			})
			for i := range calls {
				if got := calls[i].Load(); got != 1 || err != nil {
					t.Fatalf("n %d, %d threads: %d calls for %d, %v", n, threads, got, i, err)
				}
			}

			want := ""
			if n > 1 {
				want = fmt.Sprint(n / 2)
			}
			err = ForEach(context.Background(), n, threads, func(i int) error {
				if n > 1 && i >= n/2 {
					return errors.New(fmt.Sprint(i))
				}
				return nil
			})
			if (err != nil) != (n > 1) || err != nil && err.Error() != want {
				t.Errorf("n %d, %d threads: error %v, want %q", n, threads, err, want)
			}

			ctx, cancel := context.WithCancel(context.Background())
			var made atomic.Int32
			err = ForEach(ctx, n, threads, func(int) error {
				made.Add(1)
				cancel()
				return errors.New("late")
			})
			if n > 0 && err != context.Canceled || int(made.Load()) > max(threads, 1) {
				t.Errorf("n %d, %d threads: error %v after the end and %d calls", n, threads, err, made.Load())
			}
			cancel()
		}
	}
}
