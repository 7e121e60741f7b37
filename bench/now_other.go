//go:build !windows

package bench

import "time"

var started = time.Now()

// now returns the time since some moment.
func now() time.Duration { return time.Since(started) }
