package sysinfo

import (
	"cmp"
	"runtime"
	"runtime/debug"
)

// Build says what this program was built from, as far as the go command recorded it.
type Build struct {
	Version  string `json:"version"`  // of the module; "(devel)" without a version control system
	Commit   string `json:"commit"`   // of the source; empty: not recorded
	Modified bool   `json:"modified"` // the source differs from the commit
	Date     string `json:"date"`     // of the commit, RFC 3339
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Level    string `json:"level"` // GOAMD64, GOARM64 and so on: what the compiler assumed of the CPU
}

// ReadBuild returns what is recorded in this program.
func ReadBuild() Build {
	b := Build{Version: "unknown", Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	b.Version = cmp.Or(info.Main.Version, b.Version)
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Commit = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		case "vcs.time":
			b.Date = s.Value
		case "GOAMD64", "GOARM64", "GO386", "GOARM", "GOPPC64", "GORISCV64":
			b.Level = s.Value
		}
	}
	return b
}

// Version returns the version of the module and the first 12 digits of the commit, as far
// as the build recorded them, or "unknown".
func Version() string {
	b := ReadBuild()
	if b.Commit == "" {
		return b.Version
	}
	return b.Version + " " + b.Commit[:min(12, len(b.Commit))]
}
