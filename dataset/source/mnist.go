package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// The four files of an IDX folder, by MNIST's names.
const (
	trainImages = "train-images-idx3-ubyte"
	trainLabels = "train-labels-idx1-ubyte"
	testImages  = "t10k-images-idx3-ubyte"
	testLabels  = "t10k-labels-idx1-ubyte"
)

// idxFiles are these files.
var idxFiles = []struct {
	role
	name string
}{
	{role{trainSplit, samplesOf}, trainImages},
	{role{trainSplit, labelsOf}, trainLabels},
	{role{testSplit, samplesOf}, testImages},
	{role{testSplit, labelsOf}, testLabels},
}

// idxVariants returns the file names under which name is looked for, in order.
func idxVariants(name string) []string {
	dotted := strings.Replace(name, "-idx", ".idx", 1)
	return []string{name, name + ".gz", dotted, dotted + ".gz"}
}

// findIDX returns the path of the file called name, or a variant of it, in dir. Archives are often
// unpacked to folders with the names of their files: a folder is passed over, or if the file is
// in it, taken for the file.
func findIDX(dir, name string) (string, error) {
	var blocked string
	for _, v := range idxVariants(name) {
		path := filepath.Join(dir, v)
		info, err := os.Stat(path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return "", err
		case !info.IsDir():
			return path, nil
		default:
			for _, v := range idxVariants(name) {
				inner := filepath.Join(path, v)
				if info, err := os.Stat(inner); err == nil && !info.IsDir() {
					return inner, nil
				}
			}
			blocked = path
		}
	}
	if blocked != "" {
		return "", fmt.Errorf("%s is a folder without that file: %w", blocked, fs.ErrNotExist)
	}
	return "", fmt.Errorf("folder %s holds no %s, with or without .gz: %w", dir, name, fs.ErrNotExist)
}

// holdsIDX reports whether at least one of the four files is in dir.
func holdsIDX(dir string) bool {
	for _, f := range idxFiles {
		if _, err := findIDX(dir, f.name); err == nil {
			return true
		}
	}
	return false
}

// FetchedFiles returns the names under which the files of a data set may be stored in a folder.
func FetchedFiles() []string {
	var names []string
	for _, f := range idxFiles {
		names = append(names, idxVariants(f.name)...)
	}
	return names
}

// idxRoles returns the IDX files that opt needs of a folder, with MNIST's names or others like them that say which file
// has the images and labels of which split. Of MNIST's files none may be missing.
func idxRoles(dir string, opt Options) (map[role]string, error) {
	first := trainImages
	if _, missing := findIDX(dir, testImages); opt.TestOnly && opt.TestShare == 0 && (missing == nil || !opt.AnySplit) {
		first = testImages
	}
	if !holdsIDX(dir) {
		if of, err := filesOf(dir, isIDX); !errors.Is(err, fs.ErrNotExist) {
			return of, err
		}
	}
	skip := ""
	if opt.either {
		skip = testSplit
		if _, err := findIDX(dir, trainImages); err != nil {
			skip = trainSplit
		}
	}
	of := map[role]string{}
	for _, i := range []int{1, 0, 3, 2} { // labels first, whose lack is noticed less easily
		f := idxFiles[i]
		if skip == f.split || f.split == trainSplit && first == testImages {
			continue
		}
		path, err := findIDX(dir, f.name)
		if errors.Is(err, fs.ErrNotExist) && (opt.AnySplit || f.split == testSplit && opt.TestShare > 0) {
			continue
		}
		if err != nil && f.split == testSplit && first != testImages {
			path, err = filepath.Join(dir, f.name), nil // missed once the training images are read
		}
		if err != nil {
			return nil, err
		}
		of[f.role] = path
	}
	if len(of) == 0 {
		return nil, fmt.Errorf("folder %s: expected IDX files, with names like %s or train-images.idx", dir,
			trainImages)
	}
	return of, nil
}
