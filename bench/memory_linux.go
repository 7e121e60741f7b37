package bench

import (
	"bufio"
	"fmt"
	"math"
	"os"
	"strconv"
	"strings"
)

// AvailableMemory returns how many bytes the process can still use: what the system
// counts as available, or what the cgroup leaves. It returns +Inf when neither says.
func AvailableMemory() float64 {
	free := math.Inf(1)
	if f, err := os.Open("/proc/meminfo"); err == nil {
		defer f.Close()
		for s := bufio.NewScanner(f); s.Scan(); {
			var kb float64
			if n, _ := fmt.Sscanf(s.Text(), "MemAvailable: %f kB", &kb); n == 1 {
				free = 1024 * kb
			}
		}
	}
	limit, ok1 := number("/sys/fs/cgroup/memory.max")
	used, ok2 := number("/sys/fs/cgroup/memory.current")
	if ok1 && ok2 {
		free = min(free, limit-used)
	}
	return free
}

// number reads a file that holds one number.
func number(path string) (float64, bool) {
	b, err := os.ReadFile(path)
	if err != nil {
		return 0, false
	}
	v, err := strconv.ParseFloat(strings.TrimSpace(string(b)), 64) // not "max"
	return v, err == nil
}
