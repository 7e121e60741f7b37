package sysinfo

import (
	"cmp"
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

// readCPUs counts the CPUs and the cores that Linux lists below dir as online. What cpuid says of them is that of one
// socket, or of the host of a virtual machine, so it counts only where Linux says nothing.
func (m *Machine) readCPUs(dir string) {
	online := countList(text(filepath.Join(dir, "online")))
	if online == 0 {
		return
	}
	cores := map[string]bool{} // the CPUs of each
	found, _ := filepath.Glob(filepath.Join(dir, "cpu[0-9]*", "topology"))
	for _, cpu := range found { // that is online
		read := func(name string) string { return text(filepath.Join(cpu, name)) }
		cores[cmp.Or(read("core_cpus_list"), read("thread_siblings_list"))] = true
	}
	delete(cores, "")
	if len(cores) > 0 || m.LogicalCores != online {
		m.Cores = len(cores)
	}
	m.LogicalCores = online
}

// countList counts the CPUs of a list such as 0-3,8; it returns 0 if it is none.
func countList(list string) (n int) {
	for part := range strings.SplitSeq(list, ",") {
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		lo, err := strconv.Atoi(first)
		hi, err2 := strconv.Atoi(last)
		if err != nil || err2 != nil || lo < 0 || hi < lo {
			return 0
		}
		n += hi - lo + 1
	}
	return n
}

// readCaches reads the caches that Linux lists below dir: how many L3 caches there are, and the sizes that cpuid does
// not report (arm64). Many virtual machines list none.
func (m *Machine) readCaches(dir string) {
	found, _ := filepath.Glob(filepath.Join(dir, "cpu[0-9]*", "cache", "index[0-9]*"))
	third := map[string]bool{} // the CPUs of each L3
	for _, cache := range found {
		read := func(name string) string { return text(filepath.Join(cache, name)) }
		level := read("level")
		if read("type") == "Instruction" {
			continue
		}
		var kib int
		fmt.Sscanf(read("size"), "%dK", &kib)
		sizes := map[string]*int{"1": &m.Caches.L1D, "2": &m.Caches.L2, "3": &m.Caches.L3}
		if size := sizes[level]; size != nil && *size <= 0 && kib > 0 {
			*size = kib << 10
		}
		if level == "3" {
			third[read("shared_cpu_list")] = true
		}
	}
	if n := len(third); n > 0 {
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
