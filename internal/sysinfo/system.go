package sysinfo

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// text returns the content of a small file without the space around it, or "" if it
// cannot be read.
func text(path string) string {
	b, _ := os.ReadFile(path)
	return strings.TrimSpace(string(b))
}

// readSystem fills in what /proc and /sys say about the kernel and its settings.
func (m *Machine) readSystem() {
	m.Kernel = text("/proc/sys/kernel/osrelease")
	if _, rest, ok := strings.Cut(text("/sys/kernel/mm/transparent_hugepage/enabled"), "["); ok {
		m.HugePages, _, _ = strings.Cut(rest, "]")
	}
	m.Governor = text("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor")
	m.CgroupCPUs = cgroupCPUs("/")
	m.Load = -1
	if f := strings.Fields(text("/proc/loadavg")); len(f) > 0 {
		if v, err := strconv.ParseFloat(f[0], 64); err == nil {
			m.Load = v
		}
	}
}

// readCaches reads the caches that Linux lists below dir. They give the number of cores
// (each has its own L1) and of L3 caches, and the sizes that cpuid does not report (arm64).
func (m *Machine) readCaches(dir string) {
	found, _ := filepath.Glob(filepath.Join(dir, "cpu[0-9]*", "cache", "index[0-9]*"))
	sharers := map[string]map[string]bool{} // level -> set of shared_cpu_list
	for _, cache := range found {
		read := func(name string) string { return text(filepath.Join(cache, name)) }
		level := read("level")
		if read("type") == "Instruction" {
			continue
		}
		if sharers[level] == nil {
			sharers[level] = map[string]bool{}
			var kib int
			fmt.Sscanf(read("size"), "%dK", &kib)
			sizes := map[string]*int{"1": &m.Caches.L1D, "2": &m.Caches.L2, "3": &m.Caches.L3}
			if size := sizes[level]; size != nil && *size <= 0 && kib > 0 {
				*size = kib << 10
			}
		}
		sharers[level][read("shared_cpu_list")] = true
	}
	if n := len(sharers["1"]); n > 0 {
		cpus, _ := filepath.Glob(filepath.Join(dir, "cpu[0-9]*", "cache"))
		m.Cores, m.LogicalCores = n, len(cpus)
	}
	if n := len(sharers["3"]); n > 0 {
		m.Caches.L3Count = n
	}
}

// System describes the operating system in one line.
func (m *Machine) System() string {
	s := []string{m.OS}
	if m.Kernel != "" {
		s[0] += " " + m.Kernel
	}
	if m.Virtual {
		s = append(s, "virtual")
	}
	if m.HugePages != "" {
		s = append(s, "huge pages "+m.HugePages)
	}
	if m.Governor != "" {
		s = append(s, "governor "+m.Governor)
	}
	if m.CgroupCPUs >= 0 {
		s = append(s, fmt.Sprintf("cgroup limit %g CPUs", m.CgroupCPUs))
	}
	if m.Load >= 0 {
		s = append(s, fmt.Sprintf("load %.2f", m.Load))
	}
	return strings.Join(s, ", ")
}
