package sysinfo

import (
	"cmp"
	"runtime/debug"
)

// Version returns the version of the module and the first 12 digits of the commit, as far
// as the build recorded them, or "unknown".
func Version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	v := cmp.Or(info.Main.Version, "unknown")
	for _, s := range info.Settings {
		if s.Key == "vcs.revision" {
			v += " " + s.Value[:min(12, len(s.Value))]
		}
	}
	return v
}
