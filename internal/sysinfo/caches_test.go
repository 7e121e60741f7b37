package sysinfo

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestReadCaches reads the caches of two processors of two cores with two threads each.
func TestReadCaches(t *testing.T) {
	dir := t.TempDir()
	write := func(cpu, index int, level, kind, size, sharers string) {
		cache := filepath.Join(dir, fmt.Sprintf("cpu%d", cpu), "cache", fmt.Sprintf("index%d", index))
		if err := os.MkdirAll(cache, 0o777); err != nil {
			t.Fatal(err)
		}
		for name, text := range map[string]string{"level": level, "type": kind, "size": size,
			"shared_cpu_list": sharers} {
			if err := os.WriteFile(filepath.Join(cache, name), []byte(text+"\n"), 0o666); err != nil {
				t.Fatal(err)
			}
		}
	}
	for cpu := range 8 {
		core, processor := fmt.Sprintf("%d-%d", cpu&^1, cpu|1), fmt.Sprintf("%d-%d", cpu&^3, cpu|3)
		write(cpu, 0, "1", "Data", "64K", core)
		write(cpu, 1, "1", "Instruction", "32K", core)
		write(cpu, 2, "2", "Unified", "1024K", core)
		write(cpu, 3, "3", "Unified", "32768K", processor)
	}
	silent := Caches{L1D: -1, L2: -1, L3: -1, Line: 64, L3Count: -1}
	for _, c := range []struct {
		dir            string
		reported, want Caches
	}{
		{dir, silent, Caches{64 << 10, 1 << 20, 32 << 20, 64, 2}},
		{dir, Caches{48 << 10, 2 << 20, 16 << 20, 64, -1}, Caches{48 << 10, 2 << 20, 16 << 20, 64, 2}},
		{filepath.Join(dir, "none"), silent, silent},
	} {
		m := Machine{Caches: c.reported}
		m.readCaches(c.dir)
		if m.Caches != c.want {
			t.Errorf("%+v, want %+v", m.Caches, c.want)
		}
	}
}

// TestReadCPUs counts the CPUs that Linux lists, whatever cpuid says: that of a virtual machine may be the host's, and
// knows one socket only.
func TestReadCPUs(t *testing.T) {
	type counts struct{ cores, logical int }
	for _, c := range []struct {
		name     string
		files    map[string]string
		reported counts
		allowed  int // CPUs of the affinity mask
		want     counts
		physical int
	}{
		{"a virtual machine, whose cpuid is the host's", map[string]string{"online": "0-1\n",
			"cpu0/topology/core_cpus_list": "0\n", "cpu1/topology/core_cpus_list": "1\n"},
			counts{254, 254}, 2, counts{2, 2}, 2},
		{"two sockets with two threads a core, an older kernel", map[string]string{"online": "0-7",
			"cpu0/topology/thread_siblings_list": "0,4", "cpu4/topology/thread_siblings_list": "0,4",
			"cpu1/topology/thread_siblings_list": "1,5", "cpu5/topology/thread_siblings_list": "1,5",
			"cpu2/topology/thread_siblings_list": "2,6", "cpu6/topology/thread_siblings_list": "2,6",
			"cpu3/topology/thread_siblings_list": "3,7", "cpu7/topology/thread_siblings_list": "3,7"},
			counts{2, 4}, 8, counts{4, 8}, 4},
		{"one is offline", map[string]string{"online": "0,2-3", "possible": "0-3", "cpu1/online": "0",
			"cpu0/topology/core_cpus_list": "0", "cpu2/topology/core_cpus_list": "2-3",
			"cpu3/topology/core_cpus_list": "2-3"}, counts{2, 4}, 3, counts{2, 3}, 2},
		{"no topology, other CPUs than cpuid's", map[string]string{"online": "0-3", "cpu0/uevent": ""},
			counts{64, 128}, 4, counts{0, 4}, 4},
		{"no topology, as many as cpuid's", map[string]string{"online": "0-3"}, counts{2, 4}, 4, counts{2, 4}, 2},
		{"nothing said", nil, counts{2, 4}, 8, counts{2, 4}, 8},
		{"not a list", map[string]string{"online": "3-0"}, counts{2, 4}, 4, counts{2, 4}, 2},
	} {
		m := Machine{Cores: c.reported.cores, LogicalCores: c.reported.logical, CPUs: c.allowed}
		m.readCPUs(tree(t, c.files))
		if got := (counts{m.Cores, m.LogicalCores}); got != c.want || m.PhysicalCores() != c.physical {
			t.Errorf("%s: %+v, %d physical, want %+v, %d", c.name, got, m.PhysicalCores(), c.want, c.physical)
		}
	}
}
