//go:build !(darwin || dragonfly || freebsd || linux || netbsd || openbsd)

package folderlock

import "os"

func lock(*os.File) error { return nil }
