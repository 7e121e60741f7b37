package source

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"

	"dpnbench/dataset"
)

// Standard is the name of a table that OpenSamples reads from its input.
const Standard = "-"

// OpenSamples opens samples for a model of samples of a shape, labelled or not: they are Data.Test. specs are one that
// Open takes, of which the test samples are used if there are any; Standard for a table that comes from in; or image
// files and folders of them, whose names are returned, too. Images are scaled and coloured to the shape, which
// Data.Notes says. Columns of a table with a header are chosen by opt.Features; the last column of others is labels
// only if there is one more than the features of the shape.
func OpenSamples(ctx context.Context, specs []string, in io.Reader, shape dataset.Shape, opt Options) (*dataset.Data,
	[]string, error) {
	opt = opt.like(ctx, shape)
	opt.TrainSize, opt.TestOnly = 0, true // what has no test samples is read whole
	for _, spec := range specs {
		if spec == Standard {
			continue
		}
		if err := checkFor(spec, opt); err != nil {
			return nil, nil, err
		}
	}
	if len(specs) == 1 && specs[0] == "digits" {
		d, before, err := drawnDigits(ctx, opt)
		if err != nil {
			return nil, nil, err
		}
		noteConverted(d, before)
		return d, nil, nil
	}
	if err := opt.check(math.MaxInt32); err != nil {
		return nil, nil, err
	}
	c, names, err := readSamples(specs, in, opt)
	if err != nil {
		return nil, nil, err
	}
	if c.test == nil {
		c.test = c.train
	}
	c.train = nil
	d, err := c.data(opt)
	if errors.As(err, new(*labelError)) {
		err = fmt.Errorf("%w; expected one of these, or --label none", err)
	}
	if err != nil {
		return nil, nil, err
	}
	if names != nil {
		names = names[:d.Test.Len()]
	}
	noteConverted(d, c.test.before)
	return d, names, nil
}

// noteConverted notes from which shape the test images were converted, unless before is empty.
func noteConverted(d *dataset.Data, before string) {
	if before != "" {
		d.Notes = append(d.Notes, fmt.Sprintf("images converted from %s to %v", before, d.Test.Shape))
	}
}

// drawnDigits opens the built-in digits and, if they were converted, returns the shape they were drawn in.
func drawnDigits(ctx context.Context, opt Options) (d *dataset.Data, before string, err error) {
	if d, err = openDigits(ctx, opt); err != nil {
		return nil, "", err
	}
	if drawn := dataset.Grey(dataset.DigitSide, dataset.DigitSide); d.Test.Shape != drawn {
		before = drawn.String()
	}
	return d, before, nil
}

// like returns the options of samples for a model of samples of a shape, to which images are converted.
func (o Options) like(ctx context.Context, shape dataset.Shape) Options {
	o.ctx, o.TestOnly, o.TestShare, o.AnySplit, o.Shape = ctx, false, 0, true, shape
	if shape.IsImage() && (shape.Channels == 1 || shape.Channels == 3) {
		o.Rows, o.Cols, o.Channels = shape.Rows, shape.Cols, shape.Channels
	}
	return o
}

// OpenOther opens samples of another kind than those of a model, which it shall tell from its own. spec is one that
// Open takes, and samples are converted as by OpenSamples. Labels are not read. Data.Test are the test samples or, of
// what has none, all; Data.Train are the training samples of what has both. Of each only the first opt.TestSize and
// opt.TrainSize are kept, if there are more. before is the shape that converted images had, such as "4 x 4 grey";
// empty: none were converted.
func OpenOther(ctx context.Context, spec string, shape dataset.Shape, opt Options) (d *dataset.Data, before string,
	err error) {
	opt = opt.like(ctx, shape)
	opt.unlabelled = true
	if opt.givenLabel() {
		opt.Label = ""
	}
	if spec == "digits" {
		if d, before, err = drawnDigits(ctx, opt); err == nil {
			d.Train.Labels, d.Test.Labels = nil, nil
		}
		return d, before, err
	}
	if err := opt.check(math.MaxInt32); err != nil {
		return nil, "", err
	}
	train, test := opt.TrainSize, opt.TestSize
	opt.TrainSize, opt.TestSize = 0, 0
	c, err := read(spec, opt)
	if err != nil {
		return nil, "", err
	}
	if c.test == nil {
		c.train, c.test = nil, c.train
	}
	c.train.keep(train)
	c.test.keep(test)
	if d, err = c.data(opt); err != nil {
		return nil, "", err
	}
	return d, c.test.before, nil
}

// samplesOfStandard reads a table from standard input.
func samplesOfStandard(in io.Reader, opt Options) (*content, error) {
	const name = "standard input"
	if opt.Format != "" && opt.Format != "csv" {
		return nil, fmt.Errorf("--format %s: %s is a table, expected csv", opt.Format, name)
	}
	b := bufio.NewReader(in)
	for _, magic := range []string{"\x89PNG", "\xff\xd8\xff", "GIF8", "RIFF", "PK\x03\x04", "\x93NUMPY"} {
		if head, _ := b.Peek(len(magic)); string(head) == magic {
			return nil, errors.New(name + ": expected a table, not an image or arrays: name the file instead")
		}
	}
	return samplesOfTable(name, b, opt)
}

// readSamples reads samples, and returns the names of images.
func readSamples(specs []string, in io.Reader, opt Options) (*content, []string, error) {
	if len(specs) == 1 && !isNamed(specs[0]) {
		spec := specs[0]
		if spec == Standard {
			c, err := samplesOfStandard(in, opt)
			return c, nil, err
		}
		f, err := detect(spec, opt)
		switch {
		case err == nil && f.name == "csv":
			c, err := samplesOfTables(spec, opt)
			return c, nil, err
		case err != nil || f.name != "images":
			c, err := read(spec, opt) // or says what is wrong
			return c, nil, err
		}
	} else if len(specs) == 1 {
		c, err := read(specs[0], opt)
		return c, nil, err
	}
	var files []imageFile
	for _, spec := range specs {
		if spec == Standard {
			return nil, nil, errors.New("standard input: expected no other data beside it")
		}
		if hasName(spec) {
			return nil, nil, fmt.Errorf("%s: a data set with a name, expected no other data beside it", spec)
		}
		if f, err := detect(spec, opt); err != nil {
			return nil, nil, err
		} else if f.name != "images" {
			return nil, nil, fmt.Errorf("%s: format %s: expected images or folders of them, or one file", spec, f.name)
		} else if err := f.fits(spec, opt); err != nil {
			return nil, nil, err
		}
		dir := spec
		if test := subfolder(spec, testFolders...); test != "" {
			dir = test
		} else if train := subfolder(spec, trainFolders...); train != "" {
			dir = train
		}
		some, err := imagesIn(dir)
		if err != nil {
			return nil, nil, err
		}
		files = append(files, some...)
	}
	name := specs[0]
	if n := len(specs) - 1; n > 0 {
		name = fmt.Sprintf("%s and %d more", name, n)
	}
	return samplesOfImages(name, files, opt)
}

// samplesOfImages decodes images. They are labelled if all lie in folders of classes.
func samplesOfImages(name string, files []imageFile, opt Options) (*content, []string, error) {
	unlabelled := slices.ContainsFunc(files, func(f imageFile) bool { return f.class == "" })
	names := make([]string, len(files))
	for i := range files {
		names[i] = files[i].path
		if unlabelled {
			files[i].class = ""
		}
	}
	p, err := decodeAll(name, files, opt)
	if err != nil {
		return nil, nil, err
	}
	p.texts, p.folders = classesOfFiles(files), true
	return &content{name: name, test: p}, names, nil
}

// samplesOfTables reads a table or, of a pair or a folder with both, that of the test samples.
func samplesOfTables(spec string, opt Options) (*content, error) {
	train, test, notes, err := tablesOf(spec)
	if err != nil {
		return nil, err
	}
	path := cmp.Or(test, train)
	f, err := openTable(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c, err := samplesOfTable(path, f, opt)
	if err != nil {
		return nil, err
	}
	c.notes = notes
	return c, nil
}

// samplesOfTable reads a table from r.
func samplesOfTable(path string, r io.Reader, opt Options) (*content, error) {
	p, features, err := tableOf(path, r, opt)
	if err != nil {
		return nil, err
	}
	return &content{name: path, test: p, features: features}, nil
}
