//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package folderlock

import (
	"os"
	"syscall"
)

// lock locks an open folder until it is closed. Other errors than that of a lock which is
// held mean that the file system has none.
func lock(f *os.File) error {
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err == syscall.EWOULDBLOCK {
		return ErrHeld
	}
	return nil
}
