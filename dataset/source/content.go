package source

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"dpnbench/dataset"
	"dpnbench/internal/array"
)

// content is what a reader found.
type content struct {
	name        string
	train, test *part    // nil: there is none
	classes     []string // label y of a part is classes[y]; nil: they follow from the labels
	features    []string // of vectors
	notes       []string // what a user should know, see dataset.Data
}

// part is one split.
type part struct {
	dataset.Shape
	file    string      // for errors
	pixels  []byte      // of images, as in a Set
	values  []float32   // of vectors
	grid    grid        // of an array that may hold images
	noLevel *levelError // why one of whole numbers does not
	labels  []int       // nil: not labelled, or texts
	texts   []string    // labels that are names
	folders bool        // they are those of folders
	total   int         // samples of the file, if only the first of them are here
	notes   []string    // what a user should know of it
	before  string      // the shape of images that were converted to another; empty: they were not
	files   []opening   // of a split in several files, in their order, as they are read

	line func(sample int) int // of a table: the number of the line, from 1; nil: it is none
}

// opening is where the samples of a file begin in a part.
type opening struct {
	file  string
	first int
}

// sample names a sample as it is read, for errors: its file, and its line or its number in it.
func (p *part) sample(i int) (file, where string) {
	if p.line != nil {
		return p.file, fmt.Sprintf("line %d", p.line(i))
	}
	file, number := p.file, i
	for _, o := range p.files {
		if o.first <= i {
			file, number = o.file, i-o.first
		}
	}
	return file, fmt.Sprintf("sample %d (counted from 0)", number)
}

// leftOut says that files, arrays or columns are not used; none without names.
func leftOut(what string, names []string, why string) []string {
	if len(names) == 0 {
		return nil
	}
	if len(names) > 1 {
		what += "s"
	}
	return []string{fmt.Sprintf("left out: %s %s: %s", what, list(names), why)}
}

// note is leftOut for a part.
func (p *part) note(what string, names []string, why string) {
	p.notes = append(p.notes, leftOut(what, names, why)...)
}

// keep keeps the first n samples, all with n = 0, without labels. p may be nil.
func (p *part) keep(n int) {
	if p == nil {
		return
	}
	p.labels, p.texts = nil, nil
	switch {
	case n == 0 || n >= p.size():
	case p.IsImage():
		p.pixels = p.pixels[:n*p.Shape.Len()]
	default:
		p.values = p.values[:n*p.Shape.Len()]
	}
}

// size returns the number of samples.
func (p *part) size() int {
	if p.IsImage() {
		return len(p.pixels) / p.Shape.Len()
	}
	return len(p.values) / p.Shape.Len()
}

// data returns what opt asks for of the content. The seed of opt says which samples become test samples.
func (c *content) data(opt Options) (*dataset.Data, error) {
	if c.train == nil && c.test == nil {
		return nil, fmt.Errorf("%s: expected samples", c.name)
	}
	if err := c.fits(opt); err != nil {
		return nil, err
	}
	if err := c.pixels(opt); err != nil {
		return nil, err
	}
	for _, p := range c.parts() {
		if opt.Label == noLabel {
			p.labels, p.texts = nil, nil
		}
		if err := p.convert(opt); err != nil {
			return nil, err
		}
		if p.size() == 0 {
			return nil, fmt.Errorf("%s: expected samples", p.file)
		}
		if err := p.expect(opt.Shape); err != nil {
			return nil, err
		}
		for _, note := range p.notes {
			note = strings.TrimPrefix(note, c.name+": ") // which is printed before it
			if !slices.Contains(c.notes, note) {         // that of both splits
				c.notes = append(c.notes, note)
			}
		}
	}
	if c.train != nil && c.test != nil && c.train.Shape != c.test.Shape {
		return nil, fmt.Errorf("%s: %v, expected %v as in %s", c.test.file, c.test.Shape, c.train.Shape,
			c.train.file)
	}
	if err := c.sameFeatures(opt.Features); err != nil {
		return nil, err
	}
	if err := c.classify(opt.Classes); err != nil {
		return nil, err
	}
	c.noteMissing()
	if err := c.split(opt); err != nil {
		return nil, err
	}
	d := &dataset.Data{Name: c.name, Classes: c.classes, Notes: c.notes}
	if p := cmp.Or(c.train, c.test); !p.IsImage() {
		d.Features = c.features
		if opt.Shape.Len() == 0 && p.size() > 1 { // a model takes the numbers that it was trained on
			d.Notes = append(d.Notes, p.coarse(c.features)...)
		}
	}
	err := errors.Join(dataset.CheckNames("class", d.Classes), dataset.CheckNames("feature", d.Features))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", c.name, problemOf(err))
	}
	if !opt.TestOnly && c.train != nil {
		if d.Train, err = c.train.set("train", opt.TrainSize); err != nil {
			return nil, err
		}
		d.Norm = dataset.NormalizationOf(d.Train)
	}
	if !opt.TestOnly && !opt.AnySplit && c.train == nil {
		if opt.TestShare == 1 {
			return nil, fmt.Errorf("%s: no training samples are left: expected a --test-share below 1", c.name)
		}
		return nil, fmt.Errorf("%s: no training samples", c.name)
	}
	if opt.TestOnly && c.test == nil {
		return nil, &NoTestError{c.name}
	}
	if c.test != nil {
		if d.Test, err = c.test.set("test", opt.TestSize); err != nil {
			return nil, err
		}
	}
	return d, nil
}

// noteMissing notes classes that may be missing labels. Those of folders have names that somebody gave.
func (c *content) noteMissing() {
	var of [][]int
	for _, p := range c.parts() {
		if !p.folders {
			of = append(of, p.labels)
		}
	}
	c.notes = append(c.notes, array.NoteMissing(c.classes, of...)...)
}

// coarse notes features of large numbers whose differences float32 hardly keeps, such as times in seconds since 1970.
func (p *part) coarse(names []string) (notes []string) {
	const least, steps = 1 << 24, 256 // float32 has all whole numbers below least
	d := p.Features
	for j := range d {
		low, high := p.values[j], p.values[j]
		for at := j; at < len(p.values) && (high >= least || low <= -least); at += d {
			low, high = min(low, p.values[at]), max(high, p.values[at])
		}
		size := max(high, -low)
		if step := math.Nextafter32(size, math.MaxFloat32) - size; size >= least && high-low < steps*step {
			feature := fmt.Sprintf("feature %d (counted from 0)", j)
			if names != nil && names[j] != "" {
				feature = fmt.Sprintf("feature %.60q", names[j])
			}
			notes = append(notes, fmt.Sprintf("%s: near %.3g float32 keeps only multiples of %.0f: subtract an offset",
				feature, size, step))
		}
	}
	return notes
}

// parts returns the splits that there are.
func (c *content) parts() []*part {
	return slices.DeleteFunc([]*part{c.train, c.test}, func(p *part) bool { return p == nil })
}

// expect refuses samples of another shape than those of a model; of any shape if that is zero.
func (p *part) expect(shape dataset.Shape) error {
	if shape.Len() == 0 || p.Shape == shape {
		return nil
	}
	hint := ""
	if shape.IsImage() && (p.IsImage() || p.Features == shape.Len() && isLevels(p.values[:p.Features])) {
		hint = fmt.Sprintf(" (--size %dx%d", shape.Rows, shape.Cols)
		if kind := dataset.ChannelKind(shape.Channels); kind != "" && p.Channels != shape.Channels {
			hint += " --channels " + kind
		}
		hint += " converts them)"
	}
	return fmt.Errorf("%s: %s of %v, the model expects %v%s", p.file, p.Samples(), p.Shape, shape, hint)
}

// isLevels says whether numbers are levels of an image.
func isLevels(x []float32) bool {
	return !slices.ContainsFunc(x, func(v float32) bool { return !(v >= 0 && v <= 255) || v != float32(int(v)) })
}

// sameFeatures refuses features of other names than those of a model, as far as both have names.
func (c *content) sameFeatures(model []string) error {
	for i, name := range c.features {
		if i < len(model) && model[i] != name {
			return fmt.Errorf("%s: feature %d (counted from 0) is called %.60q, expected %.60q as in the data that "+
				"the model was trained on", c.name, i, name, model[i])
		}
	}
	return nil
}

// NoTestError reports that Options asks for the test samples of a data set that has none.
type NoTestError struct{ Name string }

func (e *NoTestError) Error() string { return e.Name + ": no test samples" }

// labelError reports labels that a model does not know.
type labelError struct{ error }

func (e *labelError) Unwrap() error { return e.error }

// set returns the first n samples; all with n = 0.
func (p *part) set(split string, n int) (*dataset.Set, error) {
	if n > p.size() {
		return nil, &SizeError{Split: split, Size: n, Problem: fmt.Sprintf("%s holds %d %s", p.file, p.size(),
			p.Samples())}
	}
	s := &dataset.Set{Shape: p.Shape, Pixels: p.pixels, Values: p.values}
	if p.labels != nil {
		s.Labels = make([]uint16, len(p.labels))
		for i, y := range p.labels {
			s.Labels[i] = uint16(y)
		}
		s.Labels = s.Labels[:p.size():p.size()]
	}
	if n > 0 {
		s = s.Slice(0, n)
	}
	return s, nil
}

// classify sets the classes and numbers the labels by them; known are classes that the labels must have.
func (c *content) classify(known []string) error {
	parts := slices.DeleteFunc(c.parts(), func(p *part) bool { return p.labels == nil && p.texts == nil })
	if len(parts) == 0 {
		c.classes = known
		return nil
	}
	numbers, named := true, false
	for _, p := range parts {
		named = named || p.texts != nil
		numbers = numbers && p.numbers()
	}
	switch {
	case c.classes != nil && numbers: // label y is classes[y]
		for _, p := range parts {
			for i, y := range p.labels {
				if y < 0 || y >= len(c.classes) {
					file, where := p.sample(i)
					return fmt.Errorf("%s: label %d of %s, expected 0 to %d", file, y, where, len(c.classes)-1)
				}
			}
		}
	case numbers:
		c.classes = numberClasses(parts, named)
		if n := len(c.classes); areNamed(known) && n <= len(known) && slices.Equal(c.classes, dataset.Numbered(n)) {
			c.classes = known // a file of a named data set, which the model knows by names
		}
	default:
		all := map[string]bool{}
		for _, p := range parts {
			p.spell()
			for _, s := range p.texts {
				all[s] = true
			}
		}
		if c.classes == nil {
			for s := range all {
				c.classes = append(c.classes, s)
			}
			slices.Sort(c.classes)
		}
		for _, p := range parts {
			if err := p.numberTexts(c.classes); err != nil {
				return err
			}
		}
	}
	if len(c.classes) > dataset.MostClasses {
		return fmt.Errorf("%s: %d different labels, expected at most %d classes", c.name, len(c.classes),
			dataset.MostClasses)
	}
	if known == nil {
		return nil
	}
	for _, p := range parts {
		p.texts = make([]string, len(p.labels))
		for i, y := range p.labels {
			p.texts[i] = c.classes[y]
		}
		if err := p.numberTexts(known); err != nil {
			return &labelError{fmt.Errorf("%w of the model", err)}
		}
	}
	c.classes = known
	return nil
}

// numbers turns labels that are texts of whole numbers into numbers, and reports whether all labels are.
func (p *part) numbers() bool {
	if p.texts == nil {
		return true
	}
	labels, seen := make([]int, len(p.texts)), map[string]int{}
	for i, s := range p.texts {
		y, ok := seen[s]
		if !ok {
			if y, ok = array.TextLabel(s); !ok {
				return false
			}
			seen[s] = y
		}
		labels[i] = y
	}
	p.labels, p.texts = labels, nil
	return true
}

// spell turns labels that are numbers into texts.
func (p *part) spell() {
	if p.texts == nil {
		p.texts = make([]string, len(p.labels))
		for i, y := range p.labels {
			p.texts[i] = strconv.Itoa(y)
		}
	}
}

// someOf names the first classes.
func someOf(classes []string) string {
	const most = 5
	text := ""
	for i, s := range classes[:min(len(classes), most)] {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("%.30q", s)
	}
	if len(classes) > most {
		text += ", ..."
	}
	return text
}

// numberTexts sets the labels to the indices of the texts in classes.
func (p *part) numberTexts(classes []string) error {
	index := map[string]int{}
	for y, s := range classes {
		index[s] = y
	}
	p.labels = make([]int, len(p.texts))
	for i, s := range p.texts {
		y, ok := index[s]
		if !ok {
			file, where := p.sample(i)
			return fmt.Errorf("%s: label %.60q of %s is none of the %d classes (%s)", file, s, where,
				len(classes), someOf(classes))
		}
		p.labels[i] = y
	}
	p.texts = nil
	return nil
}

// numberClasses returns the classes of labels that are whole numbers, and numbers the labels by them. If none is
// negative they are 0, 1 and so on to the largest, unless that is above 255 and most of the numbers do not occur; else
// those that occur. Numbers that were texts begin with 0 only if that occurs.
func numberClasses(parts []*part, named bool) []string {
	seen := map[int]bool{}
	for _, p := range parts {
		for _, y := range p.labels {
			seen[y] = true
		}
	}
	var values []int
	for y := range seen {
		values = append(values, y)
	}
	slices.Sort(values)
	lo, hi := values[0], values[len(values)-1]
	if (lo == 0 || lo > 0 && !named) && (hi < 256 || hi < 2*len(values)) {
		values = values[:0]
		for y := range hi + 1 {
			values = append(values, y)
		}
	}
	index, names := map[int]int{}, make([]string, len(values))
	for i, y := range values {
		index[y], names[i] = i, strconv.Itoa(y)
	}
	for _, p := range parts {
		for i, y := range p.labels {
			p.labels[i] = index[y]
		}
	}
	return names
}
