package mpi

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"dpnbench/internal/parallel"
)

func TestLocal(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4, 8} {
		for _, test := range suite {
			if n > 3 && testing.Short() {
				continue
			}
			t.Run(fmt.Sprintf("%d ranks/%s", n, test.name), func(t *testing.T) {
				if err := Run(n, test.run); err != nil {
					t.Fatal(err)
				}
			})
		}
	}
}

// A rank that fails, panics or leaves its goroutine ends the waiting of all others.
func TestRunFails(t *testing.T) {
	broken := errors.New("the disk is full")
	var others [4]error
	err := Run(4, func(c Comm) error {
		if c.Rank() == 2 {
			return broken
		}
		others[c.Rank()] = Barrier(c)
		return others[c.Rank()]
	})
	if err != broken {
		t.Errorf("Run returns %v, expected the first error", err)
	}
	for rank, err := range others {
		var e *RankError
		if rank != 2 && (!errors.As(err, &e) || e.Rank != 2 || err.Error() != "rank 2: the disk is full") {
			t.Errorf("rank %d has error %v", rank, err)
		}
	}
	defer func() {
		p, ok := recover().(*parallel.Panic)
		if !ok || p.Value != "bug" || !strings.Contains(string(p.Stack), "local_test") {
			t.Errorf("recovered %v", p)
		}
	}()
	Run(3, func(c Comm) error {
		if c.Rank() == 1 {
			panic("bug")
		}
		return Barrier(c)
	})
}

// TestInterrupted tells a rank that was told to stop from one that has failed.
func TestInterrupted(t *testing.T) {
	for reason, want := range map[string]bool{Interrupted: true, "broken": false} {
		comms := Local(2)
		comms[1].Abort(reason)
		_, err := comms[0].Recv(1, nil)
		if got := errors.Is(err, context.Canceled); got != want {
			t.Errorf("%v: cancelled %v, want %v", err, got, want)
		}
	}
}
