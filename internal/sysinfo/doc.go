// Package sysinfo reads what the machine and the operating system say about themselves: CPU,
// caches, limits of control groups, available memory, load, and the version of this program.
//
//	m := sysinfo.ReadMachine()           // CPU, caches, limits, tiers of the engine
//	free := sysinfo.AvailableMemory()    // bytes; +Inf if unknown
//	before := sysinfo.ReadUsage()        // CPU time so far, from /proc
//	start := sysinfo.Now()               // a clock that is fine enough on Windows, too
//
// Values that a system does not report are empty, 0 or -1, as each field says. Most of them
// come from /proc and /sys, so only Linux reports them all.
package sysinfo
