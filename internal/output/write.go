package output

import (
	"bufio"
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
)

// Write replaces the content of the file at path by what write writes, whole or not at all. An error
// of the file system is a *fs.PathError of path.
func Write(path string, write func(w io.Writer) error) error {
	var b Batch
	defer b.Discard()
	if err := b.Write(path, write); err != nil {
		return err
	}
	return b.Commit()
}

// Bytes returns a function for Write that writes b.
func Bytes(b []byte) func(w io.Writer) error {
	return func(w io.Writer) error { _, err := w.Write(b); return err }
}

// Batch replaces and removes several files: Write puts all content to temporary files, Commit puts
// them in their places. The zero Batch is empty. Write may be called from several goroutines.
type Batch struct {
	mu    sync.Mutex
	items []*item
}

// item is a file of a batch.
type item struct {
	path, target string      // as named, and after following links
	old          os.FileInfo // nil: the file is new
	temporary    string      // file with the new content
	held         *os.File    // the temporary file, locked
	content      []byte      // the new content, if there is no temporary file
	remove       bool

	backup string // another link of the old file, or its new name if it was removed
	done   bool
}

// What a file system may refuse; tests replace them.
var (
	rename = os.Rename
	create = os.OpenFile
	link   = os.Link
	remove = os.Remove
)

// BeforeRename has f called before each renaming. Tests of commands end the process in it.
func BeforeRename(f func()) {
	next := rename
	rename = func(from, to string) error { f(); return next(from, to) }
}

// refused says whether an error means that the file system does not offer an operation, so that
// there may be another way. The others mean that no way will succeed.
func refused(err error) bool {
	final := []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EIO, syscall.EFBIG}
	return !slices.ContainsFunc(final, func(e error) bool { return errors.Is(err, e) })
}

// about returns an error that names the path of the caller, never a temporary file.
func about(op, path string, err error) *fs.PathError {
	if pe, ok := errors.AsType[*fs.PathError](err); ok {
		err = pe.Err
	} else if le, ok := errors.AsType[*os.LinkError](err); ok {
		err = le.Err
	}
	return &fs.PathError{Op: op, Path: path, Err: err}
}

// Write writes the new content of the file at path to a temporary file.
func (b *Batch) Write(path string, write func(w io.Writer) error) error {
	target, err := Target(path)
	if err != nil {
		return about("write", path, err)
	}
	t := &item{path: path, target: target}
	mode := os.FileMode(0o666) // less the umask
	if st, err := os.Stat(target); err == nil {
		if t.old, mode = st, st.Mode().Perm(); st.IsDir() {
			return about("write", path, syscall.EISDIR)
		}
	}
	clean(target)
	if t.old == nil || t.old.Mode().IsRegular() {
		t.held, err = createTemporary(target, mode)
	}
	switch {
	case err != nil && (t.old == nil || !refused(err)):
		return about("write", path, err)
	case t.held == nil: // it will be written in place
		var content bytes.Buffer
		if err := write(&content); err != nil {
			return err
		}
		t.content = content.Bytes()
	default:
		t.temporary = t.held.Name()
		if err := t.fill(write, mode); err != nil {
			t.discard()
			return err
		}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items = append(b.items, t)
	return nil
}

// fill writes the temporary file.
func (t *item) fill(write func(w io.Writer) error, mode os.FileMode) error {
	disk := &diskError{w: t.held}
	w := bufio.NewWriterSize(disk, 1<<16)
	err := write(w)
	if err == nil {
		err = w.Flush()
	}
	if disk.err != nil {
		return about("write", t.path, disk.err)
	}
	if err != nil {
		return err
	}
	if t.old != nil {
		keepOwner(t.held, t.old)
		t.held.Chmod(mode) // some file systems refuse
	}
	if err := t.held.Sync(); err != nil && !refused(err) {
		return about("write", t.path, err)
	}
	return nil
}

// diskError keeps the error of a file that is written.
type diskError struct {
	w   io.Writer
	err error
}

func (d *diskError) Write(b []byte) (int, error) {
	n, err := d.w.Write(b)
	if err != nil {
		d.err = err
	}
	return n, err
}

// Remove removes a file in Commit, in the order of the calls of Write and Remove. A file that does not
// exist is none to remove; of a link, the link is removed.
func (b *Batch) Remove(path string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.items = append(b.items, &item{path: path, target: path, remove: true})
}

// Commit puts all files in their places. If one of them fails, those before it get their old content
// back.
func (b *Batch) Commit() error {
	defer b.Discard()
	folders := map[string]bool{}
	for _, t := range b.items {
		folders[filepath.Dir(t.target)] = true
	}
	for dir := range folders {
		finish(dir, true)
	}
	if len(b.items) > 1 {
		for _, t := range b.items {
			t.keepOld()
		}
	}
	j, err := b.journal()
	if err != nil {
		return err
	}
	defer j.end()
	for i, t := range b.items {
		err := t.install()
		if err == nil {
			continue
		}
		j.end() // otherwise a kill would have the next command replace what is brought back
		for _, done := range b.items[:i] {
			done.undo()
		}
		return err
	}
	for dir := range folders {
		syncFolder(dir)
	}
	return nil
}

// keepOld gives the old file a second link, or copies it where the file system has no links.
func (t *item) keepOld() {
	if t.remove || t.old == nil || t.held == nil {
		return
	}
	dir, prefix := temporaryPrefix(t.target)
	backup := filepath.Join(dir, prefix+rand.Text())
	if link(t.target, backup) == nil || copyFile(t.target, backup, t.old.Mode()) == nil {
		t.backup = backup
	}
}

// copyFile copies a file to a new one, or leaves nothing.
func copyFile(from, to string, mode fs.FileMode) error {
	r, err := os.Open(from)
	if err != nil {
		return err
	}
	defer r.Close()
	w, err := create(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode.Perm())
	if err != nil {
		return err
	}
	_, err = io.Copy(w, r)
	if closeErr := w.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		remove(to)
	}
	return err
}

// install puts the new file in its place.
func (t *item) install() error {
	if t.remove {
		return t.removeOld()
	}
	if t.held == nil {
		return t.inPlace(bytes.NewReader(t.content))
	}
	// Windows renames no open file.
	if _, known := lock(t.held, false); !known {
		t.held.Close()
	}
	err := rename(t.temporary, t.target)
	if err == nil {
		t.held.Close()
		t.held, t.done = nil, true
		return nil
	}
	if !refused(err) {
		return about("replace", t.path, err)
	}
	f, openErr := os.Open(t.temporary)
	if openErr != nil {
		return about("replace", t.path, err)
	}
	defer f.Close()
	return t.inPlace(f)
}

// removeOld removes the file, so that it can come back.
func (t *item) removeOld() error {
	if _, err := os.Lstat(t.target); errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	dir, prefix := temporaryPrefix(t.target)
	backup := filepath.Join(dir, prefix+rand.Text())
	if rename(t.target, backup) == nil {
		t.backup, t.done = backup, true
		return nil
	}
	if err := remove(t.target); err != nil {
		return about("remove", t.path, err)
	}
	return nil
}

// inPlace overwrites the file. If that fails halfway, the new content stays in the temporary file,
// if there is one.
func (t *item) inPlace(from io.Reader) error {
	regular := t.old == nil || t.old.Mode().IsRegular()
	how := os.O_WRONLY
	if regular {
		how |= os.O_CREATE
	}
	f, err := os.OpenFile(t.target, how, 0o666)
	if err != nil {
		return about("write", t.path, err)
	}
	n, err := io.Copy(f, from)
	if err == nil && regular {
		err = f.Truncate(n)
	}
	if syncErr := f.Sync(); err == nil && syncErr != nil && !refused(syncErr) {
		err = syncErr
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	switch {
	case err == nil:
		return nil
	case t.held != nil:
		t.held.Close()
		t.held = nil
		failed := about("write", t.path, err)
		failed.Err = fmt.Errorf("%w; the whole content is in %s", failed.Err, t.temporary)
		return failed
	}
	return about("write", t.path, err)
}

// undo brings the old file back.
func (t *item) undo() {
	switch {
	case !t.done:
	case t.backup != "":
		if rename(t.backup, t.target) == nil {
			remove(t.backup) // it stays if both are links of one file
			t.backup = ""
		}
	case t.old == nil && !t.remove:
		remove(t.target)
	}
}

// Discard removes the temporary files of a batch that was not committed. After Commit it does
// nothing.
func (b *Batch) Discard() {
	for _, t := range b.items {
		t.discard()
	}
	b.items = nil
}

func (t *item) discard() {
	if t.held != nil {
		t.held.Close()
		remove(t.temporary)
		t.held = nil
	}
	if t.backup != "" {
		remove(t.backup)
		t.backup = ""
	}
}
