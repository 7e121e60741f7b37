//go:build !windows

package sysinfo

import "time"

var processStart = time.Now()

// Now returns the time since a fixed moment, for differences of microseconds.
func Now() time.Duration { return time.Since(processStart) }
