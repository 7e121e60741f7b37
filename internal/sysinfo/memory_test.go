package sysinfo

import (
	"math"
	"os"
	"path/filepath"
	"testing"
)

// tree makes files with these contents in a new folder.
func tree(t *testing.T, files map[string]string) (root string) {
	t.Helper()
	root = t.TempDir()
	for name, text := range files {
		name = filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(name), 0o777); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(name, []byte(text), 0o666); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// TestAvailableMemory checks that files kept in memory do not count as used, and that the
// tightest of the system, the group and those above it decides.
func TestAvailableMemory(t *testing.T) {
	const g = "sys/fs/cgroup/"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  float64
	}{
		{"nothing said", nil, math.Inf(1)},
		{"system", map[string]string{"proc/meminfo": "MemTotal:  9000 kB\nMemAvailable:     5000 kB\nBuffers: 1 kB\n"},
			5000 * 1024},
		{"container", map[string]string{
			"proc/meminfo": "MemAvailable: 5000 kB\n", "proc/self/cgroup": "0::/\n",
			g + "memory.max": "1000000\n", g + "memory.current": "900000\n", g + "memory.stat": "anon 200000\nfile " +
				"700000\ninactive_file 600000\nactive_file 100000\n",
		}, 700000},
		{"address space", map[string]string{
			"proc/meminfo": "MemAvailable: 5000 kB\n", "proc/self/statm": "10 5 1 1 0 1 0\n",
			"proc/self/limits": "Max data size             unlimited            unlimited            bytes\n" +
				"Max address space         4096000              unlimited            bytes\n",
		}, float64(4096000 - 10*os.Getpagesize())},
		{"all of the address space", map[string]string{
			"proc/meminfo": "MemAvailable: 5000 kB\n", "proc/self/statm": "10 5 1 1 0 1 0\n",
			"proc/self/limits": "Max address space         unlimited            unlimited            bytes\n",
		}, 5000 * 1024},
		{"no limit", map[string]string{
			"proc/meminfo": "MemAvailable: 5000 kB\n", "proc/self/cgroup": "0::/a\n",
			g + "a/memory.max": "max\n", g + "a/memory.current": "900000\n",
		}, 5000 * 1024},
		{"group above", map[string]string{
			"proc/self/cgroup":     "0::/a/b/c\n",
			g + "a/b/c/memory.max": "max\n", g + "a/b/c/memory.current": "100\n",
			g + "a/b/memory.max": "5000\n", g + "a/b/memory.current": "1000\n", g +
				"a/b/memory.stat": "inactive_file 500\n",
			g + "a/memory.max": "6000\n", g + "a/memory.current": "5500\n", g + "a/memory.stat": "inactive_file 1500\n",
			g + "other/memory.max": "1\n", g + "other/memory.current": "0\n",
		}, 2000},
		{"own group", map[string]string{
			"proc/self/cgroup":   "0::/a/b\n",
			g + "a/b/memory.max": "3000\n", g + "a/b/memory.current": "1000\n",
			g + "a/memory.max": "9000\n", g + "a/memory.current": "1000\n",
		}, 2000},
		{"beyond the limit", map[string]string{"proc/self/cgroup": "0::/\n", g + "memory.max": "1000\n",
			g + "memory.current": "1001\n"}, 0},
		{"version 1", map[string]string{
			"proc/self/cgroup":                     "5:cpu,cpuacct:/x\n4:memory:/a/b\n0::/\n",
			g + "memory/memory.limit_in_bytes":     "9223372036854771712\n",
			g + "memory/memory.usage_in_bytes":     "8000\n",
			g + "memory/a/b/memory.limit_in_bytes": "7000\n",
			g + "memory/a/b/memory.usage_in_bytes": "6000\n",
			g + "memory/a/b/memory.stat":           "inactive_file 1\ntotal_inactive_file 2000\n",
			g + "memory/x/memory.limit_in_bytes":   "1\n",
			g + "memory/x/memory.usage_in_bytes":   "0\n",
		}, 3000},
		{"version 1, a container that sees its own group as the root", map[string]string{
			"proc/self/cgroup":                 "4:memory:/docker/abc\n",
			g + "memory/memory.limit_in_bytes": "7000\n",
			g + "memory/memory.usage_in_bytes": "6000\n",
		}, 1000},
	} {
		if got := availableMemory(tree(t, c.files)); got != c.want {
			t.Errorf("%s: %v bytes, want %v", c.name, got, c.want)
		}
	}
}
