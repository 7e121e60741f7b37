package sysinfo

import "testing"

// TestCgroupCPUs checks that the tightest limit of the group and those above it decides.
func TestCgroupCPUs(t *testing.T) {
	const g = "sys/fs/cgroup/"
	for _, c := range []struct {
		name  string
		files map[string]string
		want  float64
	}{
		{"nothing said", nil, -1},
		{"two", map[string]string{"proc/self/cgroup": "0::/\n", g + "cpu.max": "200000 100000\n"}, 2},
		{"no limit", map[string]string{"proc/self/cgroup": "0::/\n", g + "cpu.max": "max 100000\n"}, -1},
		{"half", map[string]string{"proc/self/cgroup": "0::/\n", g + "cpu.max": "50000 100000\n"}, 0.5},
		{"no period", map[string]string{"proc/self/cgroup": "0::/\n", g + "cpu.max": "1 0\n"}, -1},
		{"group above", map[string]string{"proc/self/cgroup": "0::/a/b\n", g + "a/b/cpu.max": "400000 100000\n",
			g + "a/cpu.max": "150000 100000\n"}, 1.5},
		{"own group", map[string]string{"proc/self/cgroup": "0::/a/b\n", g + "a/b/cpu.max": "100000 100000\n",
			g + "a/cpu.max": "max 100000\n"}, 1},
		{"version 1", map[string]string{
			"proc/self/cgroup":           "3:cpu,cpuacct:/a\n0::/\n",
			g + "cpu/a/cpu.cfs_quota_us": "300000\n", g + "cpu/a/cpu.cfs_period_us": "100000\n",
			g + "cpu/cpu.cfs_quota_us": "-1\n", g + "cpu/cpu.cfs_period_us": "100000\n",
		}, 3},
	} {
		if got := cgroupCPUs(tree(t, c.files)); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}
