package source

import (
	"cmp"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"dpnbench/dataset"
	"dpnbench/internal/array"
	"dpnbench/internal/regular"
)

// Settings of Label, to read no labels, and of the flag for Drop, to drop no columns.
const (
	noLabel   = "none"
	noColumns = "none"
)

// tablesOf returns the tables of training and of test samples that path names, empty for none: those of a folder, two
// with a comma between them, or one. Notes say which files of a folder are left out.
func tablesOf(path string) (train, test string, notes []string, err error) {
	if !holds(path, isTable) {
		train, test = pair(path)
		return train, test, nil, nil
	}
	files, notes, err := splitFiles(path, isTable)
	if err != nil {
		return "", "", nil, err
	}
	names := append(files[trainSplit], files[testSplit]...)
	if len(names) == 0 || len(files[trainSplit]) > 1 || len(files[testSplit]) > 1 {
		return "", "", nil, fmt.Errorf("folder %s: found %s: expected train.csv and test.csv, or one file for --data",
			path, list(names))
	}
	for _, name := range files[trainSplit] {
		train = name
	}
	for _, name := range files[testSplit] {
		test = name
	}
	return train, test, notes, nil
}

// readTables reads the CSV or TSV files that path names.
func readTables(path string, opt Options) (*content, error) {
	train, test, notes, err := tablesOf(path)
	if err != nil {
		return nil, err
	}
	c := &content{name: path, notes: notes}
	if train != "" {
		if c.train, c.features, err = readTable(train, opt); err != nil {
			return nil, err
		}
		opt = opt.less(c.train.bytes())
	}
	if test == "" {
		return c, nil
	}
	var features []string
	if c.test, features, err = readTable(test, opt); err != nil {
		return nil, err
	}
	if c.train == nil {
		c.features = features
	} else if !slices.Equal(features, c.features) && features != nil && c.features != nil {
		return nil, fmt.Errorf("%s: other columns than in %s: %s", test, train, difference(features, c.features))
	}
	return c, nil
}

// difference says where names of features differ from those that are expected.
func difference(names, want []string) string {
	for i, name := range names {
		if i < len(want) && name != want[i] {
			return fmt.Sprintf("feature %d (counted from 0) is %.60q, expected %.60q", i, name, want[i])
		}
	}
	return fmt.Sprintf("%d features, expected %d", len(names), len(want))
}

// pair returns the files that path names: one that is there, or two with a comma between them.
func pair(path string) (first, second string) {
	first, second, ok := strings.Cut(path, ",")
	switch {
	case !ok || exists(path):
		return path, ""
	case second == "":
		return first, ""
	}
	return first, beside(first, second)
}

// beside returns the second of a pair, which may be in the folder of the first.
func beside(first, second string) string {
	if _, err := os.Stat(second); err != nil && !filepath.IsAbs(second) {
		if path := filepath.Join(filepath.Dir(first), second); exists(path) {
			return path
		}
	}
	return second
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}

// readTable reads one table.
func readTable(path string, opt Options) (*part, []string, error) {
	f, err := openTable(path)
	if err != nil {
		return nil, nil, err
	}
	defer f.Close()
	return tableOf(path, f, opt)
}

func openTable(path string) (*os.File, error) {
	f, _, err := regular.Open(path)
	return f, err
}

// tableOf reads a table from r; path is for errors. It returns the names of the features, too.
func tableOf(path string, r io.Reader, opt Options) (*part, []string, error) {
	c := &columns{opt: opt}
	skip := c.skip
	if opt.unlabelled {
		skip = c.skipLabels
	}
	drop := dropHint
	if opt.Features != nil {
		drop = "" // other columns are left out by their names
	}
	t, err := array.ReadTable(path, opt.reader(r), array.TableOptions{Skip: skip, Column: c.label,
		Header: c.header(), Named: func() bool { return c.named },
		Unnamed: func() { *c = columns{opt: opt, unnamed: true} },
		Guess:   func() bool { return c.guessed }, Hint: drop, Other: labelHint(opt), Finite: true,
		Narrow: true, Memory: opt.Memory})
	if err != nil {
		return nil, nil, err
	}
	names := t.NumberNames()
	p := &part{file: path, values: t.Floats(), line: t.Line}
	width := len(p.values) / t.Rows
	if t.Column >= 0 {
		p.texts = t.Texts
	}
	switch {
	case c.named:
		arrange(p.values, names, opt.Features)
		names = opt.Features
		if c.guessed && !opt.labelled && !p.knows(opt.Classes) {
			c.unused = append(c.unused, t.Names[t.Column])
			c.at, p.texts = -1, nil
		}
	case array.HasIndex(names, p.values):
		c.numbers = append(c.numbers, cmp.Or(names[0], "1"))
		p.values, names = array.DropFirst(p.values, width), names[1:]
		width--
	}
	c.note(p)
	if width == 0 {
		return nil, nil, fmt.Errorf("%s: expected columns of features beside the one of labels, with "+
			"commas, semicolons or tabs between them", path)
	}
	if n := opt.Shape.Len(); n > 0 && width != n {
		return nil, nil, fmt.Errorf("%s: %d columns of numbers, expected the %d of a sample of the model (%v)", path,
			width, n, opt.Shape)
	}
	p.Shape = dataset.Vector(width)
	if p.texts != nil {
		hint := "--label COLUMN takes another column"
		if c.guessed {
			hint += ", --label none none"
		}
		if err := t.CheckLabels(hint); err != nil {
			return nil, nil, err
		}
	}
	return p, names, nil
}

// knows says whether any label is the name of a class.
func (p *part) knows(classes []string) bool {
	all := map[string]bool{}
	for _, s := range classes {
		all[s] = true
	}
	return slices.ContainsFunc(p.texts, func(s string) bool {
		if y, ok := array.TextLabel(s); ok {
			s = strconv.Itoa(y)
		}
		return all[s]
	})
}
