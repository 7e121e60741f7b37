package source

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLinks reads images from a folder that is a link, and classes that are links.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	for _, class := range []string{"cat", "dog"} {
		write(t, filepath.Join(dir, "pets", class), "1.png", pngOf(t, []byte{1, 2, 3, 4}, 2, 2))
	}
	links := filepath.Join(dir, "classes")
	if err := os.Mkdir(links, 0o755); err != nil {
		t.Fatal(err)
	}
	for link, to := range map[string]string{"link": "pets", "classes/a": "../pets/cat", "classes/b": "../pets/dog"} {
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	for folder, classes := range map[string]string{"pets": "[cat dog]", "link": "[cat dog]", "classes": "[a b]"} {
		path := filepath.Join(dir, folder)
		d, err := Open(path, Options{})
		if err != nil || d.Train.Len() != 2 || fmt.Sprint(d.Classes) != classes {
			t.Errorf("%s: %+v, %v", folder, d, err)
		}
		if files := InputFiles(path); len(files) != 2 || ImageFolder(path) == "" {
			t.Errorf("%s: files %v, folder %q", folder, files, ImageFolder(path))
		}
	}
}

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
