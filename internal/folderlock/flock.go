//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package folderlock

import (
	"os"
	"syscall"
)

// lock locks an open folder until it is closed. Errors other than EWOULDBLOCK mean that the file
// system has no locks.
func lock(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == syscall.EWOULDBLOCK {
		return ErrHeld
	}
	return nil
}
