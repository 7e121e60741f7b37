package bench

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/klauspost/cpuid/v2"
)

// microarchitecture names the design of a core. A virtual machine may give another model
// number than that of the processor beneath, so the features must fit.
func microarchitecture(vendor string, family, model int, has func(...cpuid.FeatureID) bool) string {
	switch {
	case vendor == "GenuineIntel" && has(cpuid.AMXTILE, cpuid.AVX512FP16):
		return "Sapphire Rapids or later (Golden Cove)"
	case vendor == "GenuineIntel" && family == 6:
		switch model {
		case 60, 63, 69, 70:
			return "Haswell"
		case 61, 71, 79, 86:
			return "Broadwell"
		case 78, 94, 142, 158, 165, 166:
			return "Skylake"
		case 85:
			if has(cpuid.AVX512VNNI) {
				return "Cascade Lake"
			}
			return "Skylake-SP"
		case 106, 108:
			return "Ice Lake-SP"
		case 125, 126:
			return "Ice Lake"
		case 140, 141:
			return "Tiger Lake"
		case 167:
			return "Rocket Lake"
		case 151, 154, 183, 186, 191:
			return "Alder Lake or Raptor Lake"
		case 170, 172:
			return "Meteor Lake"
		}
	case vendor == "AuthenticAMD" && family == 23:
		if model >= 48 {
			return "Zen 2"
		}
		return "Zen or Zen+"
	case vendor == "AuthenticAMD" && family == 25:
		if has(cpuid.AVX512F) {
			return "Zen 4"
		}
		return "Zen 3"
	case vendor == "AuthenticAMD" && family == 26:
		return "Zen 5"
	}
	return ""
}

// text reads a short file of the system, without the space around it; empty where there
// is none.
func text(path string) string {
	b, _ := os.ReadFile(path)
	return strings.TrimSpace(string(b))
}

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

// readCaches reads what Linux tells of the caches below dir: how many cores there are
// (each has a first level), how many third-level caches, and the sizes that cpuid did not
// tell, as on arm64.
func (m *Machine) readCaches(dir string) {
	found, _ := filepath.Glob(filepath.Join(dir, "cpu[0-9]*", "cache", "index[0-9]*"))
	sharers := map[string]map[string]bool{} // by level, the lists of CPUs that share a cache
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
			if size := map[string]*int{"1": &m.Caches.L1D, "2": &m.Caches.L2, "3": &m.Caches.L3}[level]; size != nil && *size <= 0 && kib > 0 {
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

// System says in a line what the system told of itself.
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

// usage is what the processors did since the system started, in seconds.
type usage struct {
	at          time.Time
	busy, steal float64 // by all processes; taken by other virtual machines
	own         float64 // of busy, by this process
	ok          bool
}

const ticksASecond = 100 // of /proc, on every architecture that Go runs on

// readUsage reads /proc; ok is false on systems without it.
func readUsage() usage {
	u := usage{at: time.Now()}
	stat, _, _ := strings.Cut(text("/proc/stat"), "\n")
	f := strings.Fields(stat)
	self := text("/proc/self/stat")
	self = self[strings.LastIndexByte(self, ')')+1:] // the name may hold spaces
	s := strings.Fields(self)
	if len(f) < 9 || f[0] != "cpu" || len(s) < 13 {
		return u
	}
	n := func(s string) float64 { v, _ := strconv.ParseFloat(s, 64); return v / ticksASecond }
	u.busy = n(f[1]) + n(f[2]) + n(f[3]) + n(f[6]) + n(f[7])
	u.steal = n(f[8])
	u.own = n(s[11]) + n(s[12])
	u.ok = true
	return u
}

// disturbance is what took processors from the work, as seconds a second of one core.
type disturbance struct{ seconds, steal, others float64 }

func (d *disturbance) add(from, to usage) {
	if from.ok && to.ok {
		d.seconds += to.at.Sub(from.at).Seconds()
		d.steal += to.steal - from.steal
		d.others += max(to.busy-from.busy-(to.own-from.own), 0)
	}
}

// leastWatched is the time below which ticks of 10 ms say nothing.
const leastWatched = 0.2

func (d *disturbance) shares() (steal, others float64) {
	if d.seconds < leastWatched {
		return 0, 0
	}
	return d.steal / d.seconds, d.others / d.seconds
}
