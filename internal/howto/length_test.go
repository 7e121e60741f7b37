package howto

import (
	"bytes"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// TestLengths finds Go files of more than 600 lines, and lines of more than 120 columns, a tab counting
// as four.
func TestLengths(t *testing.T) {
	files := 0
	err := filepath.WalkDir("../..", func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" {
			return err
		}
		files++
		text, err := os.ReadFile(path)
		if n := bytes.Count(text, []byte("\n")); n > 600 {
			t.Errorf("%s: %d lines, expected at most 600", path, n)
		}
		number := 0
		for line := range strings.Lines(string(text)) {
			number++
			line = strings.TrimRight(line, "\r\n")
			if n := utf8.RuneCountInString(line) + 3*strings.Count(line, "\t"); n > 120 {
				t.Errorf("%s:%d: %d columns, expected at most 120", path, number, n)
			}
		}
		return err
	})
	if err != nil || files < 300 {
		t.Errorf("%d files, %v", files, err)
	}
}
