//go:build unix

package fetch

import (
	"io/fs"
	"syscall"
)

// hardLinked reports whether a file has other names.
func hardLinked(info fs.FileInfo) bool {
	s, ok := info.Sys().(*syscall.Stat_t)
	return ok && s.Nlink > 1
}
