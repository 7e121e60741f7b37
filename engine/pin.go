package engine

import (
	"errors"
	"fmt"
)

// WithPinnedThreads keeps every helper of the engine on a CPU of its own: thread number i
// on the i-th of those that the process may use. Thread 0 is the caller, who stays where
// it is put: see PinCaller. It is for measuring: where other work runs, the system places
// threads better, and pinned threads do not make way for the collector. New fails on
// systems other than Linux, and where there are more threads than CPUs.
func WithPinnedThreads() Option { return func(s *settings) { s.pinned = true } }

// PinCaller keeps the calling goroutine on the first CPU that the process may use, until
// the same goroutine calls undo. It works on Linux only, and belongs to engines made with
// WithPinnedThreads.
func PinCaller() (undo func(), err error) {
	cpus, err := processCPUs()
	if err == nil {
		undo, err = pinThread(cpus[0])
	}
	if err != nil {
		return nil, fmt.Errorf("engine: pinning the caller: %w", err)
	}
	return undo, nil
}

// pinHelpers pins the helpers. A helper stays locked to its thread, which ends with it.
func (e *Engine) pinHelpers(cpus []int) error {
	j := &pinJob{cpus: cpus, errs: make([]error, e.Threads())}
	e.onEveryThread(j)
	return errors.Join(j.errs...)
}

type pinJob struct {
	cpus []int
	errs []error // one a worker
}

func (j *pinJob) run(worker, _ int) {
	if worker > 0 {
		_, j.errs[worker] = pinThread(j.cpus[worker])
	}
}
