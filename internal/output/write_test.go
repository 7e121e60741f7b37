package output

import (
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"testing"
	"testing/iotest"
	"time"

	"dpnbench/internal/regular"
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

// TestClean checks that the files of a crash are removed by the next write, and no others: the names
// are such that a glob pattern would match the wrong ones.
func TestClean(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "[f]") // as a pattern it is f
	left := func(name string) string {
		d, prefix := temporaryPrefix(filepath.Join(dir, name))
		return filepath.Join(d, prefix+rand.Text())
	}
	keep := []string{path, filepath.Join(dir, "f"), left("f"), filepath.Join(dir, ".[f].unfinished-business")}
	for _, name := range append(keep, left("[f]"), left("[f]"), left(probeName)) {
		if err := os.WriteFile(name, nil, 0o644); err != nil {
			t.Fatal(err)
		}
		old := time.Now().Add(-2 * abandoned) // for systems without locks
		if err := os.Chtimes(name, old, old); err != nil {
			t.Fatal(err)
		}
	}
	if err := Write(path, func(io.Writer) error { return nil }); err != nil {
		t.Fatal(err)
	}
	if list, _ := os.ReadDir(dir); len(list) != len(keep) {
		t.Errorf("left: %v", list)
	}
	for _, name := range keep {
		if _, err := os.Stat(name); err != nil {
			t.Error(err)
		}
	}
	CleanFolder(dir)
	if list, _ := os.ReadDir(dir); len(list) != len(keep)-1 {
		t.Errorf("left in the folder: %v", list)
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
}

// TestInPlaceFails overwrites a file from a reader that ends early: however the error is worded, it says where the
// whole content is.
func TestInPlaceFails(t *testing.T) {
	dir := t.TempDir()
	path, temporary := filepath.Join(dir, "file"), filepath.Join(dir, "temporary")
	held, err := os.Create(temporary)
	if err != nil {
		t.Fatal(err)
	}
	broken := errors.New("no space left")
	err = (&item{path: path, target: path, temporary: temporary, held: held}).inPlace(iotest.ErrReader(broken))
	want := "no space left; the whole content is in " + temporary
	if got := regular.Cause(err); !errors.Is(err, broken) || got == nil || got.Error() != want {
		t.Errorf("cause %v of %v, want %q", got, err, want)
	}
}
