//go:build (!amd64 && !arm64) || purego || noasm

package engine

// machineKernels is empty: this build has no assembly.
var machineKernels []*kernels

// pause does nothing: Go has no instruction for it.
func pause(int) {}

// prefetch does nothing: Go has no instruction for it.
func prefetch([]byte) {}

// prefetchToWrite does nothing either.
func prefetchToWrite([]byte) {}
