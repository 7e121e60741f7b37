package dataset

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// Data is a data set: both splits and what is needed to feed them to a network.
type Data struct {
	Name        string // "digits", "mnist" or the folder it was read from
	Train, Test *Set   // of the same picture size, neither of them empty
	Classes     int    // labels are 0 to Classes-1
	Norm        Normalization
}

// Options says how much of a data set to take.
type Options struct {
	// TrainSize and TestSize are numbers of images. 0 takes all of a folder,
	// and 60,000 and 10,000 built-in digits; otherwise the first so many of a
	// folder, or so many digits.
	TrainSize, TestSize int

	// Seed selects the draw of the built-in digits; folders ignore it.
	Seed uint64
}

// maxDigits bounds what Open draws for a split, 1000 times MNIST's test set and
// 7.8 GB; Digits itself draws any piece of an unbounded sequence.
const maxDigits = 10_000_000

func (o Options) check() error {
	for _, s := range []struct {
		name string
		n    int
	}{{"train size", o.TrainSize}, {"test size", o.TestSize}} {
		if s.n < 0 {
			return fmt.Errorf("%s %d: expected a number of images, or 0 for all", s.name, s.n)
		}
	}
	return nil
}

// Open loads the data set that spec names: "digits" are the built-in digits;
// "mnist" is looked for in the folder that the environment variable DPN_DATA
// names, then in MNISTDir; anything else is a folder for LoadIDX (write
// "./digits" for a folder of that name). An error is one line; it satisfies
// errors.Is(err, fs.ErrNotExist) when a folder or file is missing.
func Open(spec string, opt Options) (*Data, error) {
	switch spec {
	case "":
		return nil, errors.New(`no data set named: expected "digits", "mnist" or a folder`)
	case "digits":
		return openDigits(opt)
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

func openDigits(opt Options) (*Data, error) {
	if err := opt.check(); err != nil {
		return nil, err
	}
	train, test := opt.TrainSize, opt.TestSize
	if train == 0 {
		train = digitsTrain
	}
	if test == 0 {
		test = digitsTest
	}
	if n := max(train, test); n > maxDigits {
		return nil, fmt.Errorf("digits: %d images asked for, expected at most %d a split", n, maxDigits)
	}
	return &Data{
		Name:    "digits",
		Train:   Digits(opt.Seed, 0, train),
		Test:    Digits(opt.Seed, TestFirst, test),
		Classes: 10,
		Norm:    DigitsNorm,
	}, nil
}

// MNISTDir returns the folder in the user's cache directory in which Open looks
// for MNIST and into which a fetch belongs.
func MNISTDir() (string, error) {
	cache, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache directory for MNIST (set DPN_DATA to a folder instead): %w", err)
	}
	return filepath.Join(cache, "dpnbench", "mnist"), nil
}

func openMNIST(opt Options) (*Data, error) {
	var looked []string
	look := func(dir, shown string) (*Data, error) {
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
		strings.Join(looked, ", nor in "), fs.ErrNotExist)
}
