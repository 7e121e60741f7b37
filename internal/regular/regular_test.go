package regular

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestReadFile(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	if err := os.WriteFile(path, []byte("content"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		path string
		most int64
		want string // of the error, or the content
		bad  bool
	}{
		{path, 7, "content", false},
		{path, 6, "more than 6 bytes", true},
		{dir, 7, "not a regular file but a folder", true},
		{os.DevNull, 7, ErrNot.Error(), true},
		{filepath.Join(dir, "none"), 7, "", true},
	} {
		b, err := ReadFile(c.path, c.most)
		switch {
		case !c.bad && (err != nil || string(b) != c.want):
			t.Errorf("%s: %q, %v, want %q", c.path, b, err, c.want)
		case c.bad && (!errors.As(err, new(*fs.PathError)) || !strings.Contains(err.Error(), c.want)):
			t.Errorf("%s: error %v, want a *fs.PathError with %q", c.path, err, c.want)
		}
	}
}
