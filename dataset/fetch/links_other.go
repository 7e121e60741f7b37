//go:build !unix

package fetch

import "io/fs"

// hardLinked reports whether a file has other names; here that is not known.
func hardLinked(fs.FileInfo) bool { return false }
