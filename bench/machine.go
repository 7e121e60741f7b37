package bench

import (
	"runtime"
	"sort"

	"dpnbench/engine"

	"github.com/klauspost/cpuid/v2"
)

// Machine describes the CPU and what the process may use of it.
type Machine struct {
	Brand     string   `json:"brand"`
	Micro     string   `json:"microarchitecture"` // as far as its features tell, else empty
	Vendor    string   `json:"vendor"`
	Family    int      `json:"family"`
	Model     int      `json:"model"`
	Arch      string   `json:"arch"`
	OS        string   `json:"os"`
	GoVersion string   `json:"go_version"`
	Features  []string `json:"features"`

	Cores          int `json:"cores"`           // physical, 0 if unknown
	LogicalCores   int `json:"logical_cores"`   // of the machine, 0 if unknown
	CPUs           int `json:"cpus"`            // that the affinity mask allows
	ThreadsAllowed int `json:"threads_allowed"` // also by the cgroup limit and GOMAXPROCS

	Caches  Caches `json:"caches"`
	Virtual bool   `json:"virtual"` // under a hypervisor

	// Of the system; empty, and CgroupCPUs and Load -1, where it does not say.
	Kernel     string  `json:"kernel"`
	HugePages  string  `json:"huge_pages"` // the setting of transparent huge pages
	Governor   string  `json:"governor"`
	CgroupCPUs float64 `json:"cgroup_cpus"` // processor time a second that the cgroup allows
	Load       float64 `json:"load"`        // mean number of running processes of the last minute

	Tiers []Tier `json:"tiers"` // the fastest first
}

// Caches are sizes in bytes of one cache each, -1 if unknown.
type Caches struct {
	L1D     int `json:"l1d"`
	L2      int `json:"l2"`
	L3      int `json:"l3"`
	Line    int `json:"line"`
	L3Count int `json:"l3_count"` // of third-level caches, -1 if unknown
}

// Tier is a tier of the engine on this machine.
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
	m.readCaches("/sys/devices/system/cpu")
	for _, t := range engine.Tiers() {
		m.Tiers = append(m.Tiers, Tier{Name: t.Tier.String(), Available: t.Available, Reason: t.Reason})
	}
	return m
}

// physicalCores returns the number of cores; where it is not known, as many as CPUs. cpuid
// counts the cores of one processor.
func (m *Machine) physicalCores() int {
	if m.Cores <= 0 || m.CPUs > m.LogicalCores {
		return m.CPUs
	}
	return m.Cores
}
