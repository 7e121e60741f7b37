package output

import (
	"io"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// content returns a function for Write.
func content(text string) func(io.Writer) error {
	return func(w io.Writer) error { _, err := io.WriteString(w, text); return err }
}

// holds returns the files of a folder with their content; of a link, its target.
func holds(t *testing.T, dir string) map[string]string {
	t.Helper()
	list, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]string{}
	for _, e := range list {
		path := filepath.Join(dir, e.Name())
		switch {
		case e.IsDir():
			all[e.Name()] = "folder"
		case e.Type()&os.ModeNamedPipe != 0: // reading it would wait
			all[e.Name()] = "pipe"
		case e.Type()&os.ModeSymlink != 0:
			link, err := os.Readlink(path)
			if err != nil {
				t.Fatal(err)
			}
			all[e.Name()] = "-> " + link
		default:
			b, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			all[e.Name()] = string(b)
		}
	}
	return all
}

func put(t *testing.T, dir string, files map[string]string) {
	t.Helper()
	for name, text := range files {
		path := filepath.Join(dir, name)
		var err error
		if link, ok := strings.CutPrefix(text, "-> "); ok {
			err = os.Symlink(link, path)
		} else {
			err = os.WriteFile(path, []byte(text), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// TestBatch replaces, creates and removes files: all of it happens, or nothing.
func TestBatch(t *testing.T) {
	before := map[string]string{"a": "old a", "b": "old b", "gone": "old"}
	defer func() { link = os.Link }()
	for _, fail := range []string{"", "write", "commit", "commit without links"} {
		if fail == "commit without links" {
			link = func(from, to string) error {
				return &os.LinkError{Op: "link", Old: from, New: to, Err: syscall.EPERM}
			}
		}
		dir := t.TempDir()
		put(t, dir, before)
		want := map[string]string{"a": "new a", "b": "new b", "c": "new c"}
		var b Batch
		b.Remove(filepath.Join(dir, "gone"))
		b.Remove(filepath.Join(dir, "b")) // and written below
		b.Remove(filepath.Join(dir, "never there"))
		for _, name := range []string{"a", "b", "c"} {
			if err := b.Write(filepath.Join(dir, name), content("new "+name)); err != nil {
				t.Fatal(err)
			}
		}
		var err error
		switch fail {
		case "write":
			err = b.Write(filepath.Join(dir, "d"), func(io.Writer) error { return io.ErrShortWrite })
			b.Discard()
		case "commit", "commit without links":
			if err := b.Write(filepath.Join(dir, "d"), content("new d")); err != nil {
				t.Fatal(err)
			}
			if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil { // meanwhile
				t.Fatal(err)
			}
			err = b.Commit()
		default:
			err = b.Commit()
		}
		if (err != nil) != (fail != "") || err != nil && strings.Contains(err.Error(), "unfinished") {
			t.Errorf("fail %q: error %v", fail, err)
		}
		if fail != "" {
			want = maps.Clone(before)
		}
		if strings.HasPrefix(fail, "commit") {
			want["d"] = "folder"
		}
		if got := holds(t, dir); !maps.Equal(got, want) {
			t.Errorf("fail %q: the folder holds %v, want %v", fail, got, want)
		}
	}
}

// TestBatchWithoutLinks has a batch fail where a replaced file got no second link: it is not removed as a new one is.
func TestBatchWithoutLinks(t *testing.T) {
	defer func() { link = os.Link }()
	link = func(from, to string) error {
		return &os.LinkError{Op: "link", Old: from, New: to, Err: syscall.EPERM}
	}
	dir := t.TempDir()
	put(t, dir, map[string]string{"a": "old", "gone": "old"})
	var b Batch
	b.Remove(filepath.Join(dir, "gone"))
	for _, name := range []string{"a", "c", "d"} {
		if err := b.Write(filepath.Join(dir, name), content("new")); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(dir, "d"), 0o755); err != nil { // meanwhile
		t.Fatal(err)
	}
	err := b.Commit()
	got := holds(t, dir)
	if a := got["a"]; err == nil || a != "old" && a != "new" {
		t.Errorf("error %v, the file holds %q", err, a)
	}
	if delete(got, "a"); !maps.Equal(got, map[string]string{"gone": "old", "d": "folder"}) {
		t.Errorf("the folder holds %v, want those that were there", got)
	}
}

// TestRefused writes where the file system refuses a temporary file, its renaming, or both.
func TestRefused(t *testing.T) {
	defer func() { rename, create = os.Rename, os.OpenFile }()
	for _, c := range []struct {
		name           string
		rename, create error
		old, fails     bool
	}{
		{"mount point", syscall.EBUSY, nil, true, false},
		{"network file system", syscall.EPERM, nil, false, false},
		{"folder without permission", nil, syscall.EACCES, true, false},
		{"folder without permission, new file", nil, syscall.EACCES, false, true},
		{"disk full, renaming", syscall.ENOSPC, nil, true, true},
		{"disk full, creating", nil, syscall.ENOSPC, true, true},
	} {
		dir := t.TempDir()
		path := filepath.Join(dir, "f")
		want := map[string]string{}
		if c.old {
			put(t, dir, map[string]string{"f": "old, and longer than the new content"})
			want = holds(t, dir)
		}
		rename = func(from, to string) error {
			if c.rename != nil {
				return &os.LinkError{Op: "rename", Old: from, New: to, Err: c.rename}
			}
			return os.Rename(from, to)
		}
		create = func(name string, flag int, mode os.FileMode) (*os.File, error) {
			if c.create != nil {
				return nil, &os.PathError{Op: "open", Path: name, Err: c.create}
			}
			return os.OpenFile(name, flag, mode)
		}
		err := Write(path, content("new"))
		if !c.fails {
			want["f"] = "new"
		}
		if got := holds(t, dir); (err != nil) != c.fails || !maps.Equal(got, want) {
			t.Errorf("%s: error %v, the folder holds %v", c.name, err, got)
		}
		if err != nil && (!strings.Contains(err.Error(), path) || strings.Contains(err.Error(), "unfinished")) {
			t.Errorf("%s: error %v, want one about %s", c.name, err, path)
		}
	}
}

// TestLongNames writes files whose names are as long as the file system permits.
func TestLongNames(t *testing.T) {
	dir := t.TempDir()
	for _, letter := range []string{"a", "ä"} {
		for n := 50; ; n++ {
			name := strings.Repeat(letter, n)
			if os.WriteFile(filepath.Join(dir, name), nil, 0o644) != nil {
				break
			}
			if err := Write(filepath.Join(dir, name), content("new")); err != nil {
				t.Fatalf("%d bytes: %v", len(name), err)
			}
		}
	}
	for name, text := range holds(t, dir) {
		if text != "new" || strings.HasPrefix(name, ".") {
			t.Errorf("%s holds %q", name, text)
		}
	}
}

// TestHeld checks that the temporary file of a write that goes on is not taken for one that was left
// behind.
func TestHeld(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	var b Batch
	if err := b.Write(path, content("first")); err != nil {
		t.Fatal(err)
	}
	CleanFolder(dir)
	if err := Write(path, content("second")); err != nil {
		t.Fatal(err)
	}
	if err := b.Commit(); err != nil {
		t.Fatal(err)
	}
	if got := holds(t, dir); !maps.Equal(got, map[string]string{"f": "first"}) {
		t.Errorf("the folder holds %v", got)
	}
}
