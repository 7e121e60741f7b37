//go:build !linux

package engine

import (
	"errors"
	"runtime"
)

var errPin = errors.New("threads cannot be pinned on " + runtime.GOOS)

func allowed() ([]int, error) { return nil, errPin }

func pin(int) error { return errPin }

// PinCaller binds the calling goroutine to a processor. It fails on this system.
func PinCaller() (undo func(), err error) { return nil, errPin }
