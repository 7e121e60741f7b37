package sysinfo

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// TestReadCaches reads what Linux reports for two processors of two cores with two threads
// each.
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
		dir      string
		reported Caches
		want     Caches
		cores    int // Machine.Cores afterwards
		physical int
	}{
		{dir, silent, Caches{64 << 10, 1 << 20, 32 << 20, 64, 2}, 4, 4},
		{dir, Caches{48 << 10, 2 << 20, 16 << 20, 64, -1}, Caches{48 << 10, 2 << 20, 16 << 20, 64, 2}, 4, 4},
		{filepath.Join(dir, "none"), silent, silent, 2, 8},
	} {
		// cpuid counts the cores of one processor.
		m := Machine{Cores: 2, LogicalCores: 4, CPUs: 8, Caches: c.reported}
		m.readCaches(c.dir)
		if m.Caches != c.want || m.Cores != c.cores {
			t.Errorf("%d cores, %+v", m.Cores, m.Caches)
		}
		if n := m.PhysicalCores(); n != c.physical {
			t.Errorf("%d physical cores, want %d", n, c.physical)
		}
	}
}
