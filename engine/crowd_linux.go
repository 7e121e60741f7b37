package engine

import (
	"time"

	"golang.org/x/sys/unix"
)

func ownTime() threadTime {
	var t unix.Timespec
	if unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &t) != nil {
		return threadTime{}
	}
	return threadTime{thread: unix.Gettid(), processor: time.Duration(t.Nano()), known: true}
}
