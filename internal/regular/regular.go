// Package regular opens files that a user names as input. It takes regular files only: a named
// pipe would wait for its other end, a device may have no end, and a folder has no content. Cause
// words errors of the file system, also about output.
package regular

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
)

// ErrNot says that a path names something else than a regular file.
var ErrNot = errors.New("not a regular file")

// Open opens a regular file, or the target of a link, for reading, and returns its size in bytes.
// Errors are of type *fs.PathError.
func Open(path string) (*os.File, int64, error) {
	info, err := os.Stat(path) // before opening, which may block
	if err != nil {
		return nil, 0, err
	}
	if err := check(path, info); err != nil {
		return nil, 0, err
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, 0, err
	}
	if info, err = f.Stat(); err == nil { // it may have been replaced meanwhile
		err = check(path, info)
	}
	if err != nil {
		f.Close()
		return nil, 0, err
	}
	return f, info.Size(), nil
}

// check refuses what is no regular file.
func check(path string, info fs.FileInfo) error {
	switch {
	case info.IsDir():
		return &fs.PathError{Op: "open", Path: path, Err: fmt.Errorf("%w but a folder", ErrNot)}
	case !info.Mode().IsRegular():
		return &fs.PathError{Op: "open", Path: path, Err: ErrNot}
	}
	return nil
}

// ReadFile returns the content of a regular file of at most most bytes. Errors are of type
// *fs.PathError.
func ReadFile(path string, most int64) ([]byte, error) {
	f, size, err := Open(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var b []byte
	if size <= most {
		b, err = io.ReadAll(io.LimitReader(f, most+1)) // it may grow meanwhile
	}
	if err == nil && (size > most || int64(len(b)) > most) {
		err = &fs.PathError{Op: "read", Path: path, Err: fmt.Errorf("more than %d bytes", most)}
	}
	if err != nil {
		return nil, err
	}
	return b, nil
}

// Cause returns what is wrong with a file, without its path, for messages that name it already.
func Cause(err error) error {
	if at, ok := errors.AsType[*fs.PathError](err); ok {
		return at.Err
	}
	return err
}
