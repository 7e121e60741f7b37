package bench

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

// now returns the time since some moment. The clock of package time ticks only about
// every millisecond here.
func now() time.Duration {
	var ticks, perSecond int64
	counter.Call(uintptr(unsafe.Pointer(&ticks)))
	counterFrequency.Call(uintptr(unsafe.Pointer(&perSecond)))
	return time.Duration(float64(ticks) / float64(perSecond) * float64(time.Second))
}
