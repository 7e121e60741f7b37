//go:build !linux

package bench

import "math"

// AvailableMemory returns +Inf: this system is not asked.
func AvailableMemory() float64 { return math.Inf(1) }
