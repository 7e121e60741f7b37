package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"dpnbench/internal/array"
)

// isIDX says whether a file holds an IDX array, by its name.
func isIDX(name string) bool { return idxName.MatchString(strings.ToLower(name)) }

// idxName matches such as images-idx3-ubyte, images.idx3-ubyte, images.idx and images-idx3.
var idxName = regexp.MustCompile(`([-.]ubyte|\.idx|[-.]idx[1-9](-[a-z0-9]+)?)(\.gz)?$`)

// filesOf returns the files of path that have a role and are of a kind, by their names. path is a folder, or one with
// the beginning of names in it, such as gzip/emnist-letters. Of a file and its compressed copy the file is taken.
func filesOf(path string, kind func(name string) bool) (map[role]string, error) {
	dir, names, err := filesIn(path, kind)
	if err != nil {
		return nil, err
	}
	if len(names) == 0 {
		return nil, fmt.Errorf("%s: %w", path, fs.ErrNotExist)
	}
	of, err := assign(path, names)
	for r, name := range of {
		of[r] = filepath.Join(dir, name)
	}
	return of, err
}

// filesIn returns the names of the files of a kind in a folder, or of those with the beginning of names that path ends
// with. Of a file and its copy in gzip only the file counts.
func filesIn(path string, kind func(name string) bool) (dir string, names []string, err error) {
	dir, prefix := path, ""
	entries, err := os.ReadDir(dir)
	if err != nil {
		if _, statErr := os.Stat(path); statErr == nil {
			return "", nil, err // a file
		}
		dir, prefix = filepath.Split(filepath.Clean(path))
		dir = filepath.Clean(dir)
		if entries, err = os.ReadDir(dir); err != nil {
			return "", nil, err
		}
	}
	there := map[string]bool{}
	for _, e := range entries {
		if name := e.Name(); !e.IsDir() && strings.HasPrefix(name, prefix) && kind(name) && !ignored(name) {
			there[name] = true
			names = append(names, name)
		}
	}
	return dir, slices.DeleteFunc(names, func(name string) bool {
		plain, ok := strings.CutSuffix(name, ".gz")
		return ok && there[plain]
	}), nil
}

// readIDXFiles reads IDX files by their roles.
func readIDXFiles(name string, of map[role]string, opt Options) (*content, error) {
	return readRoles(name, of, func(path, what string, n int, opt Options) (opened, error) {
		rank := 0
		if what == labelsOf {
			rank, n = 1, 0
		}
		f, err := loadIDX(path, rank, n, opt)
		if errors.Is(err, fs.ErrNotExist) {
			if _, missing := findIDX(filepath.Split(path)); missing != nil {
				err = missing
			}
		}
		if err != nil {
			return opened{}, err
		}
		total := f.dims[0]
		if n > 0 {
			f.dims[0] = min(n, total)
		}
		a, err := array.InMemory(path, f.kind, f.dims, f.data)
		return opened{a, total, func() error { return nil }, float64(len(f.data))}, err
	}, opt)
}
