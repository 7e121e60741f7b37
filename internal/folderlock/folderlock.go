// Package folderlock keeps two processes from writing to one folder.
//
// The lock is flock(2) on the folder itself: it leaves no file behind, and the system releases
// it when the process ends for any reason. Where there is no such lock (Windows, some network
// file systems) Acquire always succeeds.
package folderlock

import (
	"errors"
	"os"
)

// ErrHeld says that another process, or this one, holds the lock.
var ErrHeld = errors.New("in use by another process")

// Acquire takes the lock of a folder, or fails at once with ErrHeld.
func Acquire(dir string) (release func(), err error) {
	f, err := os.Open(dir)
	if err != nil {
		return nil, err
	}
	if err := lock(f); err != nil {
		f.Close()
		return nil, err
	}
	return func() { f.Close() }, nil
}
