package dataset

import (
	"errors"
	"fmt"
	"strconv"
	"unicode/utf8"
)

// MostClasses is the largest number of classes: labels are 16 bits wide.
const MostClasses = 1 << 16

// Data is a data set.
type Data struct {
	Name        string   // "digits", "mnist", or the file or folder that it was read from
	Train, Test *Set     // of the same shape; nil: there is none, or it was not asked for
	Classes     []string // names of the classes: label y is Classes[y]
	Features    []string // names of the features of vectors; nil: they have none
	Norm        Normalization

	// Notes say, in a line each, what was left out of the files, or read otherwise than one may think.
	Notes []string
}

// New makes a data set of samples of one's own: test may be nil, and classes too, which are then
// numbered. The normalisation is that of the training samples.
func New(name string, train, test *Set, classes []string) (*Data, error) {
	if train == nil {
		return nil, fmt.Errorf("data set %q: no training samples", name)
	}
	if err := train.Check(); err != nil {
		return nil, fmt.Errorf("training samples: %w", err)
	}
	if classes == nil {
		classes = Numbered(ClassesOf(train, test))
	}
	d := &Data{Name: name, Train: train, Test: test, Classes: classes, Norm: NormalizationOf(train)}
	return d, d.Check()
}

// Numbered returns the names of n classes that have no others: "0", "1" and so on.
func Numbered(n int) []string {
	names := make([]string, n)
	for i := range names {
		names[i] = strconv.Itoa(i)
	}
	return names
}

// ClassesOf returns how many classes the labels of sets need: the largest label + 1. Sets may be
// nil or without labels.
func ClassesOf(sets ...*Set) int {
	n := 0
	for _, s := range sets {
		if s != nil {
			for _, y := range s.Labels {
				n = max(n, int(y)+1)
			}
		}
	}
	return n
}

// Shape returns that of the samples.
func (d *Data) Shape() Shape {
	if d.Train != nil {
		return d.Train.Shape
	}
	return d.Test.Shape
}

// Check returns an error, one line, if the splits are malformed, differ in shape or have labels
// without a class, or if there are other than one name for each feature, or a normalisation of
// another length.
func (d *Data) Check() error {
	if d == nil {
		return errors.New("no samples: the data set is nil")
	}
	if d.Train == nil && d.Test == nil {
		return fmt.Errorf("data set %q: no samples", d.Name)
	}
	shape := d.Shape()
	for _, s := range []struct {
		name string
		set  *Set
	}{{"training", d.Train}, {"test", d.Test}} {
		if s.set == nil {
			continue
		}
		if err := s.set.Check(); err != nil {
			return fmt.Errorf("%s samples: %w", s.name, err)
		}
		if s.set.Shape != shape {
			return fmt.Errorf("test samples: %v, expected %v as the training samples have", s.set.Shape, shape)
		}
		if n := ClassesOf(s.set); n > len(d.Classes) {
			return fmt.Errorf("%s samples: label %d, expected 0 to %d: there are %d classes", s.name, n-1,
				len(d.Classes)-1, len(d.Classes))
		}
	}
	if len(d.Classes) > MostClasses {
		return fmt.Errorf("%d classes, expected at most %d", len(d.Classes), MostClasses)
	}
	if d.Features != nil && len(d.Features) != shape.Features {
		return fmt.Errorf("%d names of features for %v", len(d.Features), shape)
	}
	if err := CheckNames("class", d.Classes); err != nil {
		return err
	}
	if err := CheckNames("feature", d.Features); err != nil {
		return err
	}
	if d.Train == nil && d.Norm.IsZero() {
		return nil
	}
	return d.Norm.Check(shape)
}

// The largest lengths of the name of a class or a feature, and of all of them together, in bytes: a
// model file has to hold them.
const (
	MostName  = 1000
	MostNames = 8 << 20
)

// CheckNames refuses names of classes or features, which what says, that are too long or no UTF-8, and classes of the
// same name. Features may repeat: the parts of a column of Parquet.
func CheckNames(what string, names []string) error {
	all, seen := 0, map[string]int{}
	for i, name := range names {
		if what == "class" {
			if first, ok := seen[name]; ok {
				return fmt.Errorf("class %d: name %.40q, which is that of class %d, too", i, name, first)
			}
			seen[name] = i
		}
		if all += len(name); len(name) > MostName || !utf8.ValidString(name) {
			return fmt.Errorf("%s %d: name %.40q, expected at most %d bytes of UTF-8", what, i, name, MostName)
		}
	}
	if all > MostNames {
		return fmt.Errorf("the names of the %s: %d bytes, expected at most %d", plural(what), all, MostNames)
	}
	return nil
}

func plural(what string) string {
	if what == "class" {
		return "classes"
	}
	return what + "s"
}
