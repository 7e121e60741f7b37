package bench

import (
	"fmt"
	"math"
	"strconv"

	"dpnbench/internal/sysinfo"
)

const none = "–" // replaces a number that is missing

// quantity prints a number with at least three digits.
func quantity(v float64) string {
	switch {
	case !(v > 0) || math.IsInf(v, 0):
		return none
	case v >= 1e9:
		return quantity(v/1e9) + " G"
	case v >= 1e6:
		return quantity(v/1e6) + " M"
	case v >= 1e4:
		return quantity(v/1e3) + " k"
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'f', min(max(2-int(math.Floor(math.Log10(v))), 0), 6), 64)
}

// FormatSeconds prints a time in a suitable unit, with at least three digits.
func FormatSeconds(s float64) string {
	for _, u := range []struct {
		name string
		size float64
	}{{"s", 1}, {"ms", 1e-3}, {"µs", 1e-6}} {
		if s >= u.size {
			return quantity(s/u.size) + " " + u.name
		}
	}
	if s > 0 {
		return quantity(s/1e-9) + " ns"
	}
	return none
}

func percent(v float64) string {
	if !(v > 0) || math.IsInf(v, 0) {
		return none
	}
	return strconv.FormatFloat(v, 'f', 1, 64) + "%"
}

// FormatWidth prints the larger half-width of the interval of a median, in percent of it.
func FormatWidth(median float64, ci [2]float64) string {
	wide := Width(median, ci)
	if !(wide >= 0) || math.IsInf(wide, 0) {
		return none
	}
	if wide > 1 { // the median is hardly known
		return "> 100%"
	}
	return "±" + strconv.FormatFloat(100*wide, 'f', 1, 64) + "%"
}

// FormatBytes prints a number of bytes.
func FormatBytes(n int) string {
	switch {
	case n <= 0:
		return "unknown"
	case n < 1<<20:
		return fmt.Sprintf("%.4g KiB", float64(n)/(1<<10))
	case n < 1<<30:
		return fmt.Sprintf("%.4g MiB", float64(n)/(1<<20))
	}
	return fmt.Sprintf("%.4g GiB", float64(n)/(1<<30))
}

// FormatCaches prints the size of a cache of each level, and why one is unknown.
func FormatCaches(m *sysinfo.Machine) (out []string) {
	for _, c := range []struct {
		level string
		bytes int
	}{{"L1", m.Caches.L1D}, {"L2", m.Caches.L2}, {"L3", m.Caches.L3}} {
		text := c.level + " " + FormatBytes(c.bytes)
		switch {
		case c.bytes <= 0 && m.Virtual:
			text += " (the virtual machine does not report it)"
		case c.bytes <= 0:
			text += " (the machine does not report it)"
		}
		out = append(out, text)
	}
	return out
}
