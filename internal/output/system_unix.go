//go:build darwin || dragonfly || freebsd || linux || netbsd || openbsd

package output

import (
	"os"
	"syscall"
)

// lock locks an open file until it is closed; it waits for the lock with wait. free says that
// no other process holds it, known that the file system has such locks.
func lock(f *os.File, wait bool) (free, known bool) {
	how := syscall.LOCK_EX
	if !wait {
		how |= syscall.LOCK_NB
	}
	err := syscall.Flock(int(f.Fd()), how)
	return err == nil, err == nil || err == syscall.EWOULDBLOCK
}

// keepOwner gives f the owner and group of the file that it replaces, where permitted.
func keepOwner(f *os.File, old os.FileInfo) {
	if st, ok := old.Sys().(*syscall.Stat_t); ok {
		if now, err := f.Stat(); err == nil {
			if s, ok := now.Sys().(*syscall.Stat_t); ok && s.Uid == st.Uid && s.Gid == st.Gid {
				return
			}
		}
		if f.Chown(int(st.Uid), int(st.Gid)) != nil {
			f.Chown(-1, int(st.Gid)) // only root may give a file away
		}
	}
}

// owned says that a file is ours.
func owned(info os.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return !ok || int(st.Uid) == os.Geteuid()
}
