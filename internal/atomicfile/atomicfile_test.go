package atomicfile

import (
	"errors"
	"io"
	"os"
	"path/filepath"
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
