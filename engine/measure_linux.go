package engine

import (
	"fmt"
	"runtime"
	"sync"

	"golang.org/x/sys/unix"
)

// processCPUs lists the CPUs that the process may use, in increasing order. It asks once, because the
// answer is different on a pinned thread.
var processCPUs = sync.OnceValues(func() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	var cpus []int
	for cpu := 0; len(cpus) < set.Count(); cpu++ {
		if set.IsSet(cpu) {
			cpus = append(cpus, cpu)
		}
	}
	return cpus, nil
})

// pinThread locks the calling goroutine to its thread, and the thread to a CPU.
func pinThread(cpu int) (undo func(), err error) {
	runtime.LockOSThread()
	var before, one unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("sched_getaffinity: %w", err)
	}
	one.Set(cpu)
	if err := unix.SchedSetaffinity(0, &one); err != nil {
		runtime.UnlockOSThread()
		return nil, fmt.Errorf("sched_setaffinity to CPU %d: %w", cpu, err)
	}
	return func() {
		if unix.SchedSetaffinity(0, &before) == nil { // if that fails, the thread ends with the goroutine
			runtime.UnlockOSThread()
		}
	}, nil
}
