package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

func TestWrite(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	for _, text := range []string{"one", "two, longer"} {
		err := Write(path, func(w io.Writer) error { _, err := io.WriteString(w, text); return err })
		if err != nil {
			t.Fatal(err)
		}
		if b, _ := os.ReadFile(path); string(b) != text {
			t.Errorf("got %q, want %q", b, text)
		}
	}
}

// TestFailure checks that a failed write leaves the old file and nothing else.
func TestFailure(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "f")
	if err := os.WriteFile(path, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	boom := errors.New("boom")
	err := Write(path, func(w io.Writer) error { io.WriteString(w, "half"); return boom })
	if !errors.Is(err, boom) {
		t.Errorf("error %v, want %v", err, boom)
	}
	if b, _ := os.ReadFile(path); string(b) != "old" {
		t.Errorf("content %q, want the old one", b)
	}
	if list, _ := os.ReadDir(dir); len(list) != 1 {
		t.Errorf("%d files left, want 1", len(list))
	}
	if err := Write(filepath.Join(dir, "none", "f"), func(io.Writer) error { return nil }); err == nil {
		t.Error("no error for a missing folder")
	}
}

// TestMode checks that an old file's permissions are kept.
func TestMode(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(path, []byte("old"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := Write(path, func(w io.Writer) error { _, err := io.WriteString(w, "new"); return err }); err != nil {
		t.Fatal(err)
	}
	if st, err := os.Stat(path); err != nil || runtime.GOOS != "windows" && st.Mode().Perm()&0o077 != 0 {
		t.Errorf("the file became %v, %v", st.Mode(), err)
	}
}

// TestClean checks that the temporary files of a crash are removed, and no others. As a glob
// pattern, the path would match other files.
func TestClean(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "[f]") // as a pattern it is f
	keep := []string{path, filepath.Join(dir, "f"), temporary(filepath.Join(dir, "f"), "1")}
	for _, name := range append(keep, temporary(path, "1"), temporary(path, "2")) {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	Clean(path)
	if list, _ := os.ReadDir(dir); len(list) != len(keep) {
		t.Errorf("left: %v", list)
	}
	for _, name := range keep {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
}

// TestBlocked checks that the error names the path, and not the temporary file, if a folder has
// the file's name.
func TestBlocked(t *testing.T) {
	dir := t.TempDir()
	var failed *os.PathError
	if err := Write(dir, func(io.Writer) error { return nil }); !errors.As(err, &failed) || failed.Path != dir {
		t.Errorf("error %v, want a *os.PathError of %s", err, dir)
	}
	Clean(dir)
}
