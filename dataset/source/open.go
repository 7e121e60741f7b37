package source

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"dpnbench/dataset"
)

// Options says how much of a data set to load, and how its files are read.
type Options struct {
	// TrainSize and TestSize are numbers of samples: the first N of files, or N built-in
	// digits. 0 takes all of the files, or 60,000 and 10,000 digits.
	TrainSize, TestSize int

	// Seed selects the draw of the built-in digits, and the samples of TestShare.
	Seed uint64

	// TestOnly skips the training samples, which may take seconds to draw or read: Data.Train is
	// nil.
	TestOnly bool

	// Memory is how many bytes the samples may take; 0: no limit. More gives an error before they
	// are drawn, or as soon as it is known.
	Memory float64

	// Classes, Features and Shape, if set, are those of a model. The labels are numbered by Classes, and others
	// refused; columns of a table are chosen by the names of Features, as far as both have names; samples of another
	// Shape are refused.
	Classes, Features []string
	Shape             dataset.Shape

	// Format is one of Formats; empty: by names and content of the files.
	Format string

	// Label is the name or number, from 1, of the column of labels in a table, or "none" to leave out
	// all labels, also of images; empty: the first of label, labels, class, target and y, or else the last.
	Label string

	// LabelIfThere says that Label is that of the table which a model was trained on. Another table may lack it.
	// Without names of columns it counts only if there is one column more than the features of Shape.
	LabelIfThere bool

	// Drop are names or numbers, from 1, of columns of a table that are left out.
	Drop []string

	// DropIfThere says that Drop is that of the table which a model was trained on. Another table may lack its
	// columns. Without names of columns none is dropped if the table has another width than Shape needs.
	DropIfThere bool

	// TestShare is the share of each class of the training samples that becomes the test samples; 1: all samples do.
	TestShare float64

	// AnySplit takes what has only test samples, too: Data.Train is nil then. Otherwise it must have training samples,
	// and MNIST's files must all be there.
	AnySplit bool

	// Rows and Cols, if set, are the size to which images are scaled, and Channels, 1 or 3, what they
	// become. Rows of a table with as many levels become images.
	Rows, Cols, Channels int

	either     bool            // one split will do
	labelled   bool            // an error, if there are no labels: a column that may hold them does
	unlabelled bool            // labels do not matter: they are not read
	ctx        context.Context // nil: never ends
	held       float64         // bytes in memory, which are no longer in Memory
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
			e.Problem = "expected a number of samples, or 0 for all"
			return e
		case e.Size > most:
			e.Problem = fmt.Sprintf("expected at most %d images", most)
			return e
		}
	}
	return nil
}

// skipsTraining says that training samples are not read where there are test samples. A share of them is refused there,
// for which both must be known.
func (o Options) skipsTraining() bool { return o.TestOnly && o.TestShare == 0 }

// givenLabel says whether Label is one for this very table.
func (o Options) givenLabel() bool { return o.Label != "" && !o.LabelIfThere }

// wanted returns how many samples of a split are wanted, the first ones; 0: all, which TestShare needs, because the
// sizes are those after its split.
func (o Options) wanted(split string) int {
	switch {
	case o.TestShare > 0:
		return 0
	case split == testSplit:
		return o.TestSize
	}
	return o.TrainSize
}

// first returns how many of the n samples of a split are wanted.
func (o Options) first(split string, n int) int {
	if size := o.wanted(split); size > 0 {
		return min(size, n)
	}
	return n
}

// Open loads the data set that spec names. "digits" are the built-in digits; "mnist" and
// "fashion-mnist" are searched for in folders of these names in the one that the environment variable
// DPN_DATA names (MNIST before that in it itself), then in CacheDir; "mnist-c:FOLDER" are the clean images of MNIST-C's
// arrays (see OpenMNISTC); anything else is a file or folder in one of
// Formats (write "./digits" for a folder of that name), or two files with a comma between them. An
// error is one line; it satisfies errors.Is(err, fs.ErrNotExist) if a folder or file is missing, and
// is a *SizeError if opt asks for more samples than there are.
func Open(spec string, opt Options) (*dataset.Data, error) {
	return OpenContext(context.Background(), spec, opt)
}

// OpenContext is Open with a context, because drawing many built-in digits, and reading large files, takes a while.
func OpenContext(ctx context.Context, spec string, opt Options) (*dataset.Data, error) {
	opt.ctx = ctx
	if err := checkFor(spec, opt); err != nil {
		return nil, err
	}
	if spec == "digits" {
		return openDigits(ctx, opt)
	}
	if err := opt.check(math.MaxInt32); err != nil {
		return nil, err
	}
	c, err := read(spec, opt)
	if err != nil {
		return nil, err
	}
	return c.data(opt)
}

// Absolute returns a name by which Open finds the same data from any folder.
func Absolute(spec string) (string, error) {
	if spec == "" || spec == "digits" || isNamed(spec) {
		return spec, nil
	}
	if folder, ok := MNISTCFolder(spec); ok {
		path, err := filepath.Abs(folder)
		return mnistcPrefix + path, err
	}
	first, second := pair(spec)
	if second == "" {
		return filepath.Abs(spec)
	}
	first, err := filepath.Abs(first)
	if err != nil {
		return "", err
	}
	second, err = filepath.Abs(second)
	return first + "," + second, err
}

// OpenTraining loads only the training images of a data set or, from a folder without any, the test
// images. Sizes in opt do not count.
func OpenTraining(ctx context.Context, spec string, opt Options) (*dataset.Set, error) {
	if spec == "digits" {
		opt.TrainSize, opt.TestSize, opt.TestShare = 0, 1, 0
		d, err := openDigits(ctx, opt)
		if err != nil {
			return nil, err
		}
		return d.Train, nil
	}
	opt.TrainSize, opt.TestSize, opt.TestShare, opt.TestOnly, opt.either, opt.ctx = 0, 0, 0, false, true, ctx
	opt.labelled = true
	c, err := read(spec, opt)
	if err != nil {
		return nil, err
	}
	if c.train == nil {
		c.train = c.test
	}
	c.test = nil
	d, err := c.data(opt)
	if err != nil {
		return nil, err
	}
	return d.Train, nil
}

// read reads the files that spec names.
func read(spec string, opt Options) (*content, error) {
	if isNamed(spec) {
		return readNamed(spec, opt)
	}
	if folder, ok := MNISTCFolder(spec); ok {
		c, err := readMNISTC(folder, mnistcClean, opt)
		if err == nil {
			c.name = spec
		}
		return c, err
	}
	f, err := detect(spec, opt)
	if errors.Is(err, fs.ErrNotExist) && !strings.ContainsRune(filepath.ToSlash(spec), '/') {
		if _, statErr := os.Stat(spec); statErr != nil {
			return nil, fmt.Errorf("data set %q is neither %s nor a file or folder: %w", spec, quotedNames(),
				fs.ErrNotExist)
		}
	}
	if _, statErr := os.Stat(spec); errors.Is(err, fs.ErrNotExist) && errors.Is(statErr, fs.ErrNotExist) {
		return nil, fmt.Errorf("no file or folder %s: %w", spec, fs.ErrNotExist)
	}
	if err == nil {
		err = f.fits(spec, opt)
	}
	if err != nil {
		return nil, err
	}
	return f.read(spec, opt)
}

// checkFor refuses a format for what has a name, and options about columns of what has none.
func checkFor(spec string, opt Options) error {
	if opt.Format != "" && hasName(spec) {
		return fmt.Errorf("--format: %s has a format of its own, expected a file or folder", spec)
	}
	for _, o := range []struct {
		name string
		set  bool
	}{{"label", opt.givenLabel() && opt.Label != noLabel}, {"drop", len(opt.Drop) > 0 && !opt.DropIfThere}} {
		if o.set && !isTables(spec, opt) {
			return fmt.Errorf("--%s: %s has no columns, expected a table", o.name, spec)
		}
	}
	return nil
}

// isTables says whether spec is read as tables. What cannot be read may be one.
func isTables(spec string, opt Options) bool {
	if hasName(spec) {
		return false
	}
	f, err := detect(spec, opt)
	return err != nil || f.name == "csv" || f.name == "parquet"
}

// hasName says whether spec is the name of a data set, not that of a file or folder.
func hasName(spec string) bool {
	_, ok := MNISTCFolder(spec)
	return ok || spec == "digits" || isNamed(spec)
}

// openDigits draws the built-in digits, in the size and channels of opt.
func openDigits(ctx context.Context, opt Options) (*dataset.Data, error) {
	if opt.TestShare > 0 {
		return nil, fmt.Errorf("--test-share %v: the built-in digits have test images, expected 0", opt.TestShare)
	}
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
		need += float64(s.Size) * opt.digitBytes()
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
	if opt.Label == noLabel {
		d.Test.Labels = nil
		if d.Train != nil {
			d.Train.Labels = nil
		}
	}
	return convertDigits(d, opt)
}

// digitBytes returns how many bytes a digit and its label take, before and after convertDigits.
func (o Options) digitBytes() float64 {
	p := &part{Shape: dataset.Grey(dataset.DigitSide, dataset.DigitSide)}
	p.pixels = make([]byte, p.Shape.Len())
	return p.converted(o) + 2
}

// convertDigits gives the digits the size and channels of opt.
func convertDigits(d *dataset.Data, opt Options) (*dataset.Data, error) {
	if opt.Rows == 0 && opt.Channels == 0 {
		return d, nil
	}
	for _, s := range []*dataset.Set{d.Train, d.Test} {
		if s == nil {
			continue
		}
		p := &part{Shape: s.Shape, file: "digits", pixels: s.Pixels}
		if err := p.convert(opt); err != nil {
			return nil, err
		}
		s.Shape, s.Pixels = p.Shape, p.pixels
	}
	if d.Norm = (dataset.Normalization{}); d.Train != nil {
		d.Norm = dataset.NormalizationOf(d.Train)
	}
	return d, nil
}
