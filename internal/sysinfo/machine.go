package sysinfo

import (
	"runtime"
	"sort"

	"dpnbench/engine"

	"github.com/klauspost/cpuid/v2"
)

// Machine describes the CPU and how much of it this process may use.
type Machine struct {
	Brand     string   `json:"brand"`
	Micro     string   `json:"microarchitecture"` // empty if unknown
	Vendor    string   `json:"vendor"`
	Family    int      `json:"family"`
	Model     int      `json:"model"`
	Arch      string   `json:"arch"`
	OS        string   `json:"os"`
	GoVersion string   `json:"go_version"`
	Features  []string `json:"features"`

	Cores          int `json:"cores"`           // physical, of those online; 0 if unknown
	LogicalCores   int `json:"logical_cores"`   // hyperthreads of the machine that are online, 0 if unknown
	CPUs           int `json:"cpus"`            // allowed by the affinity mask
	ThreadsAllowed int `json:"threads_allowed"` // GOMAXPROCS, which respects the cgroup limit

	Caches  Caches `json:"caches"`
	Virtual bool   `json:"virtual"` // under a hypervisor

	// From /proc and /sys; empty or -1 (CgroupCPUs, Load) if the system does not say.
	Kernel     string  `json:"kernel"`
	HugePages  string  `json:"huge_pages"` // setting of transparent huge pages
	Governor   string  `json:"governor"`
	CgroupCPUs float64 `json:"cgroup_cpus"` // CPU time per second allowed by the cgroup
	Load       float64 `json:"load"`        // mean number of running processes in the last minute

	Tiers []Tier `json:"tiers"` // fastest first
}

// Caches holds the size in bytes of one cache of each level, -1 if unknown.
type Caches struct {
	L1D     int `json:"l1d"`
	L2      int `json:"l2"`
	L3      int `json:"l3"`
	Line    int `json:"line"`
	L3Count int `json:"l3_count"` // number of L3 caches, -1 if unknown
}

// Tier says whether this machine can run a tier of the engine.
type Tier struct {
	Name      string `json:"name"`
	Available bool   `json:"available"`
	Reason    string `json:"reason,omitempty"` // why it is not available
}

// ReadMachine describes this machine.
func ReadMachine() Machine {
	c := cpuid.CPU
	m := Machine{
		Brand: c.BrandName, Vendor: c.VendorString, Family: c.Family, Model: c.Model,
		Arch: runtime.GOARCH, OS: runtime.GOOS, GoVersion: runtime.Version(), Features: c.FeatureSet(),
		Cores: c.PhysicalCores, LogicalCores: c.LogicalCores,
		CPUs: runtime.NumCPU(), ThreadsAllowed: runtime.GOMAXPROCS(0),
		Caches:  Caches{L1D: c.Cache.L1D, L2: c.Cache.L2, L3: c.Cache.L3, Line: c.CacheLine, L3Count: -1},
		Virtual: c.VM(),
	}
	sort.Strings(m.Features)
	if m.Brand == "" {
		m.Brand = "unknown " + m.Arch + " CPU"
	}
	m.Micro = microarchitecture(c.VendorString, c.Family, c.Model, c.Supports)
	m.readSystem()
	m.readCPUs("/sys/devices/system/cpu")
	m.readCaches("/sys/devices/system/cpu")
	for _, t := range engine.Tiers() {
		m.Tiers = append(m.Tiers, Tier{Name: t.Tier.String(), Available: t.Available, Reason: t.Reason})
	}
	return m
}

// PhysicalCores returns the number of cores, or CPUs if that is not known or, as cpuid
// counts the cores of one socket only, too small.
func (m *Machine) PhysicalCores() int {
	if m.Cores <= 0 || m.CPUs > m.LogicalCores {
		return m.CPUs
	}
	return m.Cores
}
