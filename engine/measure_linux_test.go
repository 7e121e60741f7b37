package engine

import (
	"runtime"
	"testing"

	"golang.org/x/sys/unix"
)

func affinity(t *testing.T) (set unix.CPUSet) {
	t.Helper()
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		t.Error(err)
	}
	return set
}

func TestPinCaller(t *testing.T) {
	runtime.LockOSThread() // so that both masks are of the same thread
	defer runtime.UnlockOSThread()
	cpus, err := processCPUs()
	if err != nil {
		t.Fatal(err)
	}
	before := affinity(t)
	undo, err := PinCaller()
	if err != nil {
		t.Fatal(err)
	}
	if set := affinity(t); set.Count() != 1 || !set.IsSet(cpus[0]) {
		t.Errorf("the caller runs on %d CPUs, CPU %d among them: %v", set.Count(), cpus[0], set.IsSet(cpus[0]))
	}
	undo()
	if affinity(t) != before {
		t.Error("undo did not restore the affinity mask")
	}
}

// maskJob records the affinity mask of every worker.
type maskJob struct {
	t     *testing.T
	masks []unix.CPUSet
}

func (j *maskJob) run(worker, _ int) { j.masks[worker] = affinity(j.t) }

func TestPinnedThreads(t *testing.T) {
	cpus, err := processCPUs()
	if err != nil {
		t.Fatal(err)
	}
	for threads := 1; threads <= min(len(cpus), 4); threads++ {
		e := newTestEngine(t, WithThreads(threads), WithPinnedThreads())
		j := &maskJob{t, make([]unix.CPUSet, threads)}
		for range 3 {
			e.onEveryThread(j)
			for w := 1; w < threads; w++ {
				if n := j.masks[w].Count(); n != 1 || !j.masks[w].IsSet(cpus[w]) {
					t.Errorf("%d threads: thread %d runs on %d CPUs, expected CPU %d alone", threads, w, n, cpus[w])
				}
			}
			if n := j.masks[0].Count(); n != len(cpus) {
				t.Errorf("the caller runs on %d CPUs, expected all %d", n, len(cpus))
			}
		}
		e.RunFMA(2)
	}
	if _, err := New(WithThreads(len(cpus)+1), WithPinnedThreads()); err == nil {
		t.Errorf("no error for %d pinned threads on %d CPUs", len(cpus)+1, len(cpus))
	}
}
