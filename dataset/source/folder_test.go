package source

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestArchiveFolders reads files beside folders that bear their names, and files in such folders, as
// programs that unpack archives leave them.
func TestArchiveFolders(t *testing.T) {
	names := []string{trainImages, trainLabels, testImages, testLabels}
	for _, kind := range []string{"beside", "inside", "empty"} {
		dir := t.TempDir()
		var want []string
		for _, name := range names {
			folder := filepath.Join(dir, name)
			if err := os.Mkdir(folder, 0o755); err != nil {
				t.Fatal(err)
			}
			path := filepath.Join(dir, strings.Replace(name, "-idx", ".idx", 1))
			switch kind {
			case "inside":
				path = filepath.Join(folder, name+".gz")
			case "empty":
				continue
			}
			if err := os.WriteFile(path, nil, 0o644); err != nil {
				t.Fatal(err)
			}
			want = append(want, path)
		}
		if got := InputFiles(dir); !slices.Equal(got, want) {
			t.Errorf("%s: files %v, want %v", kind, got, want)
		}
		if got := ImageFolder(dir); got != "" {
			t.Errorf("%s: folder of images %s", kind, got)
		}
		if _, err := Open(dir, Options{}); kind == "empty" &&
			(err == nil || !strings.Contains(err.Error(), "expected IDX")) {
			t.Errorf("%s: error %v", kind, err)
		}
	}
}
