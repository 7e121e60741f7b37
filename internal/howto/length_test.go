package howto

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// sources calls f with the path and the text of every Go file.
func sources(t *testing.T, f func(path string, text []byte)) {
	t.Helper()
	files := 0
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		f(filepath.ToSlash(path), text)
		return err
	})
	if err != nil || files < 300 {
		t.Errorf("%d files, %v", files, err)
	}
}

// TestLengths finds Go files of more than 600 lines, and lines of more than 120 bytes, a tab counting
// as four.
func TestLengths(t *testing.T) {
	sources(t, func(path string, text []byte) {
		if n := bytes.Count(text, []byte("\n")); n > 600 {
			t.Errorf("%s: %d lines, expected at most 600", path, n)
		}
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			line = strings.TrimRight(line, "\r\n")
			if n := len(line) + 3*strings.Count(line, "\t"); n > 120 {
				t.Errorf("%s:%d: %d bytes, expected at most 120", path, number, n)
			}
		}
	})
}

// TestOwnProgram finds Go files that name their own program: an emulated test may be unable to start it, so they use
// package testprocess. The second of those that may starts it only if soak tests are asked for.
func TestOwnProgram(t *testing.T) {
	may := []string{"../../internal/testprocess/testprocess.go", "../../internal/soak/fetch_test.go"}
	sources(t, func(path string, text []byte) {
		if bytes.Contains(text, []byte("os"+".Args[0]")) && !slices.Contains(may, path) {
			t.Errorf("%s: starts its own program, which package testprocess does", path)
		}
	})
}
