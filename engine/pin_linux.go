package engine

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// allowed returns the processors that the calling thread may run on.
func allowed() ([]int, error) {
	var set unix.CPUSet
	if err := unix.SchedGetaffinity(0, &set); err != nil {
		return nil, err
	}
	var cpus []int
	for c := 0; len(cpus) < set.Count(); c++ {
		if set.IsSet(c) {
			cpus = append(cpus, c)
		}
	}
	return cpus, nil
}

// pin binds the calling goroutine to a thread and that thread to a processor.
func pin(cpu int) error {
	runtime.LockOSThread()
	var set unix.CPUSet
	set.Set(cpu)
	return unix.SchedSetaffinity(0, &set)
}

// PinCaller binds the calling goroutine, which is one of the threads of every engine that
// it calls, to the first processor that it may use. undo takes that back.
func PinCaller() (undo func(), err error) {
	var before unix.CPUSet
	if err := unix.SchedGetaffinity(0, &before); err != nil {
		return nil, err
	}
	cpus, err := allowed()
	if err == nil {
		err = pin(cpus[0])
	}
	if err != nil {
		return nil, err
	}
	return func() {
		unix.SchedSetaffinity(0, &before) // it was valid before
		runtime.UnlockOSThread()
	}, nil
}
