package sysinfo

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
)

// AvailableMemory returns how many bytes this process can still allocate: MemAvailable of
// Linux, or less if a control group or its address space (ulimit -v) limits the process. It returns
// +Inf if the system says
// neither.
func AvailableMemory() float64 { return availableMemory("/") }

// availableMemory is AvailableMemory with /proc and /sys below root.
func availableMemory(root string) float64 {
	free := math.Inf(1)
	for line := range strings.Lines(text(filepath.Join(root, "proc/meminfo"))) {
		var kb float64
		if n, _ := fmt.Sscanf(line, "MemAvailable: %f kB", &kb); n == 1 {
			free = 1024 * kb
		}
	}
	for _, dir := range controlGroups(root, "memory") {
		limit, ok1 := number(dir, "memory.max", "memory.limit_in_bytes")
		used, ok2 := number(dir, "memory.current", "memory.usage_in_bytes")
		if ok1 && ok2 {
			free = min(free, max(limit-used+inactiveFile(dir), 0))
		}
	}
	return min(free, addressSpace(root))
}

// addressSpace returns how many bytes of its address space the process may still use (ulimit -v), or
// +Inf.
func addressSpace(root string) float64 {
	free := math.Inf(1)
	var pages float64
	if n, _ := fmt.Sscan(text(filepath.Join(root, "proc/self/statm")), &pages); n != 1 {
		return free
	}
	for line := range strings.Lines(text(filepath.Join(root, "proc/self/limits"))) {
		var limit float64
		if n, _ := fmt.Sscanf(line, "Max address space %f", &limit); n == 1 { // not "unlimited"
			free = max(limit-pages*float64(os.Getpagesize()), 0)
		}
	}
	return free
}

// inactiveFile returns the bytes of a group's page cache that are inactive: the kernel
// reclaims them before an allocation fails.
func inactiveFile(dir string) float64 {
	v := map[string]float64{}
	for line := range strings.Lines(text(filepath.Join(dir, "memory.stat"))) {
		var key string
		var bytes float64
		if n, _ := fmt.Sscan(line, &key, &bytes); n == 2 {
			v[key] = bytes
		}
	}
	if total, ok := v["total_inactive_file"]; ok { // cgroup version 1: includes the groups below
		return total
	}
	return v["inactive_file"]
}
