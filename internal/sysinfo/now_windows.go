package sysinfo

import (
	"syscall"
	"time"
	"unsafe"
)

var (
	kernel32         = syscall.NewLazyDLL("kernel32.dll")
	counter          = kernel32.NewProc("QueryPerformanceCounter")
	counterFrequency = kernel32.NewProc("QueryPerformanceFrequency")
)

// Now returns the time since a fixed moment, for differences of microseconds. Package time
// is too coarse here: its clock ticks about once a millisecond.
func Now() time.Duration {
	var ticks, perSecond int64
	counter.Call(uintptr(unsafe.Pointer(&ticks)))
	counterFrequency.Call(uintptr(unsafe.Pointer(&perSecond)))
	return time.Duration(float64(ticks) / float64(perSecond) * float64(time.Second))
}
