package output

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
)

// mostLinks is the number of symbolic links after which following them is given up, as on Linux.
const mostLinks = 40

// Target follows symbolic links from path to the file that a write reaches, which need not exist.
func Target(path string) (string, error) {
	named, namedErr := os.Stat(path)
	if namedErr == nil && !named.Mode().IsRegular() {
		return path, nil // the links of pipes in /proc name no file
	}
	at := path
	for range mostLinks {
		dir, name := filepath.Split(at)
		at = filepath.Join(realFolder(dir), name)
		st, err := os.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return at, nil
		}
		if err != nil {
			return "", err
		}
		if st.Mode()&os.ModeSymlink == 0 {
			if namedErr == nil && !os.SameFile(named, st) {
				return path, nil // a link of /proc to a file that has been removed
			}
			return at, nil
		}
		link, err := os.Readlink(at)
		if err != nil {
			return "", err
		}
		if !filepath.IsAbs(link) { // joined without Clean, which removes "x/.." even if x is a link
			link = filepath.Dir(at) + string(filepath.Separator) + link
		}
		at = link
	}
	return "", &fs.PathError{Op: "open", Path: path, Err: syscall.ELOOP}
}

// realFolder returns the absolute path of a folder without links. The folder need not exist.
func realFolder(dir string) string {
	if dir == "" {
		dir = "."
	}
	if real, err := filepath.EvalSymlinks(dir); err == nil {
		dir = real
	} else if parent := filepath.Dir(filepath.Clean(dir)); parent != filepath.Clean(dir) {
		dir = filepath.Join(realFolder(parent), filepath.Base(dir))
	}
	if abs, err := filepath.Abs(dir); err == nil {
		return abs
	}
	return dir
}

// identity is what makes two names the same file.
type identity struct {
	target string
	info   os.FileInfo // nil: the file does not exist
}

func identify(path string) (identity, error) {
	target, err := Target(path)
	if err != nil {
		return identity{}, err
	}
	st, err := os.Stat(target)
	if errors.Is(err, fs.ErrNotExist) {
		return identity{target: target}, nil
	}
	return identity{target, st}, err
}

// regular says that the file is not a pipe, a device or a folder.
func (a identity) regular() bool { return a.info == nil || a.info.Mode().IsRegular() }

// same says whether two names are of the same file.
func (a identity) same(b identity) bool {
	if a.info != nil && b.info != nil {
		return os.SameFile(a.info, b.info)
	}
	if a.info != nil || b.info != nil {
		return false
	}
	return a.target == b.target || sameFolder(filepath.Dir(a.target), filepath.Dir(b.target)) &&
		sameName(filepath.Dir(a.target), filepath.Base(a.target), filepath.Base(b.target))
}

// sameFolder says whether two real paths are of the same folder.
func sameFolder(a, b string) bool {
	sa, errA := os.Stat(a)
	sb, errB := os.Stat(b)
	if errA == nil && errB == nil {
		return os.SameFile(sa, sb)
	}
	return a == b
}

// sameName says whether two names in a folder are of the same file.
func sameName(dir, a, b string) bool { return a == b || strings.EqualFold(a, b) && foldsCase(dir) }

// foldsCase says whether the file system of dir ignores the case of names.
func foldsCase(dir string) bool {
	for { // the folder may not exist yet
		if _, err := os.Stat(dir); err == nil || filepath.Dir(dir) == dir {
			break
		}
		dir = filepath.Dir(dir)
	}
	_, prefix := temporaryPrefix(probeName)
	name := prefix + rand.Text()
	f, err := os.OpenFile(filepath.Join(dir, name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return false
	}
	defer os.Remove(f.Name())
	f.Close()
	_, err = os.Lstat(filepath.Join(dir, strings.ToUpper(name)))
	return err == nil
}
