package source

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"dpnbench/dataset"
	"dpnbench/engine"
	"dpnbench/internal/array"
	"dpnbench/internal/parallel"
)

// readArrays reads the arrays of an NPZ or safetensors file.
func readArrays(path string, opt Options) (*content, error) {
	var names []string // of an NPZ file, also of arrays that are not wanted
	want := func(name string) bool {
		names = append(names, name)
		_, ok := roleOf(name)
		return ok
	}
	f, err := array.Open(path, array.Options{Memory: opt.Memory, Texts: true, Want: want, Format: opt.Format})
	if err != nil && len(names) > 0 && len(withoutRole(names)) == len(names) { // none was wanted
		_, err = assign(path, names)
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	arrays := map[string]*array.Array{}
	for _, a := range f.Arrays {
		if arrays[a.Name] = a; !slices.Contains(names, a.Name) {
			names = append(names, a.Name)
		}
	}
	of, err := assign(path, names)
	if err != nil {
		return nil, err
	}
	c, err := readRoles(path, of, func(name, _ string, _ int, _ Options) (opened, error) {
		return opened{arrays[name], arrays[name].Len(), func() error { return nil }, 0}, nil
	}, opt.less(f.Memory()))
	if err != nil {
		return nil, err
	}
	c.notes = leftOut("array", withoutRole(names), noRole)
	return c, nil
}

// readArrayFiles reads NPY files, or NPZ files of one array each, by their roles.
func readArrayFiles(name string, of map[role]string, opt Options) (*content, error) {
	return readRoles(name, of, func(path, _ string, _ int, opt Options) (opened, error) {
		f, err := array.Open(path, array.Options{Memory: opt.Memory, Texts: true})
		if err != nil {
			return opened{}, err
		}
		if len(f.Arrays) != 1 {
			f.Close()
			return opened{}, fmt.Errorf("%s: %d arrays, expected one", path, len(f.Arrays))
		}
		return opened{f.Arrays[0], f.Arrays[0].Len(), f.Close, f.Memory()}, nil
	}, opt)
}

// opened is an array of which only the first rows may be there; total is the number of all.
type opened struct {
	*array.Array
	total int
	done  func() error
	held  float64 // bytes in memory until then
}

// opener opens an array, or only its first n rows, by its name and what it is. 0: all rows.
type opener func(name, what string, n int, opt Options) (opened, error)

// readRoles reads the arrays of all roles.
func readRoles(name string, of map[role]string, open opener, opt Options) (*content, error) {
	c := &content{name: name}
	for _, split := range []struct {
		name string
		to   **part
	}{{trainSplit, &c.train}, {testSplit, &c.test}} {
		x := of[role{split.name, samplesOf}]
		if x == "" || split.name == trainSplit && opt.skipsTraining() && of[role{testSplit, samplesOf}] != "" {
			continue
		}
		p, err := readPart(x, open, opt.wanted(split.name), opt)
		if err != nil {
			return nil, err
		}
		if y := of[role{split.name, labelsOf}]; y != "" && !opt.unlabelled && opt.Label != noLabel {
			if err := p.readLabels(y, open, opt); err != nil {
				return nil, err
			}
		}
		*split.to = p
		opt = opt.less(p.bytes())
	}
	for _, t := range []struct {
		what string
		to   *[]string
	}{{classesOf, &c.classes}, {featureOf, &c.features}} {
		if n := of[role{what: t.what}]; n != "" {
			a, err := open(n, t.what, 0, opt)
			if err != nil {
				return nil, err
			}
			*t.to, err = a.Texts()
			a.done()
			if err != nil {
				return nil, err
			}
		}
	}
	if c.train != nil && c.features != nil && len(c.features) != c.train.Features && !c.train.IsImage() {
		return nil, fmt.Errorf("%s: %d names of features, expected %d", name, len(c.features), c.train.Features)
	}
	for _, p := range c.parts() {
		if p.noLevel != nil && slices.ContainsFunc(c.parts(), func(p *part) bool { return p.IsImage() }) {
			return nil, p.noLevel // the other split has images
		}
	}
	seen := map[string]int{}
	for i, feature := range c.features { // as the columns of a table, which the model may be given
		if first, ok := seen[feature]; ok && feature != "" {
			return nil, fmt.Errorf("%s: features %d and %d (counted from 0) are both called %.60q", name, first, i,
				feature)
		}
		seen[feature] = i
	}
	return c, nil
}

// grid is the shape of images that the dimensions of an array may mean: none, without rows. last says that the channels
// are the last dimension.
type grid struct {
	dataset.Shape
	last bool
}

func gridOf(s []int) grid {
	switch {
	case len(s) == 3:
		return grid{dataset.Grey(s[1], s[2]), false}
	case len(s) == 4 && (s[3] == 1 || s[3] == 3):
		return grid{dataset.Shape{Rows: s[1], Cols: s[2], Channels: s[3]}, true}
	case len(s) == 4 && (s[1] == 1 || s[1] == 3):
		return grid{dataset.Shape{Rows: s[2], Cols: s[3], Channels: s[1]}, false}
	}
	return grid{}
}

// readPart reads the first n samples; all with n = 0.
func readPart(name string, open opener, n int, opt Options) (*part, error) {
	a, err := open(name, samplesOf, n, opt)
	if err != nil {
		return nil, err
	}
	defer a.done()
	opt = opt.less(a.held)
	p := &part{file: a.Title(), total: a.total, grid: gridOf(a.Shape)}
	rows := a.Len()
	if n > 0 {
		rows = min(rows, n)
	}
	whole := len(a.DType) == 3 && strings.ContainsAny(a.DType[1:2], "ui")
	switch {
	case whole && p.grid.Rows > 0:
		p.Shape = p.grid.Shape
	case whole && len(a.Shape) == 4:
		return nil, fmt.Errorf("%s: shape %v: expected images of 1 or 3 channels", p.file, a.Shape)
	default:
		p.Shape = dataset.Vector(a.Width())
	}
	fits := func(bytes float64) error {
		if problem := opt.tooLarge(bytes * float64(rows) * float64(a.Width())); problem != "" {
			return fmt.Errorf("%s: shape %v: %s", p.file, a.Shape, problem)
		}
		return nil
	}
	if p.IsImage() {
		if err := fits(1); err != nil {
			return nil, err
		}
		p.pixels = engine.Bytes(rows * a.Width())
		err := inParallel(opt, rows, a.Width(), func(lo, hi int) error {
			return p.readPixels(a.Array, lo, hi, p.grid.last)
		})
		if !errors.As(err, &p.noLevel) {
			if slices.Contains(p.pixels, 1) && slices.Max(p.pixels) == 1 {
				p.notes = append(p.notes, p.file+": images of levels 0 and 1 of 255, nearly black: multiply them by "+
					"255 if 1 is white, as it is in arrays of truths or fractions")
			}
			return p, err
		}
		p.Shape, p.pixels = dataset.Vector(a.Width()), nil // as other numbers
	}
	if err := fits(4); err != nil {
		return nil, err
	}
	p.values = engine.AlignedFloats(rows * a.Width())
	return p, inParallel(opt, rows, a.Width(), func(lo, hi int) error { return p.readValues(a.Array, lo, hi) })
}

// levelError is of whole numbers that are no levels of an image, 0 to 255.
type levelError struct{ text string }

func (e *levelError) Error() string { return e.text }

// inParallel calls f for ranges of n rows of the given width, on all cores, and returns the error of the first range.
func inParallel(opt Options, n, width int, f func(lo, hi int) error) error {
	const numbers = 1 << 20 // of a range
	rows := max(1, numbers/max(width, 1))
	errs := make([]error, (n+rows-1)/rows)
	parallel.Each(len(errs), 0, func(k int) {
		if errs[k] = opt.stopped(); errs[k] == nil {
			errs[k] = f(k*rows, min(n, (k+1)*rows))
		}
	})
	return cmp.Or(errs...)
}

func (p *part) readValues(a *array.Array, lo, hi int) error {
	d := a.Width()
	x := p.values[lo*d : hi*d]
	if err := a.ReadFloats(x, lo); err != nil {
		return err
	}
	for i, v := range x {
		if v-v != 0 { // infinite or NaN
			row, j := lo+i/d, i%d
			wide := make([]float64, d) // the number in the file may be finite
			if err := a.ReadRows(wide, row); err != nil {
				return err
			}
			return fmt.Errorf("%s: row %d, feature %d (both counted from 0): %v: expected a finite number of float32",
				p.file, row, j, wide[j])
		}
	}
	return nil
}

// readPixels reads rows of levels, whose channels are the last dimension or the first one.
func (p *part) readPixels(a *array.Array, lo, hi int, last bool) error {
	d := a.Width()
	x := p.pixels[lo*d : hi*d]
	if a.DType == "|u1" {
		if err := a.ReadBytes(x, lo); err != nil {
			return err
		}
	} else {
		wide := make([]float32, len(x))
		if err := a.ReadFloats(wide, lo); err != nil {
			return err
		}
		for i, v := range wide {
			if v < 0 || v > 255 {
				return &levelError{fmt.Sprintf("%s: row %d (counted from 0): %v: expected levels of an image, 0 to "+
					"255", p.file, lo+i/d, v)}
			}
			x[i] = byte(v)
		}
	}
	if last && p.Channels > 1 {
		planar(x, d, p.Channels)
	}
	return nil
}

// planar moves the channels of images of d numbers, which are interleaved, behind each other.
func planar(x []byte, d, channels int) {
	one, plane := make([]byte, d), d/channels
	for ; len(x) > 0; x = x[d:] {
		copy(one, x)
		for c := range channels {
			for j := range plane {
				x[c*plane+j] = one[j*channels+c]
			}
		}
	}
}

// readLabels reads labels: whole numbers, texts, or rows that are 1 at their class and else 0.
func (p *part) readLabels(name string, open opener, opt Options) error {
	a, err := open(name, labelsOf, 0, opt)
	if err != nil {
		return err
	}
	defer a.done()
	if a.total != p.total {
		return &FormatError{File: p.file, Offset: -1, Problem: fmt.Sprintf("%d %s, expected %d as there "+
			"are labels in %s", p.total, p.Samples(), a.total, a.Title())}
	}
	if p.texts, err = a.Texts(); err == nil {
		return a.CheckLabels(p.texts)
	}
	p.labels = make([]int, a.Len())
	if err := p.readClasses(a.Array, 0, min(1, a.Len())); err != nil { // of what has no labels all rows are wrong
		return err
	}
	return inParallel(opt, a.Len(), a.Width(), func(lo, hi int) error { return p.readClasses(a.Array, lo, hi) })
}

// readClasses reads the labels of the rows [lo, hi) that are numbers.
func (p *part) readClasses(a *array.Array, lo, hi int) error {
	values := make([]float64, (hi-lo)*a.Width())
	if err := a.ReadRows(values, lo); err != nil {
		return err
	}
	for i := lo; i < hi; i++ {
		row := values[(i-lo)*a.Width() : (i-lo+1)*a.Width()]
		v := row[0]
		if len(row) > 1 {
			hot := slices.Index(row, 1)
			for j, w := range row {
				if hot < 0 || w != 0 && j != hot {
					return fmt.Errorf("%s: row %d (counted from 0): expected one label a row, or a 1 among zeros",
						a.Title(), i)
				}
			}
			v = float64(hot)
		}
		var ok bool
		if p.labels[i], ok = array.Label(v); !ok {
			return fmt.Errorf("%s: row %d (counted from 0): label %v: %s", a.Title(), i, v, array.ExpectedLabel)
		}
	}
	return nil
}

// readArrayPair reads an NPY file of samples and, if path names two with a comma between them, one of labels.
func readArrayPair(path string, opt Options) (*content, error) {
	x, y := pair(path)
	of := map[role]string{{trainSplit, samplesOf}: x}
	if y != "" {
		of[role{trainSplit, labelsOf}] = y
	}
	return readArrayFiles(path, of, opt)
}

// isArrayFile says whether a file of a folder holds an array.
func isArrayFile(name string) bool {
	ext := strings.ToLower(filepath.Ext(name))
	return ext == ".npy" || ext == ".npz"
}
