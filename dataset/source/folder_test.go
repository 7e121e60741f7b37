package source

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestLinks reads images from folders, splits and classes that are links. One that leads back is an error.
func TestLinks(t *testing.T) {
	dir := t.TempDir()
	for _, class := range []string{"cat", "dog"} {
		write(t, filepath.Join(dir, "pets", class), "1.png", pngOf(t, []byte{1, 2, 3, 4}, 2, 2))
	}
	for link, to := range map[string]string{"link": "pets", "classes/a": "../pets/cat", "classes/b": "../pets/dog",
		"split/train/a": "../../pets/cat", "split/train/b": "../../pets/dog", "split/test": "../classes",
		"loop/a": "../pets/cat", "loop/b": "."} {
		if err := os.MkdirAll(filepath.Dir(filepath.Join(dir, link)), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(to, filepath.Join(dir, link)); err != nil {
			t.Skip("no links here: ", err)
		}
	}
	for _, c := range []struct {
		folder, classes string
		files           int
	}{{"pets", "[cat dog]", 2}, {"link", "[cat dog]", 2}, {"classes", "[a b]", 2}, {"split", "[a b]", 4},
		{"loop", "", 4}} {
		path := filepath.Join(dir, c.folder)
		if d, err := Open(path, Options{}); (err != nil) != (c.classes == "") ||
			err == nil && fmt.Sprint(d.Classes) != c.classes {
			t.Errorf("%s: %+v, %v", c.folder, d, err)
		}
		if files := InputFiles(path); len(files) != c.files || ImageFolder(path) == "" {
			t.Errorf("%s: files %v, folder %q", c.folder, files, ImageFolder(path))
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
