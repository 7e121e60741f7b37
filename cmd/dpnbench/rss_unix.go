//go:build unix

package main

import (
	"runtime"
	"syscall"
)

// peakRSS returns the largest resident set size of the process so far, in bytes.
func peakRSS() int64 {
	var u syscall.Rusage
	if syscall.Getrusage(syscall.RUSAGE_SELF, &u) != nil {
		return 0
	}
	n := int64(u.Maxrss)
	if runtime.GOOS != "darwin" && runtime.GOOS != "ios" {
		n *= 1024 // in kilobytes on the other systems
	}
	return n
}
