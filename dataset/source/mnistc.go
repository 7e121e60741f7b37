package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"dpnbench/dataset"
)

// mnistcClean is the folder of the clean images in a release of MNIST-C.
const mnistcClean = "identity"

// MNISTCFolder returns the folder of a data set mnist-c:FOLDER, the arrays that Mu and Gilmer have
// published: for each corruption a folder with NPY files train_images, train_labels, test_images and
// test_labels. As a data set it has the clean images, those of identity.
func MNISTCFolder(spec string) (folder string, ok bool) { return strings.CutPrefix(spec, mnistcPrefix) }

const mnistcPrefix = "mnist-c:"

// readMNISTC reads a corruption of a release of MNIST-C.
func readMNISTC(folder, corruption string, opt Options) (*content, error) {
	if info, err := os.Stat(folder); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("mnist-c: no folder %s: %w", folder, fs.ErrNotExist)
	}
	path := filepath.Join(folder, corruption)
	if info, err := os.Stat(path); err != nil || !info.IsDir() {
		return nil, fmt.Errorf("mnist-c: no folder %s in %s (there is %s), expected those of the release: %w",
			corruption, folder, list(entries(folder)), fs.ErrNotExist)
	}
	of, err := filesOf(path, isArrayFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = fmt.Errorf("mnist-c: %s: found %s, expected the files test_images.npy and test_labels.npy: %w", path,
			list(entries(path)), fs.ErrNotExist)
	}
	if err != nil {
		return nil, err
	}
	c, err := readArrayFiles(path, of, opt)
	if err != nil {
		return nil, err
	}
	for _, p := range []*part{c.train, c.test} {
		if p != nil && !p.IsImage() {
			return nil, fmt.Errorf("%s: %v, expected images of bytes, N x 28 x 28 x 1", p.file, p.Shape)
		}
		if p != nil && p.labels == nil {
			return nil, fmt.Errorf("%s: images without labels, expected a file of them beside it", p.file)
		}
	}
	return c, nil
}

// OpenMNISTC loads the test images of a corruption from a release of MNIST-C, such as those of fog. They
// have to have the labels of clean, the test images of the data set mnist-c:FOLDER.
func OpenMNISTC(ctx context.Context, folder, corruption string, clean *dataset.Set,
	opt Options) (*dataset.Set, error) {
	if err := clean.CheckLabelled(); err != nil {
		return nil, fmt.Errorf("clean images: %w", err)
	}
	opt.ctx, opt.TestOnly, opt.TestSize = ctx, true, clean.Len()
	c, err := readMNISTC(folder, corruption, opt)
	if err != nil {
		return nil, err
	}
	d, err := c.data(opt)
	if err != nil {
		return nil, err
	}
	for i, y := range clean.Labels {
		if d.Test.Labels[i] != y {
			return nil, fmt.Errorf("%s: label %d of image %d (counted from 0), expected %d as in %s", c.name,
				d.Test.Labels[i], i, y, filepath.Join(folder, mnistcClean))
		}
	}
	return d.Test, nil
}
