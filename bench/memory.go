package bench

import (
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// AvailableMemory returns how many bytes the process can still use: what Linux counts as
// available, or what the control groups of the process leave. It returns +Inf when neither
// says, as on other systems.
func AvailableMemory() float64 { return availableMemory("/") }

// availableMemory reads proc and sys below root.
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
	return free
}

// inactiveFile returns how many of the bytes that a group uses hold files that nobody has
// read lately: the system takes them back before it refuses memory.
func inactiveFile(dir string) float64 {
	v := map[string]float64{}
	for line := range strings.Lines(text(filepath.Join(dir, "memory.stat"))) {
		var key string
		var bytes float64
		if n, _ := fmt.Sscan(line, &key, &bytes); n == 2 {
			v[key] = bytes
		}
	}
	if total, ok := v["total_inactive_file"]; ok { // version 1, with the groups below
		return total
	}
	return v["inactive_file"]
}

// controlGroups returns the folders of the control group of this process and of all groups
// above it, below root, whose limits on a controller (cpu, memory) hold together. In a
// container the groups beyond it, and even its own path, may not be there.
func controlGroups(root, controller string) []string {
	var dirs []string
	for line := range strings.Lines(text(filepath.Join(root, "proc/self/cgroup"))) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		if len(f) != 3 {
			continue
		}
		at := filepath.Join(root, "sys/fs/cgroup")
		if f[1] != "" { // version 1, which has a tree for each controller
			if !slices.Contains(strings.Split(f[1], ","), controller) {
				continue
			}
			at = filepath.Join(at, controller)
		}
		for p := path.Clean("/" + f[2]); ; p = path.Dir(p) {
			dirs = append(dirs, filepath.Join(at, p))
			if p == "/" {
				break
			}
		}
	}
	return dirs
}

// number reads the first of some files of a folder that holds one number; "max" is none.
func number(dir string, names ...string) (float64, bool) {
	for _, name := range names {
		if v, err := strconv.ParseFloat(text(filepath.Join(dir, name)), 64); err == nil {
			return v, true
		}
	}
	return 0, false
}

// cgroupCPUs returns the processor time a second that the control groups of the process
// allow, or -1 without a limit.
func cgroupCPUs(root string) float64 {
	least := math.Inf(1)
	for _, dir := range controlGroups(root, "cpu") {
		quota, ok1 := number(dir, "cpu.cfs_quota_us") // -1 is no limit
		period, ok2 := number(dir, "cpu.cfs_period_us")
		if f := strings.Fields(text(filepath.Join(dir, "cpu.max"))); len(f) == 2 {
			var err1, err2 error
			quota, err1 = strconv.ParseFloat(f[0], 64) // not "max"
			period, err2 = strconv.ParseFloat(f[1], 64)
			ok1, ok2 = err1 == nil, err2 == nil
		}
		if ok1 && ok2 && quota >= 0 && period > 0 {
			least = min(least, quota/period)
		}
	}
	if math.IsInf(least, 1) {
		return -1
	}
	return least
}
