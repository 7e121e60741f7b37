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

// Options says how much of a data set to load.
type Options struct {
	// TrainSize and TestSize are numbers of images: the first N of a folder, or N built-in
	// digits. 0 takes all of a folder, or 60,000 and 10,000 digits.
	TrainSize, TestSize int

	// Seed selects the draw of the built-in digits; folders ignore it.
	Seed uint64

	// TestOnly skips the training images, which take seconds to draw or read: Data.Train is
	// nil.
	TestOnly bool

	// Memory is how many bytes the images may take; 0: no limit. More gives an error before they
	// are drawn or read.
	Memory float64
}

// maxDigits bounds what Open draws for a split: 1000 times MNIST's test set, 7.8 GB.
// dataset.Digits itself has no limit.
const maxDigits = 10_000_000

// SizeError reports that a data set has fewer images than Options asks for.
type SizeError struct {
	Split   string // "train" or "test"
	Size    int    // TrainSize or TestSize of the Options
	Problem string // what was found or expected
}

func (e *SizeError) Error() string { return fmt.Sprintf("%s size %d: %s", e.Split, e.Size, e.Problem) }

// check refuses sizes below 0 or above most.
func (o Options) check(most int) error {
	for _, e := range []*SizeError{{Split: "train", Size: o.TrainSize}, {Split: "test", Size: o.TestSize}} {
		switch {
		case e.Size < 0:
			e.Problem = "expected a number of images, or 0 for all"
			return e
		case e.Size > most:
			e.Problem = fmt.Sprintf("expected at most %d images", most)
			return e
		}
	}
	return nil
}

// Open loads the data set that spec names. "digits" are the built-in digits; "mnist" is
// searched for in the folder named by the environment variable DPN_DATA, then in MNISTDir;
// anything else is a folder for LoadIDX (write "./digits" for a folder of that name). An error
// is one line; it satisfies errors.Is(err, fs.ErrNotExist) if a folder or file is missing, and
// is a *SizeError if opt asks for more images than there are.
func Open(spec string, opt Options) (*dataset.Data, error) {
	return OpenContext(context.Background(), spec, opt)
}

// OpenContext is Open with a context, because drawing many built-in digits takes a while.
func OpenContext(ctx context.Context, spec string, opt Options) (*dataset.Data, error) {
	switch spec {
	case "":
		return nil, errors.New(`no data set named: expected "digits", "mnist" or a folder`)
	case "digits":
		return openDigits(ctx, opt)
	case "mnist":
		return openMNIST(opt)
	}
	d, err := LoadIDX(spec, opt)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsRune(filepath.ToSlash(spec), '/') {
		if _, statErr := os.Stat(spec); statErr != nil {
			return nil, fmt.Errorf(`data set %q is neither "digits" nor "mnist" nor a folder: %w`, spec, fs.ErrNotExist)
		}
	}
	return d, err
}

// OpenTraining loads only the training images of a data set or, from a folder without any, the test
// images. Sizes in opt do not count.
func OpenTraining(ctx context.Context, spec string, opt Options) (*dataset.Set, error) {
	if spec == "digits" {
		opt.TrainSize, opt.TestSize = 0, 1
		d, err := openDigits(ctx, opt)
		if err != nil {
			return nil, err
		}
		return d.Train, nil
	}
	for _, dir := range inputFolders(spec) {
		for _, s := range []struct{ split, images, labels string }{
			{"train", trainImages, trainLabels}, {"test", testImages, testLabels}} {
			if _, err := findIDX(dir, s.images); err == nil {
				set, _, err := loadSplit(dir, s.split, s.images, s.labels, 0, opt)
				return set, err
			}
		}
	}
	if spec == "mnist" {
		_, err := openMNIST(opt) // says where it was looked for
		return nil, err
	}
	return nil, fmt.Errorf(`neither "digits" nor "mnist" nor a folder with %s and %s, or the test images: %w`,
		trainImages, trainLabels, fs.ErrNotExist)
}

func openDigits(ctx context.Context, opt Options) (*dataset.Data, error) {
	if err := opt.check(maxDigits); err != nil {
		return nil, err
	}
	train, test := opt.TrainSize, opt.TestSize
	if train == 0 {
		train = dataset.DigitsTrain
	}
	if test == 0 {
		test = dataset.DigitsTest
	}
	var need float64
	for _, s := range []*SizeError{{Split: "test", Size: test}, {Split: "train", Size: train}} {
		if s.Split == "train" && opt.TestOnly {
			continue
		}
		need += float64(s.Size * (dataset.DigitSide*dataset.DigitSide + 2))
		if problem := opt.tooLarge(need); problem != "" {
			s.Problem = problem
			return nil, s
		}
	}
	d := &dataset.Data{Name: "digits", Classes: dataset.Numbered(10), Norm: dataset.DigitsNorm}
	var err error
	if !opt.TestOnly {
		if d.Train, err = dataset.DigitsContext(ctx, opt.Seed, 0, train); err != nil {
			return nil, err
		}
	}
	if d.Test, err = dataset.DigitsContext(ctx, opt.Seed, dataset.TestFirst, test); err != nil {
		return nil, err
	}
	return d, nil
}

// MNISTDir returns the folder in the user's cache directory where Open searches for MNIST and
// where package fetch should put it.
func MNISTDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory for MNIST (set DPN_DATA to a folder instead): %w", err)
	}
	return filepath.Join(cache, "dpnbench", "mnist"), nil
}

func openMNIST(opt Options) (*dataset.Data, error) {
	var looked []string
	look := func(dir, shown string) (*dataset.Data, error) {
		if !holdsIDX(dir) {
			looked = append(looked, shown)
			return nil, nil
		}
		d, err := LoadIDX(dir, opt)
		if err != nil {
			return nil, err
		}
		d.Name = "mnist"
		return d, nil
	}
	if dir := os.Getenv("DPN_DATA"); dir != "" {
		if d, err := look(dir, dir+" (DPN_DATA)"); d != nil || err != nil {
			return d, err
		}
	}
	if dir, err := MNISTDir(); err != nil {
		looked = append(looked, err.Error())
	} else if d, err := look(dir, dir); d != nil || err != nil {
		return d, err
	}
	return nil, fmt.Errorf("no MNIST in %s (run \"dpnbench data fetch mnist\", or set DPN_DATA to its folder): %w",
		strings.Join(looked, " or "), fs.ErrNotExist)
}
