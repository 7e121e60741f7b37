package source

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dpnbench/dataset"
)

// The four files of an IDX folder, by MNIST's names.
const (
	trainImages = "train-images-idx3-ubyte"
	trainLabels = "train-labels-idx1-ubyte"
	testImages  = "t10k-images-idx3-ubyte"
	testLabels  = "t10k-labels-idx1-ubyte"
)

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
	for _, name := range []string{trainImages, trainLabels, testImages, testLabels} {
		if _, err := findIDX(dir, name); err == nil {
			return true
		}
	}
	return false
}

// InputFiles returns the files that Open would read of a data set, as far as they exist. The
// built-in digits have none.
func InputFiles(spec string) []string {
	var files []string
	for _, dir := range inputFolders(spec) {
		for _, name := range []string{trainImages, trainLabels, testImages, testLabels} {
			if path, err := findIDX(dir, name); err == nil {
				files = append(files, path)
			}
		}
	}
	return files
}

// inputFolders returns the folders in which Open looks for the files of a data set.
func inputFolders(spec string) []string {
	switch spec {
	case "digits", "":
		return nil
	case "mnist":
	default:
		return []string{spec}
	}
	var folders []string
	if dir := os.Getenv("DPN_DATA"); dir != "" {
		folders = append(folders, dir)
	}
	if dir, err := MNISTDir(); err == nil {
		folders = append(folders, dir)
	}
	return folders
}

// FetchedFiles returns the names under which the files of a data set may be stored in a folder.
func FetchedFiles() []string {
	var names []string
	for _, name := range []string{trainImages, trainLabels, testImages, testLabels} {
		names = append(names, idxVariants(name)...)
	}
	return names
}

// LoadIDX reads a folder with MNIST's file names and format: one byte per pixel, any image size, as
// many classes as the largest label of its files says. Files may be gzip-compressed (detected by content), and the name
// "train-images.idx3-ubyte" is accepted for "train-images-idx3-ubyte". Sizes in opt keep the
// first images of each split; asking for more than there are gives a *SizeError. A file with
// invalid content gives a *FormatError. With opt.TestOnly the training files are not read and
// may be missing.
func LoadIDX(dir string, opt Options) (*dataset.Data, error) {
	if err := opt.check(maxIDX); err != nil {
		return nil, err
	}
	first := trainImages
	if opt.TestOnly {
		first = testImages
	}
	if info, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("folder %s, expected to hold %s and its companions: %w", dir, first, fs.ErrNotExist)
	} else if err != nil {
		return nil, err
	} else if !info.IsDir() {
		return nil, fmt.Errorf("%s is not a folder: expected one that holds %s and its companions", dir, first)
	}
	d := &dataset.Data{Name: filepath.Clean(dir)}
	classes := 0
	if !opt.TestOnly {
		train, n, err := loadSplit(dir, "train", trainImages, trainLabels, opt.TrainSize, opt)
		if err != nil {
			return nil, err
		}
		d.Train, d.Norm, classes = train, dataset.NormalizationOf(train), n
	}
	test, n, err := loadSplit(dir, "test", testImages, testLabels, opt.TestSize, opt)
	if err != nil {
		return nil, err
	}
	d.Test, d.Classes = test, dataset.Numbered(max(classes, n))
	if train := d.Train; train != nil && train.Shape != test.Shape {
		path, err := findIDX(dir, testImages)
		if err != nil {
			return nil, err
		}
		return nil, &FormatError{File: path, Offset: 8, Problem: fmt.Sprintf(
			"images of %d x %d pixels, expected %d x %d as in the training images",
			test.Rows, test.Cols, train.Rows, train.Cols)}
	}
	return d, nil
}

// loadSplit reads the first n images of a split and their labels; n = 0: all. Labels are read
// first: the file is small and says how many images to expect. classes is the largest label of the
// file + 1.
func loadSplit(dir, split, imagesName, labelsName string, n int, opt Options) (s *dataset.Set, classes int, err error) {
	labelsPath, err := findIDX(dir, labelsName)
	if err != nil {
		return nil, 0, err
	}
	imagesPath, err := findIDX(dir, imagesName)
	if err != nil {
		return nil, 0, err
	}
	labels, err := loadIDX(labelsPath, 1, 0, opt)
	if err != nil {
		return nil, 0, err
	}
	images, err := loadIDX(imagesPath, 3, n, opt)
	if err != nil {
		return nil, 0, err
	}
	count := images.dims[0]
	if count != labels.dims[0] {
		return nil, 0, &FormatError{File: imagesPath, Offset: 4, Problem: fmt.Sprintf(
			"%d images, expected %d as there are labels in %s", count, labels.dims[0], filepath.Base(labelsPath))}
	}
	if n > count {
		return nil, 0, &SizeError{Split: split, Size: n, Problem: fmt.Sprintf("%s holds %d images", imagesPath, count)}
	}
	if n == 0 {
		n = count
	}
	s = &dataset.Set{
		Shape:  dataset.Grey(images.dims[1], images.dims[2]),
		Pixels: images.data,
		Labels: make([]uint16, n),
	}
	for i, y := range labels.data {
		classes = max(classes, int(y)+1)
		if i < n {
			s.Labels[i] = uint16(y)
		}
	}
	return s, classes, nil
}
