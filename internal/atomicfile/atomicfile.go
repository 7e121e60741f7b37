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

// Clean removes the temporary files that a crash during a write to path has left.
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

// Write replaces the content of the file at path by what write writes. It writes to a temporary
// file in the same folder, syncs it, renames it and syncs the folder. On an error the old file
// stays. The permissions of an old file are kept.
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
		if errors.As(err, &link) { // its text names the temporary file as well
			err = &os.PathError{Op: "replace", Path: path, Err: link.Err}
		}
		return err
	}
	if d, derr := os.Open(filepath.Dir(path)); derr == nil { // some systems cannot sync a folder
		d.Sync()
		d.Close()
	}
	return nil
}
