package source

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"

	"dpnbench/dataset"
)

// Standard is the name of a table that OpenSamples reads from its input.
const Standard = "-"

// OpenSamples opens samples for a model of samples of a shape, labelled or not: they are Data.Test. specs are one that
// Open takes, of which the test samples are used if there are any; Standard for a table that comes from in; or image
// files and folders of them, whose names are returned, too. Images are scaled and coloured to the shape. Columns of a
// table with a header are chosen by opt.Features; the last column of others is labels only if there is one more than
// the features of the shape.
func OpenSamples(ctx context.Context, specs []string, in io.Reader, shape dataset.Shape, opt Options) (*dataset.Data,
	[]string, error) {
	opt.ctx, opt.TrainSize, opt.TestOnly, opt.TestShare, opt.Shape = ctx, 0, false, 0, shape
	if shape.IsImage() && (shape.Channels == 1 || shape.Channels == 3) {
		opt.Rows, opt.Cols, opt.Channels = shape.Rows, shape.Cols, shape.Channels
	}
	for _, spec := range specs {
		if opt.Label == noLabel || spec == Standard {
			continue
		}
		if err := needColumns(spec, opt); err != nil {
			return nil, nil, err
		}
	}
	if len(specs) == 1 && specs[0] == "digits" {
		opt.TestOnly = true
		d, err := openDigits(ctx, opt)
		return d, nil, err
	}
	if err := opt.check(1 << 31); err != nil {
		return nil, nil, err
	}
	c, names, err := readSamples(specs, in, opt)
	if err != nil {
		return nil, nil, err
	}
	if c.test == nil {
		c.test = c.train
	}
	c.train, opt.TestOnly = nil, true
	if opt.Label == noLabel {
		c.test.labels, c.test.texts = nil, nil
	}
	d, err := c.data(opt)
	if errors.As(err, new(*labelError)) {
		err = fmt.Errorf("%w; expected one of these, or the label none", err)
	}
	if err != nil {
		return nil, nil, err
	}
	if names != nil {
		names = names[:d.Test.Len()]
	}
	return d, names, nil
}

// samplesOfStandard reads a table from standard input.
func samplesOfStandard(in io.Reader, opt Options) (*content, error) {
	const name = "standard input"
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
