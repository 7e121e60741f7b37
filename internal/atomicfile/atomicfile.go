// Package atomicfile writes whole files so that a crash at any moment leaves either the
// old content or the new one.
package atomicfile

import (
	"bufio"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// Clean removes what a crash has left of unfinished writes to path.
func Clean(path string) {
	dir, name := filepath.Split(temporary(path, ""))
	if dir == "" {
		dir = "."
	}
	list, _ := os.ReadDir(dir)
	for _, f := range list {
		if strings.HasPrefix(f.Name(), name) {
			os.Remove(filepath.Join(dir, f.Name()))
		}
	}
}

// temporary is the name under which a file is written.
func temporary(path, unique string) string {
	dir, name := filepath.Split(path)
	return filepath.Join(dir, "."+name+".unfinished-"+unique)
}

// Write replaces the file at path by what write writes: to a temporary name in the same
// folder, synced, renamed, and the folder synced. On an error the old file stays. An old
// file's permissions are kept.
func Write(path string, write func(w io.Writer) error) (err error) {
	mode := os.FileMode(0o666) // less the umask
	old, statErr := os.Stat(path)
	if statErr == nil {
		mode = old.Mode().Perm()
	}
	f, err := os.OpenFile(temporary(path, rand.Text()), os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			f.Close()
			os.Remove(f.Name())
		}
	}()
	w := bufio.NewWriterSize(f, 1<<20)
	if err = write(w); err != nil {
		return err
	}
	if err = w.Flush(); err != nil {
		return err
	}
	if statErr == nil {
		if err = f.Chmod(mode); err != nil {
			return err
		}
	}
	if err = f.Sync(); err != nil {
		return err
	}
	if err = f.Close(); err != nil {
		return err
	}
	if err = os.Rename(f.Name(), path); err != nil {
		var link *os.LinkError
		if errors.As(err, &link) { // which names the temporary file, too
			err = &os.PathError{Op: "replace", Path: path, Err: link.Err}
		}
		return err
	}
	if d, derr := os.Open(filepath.Dir(path)); derr == nil { // not every system can sync a folder
		d.Sync()
		d.Close()
	}
	return nil
}
