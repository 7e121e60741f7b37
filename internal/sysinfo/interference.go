package sysinfo

import (
	"strconv"
	"strings"
	"time"
)

// Usage is the CPU time spent since the system started, in seconds over all CPUs.
type Usage struct {
	At    time.Time
	Busy  float64 // by all processes
	Steal float64 // taken by other virtual machines
	Own   float64 // the part of Busy that this process spent
	OK    bool    // false if the system has no /proc: the other fields are then 0
}

const ticksPerSecond = 100 // of /proc, on every architecture that Go supports

// ReadUsage reads /proc/stat and /proc/self/stat.
func ReadUsage() Usage {
	u := Usage{At: time.Now()}
	stat, _, _ := strings.Cut(text("/proc/stat"), "\n")
	f := strings.Fields(stat)
	self := text("/proc/self/stat")
	self = self[strings.LastIndexByte(self, ')')+1:] // the name may hold spaces
	s := strings.Fields(self)
	if len(f) < 9 || f[0] != "cpu" || len(s) < 13 {
		return u
	}
	n := func(s string) float64 { v, _ := strconv.ParseFloat(s, 64); return v / ticksPerSecond }
	u.Busy = n(f[1]) + n(f[2]) + n(f[3]) + n(f[6]) + n(f[7])
	u.Steal = n(f[8])
	u.Own = n(s[11]) + n(s[12])
	u.OK = true
	return u
}

// Interference sums the CPU time that others took during some intervals.
type Interference struct {
	Seconds float64 // length of the intervals
	Steal   float64 // CPU seconds taken by other virtual machines
	Others  float64 // CPU seconds used by other processes
}

// Add adds the interval between two readings, if both are OK.
func (d *Interference) Add(from, to Usage) {
	if from.OK && to.OK {
		d.Seconds += to.At.Sub(from.At).Seconds()
		d.Steal += to.Steal - from.Steal
		d.Others += max(to.Busy-from.Busy-(to.Own-from.Own), 0)
	}
}

// shortestWatch is the time, in seconds, below which ticks of 10 ms are too coarse.
const shortestWatch = 0.2

// Shares returns Steal and Others in cores (CPU seconds per second), 0 if the intervals are too
// short to measure.
func (d *Interference) Shares() (steal, others float64) {
	if d.Seconds < shortestWatch {
		return 0, 0
	}
	return d.Steal / d.Seconds, d.Others / d.Seconds
}
