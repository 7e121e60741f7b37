//go:build !linux

package engine

import (
	"errors"
	"runtime"
)

var errPin = errors.New("not supported on " + runtime.GOOS)

func processCPUs() ([]int, error) { return nil, errPin }

func pinThread(int) (func(), error) { return nil, errPin }
