package sysinfo

import (
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// controlGroups returns the folders, below root, of the control group of this process and
// of all its parents. The limits of all of them on a controller ("cpu" or "memory") apply.
// Inside a container some of these folders may not exist.
func controlGroups(root, controller string) []string {
	var dirs []string
	for line := range strings.Lines(text(filepath.Join(root, "proc/self/cgroup"))) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3) // number, controllers, path
		if len(f) != 3 {
			continue
		}
		at := filepath.Join(root, "sys/fs/cgroup")
		if f[1] != "" { // cgroup version 1: one tree per controller
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

// number returns the first of the named files of dir that holds a number; "max" does not.
func number(dir string, names ...string) (float64, bool) {
	for _, name := range names {
		if v, err := strconv.ParseFloat(text(filepath.Join(dir, name)), 64); err == nil {
			return v, true
		}
	}
	return 0, false
}

// cgroupCPUs returns how many CPUs' worth of time the control groups allow (quota divided
// by period), or -1 if there is no limit.
func cgroupCPUs(root string) float64 {
	least := math.Inf(1)
	for _, dir := range controlGroups(root, "cpu") {
		quota, ok1 := number(dir, "cpu.cfs_quota_us") // -1: no limit
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
