package output

import (
	"errors"
	"io/fs"

	"golang.org/x/sys/unix"
)

// unnamed creates a file without a name in dir and closes it. Not even a kill leaves anything behind. known
// says that the file system has such files.
func unnamed(dir string) (known bool, err error) {
	fd, err := unix.Open(dir, unix.O_TMPFILE|unix.O_WRONLY|unix.O_CLOEXEC, 0o600)
	if err == nil {
		return true, unix.Close(fd)
	}
	for _, e := range []error{unix.EOPNOTSUPP, unix.EISDIR, unix.EINVAL, unix.ENOENT} {
		if errors.Is(err, e) {
			return false, nil
		}
	}
	return true, &fs.PathError{Op: "open", Path: dir, Err: err}
}
